"""Kernels in whitened coordinates: the embedding is that of the kernel under the law of those coordinates."""

import numpy as np

from .._validate import Array
from ..kernels import Whitened
from ..measures import Gaussian
from .base import Embedding, embed, register


@register([Whitened], [Gaussian], "that of the kernel under the law of its whitened coordinates")
class WhitenedEmbedding(Embedding):
    """k'(x, y) = k(L^-1 (x - m), L^-1 (y - m)) with LL' = S, under N(a, A).

    The whitened coordinates have the law q = N(L^-1 (a - m), L^-1 A L^-T), which is N(0, I) for a = m and A = S, and

    mean(x) = int k(L^-1 (x - m), u) q(du),  variance = int int k(u, v) q(du) q(dv).
    """

    kernel: Whitened

    def __init__(self, kernel: Whitened, measure: Gaussian) -> None:
        if np.array_equal(kernel.mean, measure.mean) and np.array_equal(kernel.cov, measure.cov):
            law = Gaussian(np.zeros(measure.dim), np.ones(measure.dim))
        else:
            half = kernel.whiten(kernel.mean + measure.cov)  # (L^-1 A)'
            cov = kernel.whiten(kernel.mean + half.T)
            law = Gaussian(kernel.whiten(measure.mean[None])[0], 0.5 * (cov + cov.T))
        self._inner = embed(kernel.kernel, law)
        super().__init__(kernel, measure, self._inner.method)

    @property
    def accuracy(self) -> float:
        """That of the embedding in whitened coordinates."""
        return self._inner.accuracy

    def _mean(self, x: Array) -> Array:
        return self._inner.mean(self.kernel.whiten(x))

    def _gradient(self, x: Array) -> Array:
        return self.kernel.gradient_from_whitened(self._inner.mean_gradient(self.kernel.whiten(x)))

    def _variance(self) -> float:
        return self._inner.variance
