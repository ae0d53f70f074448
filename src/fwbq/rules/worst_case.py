"""The worst-case error of weights on fixed points, evaluated as float64 allows, and the weights that make it smallest.

For points with Gram matrix K, mean element values z and double integral k_PP,

    mmd2(w) = k_PP - 2 w'z + w'K w = || mu - sum_i w_i k(., x_i) ||^2.

The three terms cancel almost entirely for good weights. They are summed without rounding (`_linalg`); what is left is
the rounding of K, z and k_PP themselves, and that is bounded and reported as the *floor*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._linalg import (
    UNIT_ROUNDOFF,
    ExactMatrix,
    exact_dot,
    power_of_two,
)
from .ridge_path import RidgePath

FloatArray = NDArray[np.float64]
#: Relative error that the floor allows for what is common to all entries of K, to all of z, and for k_PP: a constant
#: such as l / sqrt(l^2 + s^2), in units of roundoff. Closed forms take half a dozen rounded operations.
COMMON_ERROR = 8 * UNIT_ROUNDOFF
#: The same for what differs from entry to entry. A Gaussian kernel takes five rounded operations in the exponent and
#: one exponential: its entries are off by at most 1 + 5 t roundoffs, t = -log k, and by 0.7 in root mean square where
#: weights are large (t < 1).
ENTRY_ERROR = 4 * UNIT_ROUNDOFF
#: How many powers of ten the jitter is then raised in search of smaller weights, where rounding limits the result. On
#: 15 rules (ExpQuad, n = 20 to 150, one and two dimensions) 1, 3 and 5 powers left squared errors at most 31 %, 2e-5
#: and 1e-6 above those with eight.
JITTER_LADDER = 5
#: Entries of a Gram matrix held at once when it is only needed row by row: 8 MB.
_BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Evaluation:
    """Worst-case error of given weights.

    Attributes
    ----------
    value : float
        mmd2 as computed; below the floor it may be anything, also negative.
    floor : float
        Bound on the error of `value`.
    """

    value: float
    floor: float

    @property
    def stated(self) -> float:
        """A number that is positive, continuous and increasing in both parts; at most the floor, and 1 %, below mmd2.

        The truth is at most value + floor. Above 100 floors the value is returned as it is; below, 0.99 value + floor.
        """
        return max(self.value, 0.99 * max(self.value, 0.0) + self.floor)


class WorstCase(Protocol):
    """The quadratic function mmd2(w) on fixed points."""

    size: int

    def evaluate(self, w: FloatArray) -> Evaluation:
        """Return mmd2(w) with its floor."""

    def candidates(self, constant: bool) -> Iterator[tuple[FloatArray, Evaluation]]:
        """Yield weights that minimise mmd2, more and more smoothed; with `constant`, among those that sum to one."""

    def ridge_path(self, constant: bool) -> RidgePath:
        """Return the weights as a function of a ridge."""

    def rank(self) -> int:
        """Return the numerical rank of K."""


def best_weights(problem: WorstCase, constant: bool) -> FloatArray:
    """Return the weights with the smallest stated error.

    The weights K^-1 z can be so large that rounding, and not the choice of points, limits their error; smoother weights
    then have the smaller error *and* the smaller floor. So a few levels of smoothing are tried, and the weights of the
    smallest stated error are kept. Equal weights are tried too, so that the error is never larger than theirs.
    """
    w = np.full(problem.size, 1.0 / problem.size)
    best = problem.evaluate(w)
    for candidate, evaluation in problem.candidates(constant):
        if evaluation.stated <= best.stated:
            w, best = candidate, evaluation
    return w


def total(
    variance: float, w: FloatArray, z: FloatArray, gram: list[float], square: float, accuracy: float, unit: float
) -> Evaluation:
    """Sum k_PP - 2 w'z + w'K w exactly, the last given as terms `gram`, and bound the effect of rounding in the inputs.

    Errors common to all entries multiply the sums. Errors of the entries do not follow the weights' signs: they add up
    like the root of the sum of squares, `square` = sum_ij (w_i w_j K_ij)^2, times the root of n, because on a grid the
    n pairs at one distance share their rounding. `accuracy` is the relative error of z and k_PP, if it is not rounding;
    nothing is assumed about its signs. Against 120-digit arithmetic the error stayed below a third of this bound.
    """
    mean = exact_dot(-2.0 * w, z)
    value = math.fsum([variance, *mean, *gram])
    common = COMMON_ERROR * (variance + abs(math.fsum(mean)) + abs(math.fsum(gram)))
    entries = 2.0 * COMMON_ERROR * float(np.linalg.norm(w * z)) + ENTRY_ERROR * math.sqrt(len(w) * square)
    given = accuracy * (variance + 2.0 * float(np.abs(w) @ np.abs(z)))
    return Evaluation(value * unit, (common + entries + given) * unit)


def streamed_evaluation(
    kernel: Callable[[FloatArray, FloatArray], FloatArray],
    points: FloatArray,
    w: FloatArray,
    z: FloatArray,
    variance: float,
    accuracy: float = 0.0,
) -> Evaluation:
    """Return mmd2(w) with its floor, block by block: any number of points in little memory.

    Parameters
    ----------
    kernel : callable
        (n, d), (m, d) -> (n, m).
    points, w, z : (n, d), (n,), (n,) arrays
        Points, weights, mean element.
    variance, accuracy : float
        k_PP, and the relative error of z and k_PP.
    """
    unit = power_of_two(max(variance, float(np.max(np.abs(z), initial=0.0))))
    # Large weights are brought to one by a power of two, which changes no bit: their fourth powers would overflow.
    size = max(1.0, power_of_two(0.5 * float(np.max(np.abs(w), initial=0.0))))
    w, z, variance = w / size, z / size, variance / size / size
    terms: list[float] = []
    square = 0.0
    rows = max(1, _BLOCK_ENTRIES // len(points))
    for start in range(0, len(points), rows):
        block = kernel(points[start : start + rows], points) / unit
        part = ExactMatrix(block).dot(w)
        a = w[start : start + rows, None]
        terms.append(math.fsum(high := exact_dot(np.broadcast_to(a, part.shape), part)))
        terms.append(math.fsum([*high, -terms[-1]]))
        square += float(a[:, 0] ** 2 @ (block**2 @ w**2))
    return total(variance / unit, w, z / unit, terms, square, accuracy, unit * size * size)
