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
from itertools import islice
from typing import Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from .._linalg import (
    SMALLEST_JITTER,
    UNIT_ROUNDOFF,
    CholeskyFactor,
    ExactMatrix,
    equilibration,
    exact_dot,
    jittered_cholesky,
    numerical_rank,
    power_of_two,
    sum_parts,
)

FloatArray = NDArray[np.float64]

#: Relative error that the floor allows for what is common to all entries of K, to all of z, and for k_PP: a constant
#: such as l / sqrt(l^2 + s^2), in units of roundoff. Closed forms take half a dozen rounded operations.
COMMON_ERROR = 8 * UNIT_ROUNDOFF
#: The same for what differs from entry to entry. A Gaussian kernel takes five rounded operations in the exponent and
#: one exponential: its entries are off by at most 1 + 5 t roundoffs, t = -log k, and by 0.7 in root mean square where
#: weights are large (t < 1).
ENTRY_ERROR = 4 * UNIT_ROUNDOFF
#: The same for the entries of random features, whose phases w'x + b have absolute errors of a few |w'x| roundoffs.
FEATURE_ERROR = 32 * UNIT_ROUNDOFF
#: Where the jitter starts: a few roundings of K. It is raised by powers of ten until the factorisation succeeds.
LEAST_JITTER = 1e-15
#: Refinement steps on the matrix without jitter. Twenty gained less than 1 % where rounding limits the result.
REFINEMENTS = 3
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


class RidgePath:
    """w(r) = argmin mmd2(w) + r |w|^2 for every ridge r, from one eigendecomposition.

    With K = Q diag(e) Q' (in variables scaled to a unit diagonal), w = Q (Q'z) / (e + r), and with the constraint
    o'w = 1 a multiple of Q (Q'o) / (e + r) is added.
    """

    def __init__(self, K: FloatArray, z: FloatArray, ones: FloatArray, scale: FloatArray, constant: bool) -> None:
        e, self._q = scipy.linalg.eigh(K, check_finite=False)
        self._e = np.maximum(e, 0.0)
        self._z, self._o = self._q.T @ z, self._q.T @ ones
        self._scale, self._constant = scale, constant

    def weights(self, ridge: float) -> FloatArray:
        """Return the weights of this `ridge`, relative to the diagonal of K."""
        d = 1.0 / (self._e + ridge)
        c = d * self._z
        if self._constant:
            c = c + d * self._o * ((1.0 - self._o @ c) / (self._o @ (d * self._o)))
        w: FloatArray = self._scale * (self._q @ c)
        return w

    def capped(self, cap: float) -> tuple[FloatArray, float]:
        """Return the weights of the smallest ridge with sum |w| <= `cap` (within 1e-12), and that ridge."""
        limit = cap * (1.0 + 1e-12)
        low, high = math.log(SMALLEST_JITTER), math.log(SMALLEST_JITTER)
        w = self.weights(math.exp(high))
        # At exp(80) the weights are those of an infinite ridge to working precision: zero, or with the constraint its
        # limit.
        while np.abs(w).sum() > limit and high < 80.0:
            low, high = high, high + 2.0
            w = self.weights(math.exp(high))
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            trial = self.weights(math.exp(middle))
            if np.abs(trial).sum() > limit:
                low = middle
            else:
                high, w = middle, trial
        return w, math.exp(high)


