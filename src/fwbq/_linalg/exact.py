"""Sums and products free of rounding.

Sums that cancel are formed without rounding: matrices and vectors are cut into slices short enough for BLAS to multiply
them exactly (Ozaki, Ogita, Oishi and Rump, Numerical Algorithms 59, 2012), and the slices are added with error-free
transformations. What remains is the rounding of the inputs, and no more.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def power_of_two(x: float) -> float:
    """Return the power of two 2**e with x in [2**(e-1), 2**e); 1 for zero (Python's frexp)."""
    return math.ldexp(1.0, math.frexp(x)[1]) if x else 1.0


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return s = fl(a + b) and the exact error e, with a + b = s + e (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return p = fl(a * b) and the exact error e, with a * b = p + e (Dekker; no overflow guard)."""
    p = a * b
    c = 134217729.0 * a  # 2**27 + 1 splits the 53 bits into halves of 26
    a1 = c - (c - a)
    c = 134217729.0 * b
    b1 = c - (c - b)
    a2, b2 = a - a1, b - b1
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


def exact_dot(a: FloatArray, b: FloatArray) -> list[float]:
    """Return terms whose exact sum (`math.fsum`) is the dot product of the arrays `a` and `b` of one shape."""
    p, e = two_product(a, b)
    return [*p.ravel().tolist(), *e.ravel().tolist()]


def _slices(a: FloatArray, bits: int) -> list[FloatArray]:
    """Cut |a| <= 1 into three arrays that add up to `a` exactly; the first two are multiples of 2**-bits, 2**-2bits."""
    out = []
    for level in (1, 2):
        shift = 1.5 * 2.0 ** (52 - level * bits)
        high = (a + shift) - shift
        out.append(high)
        a = a - high
    return [*out, a]


class ExactMatrix:
    """A matrix prepared for products with vectors that carry no rounding error to speak of.

    Entries and vector are cut into three slices; the products of the leading slices are exact in BLAS whatever the
    order of its sums, so results do not depend on the BLAS library. The error left is about ``size * 2**-95`` of the
    largest entry times the largest element.

    Parameters
    ----------
    a : (m, n) array
        Finite matrix. It is copied in slices (three times its memory).
    """

    def __init__(self, a: FloatArray) -> None:
        self.shape = a.shape
        self._scale = power_of_two(float(np.max(np.abs(a), initial=0.0)))
        # Two slices of b bits and a sum of n terms must fit 53 bits.
        self._bits = (52 - math.ceil(math.log2(a.shape[1] + 1))) // 2
        self._parts = _slices(a / self._scale, self._bits)

    def dot(self, w: FloatArray) -> FloatArray:
        """Return an (m, 9) array whose row sums, in exact arithmetic, are the product of the matrix with `w`."""
        scale = power_of_two(float(np.max(np.abs(w), initial=0.0)))
        slices = np.stack(_slices(w / scale, self._bits), axis=1)
        return np.concatenate([part @ slices for part in self._parts], axis=1) * (scale * self._scale)


def sum_parts(first: FloatArray, parts: FloatArray) -> FloatArray:
    """Return first + parts.sum(axis=1) as if summed in twice the working precision, then rounded."""
    high, low = first, np.zeros_like(first)
    for column in parts.T:
        high, error = two_sum(high, column)
        low = low + error
    return high + low
