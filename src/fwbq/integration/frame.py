"""Natural coordinates: those in which the measure factorises, so that kernels which are products have an embedding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._whitening import Whitening
from ..measures import Gaussian, Measure, Warp

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates u in which the work is done, and the measure in them.

    Attributes
    ----------
    measure : Measure
        The measure of u under which the integral is taken: its law, or with a warp the reference measure.
    whitening : Whitening or None
        How u is had from x; None, without a warp, for u = x.
    warp : Warp or None
        The coordinates of a measure with heavy tails.
    """

    measure: Measure
    whitening: Whitening | None = None
    warp: Warp | None = None

    def to_natural(self, x: FloatArray) -> FloatArray:
        """Return u for points x (n, d)."""
        if self.warp is not None:
            return self.warp.to_warped(x)
        return x if self.whitening is None else self.whitening.forward(x)

    def to_original(self, u: FloatArray) -> FloatArray:
        """Return x for points u (n, d)."""
        if self.warp is not None:
            return self.warp.to_original(u)
        return u if self.whitening is None else self.whitening.back(u)

    def ratio(self, u: FloatArray) -> FloatArray | None:
        """Return the density of the law of u under `measure`, (n,); None where that is the law itself."""
        return None if self.warp is None else self.warp.ratio(u)

    def integrand(self, u: FloatArray, values: FloatArray) -> FloatArray:
        """Return what is integrated under `measure`: values (n,) or (n, m) at points u times the ratio."""
        ratio = self.ratio(u)
        return values if ratio is None else np.asarray((values.T * ratio).T)


def natural(measure: Measure) -> Frame:
    """Return the natural coordinates of a measure.

    A correlated Gaussian has its whitened ones: with cov = L L', x = mean + L u and u ~ N(0, I). Heavy tails and
    singular bounds have those of a `fwbq.measures.Warp`. All others have their own.

    Examples
    --------
    >>> frame = natural(Gaussian([1.0, 2.0], [[2.0, 1.0], [1.0, 2.0]]))
    >>> frame.to_original(np.zeros((1, 2)))
    array([[1., 2.]])
    """
    if isinstance(measure, Gaussian) and measure.factors is None:
        return Frame(Gaussian(np.zeros(measure.dim), np.eye(measure.dim)), measure.whitening)
    warp = Warp.of(measure)
    return Frame(measure) if warp is None else Frame(warp.reference, warp=warp)
