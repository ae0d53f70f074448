"""Products over coordinates: a kernel and a measure that both factorise leave one integral per coordinate."""

from math import sqrt
from typing import Any

import numpy as np

from .._validate import Array
from ..kernels import ExpQuad, Kernel, Matern, Matern12, Matern32, Matern52, PeriodicSobolev
from ..measures import Gaussian, Measure, Product, TruncatedGaussian, Uniform
from .base import Embedding, products_of_others, refuse, register
from .exp_quad import ExpQuadNormal, ExpQuadUniform
from .line import Density, Line, UniformOnInterval
from .matern import MaternNormal, MaternUniform
from .normal import NormalOnInterval


@register([Matern12, Matern32, Matern52], [Gaussian], "closed form (independent coordinates)")
@register([ExpQuad, Matern12, Matern32, Matern52], [TruncatedGaussian], "closed form, variance by 1-d quadrature of it")
@register([ExpQuad, Matern12, Matern32, Matern52], [Uniform], "closed form")
class CoordinateEmbedding(Embedding):
    """A product kernel under independent coordinates.

    mean(x) = prod_i mu_i(x_i),  variance = prod_i int int k_i p_i p_i.
    """

    def __init__(self, kernel: Kernel, measure: Measure) -> None:
        self._lines = lines(kernel, measure)
        methods = list(dict.fromkeys(line.method for line in self._lines))
        super().__init__(kernel, measure, "; ".join(methods))

    def _mean(self, x: Array) -> Array:
        total = self._lines[0].mean(x[:, 0])
        for i, line in enumerate(self._lines[1:], start=1):
            total = total * line.mean(x[:, i])
        return total

    def _gradient(self, x: Array) -> Array:
        others = products_of_others([line.mean(x[:, i]) for i, line in enumerate(self._lines)])
        return np.column_stack([line.gradient(x[:, i]) * others[i] for i, line in enumerate(self._lines)])

    def _variance(self) -> float:
        total = 1.0
        for line in self._lines:
            total *= line.variance()
        return total


def lines(kernel: Kernel, measure: Measure) -> list[Line]:
    """Return the one-dimensional embeddings whose product is that of the kernel and the measure."""
    densities = densities_of(measure)
    kernels = kernel.factors(measure.dim)
    if kernels is None:
        raise refuse(kernel, measure, "the kernel is not a product over coordinates")
    if densities is None:
        raise refuse(kernel, measure, "the coordinates of the measure are not independent, and only ExpQuad can do without")
    return [line_of(k, p) for k, p in zip(kernels, densities, strict=True)]


def densities_of(measure: Measure) -> list[Density] | None:
    """Return the densities of independent coordinates, or None if the coordinates depend on each other."""
    if isinstance(measure, TruncatedGaussian):
        rows = zip(measure.mean, np.sqrt(measure.variance), measure.lower, measure.upper, strict=True)
        return [NormalOnInterval(*map(float, row)) for row in rows]
    if isinstance(measure, Uniform):
        return [UniformOnInterval(float(a), float(b)) for a, b in zip(measure.lower, measure.upper, strict=True)]
    if isinstance(measure, Gaussian) and measure.factors is not None:
        return [NormalOnInterval(float(m), sqrt(v)) for m, v in zip(measure.mean, np.diagonal(measure.cov), strict=True)]
    return None


def line_of(kernel: Kernel, p: Density) -> Line:
    """Return the embedding of a one-dimensional kernel: in closed form if there is one, else by quadrature."""
    if isinstance(kernel, ExpQuad) and isinstance(p, NormalOnInterval):
        return ExpQuadNormal(float(kernel.lengthscales(1)[0]), kernel.variance, p)
    if isinstance(kernel, ExpQuad) and isinstance(p, UniformOnInterval):
        return ExpQuadUniform(float(kernel.lengthscales(1)[0]), kernel.variance, p)
    if isinstance(kernel, Matern) and isinstance(p, NormalOnInterval):
        return MaternNormal(round(2.0 * kernel.smoothness), float(kernel.lengthscales(1)[0]), kernel.variance, p)
    if isinstance(kernel, Matern) and isinstance(p, UniformOnInterval):
        return MaternUniform(round(2.0 * kernel.smoothness), float(kernel.lengthscales(1)[0]), kernel.variance, p)
    raise NotImplementedError