def _total(
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
    # Large weights are brought to one by a power of two, which changes no bit: their fourth powers would overflow.
    size = max(1.0, power_of_two(0.5 * float(np.max(np.abs(w), initial=0.0))))
    w, z, variance = w / size, z / size, variance / size / size
    unit = power_of_two(max(size * size * variance, size * float(np.max(np.abs(z), initial=0.0))))
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
    return _total(variance / unit, w, z / unit, terms, square, accuracy, unit * size * size)


class GramWorstCase:
    """mmd2(w) from the Gram matrix.

    Everything is scaled to a unit diagonal by powers of two, which changes no bit and makes the jitter relative.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix, exactly symmetric.
    z : (n,) array
        Mean element at the points.
    variance : float
        k_PP.
    accuracy : float
        Relative error of z and k_PP beyond rounding, which is allowed for anyway.
    """

    def __init__(self, K: FloatArray, z: FloatArray, variance: float, accuracy: float = 0.0) -> None:
        diagonal = np.diagonal(K)
        self._unit = power_of_two(float(np.max(diagonal, initial=0.0)))
        self._scale = s = equilibration(diagonal / self._unit)
        self._K = (s[:, None] * (K / self._unit)) * s
        self._z = s * (z / self._unit)
        self._variance = variance / self._unit
        self._accuracy = accuracy
        self._exact = ExactMatrix(self._K)
        self._squares = self._K**2
        self.size = len(z)

    def evaluate(self, w: FloatArray) -> Evaluation:
        """Return mmd2(w) with its floor."""
        w = w / self._scale
        return self._evaluate(w, self._exact.dot(w))

    def _evaluate(self, w: FloatArray, Kw: FloatArray) -> Evaluation:
        terms = exact_dot(np.broadcast_to(w[:, None], Kw.shape), Kw)
        square = float(w**2 @ (self._squares @ w**2))
        return _total(self._variance, w, self._z, terms, square, self._accuracy, self._unit)

    def candidates(self, constant: bool) -> Iterator[tuple[FloatArray, Evaluation]]:
        """Yield the iterates of refinement for rising jitter, until a larger one cannot lower the error."""
        lower, jitter = jittered_cholesky(self._K, LEAST_JITTER)
        for _ in range(JITTER_LADDER):
            for w, Kw in self._refined(lower, constant):
                evaluation = self._evaluate(w, Kw)
                yield self._scale * w, evaluation
            if evaluation.value > 100.0 * evaluation.floor:
                return
            lower, jitter = jittered_cholesky(self._K, 10.0 * jitter)

    def quick_weights(self, constant: bool) -> tuple[FloatArray, Evaluation]:
        """Return the weights of the least jitter after one step of refinement, with their error."""
        lower, _ = jittered_cholesky(self._K, LEAST_JITTER)
        *_, (w, Kw) = islice(self._refined(lower, constant), 2)
        return self._scale * w, self._evaluate(w, Kw)

    def _refined(self, lower: FloatArray, constant: bool) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield the solution w with the factor L of K + jitter, and its refinements on K itself, each with K w.

        Refinement with a jitter is Tikhonov's regularisation iterated: directions are added in the order of their
        eigenvalues, so that every iterate is a sensible answer, the next with less bias and larger weights.
        """
        factor = CholeskyFactor(lower, np.ones(self.size), 0.0, self.size)
        v = factor.solve(self._scale)
        total = float(self._scale @ v)
        w, Kw = np.zeros(self.size), np.zeros((self.size, 1))
        for _ in range(1 + REFINEMENTS):
            residual = sum_parts(self._z, -Kw)
            step = factor.solve(residual)
            if constant:
                # The multiplier of the constraint is removed before the last solve: removed after it, large terms
                # cancel.
                residual = residual - self._scale * (float(self._scale @ step) / total)
                step = factor.solve(residual)
                missing = 1.0 - math.fsum((self._scale * w).tolist())
                step = step + v * ((missing - float(self._scale @ step)) / total)
            converged = bool(np.all(np.abs(step) <= 1e-15 * np.max(np.abs(w))))
            w = w + step
            if constant:
                # What rounding of large terms left missing is spread over the points, for a sum of one to the last
                # digits: evenly, but for points where the kernel is large, which get less.
                missing = 1.0 - math.fsum((self._scale * w).tolist())
                w = w + self._scale * (missing / float(self._scale @ self._scale))
            Kw = self._exact.dot(w)
            yield w, Kw
            if converged:
                return

    def ridge_path(self, constant: bool) -> RidgePath:
        """Return the weights as a function of a ridge."""
        return RidgePath(self._K, self._z, self._scale, self._scale, constant)

    def rank(self) -> int:
        """Return the numerical rank of K."""
        return numerical_rank(self._K)


class FeatureWorstCase:
    """mmd2(w) = |Phi'w - m|^2 for a kernel with D explicit features, in O(n D min(n, D)).

    A sum of squares does not cancel, so the floor is far below that of the Gram matrix.

    Parameters
    ----------
    features : (n, D) array
        Phi, with K = Phi Phi'.
    mean_features : (D,) array
        m, with z = Phi m and k_PP = |m|^2.
    accuracy : float
        Error of m beyond rounding, as a part of the largest value of each feature.
    """

    def __init__(self, features: FloatArray, mean_features: FloatArray, accuracy: float = 0.0) -> None:
        self._accuracy = accuracy
        self._unit = power_of_two(float(np.max(np.abs(features), initial=0.0)))
        self._phi = features / self._unit
        self._m = mean_features / self._unit
        self._exact = ExactMatrix(np.ascontiguousarray(self._phi.T))
        self.size = len(features)

    def evaluate(self, w: FloatArray) -> Evaluation:
        """Return mmd2(w) with its floor."""
        residual = sum_parts(-self._m, self._exact.dot(w))
        value = math.fsum(exact_dot(residual, residual))
        largest = np.max(np.abs(self._phi), axis=0, initial=0.0)
        error = FEATURE_ERROR * float(np.linalg.norm(largest * np.abs(w).sum() + np.abs(self._m)))
        error += self._accuracy * float(np.linalg.norm(largest))
        floor = error * (error + 2.0 * math.sqrt(value))
        return Evaluation(value * self._unit**2, floor * self._unit**2)

    def candidates(self, constant: bool) -> Iterator[tuple[FloatArray, Evaluation]]:
        """Yield least-squares solutions of least norm for a rising cut of the singular values."""
        phi, target, start = self._phi, self._m, np.zeros(self.size)
        if constant:
            # w = 1/n + v with v orthogonal to 1: least squares of least norm on the centred features keeps it so.
            phi, start = phi - phi.mean(axis=0), np.full(self.size, 1.0 / self.size)
        u, s, vt = scipy.linalg.svd(phi, full_matrices=False, check_finite=False)
        cut = max(phi.shape) * UNIT_ROUNDOFF
        for _ in range(JITTER_LADDER):
            keep = s > cut * s[0] if s[0] > 0 else np.zeros(len(s), dtype=bool)
            w = start
            for _ in range(2):
                residual = sum_parts(target, -self._exact.dot(w))
                w = w + u[:, keep] @ ((vt[keep] @ residual) / s[keep])
                if constant:
                    w = w + (1.0 - math.fsum(w.tolist())) / self.size
            yield w, self.evaluate(w)
            cut *= 10.0

    def ridge_path(self, constant: bool) -> RidgePath:
        """Return the weights as a function of a ridge."""
        ones = np.ones(self.size)
        return RidgePath(self._phi @ self._phi.T, self._phi @ self._m, ones, ones, constant)

    def rank(self) -> int:
        """Return the numerical rank of K."""
        s = scipy.linalg.svdvals(self._phi, check_finite=False)
        return int(np.sum(s > max(self._phi.shape) * UNIT_ROUNDOFF * max(s[0], 0.0))) if s[0] > 0 else 0
