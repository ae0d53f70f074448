r"""Normal orthant probabilities in one, two and three dimensions, along rays, in log domain.

For Z ~ N(0, R) with unit variances, :func:`log_orthant` gives log P(Z <= w c) for several w > 0 at once. That is
how the probability that rates are not negative depends on sigma: w = 1/sigma.

- One dimension: ``log_ndtr``.
- Two: Owen's T function, whose second argument is constant along a ray.
- Three: Plackett's identity as in Genz, Statistics and Computing 14 (2004), section 2: from Phi(h1) Phi2(h2, h3; r23),
  with r23 the largest correlation, along r12(x) = sin(x asin r12), r13(x) = sin(x asin r13), by Gauss-Legendre in
  x = 1 - (1-s)^3, which resolves the steep end of nearly singular R.

These are accurate to about 1e-15 (1e-9 for nearly singular R) *absolutely*. Where the probability itself is below
1e-8 it is computed again as an integral of positive terms over the constraint that binds, accurate relatively.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp, ndtr, owens_t

from .._gauss import gauss_legendre

__all__ = ["decay", "log_orthant"]

FloatArray = NDArray[np.float64]

# Probabilities below this are computed again by a method that is accurate relatively: the others are right to about
# 1e-15 absolutely, so that 1e-8 keeps seven digits.
_SMALL = 1e-8
# Stands for zero where a zero would be divided by.
_TINY = 1e-300
# Least value of the determinant of a correlation matrix, which rounding may take below zero.
_FLOOR = 1e-14
# Below this the matrix of the binding constraints is singular to rounding.
_SINGULAR = 1e-13


def log_orthant(c: FloatArray, r: FloatArray, w: FloatArray) -> FloatArray:
    """Log of P(Z_1 <= w c_1, ..., Z_d <= w c_d) for Z ~ N(0, R).

    Parameters
    ----------
    c : (m, d) array
        Directions, d = 1, 2 or 3.
    r : (m, d, d) array
        Correlation matrices, possibly singular.
    w : (m, q) array
        Positive.

    Returns
    -------
    (m, q) array
    """
    d = c.shape[1]
    if d == 1:
        return np.asarray(log_ndtr(c * w))
    if d == 2:
        p = _two(c[:, 0, None], c[:, 1, None], r[:, 0, 1, None], w)
    else:
        p = _three(c, r, w)
    with np.errstate(divide="ignore"):
        result = np.log(np.maximum(p, 0.0))
    i, j = np.nonzero(p < _SMALL)
    # 2000 rows of the nested integrals are about 40 MB.
    for start in range(0, len(i), 2000):
        a, b = i[start : start + 2000], j[start : start + 2000]
        result[a, b] = _tail(c[a] * w[a, b, None], r[a])
    return result


def _two(a: FloatArray, b: FloatArray, r: FloatArray, w: FloatArray) -> FloatArray:
    """P(Z1 <= w a, Z2 <= w b); all arguments broadcast."""
    a, b = np.where(a == 0, _TINY, a), np.where(b == 0, _TINY, b)
    s = np.sqrt(np.maximum((1 - r) * (1 + r), 0.0))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        slope_a, slope_b = (b - r * a) / (a * s), (a - r * b) / (b * s)
    # At r = 1 and a = b the slope is 0/0; its limit as s -> 0 is 0.
    slope_a, slope_b = (np.where(np.isnan(x), 0.0, x) for x in (slope_a, slope_b))
    p = 0.5 * (ndtr(w * a) + ndtr(w * b)) - owens_t(w * a, slope_a) - owens_t(w * b, slope_b)
    return np.asarray(p - 0.5 * (np.sign(a) * np.sign(b) < 0))


def _three(c: FloatArray, r: FloatArray, w: FloatArray) -> FloatArray:
    size = np.abs(np.stack([r[:, 1, 2], r[:, 0, 2], r[:, 0, 1]], axis=1))
    order = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])[np.argmax(size, axis=1)]
    row = np.arange(len(c))
    c1, c2, c3 = (c[row, order[:, j]] for j in range(3))
    r12, r13, r23 = (r[row, order[:, i], order[:, j]] for i, j in ((0, 1), (0, 2), (1, 2)))
    p = np.asarray(ndtr(c1[:, None] * w)) * _two(c2[:, None], c3[:, None], r23[:, None], w)
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    # Measured on random design matrices: 16 nodes are right to 1e-10 where the first variable keeps this much of its
    # variance given the others, 32 to 1e-8 in the worst case of a singular matrix.
    easy = determinant > 0.05 * (1 - r23**2)
    for some, nodes in ((easy, 16), (~easy, 32)):
        if some.any():
            p[some] += _plackett(c1[some], c2[some], c3[some], r12[some], r13[some], r23[some], w[some], nodes)
    return p


def _plackett(
    c1: FloatArray, c2: FloatArray, c3: FloatArray, r12: FloatArray, r13: FloatArray, r23: FloatArray, w: FloatArray,
    nodes: int,
) -> FloatArray:  # fmt: skip
    s, weight = gauss_legendre(nodes, 0.0, 1.0)
    x, weight = 1 - (1 - s) ** 3, 3 * weight * (1 - s) ** 2
    angle12, angle13 = np.arcsin(np.clip(r12, -1, 1)), np.arcsin(np.clip(r13, -1, 1))
    total = np.zeros_like(w)
    half_square = -0.5 * w**2
    for node, share in zip(x, weight, strict=True):
        moving12, moving13 = np.sin(angle12 * node), np.sin(angle13 * node)
        for b, other, angle, ra, rr in ((c2, c3, angle12, moving13, moving12), (c3, c2, angle13, moving12, moving13)):
            cos2 = np.cos(angle * node) ** 2
            # For a singular matrix numerator and `left` vanish together; the floor makes their quotient zero, and the
            # two terms of this loop, which coincide then, count one half each.
            left = np.maximum(cos2 * (cos2 - (ra - r23) ** 2 - 2 * ra * r23 * (1 - rr)), _FLOOR)
            bound = (other * cos2 + c1 * (rr * r23 - ra) + b * (rr * ra - r23)) / np.sqrt(left)
            square = (c1 - rr * b) ** 2 / np.maximum(cos2, _TINY) + b**2
            term = np.exp(half_square * square[:, None])
            term *= ndtr(w * bound[:, None])
            total += (share * angle / (2 * np.pi))[:, None] * term
    return total


def decay(c: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Rate at which the orthant probability falls along its ray, and which constraints bind.

    .. math:: \kappa = \min_{z \le c} \tfrac12 z'R^{-1}z = \max_{\lambda \ge 0} -\lambda'c - \tfrac12 \lambda'R\lambda

    so that P(Z <= wc) falls like exp(-kappa w^2). In at most three dimensions every set of binding constraints is
    tried; those with lambda >= 0 are feasible and the largest value is the answer.

    Parameters
    ----------
    c : (m, d) array
        Bounds.
    r : (m, d, d) array
        Correlation matrices.

    Returns
    -------
    kappa : (m,) array
    multiplier : (m, d) array
        lambda; positive exactly for binding constraints.
    """
    m, d = c.shape
    best, multiplier = np.zeros(m), np.zeros((m, d))
    for size in range(1, d + 1):
        for chosen in combinations(range(d), size):
            index = list(chosen)
            block = r[:, index][:, :, index]
            regular = np.linalg.det(block) > _SINGULAR
            solution = np.full((m, size), -1.0)
            solution[regular] = -np.linalg.solve(block[regular], c[regular][:, index, None])[:, :, 0]
            value = -0.5 * np.einsum("ms,ms->m", solution, c[:, index])
            better = np.all(solution >= 0, axis=1) & (value > best)
            best[better] = value[better]
            multiplier[better] = 0.0
            multiplier[np.flatnonzero(better)[:, None], index] = solution[better]
    return best, multiplier


