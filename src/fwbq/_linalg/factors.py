"""Symmetric positive solves for Gram matrices that are singular to working precision.

A Gram matrix is factored after a symmetric scaling by powers of two, with a small multiple of the identity (the
*jitter*) added only when its pivots ask for it. What the jitter spoils, iterative refinement on the matrix itself
repairs where the data can tell.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
UNIT_ROUNDOFF = 2.0**-53


class Factor(Protocol):
    """What the solves of a Gram matrix K offer, whichever way it was factored."""

    @property
    def size(self) -> int:
        """Order n of the matrix."""

    @property
    def jitter(self) -> float:
        """What was added to the diagonal, relative to it."""

    def solve(self, b: FloatArray) -> FloatArray:
        """Return K^-1 b for `b` of shape (n,) or (n, m)."""

    def quadratic(self, b: FloatArray) -> FloatArray:
        """Return b' K^-1 b, one number per column; never negative."""

    def inverse(self) -> FloatArray:
        """Return K^-1, shape (n, n)."""

    def inverse_diagonal(self) -> FloatArray:
        """Return the diagonal of K^-1, shape (n,); positive."""

    def whiten(self, b: FloatArray) -> FloatArray:
        """Return W b for `b` of shape (n,) or (n, m), W a square root of the inverse: W'W = K^-1."""

    def whiten_transposed(self, b: FloatArray) -> FloatArray:
        """Return W'b, so that ``whiten_transposed(whiten(b))`` is K^-1 b."""

    def log_determinant(self) -> float:
        """Return log |K|."""

    def mean_square(self, b: FloatArray, used: int) -> FloatArray:
        """Return b' K^-1 b per independent value, `used` of which are spent: the estimate of a variance."""

    def noise(self, w: FloatArray) -> float:
        """Return w'D w, D what the jitter added to K: its share in the variance of a weighted sum of values."""

    @property
    def independent(self) -> tuple[NDArray[np.intp], Factor] | None:
        """Rows that are independent to working precision, with their factor; None when all are, or are not known."""


def equilibration(diagonal: FloatArray) -> FloatArray:
    """Return powers of two s that bring the diagonal of diag(s) K diag(s) into [1/2, 2) (1 where the diagonal is 0)."""
    if ((diagonal >= 0.5) & (diagonal < 2.0)).all():
        return np.ones(len(diagonal))
    exponent = np.frexp(np.where(diagonal > 0, diagonal, 1.0))[1]
    return np.asarray(np.ldexp(1.0, -(exponent // 2)))


def triangular_solve(lower: FloatArray, b: FloatArray, *, transposed: bool = False) -> FloatArray:
    """Return L^-1 b or L^-T b: LAPACK itself, without the checks that a search would pay for hundreds of times."""
    if b.size == 0:
        return b
    x, _ = scipy.linalg.lapack.dtrtrs(lower, b, lower=1, trans=int(transposed))
    return np.asarray(x)
