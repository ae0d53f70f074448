"""What a likelihood with a known evidence is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fwbq.measures import Measure

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Likelihood:
    """A log likelihood under a prior, or a log joint density without one, with the logarithm of its evidence.

    Attributes
    ----------
    name : str
        Family and size.
    log_likelihood : callable
        Points (n, d) to values (n,); it can be pickled. Without a prior the log joint density on R^d.
    prior : Measure or None
    log_evidence : float
        Known to `accuracy`.
    start, scale : (d,) array or None
        Without a prior, where to begin and a guess of the posterior's width.
    accuracy : float
        What the truth leaves open.

    Examples
    --------
    >>> from studies.problems.likelihoods import FAMILIES
    >>> problem = FAMILIES["banana"](0)
    >>> problem.dim, problem.gradient(problem.prior.sample(5, rng=0)).shape
    (2, (5, 2))
    """

    name: str
    log_likelihood: Callable[[Array], Array]
    prior: Measure | None
    log_evidence: float
    start: Array | None = None
    scale: Array | None = None
    accuracy: float = 1e-6

    @property
    def dim(self) -> int:
        """Number of parameters."""
        if self.prior is not None:
            return self.prior.dim
        if self.start is None:
            raise ValueError("`start` is missing: without a prior it says how many parameters there are")
        return len(self.start)

    @property
    def gradient(self) -> Callable[[Array], Array] | None:
        """Points (n, d) to gradients (n, d) of `log_likelihood`, where it has a closed form; None otherwise."""
        found: Callable[[Array], Array] | None = getattr(self.log_likelihood, "gradient", None)
        return found

    def __repr__(self) -> str:
        return f"<Likelihood {self.name}: d = {self.dim}, log evidence {self.log_evidence:.6g}>"
