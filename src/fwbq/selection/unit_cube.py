"""A log likelihood under a prior that is a map of the unit cube, as nested samplers have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UnitCube:
    """The log likelihood as a function of points (n, d) of the unit cube.

    Parameters
    ----------
    log_likelihood, prior_transform : callable
        Of one point (d,), or of points (n, d).
    names : tuple of str
        Names of the parameters.
    vectorized : bool
        Whether both functions take points (n, d).
    """

    log_likelihood: Callable[[Array], Any]
    prior_transform: Callable[[Array], Any]
    names: tuple[str, ...]
    vectorized: bool

    def __call__(self, u: Array) -> Array:
        """Return the log likelihoods at points of the unit cube, (n,)."""
        theta = self.parameters(u)
        given = self.log_likelihood(theta) if self.vectorized else [self.log_likelihood(row) for row in theta]
        return _validate.log_values(given, "log_likelihood", len(u))

    def parameters(self, u: Array) -> Array:
        """Return the parameters (n, d) of points of the unit cube."""
        own = np.array(u)  # transforms are often written so that they change their argument
        given = self.prior_transform(own) if self.vectorized else [self.prior_transform(row) for row in own]
        theta = np.asarray(given, dtype=float)
        if theta.shape != (len(u), len(self.names)):
            raise ValueError(
                f"`prior_transform` must return {len(self.names)} parameters for each point, got an array of shape "
                f"{theta.shape} for {len(u)} points: check `dim`, or `vectorized`"
            )
        return theta

    def variables(self, u: Array) -> dict[str, Array]:
        """Return the parameters by name, each (n,)."""
        return dict(zip(self.names, self.parameters(u).T, strict=True))