def _tail(h: FloatArray, r: FloatArray) -> FloatArray:
    """Log of P(Z <= h) for small probabilities: condition on the constraint that binds hardest.

    With lambda its multiplier, the integrand over x = h_1 - z_1 >= 0 falls at least like exp(-lambda x - x^2/2).
    """
    d = h.shape[1]
    if d == 1:
        return np.asarray(log_ndtr(h[:, 0]))
    _, multiplier = decay(h, r)
    row = np.arange(len(h))
    first = np.argmax(multiplier, axis=1)
    rest = np.array([[j for j in range(d) if j != i] for i in range(d)])[first]
    h1, rate = h[row, first], multiplier[row, first]
    corr = r[row[:, None], first[:, None], rest]
    scale = np.sqrt(np.maximum(1 - corr**2, _SINGULAR))
    # exp(-40) is negligible.
    reach = np.sqrt(rate**2 + 80) - rate
    s, weight = gauss_legendre(40, 0.0, 1.0)
    node, weight = s**2, 2 * s * weight  # closer together where most of the integral is
    x = reach[:, None] * node
    y = h1[:, None] - x
    bound = (h[row[:, None], rest][:, None, :] - corr[:, None, :] * y[:, :, None]) / scale[:, None, :]
    if d == 2:
        inner = log_ndtr(bound[:, :, 0])
    else:
        partial = (r[row, rest[:, 0], rest[:, 1]] - corr[:, 0] * corr[:, 1]) / (scale[:, 0] * scale[:, 1])
        inner = _log_two(bound.reshape(-1, 2), np.repeat(np.clip(partial, -1, 1), len(node))).reshape(x.shape)
    log_density = -0.5 * y**2 - 0.5 * np.log(2 * np.pi)
    return np.asarray(logsumexp(log_density + inner, b=weight * reach[:, None], axis=1))


def _log_two(h: FloatArray, r: FloatArray) -> FloatArray:
    p = _two(h[:, 0], h[:, 1], r, np.ones(len(h)))
    small = p < _SMALL
    with np.errstate(divide="ignore"):
        result = np.log(np.maximum(p, 0.0))
    if small.any():
        matrix = np.ones((int(small.sum()), 2, 2))
        matrix[:, 0, 1] = matrix[:, 1, 0] = r[small]
        result[small] = _tail(h[small], matrix)
    return result
