"""Lines through nodes along one coordinate: what main and total effects are computed on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ...designs.qmc import sobol_points
from ...measures import Measure
from .nodes import balanced, normal_points

FloatArray = NDArray[np.float64]

#: Places along each line. Gauss rules of 16 nodes have the variance of sin on a full period to 1e-9, that of |x - 0.3|
#: to 1 %: a few lines have three times as many, which shows by how much the others are off.
PLACES, FINE_PLACES = 16, 48
#: Where places cost nothing but one-dimensional kernels.
MANY_PLACES = 96


@dataclass(frozen=True, eq=False)
class Lines:
    """Points (N, G, d): N lines along coordinate i, through nodes of the measure, with G places on each.

    Attributes
    ----------
    points : (N G, d) array
        Line by line.
    weights : (G,) array
        Of the places, so that they integrate along the line.
    places : (G,) array
        The coordinate itself.
    """

    points: FloatArray
    weights: FloatArray
    places: FloatArray

    def split(self, values: FloatArray) -> FloatArray:
        """Return values (N G, D) as an array (N, G, D)."""
        return values.reshape(-1, len(self.weights), values.shape[1])


def lines_along(measure: Measure, i: int, nodes: FloatArray, count: int = PLACES) -> Lines:
    """Return lines along coordinate i of a measure with independent coordinates.

    Parameters
    ----------
    measure : Measure
    i : int
    nodes : (N, d) array
        In coordinates in which the measure is standard normal.
    count : int
        Places along each line.
    """
    z, weights = _rule(measure, i, count)
    full = np.repeat(nodes, count, axis=0)
    full[:, i] = np.tile(z, len(nodes))
    points = measure.from_normal(full)
    return Lines(points, weights, points[:count, i])


def places_along(measure: Measure, i: int) -> tuple[FloatArray, FloatArray]:
    """Return places (G,) of coordinate i and weights that integrate under it, enough for kinks of a kernel."""
    z, weights = _rule(measure, i, MANY_PLACES)
    full = np.zeros((MANY_PLACES, measure.dim))
    full[:, i] = z
    return measure.from_normal(full)[:, i], weights


def _rule(measure: Measure, i: int, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the Gauss rule of coordinate i: Legendre in its levels where it is bounded, else Hermite."""
    if np.isfinite(measure.lower[i]) and np.isfinite(measure.upper[i]):
        t, weights = np.polynomial.legendre.leggauss(size)
        return np.asarray(ndtri(0.5 + 0.5 * t)), 0.5 * weights
    z, weights = np.polynomial.hermite_e.hermegauss(size)
    return z, weights / weights.sum()


def line_nodes(measure: Measure, size: int, blocks: int) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return evenly spread nodes (size, d) for lines in each of several independent blocks, and weights in each.

    They are the same in every call, and are given in coordinates in which the measure is standard normal.
    """
    cubes = [sobol_points(measure.dim, size, np.random.default_rng([5, block])) for block in range(blocks)]
    return [normal_points(u) for u in cubes], [balanced(measure, u) for u in cubes]
