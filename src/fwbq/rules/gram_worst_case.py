"""The squared error at points by their Gram matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

import numpy as np

from .._linalg import (
    CholeskyFactor,
    ExactMatrix,
    equilibration,
    exact_dot,
    jittered_cholesky,
    numerical_rank,
    power_of_two,
    sum_parts,
)
from .ridge_path import RidgePath
from .worst_case import JITTER_LADDER, Evaluation, FloatArray, total

#: Where the jitter starts: a few roundings of K. It is raised by powers of ten until the factorisation succeeds.
LEAST_JITTER = 1e-15
#: Refinement steps on the matrix without jitter. Twenty gained less than 1 % where rounding limits the result.
REFINEMENTS = 3

#: Refinement that converges enlarges the weights by a few times at most; one that diverged, on 200 points of a smooth
#: kernel with a rough part of 1e-11, by 5,800.
DIVERGED = 100.0
#: Beyond it no rounding of a Gram matrix is the reason.
LARGEST_QUICK_JITTER = 1e-8


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
        return total(self._variance, w, self._z, terms, square, self._accuracy, self._unit)

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
        """Return the weights after one step of refinement, with their error, of the least jitter that is enough.

        Where K has rounding errors larger than the jitter, refinement diverges: weights then grow by orders of
        magnitude in a step, and a larger jitter is taken.
        """
        lower, jitter = jittered_cholesky(self._K, LEAST_JITTER)
        while True:
            first, *refined = islice(self._refined(lower, constant), 2)
            w, Kw = refined[0] if refined else first
            grown = float(np.abs(w).sum()) > DIVERGED * float(np.abs(first[0]).sum())
            if not grown or jitter > LARGEST_QUICK_JITTER:
                return self._scale * w, self._evaluate(w, Kw)
            lower, jitter = jittered_cholesky(self._K, 10.0 * jitter)

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
