"""Functionals from values at the points of a net, without a process."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv
from scipy.stats import binom

from ...posterior import Estimate
from .sampled import Statistic

FloatArray = NDArray[np.float64]

#: Blocks of consecutive points that are left out in turn. Of a net of 2^m points each is a net by itself.
_BLOCKS = 16
_TAIL = 0.025
_UPPER = 1.959963984540054


def by_leaving_out(
    values: FloatArray, statistic: Statistic, *, lower: float = -math.inf, upper: float = math.inf
) -> Estimate:
    """Return a statistic of equally weighted values (n,), with the error of the jackknife over blocks.

    With T_r the statistic without block r of R, the squared error is (R - 1) / R sum_r (T_r - mean T)^2 on R - 1
    degrees of freedom. It is that of independent blocks, and so too large for a net.
    """
    n = len(values)
    edges = np.linspace(0, n, _BLOCKS + 1).astype(int)

    def of(part: FloatArray) -> float:
        return float(statistic(part[:, None], np.full(len(part), 1.0 / len(part)))[0])

    left = np.array([of(np.delete(values, slice(a, b))) for a, b in pairwise(edges)])
    error = math.sqrt((_BLOCKS - 1) / _BLOCKS * float(np.sum((left - left.mean()) ** 2)))
    return Estimate(of(values), error, error, float(_BLOCKS - 1), lower, upper)


def frequency(values: FloatArray, threshold: float, sign: float) -> Estimate:
    """Return the probability that f is above (sign 1) or below a threshold, as if the points were independent.

    The 95 % interval is that of Jeffreys, quantiles of Beta(k + 1/2, n - k + 1/2), from zero if k is zero and up to one
    if it is n: it has a width also when the event was never met.
    """
    n = len(values)
    k = int(np.sum(values > threshold)) if sign > 0.0 else int(np.sum(values < threshold))
    low = 0.0 if k == 0 else float(betaincinv(k + 0.5, n - k + 0.5, _TAIL))
    high = 1.0 if k == n else float(betaincinv(k + 0.5, n - k + 0.5, 1.0 - _TAIL))
    return Estimate(k / n, (k / n - low) / _UPPER, (high - k / n) / _UPPER, lower=0.0, upper=1.0)


def order_statistic(values: FloatArray, q: float) -> Estimate:
    """Return the q-quantile, with a 95 % interval between two of the values in order, as of independent points.

    The number of values below the quantile is binomial, whatever the distribution of f.
    """
    n = len(values)
    ordered = np.sort(values)
    low, high = (int(binom.ppf(tail, n, q)) for tail in (_TAIL, 1.0 - _TAIL))
    if low < 1 or high >= n:
        raise ValueError(
            f"`q` is {q:g}, which {n} values cannot bound from both sides: choose q between {4.0 / n:.2g} and "
            f'{1.0 - 4.0 / n:.4g}, raise `n`, or use `method="process"`'
        )
    middle = float(np.quantile(values, q))
    return Estimate(middle, max(middle - ordered[low - 1], 0.0) / _UPPER, max(ordered[high] - middle, 0.0) / _UPPER)
