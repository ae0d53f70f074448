"""Mixtures: the mean element is linear in the measure, the double integral is quadratic."""

import numpy as np

from .._validate import Array
from ..kernels import Kernel, Matern12, Matern32, Matern52
from ..measures import GaussianMixture
from .base import Embedding, register
from .coordinates import CoordinateEmbedding, cross_coordinates


@register([Matern12, Matern32, Matern52], [GaussianMixture], "closed form (independent coordinates per component)")
class MixtureEmbedding(Embedding):
    """A product kernel under a mixture of Gaussians, each with independent coordinates.

    mean(x) = sum_l w_l mu_l(x),  variance = sum_lm w_l w_m int int k(x, y) p_l(dx) p_m(dy).
    """

    measure: GaussianMixture

    def __init__(self, kernel: Kernel, measure: GaussianMixture) -> None:
        self._parts = [CoordinateEmbedding(kernel, component) for component in measure.components]
        super().__init__(kernel, measure, self._parts[0].method)

    @property
    def accuracy(self) -> float:
        """The terms are positive: their sum is as accurate as the least accurate of them."""
        return max(part.accuracy for part in self._parts)

    def _mean(self, x: Array) -> Array:
        return _weighted_sum(self.measure.weights, [part.mean(x) for part in self._parts])

    def _gradient(self, x: Array) -> Array:
        return _weighted_sum(self.measure.weights, [part.mean_gradient(x) for part in self._parts])

    def _variance(self) -> float:
        w, parts = self.measure.weights, self._parts
        total = 0.0
        for i, part in enumerate(parts):
            total += w[i] ** 2 * part.variance
            for j in range(i):
                total += 2.0 * w[i] * w[j] * cross_coordinates(self.kernel, part, parts[j])
        return float(total)


def _weighted_sum(weights: Array, arrays: list[Array]) -> Array:
    total = weights[0] * arrays[0]
    for w, array in zip(weights[1:], arrays[1:], strict=True):
        total += w * array
    return np.asarray(total)
