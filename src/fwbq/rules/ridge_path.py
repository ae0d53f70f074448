"""Weights along a ridge: as short as a bound on the sum of their absolute values asks for."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from .._linalg import (
    SMALLEST_JITTER,
)

FloatArray = NDArray[np.float64]


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
