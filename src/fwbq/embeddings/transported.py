"""Kernels of latent coordinates: the embedding is that of the kernel under the law of these."""

import numpy as np

from .._validate import Array
from ..kernels import Transported
from ..measures import Copula, Measure, MultivariateT, Product
from .base import Embedding, embed, refuse, register


@register([Transported], [Product, Copula, MultivariateT], "that of the kernel under the law of its latent coordinates")
class TransportedEmbedding(Embedding):
    """k'(x, y) = k(y(x), y(y)) under the measure of its latent coordinates, whose law is q.

    mean(x) = int k(y(x), y) q(dy),  variance = int int k(y, z) q(dy) q(dz).
    """

    kernel: Transported

    def __init__(self, kernel: Transported, measure: Measure) -> None:
        own = kernel.measure
        if not (measure is own or _same(measure, own)):
            raise refuse(kernel, measure, f"the kernel is made for the measure {own!r}")
        assert own.latent is not None
        self._inner = embed(kernel.kernel, own.latent)
        super().__init__(kernel, measure, self._inner.method)

    @property
    def accuracy(self) -> float:
        """That of the embedding in latent coordinates."""
        return self._inner.accuracy

    def _mean(self, x: Array) -> Array:
        return self._inner.mean(self.measure.to_latent(x))

    def _gradient(self, x: Array) -> Array:
        inner = self._inner.mean_gradient(self.measure.to_latent(x))
        return np.asarray(np.einsum("ni,nij->nj", inner, self.kernel.measure._latent_slopes(x)))

    def _variance(self) -> float:
        return self._inner.variance


def _same(a: Measure, b: Measure) -> bool:
    """Whether two measures are written in the same way; those that cannot be written down are not."""
    try:
        return a.spec() == b.spec()
    except ValueError:
        return False
