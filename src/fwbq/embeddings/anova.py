"""ANOVA kernels under independent coordinates: the same sum over sets, of one-dimensional integrals."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._validate import Array
from ..kernels import Anova
from ..measures import Gaussian, Measure, Product, TruncatedGaussian, Uniform
from .base import Embedding, register
from .coordinates import lines
from .density import UniformOnInterval
from .distribution import DistributionDensity
from .line import Line, embed_line
from .normal import NormalOnInterval


@register(
    [Anova],
    [Gaussian, TruncatedGaussian, Uniform, Product],
    "sums of products of 1-d integrals, each as its kernel allows (independent coordinates)",
)
class AnovaEmbedding(Embedding):
    """k = (v / c) sum over sets S of prod_{i in S} w_i g_i, under independent coordinates.

    A sum of products is linear in each factor, so that with mu_i and V_i the integrals of g_i,

    mean(x) = (v / c) sum_S prod_{i in S} w_i mu_i(x_i),  variance = (v / c) sum_S prod_{i in S} w_i V_i.
    """

    kernel: Anova

    def __init__(self, kernel: Anova, measure: Measure) -> None:
        self._lines = lines(kernel.unit, measure)
        methods = list(dict.fromkeys(line.method for line in self._lines))
        super().__init__(kernel, measure, "; ".join(methods))

    @property
    def accuracy(self) -> float:
        """Relative errors of factors add up, and the terms are positive."""
        return sum(line.accuracy for line in self._lines)

    def _means(self, x: Array) -> Array:
        return np.stack([line.mean(x[:, i]) for i, line in enumerate(self._lines)])

    def _mean(self, x: Array) -> Array:
        return self.kernel.combine(self._means(x))

    def _gradient(self, x: Array) -> Array:
        slopes = np.stack([line.gradient(x[:, i]) for i, line in enumerate(self._lines)])
        return np.ascontiguousarray((self.kernel.without_each(self._means(x)) * slopes).T)

    def _variance(self) -> float:
        return float(self.kernel.combine(np.array([line.variance() for line in self._lines])))


@register([Anova], [UniformOnInterval, NormalOnInterval, DistributionDensity], "that of its kernel, and a constant")
@dataclass(frozen=True, eq=False)
class AnovaLine(Line):
    """v (1 + w g) / (1 + w) under a density: mu(x) = v (1 + w mu_g(x)) / (1 + w), and so the double integral."""

    kernel: Anova

    @cached_property
    def _inner(self) -> Line:
        return embed_line(self.kernel.unit, self.p)

    @property
    def method(self) -> str:
        """That of the kernel inside."""
        return self._inner.method

    @property
    def accuracy(self) -> float:
        """That of the kernel inside; the constant has none."""
        return self._inner.accuracy

    def breaks(self) -> Array:
        """Return those of the kernel inside."""
        return self._inner.breaks()

    def mean(self, x: Array) -> Array:
        """Return mu(x) for points x of shape (n,)."""
        return self.kernel.combine(self._inner.mean(x)[None])

    def gradient(self, x: Array) -> Array:
        """Return the derivative of mu at points x of shape (n,)."""
        return np.asarray(self.kernel.without_each(self._inner.mean(x)[None])[0] * self._inner.gradient(x))

    def variance(self) -> float:
        """Return the double integral of the kernel."""
        return float(self.kernel.combine(np.array([self._inner.variance()])))
