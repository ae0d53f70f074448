"""Natural coordinates: those in which the measure factorises, so that kernels which are products have an embedding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._whitening import Whitening
from ..measures import Gaussian, Measure

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates u in which the work is done, and the measure in them.

    Attributes
    ----------
    measure : Measure
        The law of u.
    whitening : Whitening or None
        How u is had from x; None for u = x.
    """

    measure: Measure
    whitening: Whitening | None = None

    def to_natural(self, x: FloatArray) -> FloatArray:
        """Return u for points x (n, d)."""
        return x if self.whitening is None else self.whitening.forward(x)

    def to_original(self, u: FloatArray) -> FloatArray:
        """Return x for points u (n, d)."""
        return u if self.whitening is None else self.whitening.back(u)


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
        return Frame(Gaussian(np.zeros(measure.dim), np.eye(measure.dim)), measure.whitening)
    return Frame(measure)
