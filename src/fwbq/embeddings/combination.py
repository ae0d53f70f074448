"""Sums, multiples and products of kernels: taken apart into terms that have an embedding of their own."""

from math import prod

import numpy as np

from .._validate import Array
from ..kernels import ExpQuad, Kernel, Matern12, ProductKernel, Scaled, Stationary, Sum
from ..measures import Gaussian, GaussianMixture, Measure, Product, TruncatedGaussian, Uniform
from .base import Embedding, embed, register
from .coordinates import CoordinateEmbedding
from .mixture import MixtureEmbedding


@register(
    [Sum, Scaled, ProductKernel],
    [Gaussian, GaussianMixture, TruncatedGaussian, Uniform, Product],
    "term by term, as the parts allow; products of different families by 1-d quadrature",
)
class Combination(Embedding):
    """k = sum_j c_j k_j with c_j > 0: mean = sum_j c_j mean_j and variance = sum_j c_j variance_j."""

    def __init__(self, kernel: Kernel, measure: Measure) -> None:
        self._terms = [(scale, _embed_term(term, measure)) for scale, term in terms(kernel, measure.dim)]
        methods = list(dict.fromkeys(part.method for _, part in self._terms))
        super().__init__(kernel, measure, "; ".join(methods))

    @property
    def accuracy(self) -> float:
        """The terms are positive: their sum is as accurate as the least accurate of them."""
        return max(part.accuracy for _, part in self._terms)

    def _mean(self, x: Array) -> Array:
        return np.asarray(sum(scale * part.mean(x) for scale, part in self._terms))

    def _gradient(self, x: Array) -> Array:
        return np.asarray(sum(scale * part.mean_gradient(x) for scale, part in self._terms))

    def _variance(self) -> float:
        return sum(scale * part.variance for scale, part in self._terms)


def _embed_term(kernel: Kernel, measure: Measure) -> Embedding:
    if not isinstance(kernel, ProductKernel):
        return embed(kernel, measure)
    if isinstance(measure, GaussianMixture):
        return MixtureEmbedding(kernel, measure)
    return CoordinateEmbedding(kernel, measure)


def terms(kernel: Kernel, dim: int) -> list[tuple[float, Kernel]]:
    """Write a kernel as a positive combination of kernels that are neither sums nor multiples.

    Products are multiplied out, and factors of one family whose product stays in the family are joined: the inverse
    squared lengthscales of ExpQuad add up, and so do the inverse lengthscales of Matern12.
    """
    if isinstance(kernel, Scaled):
        return [(kernel.scale * scale, term) for scale, term in terms(kernel.kernel, dim)]
    if isinstance(kernel, Sum):
        return [part for term in kernel.kernels for part in terms(term, dim)]
    if isinstance(kernel, ProductKernel):
        expanded: list[tuple[float, list[Kernel]]] = [(1.0, [])]
        for factor in kernel.kernels:
            expanded = [(c * scale, [*chain, term]) for c, chain in expanded for scale, term in terms(factor, dim)]
        return [(scale, _joined(chain, dim)) for scale, chain in expanded]
    return [(1.0, kernel)]


def _joined(kernels: list[Kernel], dim: int) -> Kernel:
    leaves: list[Kernel] = []
    for kernel in kernels:
        leaves.extend(kernel.kernels if isinstance(kernel, ProductKernel) else (kernel,))
    for family, power in ((ExpQuad, 2.0), (Matern12, 1.0)):
        members: list[Stationary] = [leaf for leaf in leaves if type(leaf) is family]
        if len(members) > 1:
            rates = np.sum([member.lengthscales(dim) ** -power for member in members], axis=0)
            joined = family(rates ** (-1.0 / power), prod(member.variance for member in members))
            leaves = [joined, *(leaf for leaf in leaves if type(leaf) is not family)]
    return leaves[0] if len(leaves) == 1 else ProductKernel(leaves)
