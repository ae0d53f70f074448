"""What an integration returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel
from ..posterior import AveragedPosterior, ColumnPosteriors, IntegralPosterior
from ..rules import Rule

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IntegrationResult:
    """The posterior of an integral, and how it came about.

    Attributes
    ----------
    posterior : IntegralPosterior, AveragedPosterior or ColumnPosteriors
        The distribution of the integral, or of m integrals; `mean`, `sd` and `interval` are its own.
    rule : Rule
        The Bayesian quadrature rule of `kernel` on the points evaluated. When several kernels were averaged, `mean` is
        the average of their rules' estimates, and this is the rule of the most probable one (for m integrals jointly).
    kernel : Kernel
        The kernel that was given, or the most probable one; like `rule` and `points` in the coordinates of f. For a
        Gaussian measure with correlated coordinates and no kernel given it is a `fwbq.kernels.Whitened` kernel.
    points : (n, d) array
        Where f was evaluated.
    values : (n,) or (n, m) array
        Its values there.
    status : str
        Why it stopped, and anything that a reader should know.
    n_skipped : int
        Points at which f failed, under ``on_error="skip"``.
    """

    posterior: IntegralPosterior | AveragedPosterior | ColumnPosteriors
    rule: Rule
    kernel: Kernel
    points: FloatArray
    values: FloatArray
    status: str
    n_skipped: int = 0

    @property
    def mean(self) -> Any:
        """The estimate: a float, or an (m,) array."""
        return self.posterior.mean

    @property
    def sd(self) -> Any:
        """Posterior standard deviation."""
        return self.posterior.sd

    @property
    def n_evaluations(self) -> int:
        """Number of points at which f is known."""
        return len(self.points)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the central interval that holds the integral with probability `level`."""
        return self.posterior.interval(level)

    def __repr__(self) -> str:
        cost = f"{self.n_evaluations} evaluations; {self.status}"
        if np.ndim(self.mean):
            return f"IntegrationResult({len(self.mean)} integrals, {cost})"
        low, high = self.interval(0.95)
        return f"IntegrationResult({self.mean:.10g} ± {self.sd:.2g}, 95 % in [{low:.10g}, {high:.10g}], {cost})"
