"""Random Fourier features: their means are values of the measure's characteristic function."""

from collections.abc import Iterator
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .._validate import Array
from ..kernels import RandomFourier
from ..measures import Empirical, Gaussian, GaussianMixture, Measure, Product, TruncatedGaussian, Uniform
from .base import Embedding, refuse, register
from .coordinates import densities_of
from .gaussian import scaled_components

# Features held at once: 8 MB.
_BLOCK = 1 << 20


@register([RandomFourier], [Gaussian, GaussianMixture, Uniform], "closed form")
@register([RandomFourier], [TruncatedGaussian, Product], "features' means by 1-d quadrature, closed form where known")
@register([RandomFourier], [Empirical], "weighted sum")
class FeatureEmbedding(Embedding):
    """RandomFourier under a measure with characteristic function phi(w) = E exp(i w . X).

    mean_features_j = sqrt(2 variance / D) Re[exp(i b_j) phi(w_j)],
    mean(x) = features(x) . mean_features,  variance = |mean_features|^2.

    For sum_l rho_l N(m_l, S_l): phi(w) = sum_l rho_l exp(i w . m_l - w' S_l w / 2) (Briol, Oates, Girolami and Osborne,
    2015, appendix E); for independent coordinates phi is the product of one-dimensional ones.

    Attributes
    ----------
    mean_features : (D,) array
        The expectation of the kernel's features.
    """

    kernel: RandomFourier

    def __init__(self, kernel: RandomFourier, measure: Measure) -> None:
        if isinstance(measure, Empirical):
            means, method, error = _sample_means(kernel, measure), "weighted sum", 0.0
        else:
            phi, method, error = characteristic(kernel, measure)
            amplitude = sqrt(2.0 * kernel.kernel.variance / kernel.n_features)
            means = amplitude * np.real(np.exp(1j * kernel.phases) * phi)
        super().__init__(kernel, measure, method)
        means.setflags(write=False)
        self.mean_features: Array = means
        self._accuracy = error

    @property
    def accuracy(self) -> float:
        """Error of the characteristic function beyond rounding, where it is by quadrature."""
        return self._accuracy

    def _mean(self, x: Array) -> Array:
        out = np.empty(x.shape[0])
        for rows in _rows(x.shape[0], self.kernel.n_features):
            out[rows] = self.kernel.features(x[rows]) @ self.mean_features
        return out

    def _gradient(self, x: Array) -> Array:
        out = np.empty_like(x)
        for rows in _rows(x.shape[0], self.kernel.n_features * self.dim):
            out[rows] = np.einsum("njd,j->nd", self.kernel.features_gradient(x[rows]), self.mean_features)
        return out

    def _variance(self) -> float:
        return float(self.mean_features @ self.mean_features)


def characteristic(kernel: RandomFourier, measure: Measure) -> tuple[NDArray[np.complex128], str, float]:
    """Return E exp(i w_j . X) for the kernel's frequencies, shape (D,), how it was computed, and its error."""
    w = kernel.frequencies
    if isinstance(measure, (Gaussian, GaussianMixture)):
        weights, means, covs = scaled_components(measure, np.ones(measure.dim))
        total = np.zeros(w.shape[0], dtype=np.complex128)
        for rho, m, s in zip(weights, means, covs, strict=True):
            total += rho * np.exp(1j * (w @ m) - 0.5 * np.einsum("ji,ik,jk->j", w, s, w))
        return total, "closed form", 0.0
    densities = densities_of(measure)
    if densities is None:
        raise refuse(kernel, measure, "its characteristic function is not known")
    total = np.ones(w.shape[0], dtype=np.complex128)
    methods = []
    for i, p in enumerate(densities):
        phi, method = p.characteristic(w[:, i])
        total *= phi
        methods.append(method)
    return total, "; ".join(dict.fromkeys(methods)), sum(p.accuracy for p in densities)


def _sample_means(kernel: RandomFourier, measure: Empirical) -> Array:
    total = np.zeros(kernel.n_features)
    for rows in _rows(measure.weights.size, kernel.n_features):
        total += measure.weights[rows] @ kernel.features(measure.points[rows])
    return total


def _rows(n: int, width: int) -> Iterator[slice]:
    size = max(1, _BLOCK // width)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
