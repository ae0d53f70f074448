"""Natural coordinates: those in which the measure factorises, so that kernels which are products have an embedding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ..measures import Gaussian, Measure

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """x = origin + root u: coordinates u in which the work is done, and the measure in them.

    Attributes
    ----------
    measure : Measure
        The law of u.
    origin, root : (d,), (d, d) arrays, or None
        None for u = x.
    """

    measure: Measure
    origin: FloatArray | None = None
    root: FloatArray | None = None

    def to_natural(self, x: FloatArray) -> FloatArray:
        """Return u for points x (n, d)."""
        if self.origin is None or self.root is None:
            return x
        return np.asarray(solve_triangular(self.root, (x - self.origin).T, lower=True, check_finite=False).T)

    def to_original(self, u: FloatArray) -> FloatArray:
        """Return x for points u (n, d)."""
        if self.origin is None or self.root is None:
            return u
        return np.asarray(self.origin + u @ self.root.T)


def natural(measure: Measure) -> Frame:
    """Return the natural coordinates of a measure: whitened for a correlated Gaussian, its own for all others.

    With cov = L L', x = mean + L u and u ~ N(0, I).

    Examples
    --------
    >>> frame = natural(Gaussian([1.0, 2.0], [[2.0, 1.0], [1.0, 2.0]]))
    >>> frame.to_original(np.zeros((1, 2)))
    array([[1., 2.]])
    """
    if isinstance(measure, Gaussian) and measure.factors is None:
        standard = Gaussian(np.zeros(measure.dim), np.eye(measure.dim))
        return Frame(standard, measure.mean, np.asarray(np.linalg.cholesky(measure.cov), dtype=np.float64))
    return Frame(measure)
