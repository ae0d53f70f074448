"""Products over coordinates: a kernel and a measure that both factorise leave one integral per coordinate."""

from typing import Any

import numpy as np

from .._validate import Array
from ..kernels import Anova, ExpQuad, Kernel, Matern12, Matern32, Matern52, PeriodicSobolev, Stationary
from ..kernels.composite import products_of_others
from ..measures import Discrete, Gaussian, Measure, Product, TruncatedGaussian, Uniform, Univariate
from ..measures.distributions import parameters
from .base import Embedding, refuse, register
from .density import Density, UniformOnInterval
from .distribution import DistributionDensity
from .line import Line, embed_line
from .masses import PointMasses
from .normal import NormalOnInterval
from .quadrature import of_difference, periodic

# Those with closed forms; every other product of one-dimensional kernels is integrated by quadrature.
_FAMILIES = [ExpQuad, Matern12, Matern32, Matern52]


@register([PeriodicSobolev], [TruncatedGaussian, Product], "1-d quadrature (support within the unit cube)")
@register([PeriodicSobolev], [Uniform], "closed form (box within the unit cube)")
@register([Matern12, Matern32, Matern52], [Gaussian], "closed form (independent coordinates)")
@register(_FAMILIES, [TruncatedGaussian], "closed form, variance by 1-d quadrature of it")
@register(_FAMILIES, [Uniform], "closed form")
@register([Stationary], [Gaussian, TruncatedGaussian, Uniform, Product], "1-d quadrature (independent coordinates)")
class CoordinateEmbedding(Embedding):
    """A product kernel under independent coordinates.

    mean(x) = prod_i mu_i(x_i),  variance = prod_i int int k_i p_i p_i.
    """

    def __init__(self, kernel: Kernel, measure: Measure) -> None:
        self.lines = lines(kernel, measure)
        methods = list(dict.fromkeys(line.method for line in self.lines))
        super().__init__(kernel, measure, "; ".join(methods))

    @property
    def accuracy(self) -> float:
        """Relative errors of factors add up."""
        return sum(line.accuracy for line in self.lines)

    def _mean(self, x: Array) -> Array:
        total = self.lines[0].mean(x[:, 0])
        for i, line in enumerate(self.lines[1:], start=1):
            total = total * line.mean(x[:, i])
        return total

    def _gradient(self, x: Array) -> Array:
        others = products_of_others([line.mean(x[:, i]) for i, line in enumerate(self.lines)])
        return np.column_stack([line.gradient(x[:, i]) * others[i] for i, line in enumerate(self.lines)])

    def _variance(self) -> float:
        total = 1.0
        for line in self.lines:
            total *= line.variance()
        return total


def lines(kernel: Kernel, measure: Measure) -> list[Line]:
    """Return the one-dimensional embeddings whose product is that of the kernel and the measure."""
    kernels = kernel.factors(measure.dim)
    if kernels is None:
        raise refuse(kernel, measure, "the kernel is not a product over coordinates")
    densities = densities_of(measure)
    if densities is None:
        raise refuse(kernel, measure, "the coordinates of the measure depend on each other")
    if not all(isinstance(k, Anova) or of_difference(k) for k in kernels):
        raise refuse(kernel, measure, "1-d quadrature needs factors that are functions of x - y")
    if any(map(periodic, kernels)) and (np.any(measure.lower < 0.0) or np.any(measure.upper > 1.0)):
        raise refuse(kernel, measure, "a periodic kernel needs a measure on the unit cube")
    return [embed_line(k, p) for k, p in zip(kernels, densities, strict=True)]


def densities_of(measure: Measure) -> list[Density] | None:
    """Return the densities of independent coordinates, or None if the coordinates depend on each other."""
    if isinstance(measure, TruncatedGaussian):
        rows = zip(measure.mean, np.sqrt(measure.variance), measure.lower, measure.upper, strict=True)
        return [NormalOnInterval(*map(float, row)) for row in rows]
    if isinstance(measure, Uniform):
        return [UniformOnInterval(float(a), float(b)) for a, b in zip(measure.lower, measure.upper, strict=True)]
    if isinstance(measure, Gaussian) and measure.factors is not None:
        moments = zip(measure.mean, np.sqrt(np.diagonal(measure.cov)), strict=True)
        return [NormalOnInterval(float(m), float(s)) for m, s in moments]
    if isinstance(measure, Univariate):
        return [density_of(measure.distribution)]
    if isinstance(measure, Discrete):
        return [PointMasses(measure.values, measure.probabilities)]
    if isinstance(measure, Product) and measure.factors is not None:
        return [density for part in measure.parts for density in densities_of(part) or ()]
    return None


def density_of(distribution: Any) -> Density:
    """Return the density of a frozen distribution; norm, uniform and truncnorm are recognised."""
    from scipy import stats

    shapes, loc, scale = parameters(distribution)
    family = type(distribution.dist)
    if family is type(stats.norm):
        return NormalOnInterval(float(loc), float(scale))
    if family is type(stats.uniform):
        return UniformOnInterval(float(loc), float(loc) + float(scale))
    if family is type(stats.truncnorm):
        lower, upper = (float(loc) + float(scale) * float(bound) for bound in shapes)
        return NormalOnInterval(float(loc), float(scale), lower, upper)
    return DistributionDensity(distribution)


def cross_coordinates(kernel: Kernel, first: CoordinateEmbedding, second: CoordinateEmbedding) -> float:
    """Return the double integral of the kernel under the measures of two of its embeddings."""
    return float(np.prod(cross_factors(kernel, first, second)))


def cross_factors(kernel: Kernel, first: CoordinateEmbedding, second: CoordinateEmbedding) -> Array:
    """Return the double integrals of the factors of the kernel under the measures of two of its embeddings, (d,)."""
    kernels = kernel.factors(first.dim)
    assert kernels is not None
    return np.array([_cross(k, a, b) for k, a, b in zip(kernels, first.lines, second.lines, strict=True)])


def _cross(kernel: Kernel, a: Line, b: Line) -> float:
    """Return the double integral of a one-dimensional kernel under the densities of two of its embeddings."""
    p, q = a.p, b.p
    if isinstance(p, NormalOnInterval) and isinstance(q, NormalOnInterval) and not (p.truncated or q.truncated):
        # The difference of the two is Gaussian.
        difference = NormalOnInterval(p.mean - q.mean, float(np.hypot(p.sd, q.sd)))
        return float(embed_line(kernel, difference).mean(np.zeros(1))[0])
    return q.expectation(a, a.breaks()).value  # type: ignore[no-any-return]
