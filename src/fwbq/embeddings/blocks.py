"""Products with blocks: a kernel that is a product over coordinates leaves one integral for each block."""

from __future__ import annotations

import numpy as np

from .._validate import Array
from ..kernels import ExpQuad, Matern12, Matern32, Matern52, Stationary
from ..kernels.composite import products_of_others
from ..measures import Product
from .base import Embedding, embed, register
from .coordinates import CoordinateEmbedding


class BlockEmbedding(Embedding):
    """A product kernel under independent blocks of coordinates.

    mean(x) = prod_b mu_b(x_b),  variance = prod_b int int k_b p_b p_b.
    """

    kernel: Stationary
    measure: Product

    def __init__(self, kernel: Stationary, measure: Product) -> None:
        lengths = kernel.lengthscales(measure.dim)
        self._embeddings: list[Embedding] = []
        self._places: list[slice] = []
        start = 0
        for part in measure.parts:
            where = slice(start, start + part.dim)
            variance = kernel.variance if start == 0 else 1.0
            block = Product([part]) if part.factors is not None else part
            self._embeddings.append(embed(type(kernel)(lengths[where], variance), block))
            self._places.append(where)
            start += part.dim
        methods = list(dict.fromkeys(part.method for part in self._embeddings))
        super().__init__(kernel, measure, "; ".join(methods))

    @property
    def accuracy(self) -> float:
        """Relative errors of factors add up."""
        return sum(part.accuracy for part in self._embeddings)

    def _mean(self, x: Array) -> Array:
        return np.asarray(np.prod(self._means(x), axis=0))

    def _gradient(self, x: Array) -> Array:
        others = products_of_others(self._means(x))
        blocks = zip(self._embeddings, self._places, others, strict=True)
        return np.column_stack([part.mean_gradient(x[:, where]) * rest[:, None] for part, where, rest in blocks])

    def _variance(self) -> float:
        return float(np.prod([part.variance for part in self._embeddings]))

    def _means(self, x: Array) -> list[Array]:
        return [part.mean(x[:, where]) for part, where in zip(self._embeddings, self._places, strict=True)]


@register(
    [ExpQuad, Matern12, Matern32, Matern52],
    [Product],
    "1-d quadrature, closed form for norm, uniform and truncnorm, exact sums for discrete values; blocks as they allow",
)
def product_embedding(kernel: Stationary, measure: Product) -> Embedding:
    """Return the embedding of a product kernel under independent coordinates, or under independent blocks of them.

    mean(x) = prod_b mu_b(x_b), over the coordinates or blocks b: see `CoordinateEmbedding` and `BlockEmbedding`.
    """
    return CoordinateEmbedding(kernel, measure) if measure.factors is not None else BlockEmbedding(kernel, measure)
