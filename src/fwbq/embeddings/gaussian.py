"""ExpQuad under Gaussians and their mixtures, any covariance."""

from collections.abc import Iterator

import numpy as np

from .._linalg import triangular_solve
from .._validate import Array
from ..kernels import ExpQuad
from ..measures import Gaussian, GaussianMixture
from .base import Embedding, register


@register([ExpQuad], [Gaussian, GaussianMixture], "closed form")
class ExpQuadGaussians(Embedding):
    """ExpQuad under sum_l w_l N(m_l, S_l) with full covariances.

    With A = diag(lengthscale^2), N(.; m, S) the Gaussian density and c = variance (2 pi)^(d/2) sqrt(det A):

    mean(x) = c sum_l w_l N(x; m_l, S_l + A),
    variance = c sum_lm w_l w_m N(m_l; m_m, S_l + S_m + A).

    Source: Briol, Oates, Girolami and Osborne (2015), appendix C, for diagonal A here.
    """

    kernel: ExpQuad
    measure: Gaussian | GaussianMixture

    def __init__(self, kernel: ExpQuad, measure: Gaussian | GaussianMixture) -> None:
        super().__init__(kernel, measure, "closed form")
        self._lengths = kernel.lengthscales(measure.dim)
        self._weights, self._means, self._covs = scaled_components(measure, self._lengths)
        self._centres = measure.mean[None] if isinstance(measure, Gaussian) else measure.means
        identity = np.eye(measure.dim)
        self._factors = np.linalg.cholesky(self._covs + identity)

    def _mean(self, x: Array) -> Array:
        total = np.zeros(x.shape[0])
        for value, _ in self._components(x):
            total += value
        return total

    def _gradient(self, x: Array) -> Array:
        total = np.zeros_like(x)
        for factor, (value, half) in zip(self._factors, self._components(x), strict=True):
            with np.errstate(over="ignore", invalid="ignore"):
                back = triangular_solve(factor, half, transposed=True)
                slope = back.T * value[:, None]
            # Where the value underflows the distance may be infinite: 0 times it is 0.
            total -= np.where(value[:, None] > 0.0, slope, 0.0)
        return total / self._lengths

    def _components(self, x: Array) -> Iterator[tuple[Array, Array]]:
        """Yield per component its part of the mean (n,) and the whitened differences (d, n)."""
        for w, m, factor in zip(self._weights, self._centres, self._factors, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):
                # Subtracted before it is scaled: far from the origin the quotients have lost the difference.
                half = triangular_solve(factor, ((x - m) / self._lengths).T)
                value = np.exp(-0.5 * np.einsum("ij,ij->j", half, half))
            yield self.kernel.variance * w / np.prod(np.diagonal(factor)) * value, half

    def _variance(self) -> float:
        parts = (self._weights, self._means, self._covs)
        return self.kernel.variance * double_sum(parts, parts)


Components = tuple[Array, Array, Array]


def scaled_components(measure: Gaussian | GaussianMixture, lengths: Array) -> Components:
    """Return weights (L,), means (L, d) and covariances (L, d, d) in units of the lengthscales."""
    if isinstance(measure, Gaussian):
        weights, means, covs = np.ones(1), measure.mean[None], measure.cov[None]
    else:
        weights, means, covs = measure.weights, measure.means, measure.covs
    return weights, means / lengths, covs / np.multiply.outer(lengths, lengths)


def double_sum(p: Components, q: Components) -> float:
    """Return the double integral of exp(-|x - y|^2 / 2) under two mixtures in units of the lengthscales."""
    weights, means, covs = q
    identity = np.eye(means.shape[1])
    total = 0.0
    for w, m, s in zip(*p, strict=True):
        factors = np.linalg.cholesky(covs + s + identity)
        half = np.linalg.solve(factors, (means - m)[:, :, None])[:, :, 0]
        with np.errstate(over="ignore"):
            value = np.exp(-0.5 * np.einsum("ij,ij->i", half, half))
        total += w * float(weights @ (value / np.prod(np.diagonal(factors, axis1=1, axis2=2), axis=1)))
    return total
