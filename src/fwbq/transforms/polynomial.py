"""The part of an integrand that is a polynomial: it is integrated exactly, and only the rest on the net."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: In more dimensions the few terms of a degree that is worth it are too many for the points.
MOST_DIMENSIONS = 3
#: The coefficients are found from no more points than these, the first ones of the net.
MOST_POINTS = 4096
#: Points per term, most terms, and the largest degree. Least squares on evenly spread points are stable from a few
#: points per term on; 170 terms (degree 16 in two dimensions, 8 in three) take a tenth of a second.
POINTS_PER_TERM, MOST_TERMS, LARGEST_DEGREE = 12, 170, 20
#: The polynomial is subtracted if less than this part of the variance is left at points that it was not fitted to. The
#: net integrates the smooth part of a function with kinks or jumps so well that nothing is gained by subtracting it.
LARGEST_REST = 0.01
#: Points at which the polynomial is evaluated at a time.
BLOCK = 2**13


@dataclass(frozen=True, eq=False)
class Polynomial:
    r"""A polynomial on the unit cube whose integral is zero, :math:`\sum_k c_k \prod_i P_{k_i}(2 u_i - 1)`.

    Attributes
    ----------
    coefficients : (p + 1, ..., p + 1) array
        c, one axis for each coordinate, of products of Legendre polynomials scaled to mean square one; that of the
        constant is zero.
    """

    coefficients: FloatArray

    @property
    def degree(self) -> int:
        """Total degree."""
        return len(self.coefficients) - 1

    def __call__(self, u: FloatArray) -> FloatArray:
        """Return the polynomial at points u (n, d) of the unit cube, shape (n,)."""
        total = np.empty(len(u))
        for start in range(0, len(u), BLOCK):
            legendre = _legendre(u[start : start + BLOCK], self.degree)
            part = self.coefficients @ legendre[:, :, -1]
            for i in range(u.shape[1] - 2, -1, -1):
                part = np.einsum("...kn,kn->...n", part, legendre[:, :, i])
            total[start : start + BLOCK] = part
        return total


def polynomial_part(u: FloatArray, values: FloatArray) -> Polynomial | None:
    """Return the polynomial that explains nearly all of the variance of values, if there is one.

    Least squares on the first half of the points, of every total degree that has enough points; the degree that leaves
    the least variance on the second half is fitted to both. Because the integral of the polynomial is known, the rest
    has the integral of f, whatever the coefficients are: they need not be right for the answer to be.

    Parameters
    ----------
    u : (n, d) array
        Points of the unit cube, evenly spread.
    values : (n,) array

    Returns
    -------
    Polynomial or None
        None in more than three dimensions, for few points, or when more than a hundredth of the variance is left.

    Examples
    --------
    >>> u = np.random.default_rng(0).random((1024, 2))
    >>> f = np.exp(u @ [1.0, 0.5])
    >>> bool(np.std(f - polynomial_part(u, f)(u)) < 1e-4)
    True
    >>> polynomial_part(u, np.where(u[:, 0] < 0.3, 0.0, 1.0)) is None
    True
    """
    dim, n = u.shape[1], min(len(u), MOST_POINTS)
    degree = _largest_degree(dim, n // 2)
    if dim > MOST_DIMENSIONS or degree < 1 or not np.ptp(values[:n]) > 0.0:
        return None
    exponents = np.array(sorted((k for k in product(range(degree + 1), repeat=dim) if sum(k) <= degree), key=sum))
    legendre = _legendre(u[:n], degree)
    terms = np.ones((n, len(exponents)))
    for i in range(dim):
        terms *= legendre[exponents[:, i], :, i].T
    half = n // 2
    q, r = np.linalg.qr(terms[:half])
    projected = q.T @ values[:half]
    left = {}
    for total in range(1, degree + 1):
        count = comb(dim + total, dim)
        found = np.linalg.solve(r[:count, :count], projected[:count])
        left[count] = float(np.var(values[half:n] - terms[half:, :count] @ found))
    count = min(left, key=left.__getitem__)
    if not left[count] < LARGEST_REST * float(np.var(values[half:n])):
        return None
    found = np.linalg.lstsq(terms[:, :count], values[:n], rcond=None)[0]
    used = int(exponents[count - 1].sum())
    coefficients = np.zeros((used + 1,) * dim)
    coefficients[tuple(exponents[1:count].T)] = found[1:]
    return Polynomial(coefficients)


def _largest_degree(dim: int, points: int) -> int:
    """Return the largest total degree that this number of points determines."""
    degree = 0
    most = min(points // POINTS_PER_TERM, MOST_TERMS)
    while degree < LARGEST_DEGREE and comb(dim + degree + 1, dim) <= most:
        degree += 1
    return degree


def _legendre(u: FloatArray, degree: int) -> FloatArray:
    """Return the Legendre polynomials of each coordinate, scaled to mean square one, shape (degree + 1, n, d)."""
    t = 2.0 * u - 1.0
    values = np.empty((degree + 1, *u.shape))
    values[0] = 1.0
    if degree:
        values[1] = t
    for k in range(1, degree):
        values[k + 1] = ((2 * k + 1) * t * values[k] - k * values[k - 1]) / (k + 1)
    return np.asarray(values * np.sqrt(2.0 * np.arange(degree + 1) + 1.0)[:, None, None])
