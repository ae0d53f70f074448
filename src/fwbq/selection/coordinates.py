"""Coordinates in which a log integrand is modelled: a stationary process should fit it as well there as anywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate
from ..measures import Gaussian, Measure

Array = NDArray[np.float64]


class Coordinates(ABC):
    """A smooth one-to-one map of the support of a measure to the space where distances are taken."""

    @abstractmethod
    def forward(self, x: Array) -> Array:
        """Map points (n, d)."""


@dataclass(frozen=True, eq=False)
class Standard(Coordinates):
    """Whitened Gaussians, and everything else divided by its standard deviations.

    Parameters
    ----------
    measure : Measure
        For a Gaussian N(m, S), S = LL', s = L^-1 (x - m); otherwise s_i = (x_i - E x_i) / sd_i.
    """

    measure: Measure

    def forward(self, x: Array) -> Array:
        """Map points (n, d)."""
        if isinstance(self.measure, Gaussian):
            from scipy.linalg import solve_triangular

            lower = np.linalg.cholesky(self.measure.cov)
            return np.asarray(solve_triangular(lower, (x - self.measure.mean).T, lower=True).T)
        return np.asarray((x - self.measure.expectation) / self.measure.scale)


@dataclass(frozen=True, eq=False)
class LogScale(Coordinates):
    r"""Logarithmic coordinates for positive parameters, :math:`s_i = \log(1 + x_i / c_i)`.

    Linear below the offset c and logarithmic above it: a Michaelis constant enters the likelihood through y / (y + K), and
    what happens between K = y / 10 and y matters as much as what happens between y and 10 y.

    Parameters
    ----------
    offset : (d,) array_like
        c > 0.

    Examples
    --------
    >>> import numpy as np
    >>> LogScale([2.0]).forward(np.array([[2.0]])) == np.log(2)
    array([[ True]])
    """

    offset: Array

    def __init__(self, offset: ArrayLike) -> None:
        given = np.atleast_1d(_validate.positive_scalar_or_vector(offset, "offset"))
        _validate.freeze(self, offset=_validate.readonly(given))

    def forward(self, x: Array) -> Array:
        """Map points (n, d)."""
        return np.asarray(np.log1p(x / self.offset))

    def backward(self, s: Array) -> Array:
        """Map coordinates (n, d) back to points."""
        return np.asarray(self.offset * np.expm1(s))
