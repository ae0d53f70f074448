"""Nodes on which a modelled log integrand is exponentiated and summed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._quasi_random import quasi_random
from ..measures import Empirical, Gaussian, Measure
from .coordinates import Coordinates, LogScale

Array = NDArray[np.float64]

#: Nodes per coordinate of the tensor rule in 1, 2 and 3 dimensions; converged to 1e-6 in log evidence for likelihoods ten
#: times narrower than their prior, below the error of any affordable design.
_TENSOR = {1: 128, 2: 48, 3: 24}
#: Nodes of the quasi-random rule elsewhere.
_SPREAD = 2048
#: Probability left out in each tail.
_TAIL = 1e-13


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes and weights for one measure.

    Attributes
    ----------
    points : (Q, d) array
        In the model's coordinates.
    log_weights : (Q,) array
        Their exponentials sum to one.
    axes : tuple of (q,) arrays, or None
        The coordinates of a tensor rule, whose points are their product in C order.
    """

    points: Array
    log_weights: Array
    axes: tuple[Array, ...] | None


def nodes(measure: Measure, coordinates: Coordinates) -> Nodes:
    """Return a tensor Gauss rule where the measure factorises in at most three dimensions, else quasi-random points."""
    factors = measure.factors
    if measure.dim in _TENSOR and (factors is not None or isinstance(measure, Gaussian)):
        size = _TENSOR[measure.dim]
        if isinstance(measure, Gaussian) and not isinstance(coordinates, LogScale):
            # Whitened: a standard Gaussian in each coordinate, on an interval that leaves out 1e-15.
            sides = [_standard_gaussian(size)] * measure.dim
            return _tensor(sides)
        if factors is not None:
            return _tensor([_side(factor, coordinates, i, measure, size) for i, factor in enumerate(factors)])
    if isinstance(measure, Empirical):
        points, weights = measure.points, measure.weights
        if len(points) > _SPREAD:
            keep = np.linspace(0, len(points) - 1, _SPREAD).astype(int)
            points, weights = points[keep], weights[keep] / weights[keep].sum()
        with np.errstate(divide="ignore"):
            return Nodes(coordinates.forward(points), np.log(weights), None)
    points = measure.from_uniform(quasi_random(_SPREAD, measure.uniform_dim))
    return Nodes(coordinates.forward(points), np.full(len(points), -np.log(len(points))), None)


def _tensor(sides: list[tuple[Array, Array]]) -> Nodes:
    axes = tuple(s for s, _ in sides)
    points = np.stack([grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")], axis=1)
    log_weights = np.zeros(())
    for _, log_w in sides:
        log_weights = np.add.outer(log_weights, log_w)
    return Nodes(points, log_weights.ravel(), axes)


def _legendre(low: float, high: float, size: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [low, high]."""
    t, w = np.polynomial.legendre.leggauss(size)
    half = 0.5 * (high - low)
    return low + half * (t + 1.0), half * w


def _standard_gaussian(size: int) -> tuple[Array, Array]:
    s, w = _legendre(-8.0, 8.0, size)
    log_w = np.log(w) - 0.5 * s**2
    return s, log_w - np.log(np.sum(np.exp(log_w)))


def _side(factor: Measure, coordinates: Coordinates, i: int, measure: Measure, size: int) -> tuple[Array, Array]:
    """Nodes (q,) in coordinate i and their log weights, for one factor of a product measure.

    Gauss-Legendre in the coordinate times the density; where the density is too rough for that (it must sum to one to
    1e-6), Gauss-Legendre in the probability.
    """
    ends = factor.from_uniform(np.array([[_TAIL], [1.0 - _TAIL]]))
    if isinstance(coordinates, LogScale):
        offset = coordinates.offset[i]
        low, high = np.log1p(ends[:, 0] / offset)
        s, w = _legendre(low, high, size)
        x, slope = offset * np.expm1(s), offset * np.exp(s)
    else:
        centre, scale = measure.expectation[i], measure.scale[i]
        low, high = (ends[:, 0] - centre) / scale
        s, w = _legendre(low, high, size)
        x, slope = centre + scale * s, np.full(size, scale)
    log_w = np.log(w * slope) + factor.log_density(x[:, None])
    total = np.sum(np.exp(log_w))
    if abs(total - 1.0) < 1e-6:
        return s, log_w - np.log(total)
    u, w = _legendre(0.0, 1.0, size)
    x = factor.from_uniform(u[:, None])[:, 0]
    if isinstance(coordinates, LogScale):
        return np.log1p(x / coordinates.offset[i]), np.log(w)
    return (x - measure.expectation[i]) / measure.scale[i], np.log(w)
