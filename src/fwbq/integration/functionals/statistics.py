"""Statistics of weighted values, column by column: variance, standard deviation, quantile, frequency."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .sampled import Statistic

FloatArray = NDArray[np.float64]


def variance(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the variance of each column of values (q, D) under weights (q,) that sum to one.

    Examples
    --------
    >>> variance(np.array([[0.0], [2.0]]), np.array([0.5, 0.5]))
    array([1.])
    """
    # Relative to the first row, so that a large constant does not cancel.
    moved = values - values[0]
    return np.asarray(np.maximum(weights @ moved**2 - (weights @ moved) ** 2, 0.0))


def deviation(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the standard deviation of each column."""
    return np.sqrt(variance(values, weights))


def frequency_above(threshold: float) -> Statistic:
    """Return the statistic that is the weight of the values above a threshold."""

    def above(values: FloatArray, weights: FloatArray) -> FloatArray:
        return np.asarray(weights @ (values > threshold))

    return above


def quantile_at(q: float, *, from_above: bool = False) -> Statistic:
    """Return the statistic that is the q-quantile; with `from_above` weights are added up from the largest value.

    The distribution function is interpolated between the values, each of which stands for half its weight on both
    sides. Added up from the end that is nearer, the weights of nodes that lie mostly in a tail need not sum to one.

    Examples
    --------
    >>> quantile_at(0.5)(np.array([[3.0], [1.0], [2.0]]), np.full(3, 1.0 / 3.0))
    array([2.])
    """

    def quantile(values: FloatArray, weights: FloatArray) -> FloatArray:
        signed = -values if from_above else values
        order = np.argsort(signed, axis=0)
        w = weights[order]
        position = np.cumsum(w, axis=0) - 0.5 * w
        ordered = np.take_along_axis(signed, order, axis=0)
        level = 1.0 - q if from_above else q
        found = np.array([np.interp(level, p, v) for p, v in zip(position.T, ordered.T, strict=True)])
        return -found if from_above else found

    return quantile
