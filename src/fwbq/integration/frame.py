"""Natural coordinates: those in which the measure factorises, so that kernels which are products have an embedding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._whitening import Whitening
from ..measures import Copula, Gaussian, Measure, Product, Warp
from ..measures.univariate import Univariate
from ..measures.warp import skew

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
    original : Measure or None
        The measure of x, where it has latent coordinates or discrete values. Latent coordinates are taken first, and
        warped where they need it; coordinates with few values are moved to the nearest of them on the way back.
    """

    measure: Measure
    whitening: Whitening | None = None
    warp: Warp | None = None
    original: Measure | None = None

    def to_latent(self, x: FloatArray) -> FloatArray:
        """Return the coordinates of points x (n, d) before any warp."""
        return x if self.original is None else self.original.to_latent(x)

    def to_natural(self, x: FloatArray) -> FloatArray:
        """Return u for points x (n, d)."""
        if self.whitening is not None:
            return self.whitening.forward(x)
        y = self.to_latent(x)
        return y if self.warp is None else self.warp.to_warped(y)

    def to_original(self, u: FloatArray) -> FloatArray:
        """Return x for points u (n, d)."""
        if self.whitening is not None:
            return self.whitening.back(u)
        y = u if self.warp is None else self.warp.to_original(u)
        return y if self.original is None else self.original.nearest(self.original.from_latent(y))

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
    singular bounds have those of a `fwbq.measures.Warp`. Copulas and products with blocks have their latent ones, with
    a warp where tails are heavy. All others have their own.

    Examples
    --------
    >>> frame = natural(Gaussian([1.0, 2.0], [[2.0, 1.0], [1.0, 2.0]]))
    >>> frame.to_original(np.zeros((1, 2)))
    array([[1., 2.]])
    """
    if isinstance(measure, Gaussian) and measure.factors is None:
        return Frame(Gaussian(np.zeros(measure.dim), np.eye(measure.dim)), measure.whitening)
    warp = Warp.of(measure)
    independent = measure if measure.latent is None else measure.latent
    original = measure if measure.latent is not None or not measure.invertible else None
    return Frame(independent if warp is None else warp.reference, warp=warp, original=original)


def in_scores(measure: Measure) -> Product | None:
    """Return the same measure with the normal scores of its skew inputs as latent coordinates; None if none is skew.

    A function of a lognormal input that varies over orders of magnitude is smooth in the logarithm, which is the normal
    score but for its unit; a polynomial of low degree is smoother in the input itself. So both are tried.

    Examples
    --------
    >>> from scipy import stats
    >>> twin = in_scores(Product([stats.lognorm(1.0), stats.uniform()]))
    >>> twin.to_latent([[np.exp(0.7), 0.3]]).round(12)
    array([[0.7, 0.3]])
    >>> in_scores(Product([stats.norm(), stats.uniform()])) is None
    True
    """
    if not isinstance(measure, Product):
        return None
    parts = [part.distribution if isinstance(part, Univariate) else part for part in measure.parts]
    skewed = [isinstance(part, Univariate) and skew(part.distribution) for part in measure.parts]
    if not any(skewed):
        return None
    blocks = [Copula([p], 1.0) if is_skew else p for p, is_skew in zip(parts, skewed, strict=True)]
    return Product(blocks, names=measure.names)
