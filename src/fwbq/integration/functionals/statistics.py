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
    """Return the statistic that is the weight of the values above a threshold.

    As in `quantile_at` each value stands for half its weight on both sides, and the distribution function is
    interpolated between the two values next to the threshold. A plain sum of weights is the same for all thresholds
    between two values: of a function of one input every block of nodes then has the same frequency but for one node,
    or exactly the same, and what differs between blocks says too little of their error.

    Examples
    --------
    >>> frequency_above(1.5)(np.array([[0.0], [1.0], [2.0], [3.0]]), np.full(4, 0.25))
    array([0.5])
    >>> frequency_above(1.9)(np.array([[0.0], [1.0], [2.0], [3.0]]), np.full(4, 0.25))
    array([0.4])
    """

    def above(values: FloatArray, weights: FloatArray) -> FloatArray:
        over = values > threshold
        total = np.asarray(weights @ over)
        upper, lower = np.where(over, values, np.inf), np.where(over, -np.inf, values)
        high, low = np.argmin(upper, axis=0), np.argmax(lower, axis=0)
        columns = np.arange(values.shape[1])
        v_high, v_low = upper[high, columns], lower[low, columns]
        between = np.isfinite(v_high) & np.isfinite(v_low)
        gap = np.where(between, v_high - v_low, 1.0)
        part = np.where(between, (threshold - np.where(between, v_low, threshold)) / gap, 0.5)
        moved = 0.5 * (weights[low] - part * (weights[low] + weights[high]))
        return np.where(between, np.maximum(total + moved, 0.0), total)

    return above


def frequency_below(threshold: float) -> Statistic:
    """Return the statistic that is the weight of the values below a threshold: of -f above its negative."""
    above = frequency_above(-threshold)

    def below(values: FloatArray, weights: FloatArray) -> FloatArray:
        return above(-values, weights)

    return below


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
