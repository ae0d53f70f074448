"""The double integral of a kernel under two measures."""

import numpy as np

from .. import _validate
from .._validate import Array
from ..kernels import Anova, ExpQuad, Kernel, RandomFourier, Stein
from ..measures import Empirical, Gaussian, GaussianMixture, Measure, as_measure
from .base import embed
from .combination import terms
from .coordinates import CoordinateEmbedding, cross_coordinates, cross_factors
from .gaussian import double_sum, scaled_components
from .random_fourier import FeatureEmbedding


def cross(kernel: Kernel, p: Measure, q: Measure) -> float:
    """Return the double integral of k(x, y) under p(dx) q(dy).

    With it the squared distance of two measures is variance(p) - 2 cross + variance(q).

    Parameters
    ----------
    kernel : Kernel
    p, q : Measure, or frozen scipy.stats distribution
        Of the same dimension; their types may differ.

    Returns
    -------
    float

    Raises
    ------
    TypeError
        If the kernel cannot be embedded under one of the measures.

    Examples
    --------
    >>> import numpy as np
    >>> from fwbq import ExpQuad, Gaussian, Uniform
    >>> p, q = Gaussian(0.0, 1.0), Gaussian(1.0, 2.0)
    >>> bool(np.isclose(cross(ExpQuad(1.0), p, q), 0.5 * np.exp(-1 / 8)))
    True
    >>> u = Uniform(0.0, 1.0)
    >>> bool(np.isclose(cross(ExpQuad(1.0), p, u), cross(ExpQuad(1.0), u, p), rtol=1e-13))
    True
    """
    p, q = as_measure(p, "p"), as_measure(q, "q")
    _validate.dimension(q.dim, p.dim, "q", "the measure p")
    if p is q:
        return embed(kernel, p).variance
    if isinstance(p, Empirical):
        return float(p.weights @ embed(kernel, q).mean(p.points))
    if isinstance(q, Empirical):
        return cross(kernel, q, p)
    parts = terms(kernel, p.dim)
    if len(parts) > 1 or parts[0][1] is not kernel:
        return sum(scale * _cross_term(term, p, q) for scale, term in parts)
    return _cross_term(kernel, p, q)


def _cross_term(kernel: Kernel, p: Measure, q: Measure) -> float:
    if isinstance(kernel, RandomFourier):
        return float(FeatureEmbedding(kernel, p).mean_features @ FeatureEmbedding(kernel, q).mean_features)
    if isinstance(kernel, Stein):
        # The integral over p vanishes at every y, if the kernel was made for p: embed checks that.
        return embed(kernel, p).variance
    gaussian = (Gaussian, GaussianMixture)
    if isinstance(kernel, ExpQuad) and isinstance(p, gaussian) and isinstance(q, gaussian):
        lengths = kernel.lengthscales(p.dim)
        return kernel.variance * double_sum(scaled_components(p, lengths), scaled_components(q, lengths))
    if isinstance(kernel, Anova):
        base = kernel.unit
        factors = cross_factors(base, CoordinateEmbedding(base, p), CoordinateEmbedding(base, q))
        return float(kernel.combine(factors))
    weights, first = _components(p)
    others, second = _components(q)
    values = [
        [cross_coordinates(kernel, CoordinateEmbedding(kernel, a), CoordinateEmbedding(kernel, b)) for b in second]
        for a in first
    ]
    return float(weights @ np.array(values) @ others)


def _components(measure: Measure) -> tuple[Array, tuple[Measure, ...]]:
    if isinstance(measure, GaussianMixture):
        return measure.weights, measure.components
    return np.ones(1), (measure,)
