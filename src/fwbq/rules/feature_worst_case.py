"""The squared error at points by finitely many features of the kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy.linalg

from .._linalg import (
    UNIT_ROUNDOFF,
    ExactMatrix,
    exact_dot,
    power_of_two,
    sum_parts,
)
from .ridge_path import RidgePath
from .worst_case import JITTER_LADDER, Evaluation, FloatArray

#: The same for the entries of random features, whose phases w'x + b have absolute errors of a few |w'x| roundoffs.
FEATURE_ERROR = 32 * UNIT_ROUNDOFF


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
