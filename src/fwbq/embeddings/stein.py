"""Stein kernels: the mean element is zero."""

import numpy as np

from .._validate import Array
from ..kernels import Stein
from ..measures import Empirical, Gaussian, GaussianMixture, Measure, Product, TruncatedGaussian
from .base import Embedding, refuse, register

# Draws at which the score of the kernel is compared with that of the measure, and how closely they must agree: scores
# by finite differences are right to about 1e-7, a wrong sign or factor is off by one or more.
_PROBES = 16
_AGREEMENT = 1e-6
# Density at a finite bound, in units of 1 / scale, above which the boundary term of the Stein identity is larger than
# the rounding of sums over a thousand points.
_BOUNDARY = 1e-13


@register([Stein], [Gaussian, GaussianMixture, TruncatedGaussian, Product, Empirical, Measure], "zero by construction")
class SteinEmbedding(Embedding):
    """The Langevin-Stein kernel of a density under that density: mean and variance are zero.

    int k_p(x, y) p(y) dy = 0 holds when the kernel's score is that of the measure and p k vanishes at the bounds of the
    support. The score is compared with the measure's at 16 seeded points of the measure, where the measure has one; a
    bound with density (as of Uniform, and of TruncatedGaussian unless far out) is refused, because the identity then
    has a boundary term.

    An Empirical measure stands for the density that its points were drawn towards, by a Markov chain say: mean and
    variance are those of the density, zero, so that designs thin the points towards it and not towards the sample.
    """

    kernel: Stein

    def __init__(self, kernel: Stein, measure: Measure) -> None:
        x = measure.sample(_PROBES, rng=0)
        try:
            expected = measure.score(x)
        except NotImplementedError:
            expected = None
        if expected is not None:
            given = np.asarray(kernel.score(x), dtype=np.float64)
            scale = np.abs(expected) + np.abs(given) + 1.0 / measure.scale
            if given.shape != x.shape or not np.all(np.abs(given - expected) <= _AGREEMENT * scale):
                raise refuse(kernel, measure, "the kernel's score is not that of the measure, so its mean is not zero")
        if not isinstance(measure, Empirical) and _has_boundary(measure, x[0]):
            raise refuse(kernel, measure, "the density does not vanish at its bounds, so the mean is not zero")
        super().__init__(kernel, measure, "zero by construction")

    def _mean(self, x: Array) -> Array:
        return np.zeros(x.shape[0])

    def _gradient(self, x: Array) -> Array:
        return np.zeros_like(x)

    def _variance(self) -> float:
        return 0.0


def _has_boundary(measure: Measure, inside: Array) -> bool:
    """Whether the density at a finite bound of some coordinate is seen, beside that of a point inside."""
    for i in range(measure.dim):
        for bound, towards in ((measure.lower[i], np.inf), (measure.upper[i], -np.inf)):
            if np.isfinite(bound):
                x = inside.copy()
                x[i] = np.nextafter(bound, towards)
                gain = measure.log_density(x[None])[0] - measure.log_density(inside[None])[0]
                if gain > np.log(_BOUNDARY):
                    return True
    return False
