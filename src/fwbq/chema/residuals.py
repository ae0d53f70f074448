"""Squared residuals of many models at many points: what the likelihood needs of the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .kinetics import Base, BoolArray, Columns, FloatArray, Increments, IntArray, projected_squares

RankArray = NDArray[np.int64]

# Pairs and triples of which less than this part of the residual is left after the subtraction in the fast formulas are
# computed again by Gram-Schmidt; the others are right to about 1e-12.
_CANCELLATION = 1e-4
# Entries of the arrays (points, times, enzymes) handled at a time: 256 kB of float64, within a cache.
_BLOCK = 32_000
# The same where single matrices are made: fewer and larger steps.
MATRICES = 500_000
# All cosines between two sets of columns by one product take less time than single ones when they are fewer than so
# many times those that are needed.
_GATHERED = 16


def squared_residuals(part: Increments, index: IntArray, points: FloatArray) -> tuple[FloatArray, RankArray]:
    """2 (N+1) b_N and rank for all points and models: (n, m) each."""
    m, size = index.shape
    if size == 3:
        return _triple_squares(part, index, points)
    squares = np.empty((len(points), m))
    rank = np.empty(squares.shape, dtype=np.int64)
    # A list of pairs in lexicographic order has few first enzymes: each side has its own columns.
    sides = [np.unique(column, return_inverse=True) for column in index.T]
    widest = max([part.n * len(each) for each, _ in sides] if size < 3 else [part.n * m * (1 + size)], default=1)
    step = max(1, _BLOCK // max(1, m, widest))
    for start in range(0, len(points), step):
        rows = slice(start, start + step)
        k = points[rows]
        if size > 2:
            squares[rows], rank[rows] = _explicit(part, index, k)
            continue
        base = Base.at(part, k[:, 0])
        outside = np.einsum("nt,nt->n", base.rest, base.rest)[:, None]
        if size == 0:
            squares[rows] = (part.n + 1) * outside + base.along[:, None] ** 2
            rank[rows] = base.live[:, None]
            continue
        (each_a, a), *others = sides
        first = Columns.at(part, base, k[:, 1], each_a)
        residual = base.rest[:, :, None] - first.direction * first.rate[:, None, :]
        single = np.einsum("ntu,ntu->nu", residual, residual)
        if size == 1:
            along = base.along[:, None] - first.along[:, a]
            across = first.rate[:, a] - first.length[:, a]
            squares[rows] = (part.n + 1) * single[:, a] + along**2 + across**2
            rank[rows] = base.live[:, None].astype(np.int64) + first.live[:, a]
            continue
        each_b, b = others[0]
        second = Columns.at(part, base, k[:, 2], each_b)
        block, ranks, doubtful = _pairs(part.n, base, first, single, second, a, b)
        _correct(part, index, k, doubtful, block, ranks)
        squares[rows], rank[rows] = block, ranks
    return squares, rank


def _correct(
    part: Increments, index: IntArray, k: FloatArray, doubtful: BoolArray, squares: FloatArray, rank: RankArray
) -> None:
    """Compute what a fast formula should not be trusted for, in place; arrays (n, m)."""
    at, model = np.nonzero(doubtful)
    size = max(1, MATRICES // (k.shape[1] * part.n))
    for chunk in range(0, len(at), size):
        i, j = (z[chunk : chunk + size] for z in (at, model))
        squares[i, j], rank[i, j] = projected_squares(part.designs(index[j], k[i]), part.rates)


def _pairs(
    n: int, base: Base, first: Columns, single: FloatArray, second: Columns, a: IntArray, b: IntArray
) -> tuple[FloatArray, RankArray, BoolArray]:
    """Evaluate the closed form for two enzymes, and say where it should not be trusted.

    With unit vectors q, p, s along the three columns made orthogonal and c = cos(p, second column),
    s'Y = t / sqrt(1 - c^2) for t = rate_b - c rate_a.
    """
    cosine = _cosines(first, second, a, b)
    rate_a, rate_b = first.rate[:, a], second.rate[:, b]
    length_b = second.length[:, b]
    sine2 = 1.0 - cosine**2
    outside = single[:, a]
    t = rate_b - cosine * rate_a
    apart = sine2 > _CANCELLATION
    denominator = np.where(apart, sine2, 1.0)
    residual = outside - t**2 / denominator
    block = (t - length_b * sine2) ** 2 / denominator
    block += (n + 1) * residual
    block += (base.along[:, None] - first.along[:, a] - second.along[:, b]) ** 2
    block += (rate_a - first.length[:, a] - length_b * cosine) ** 2
    doubtful = ~apart | (residual * sine2 <= _CANCELLATION * outside)
    rank = base.live[:, None].astype(np.int64) + first.live[:, a] + second.live[:, b]
    return block, rank, doubtful


def _triple_squares(part: Increments, index: IntArray, points: FloatArray) -> tuple[FloatArray, RankArray]:
    r"""2 (N+1) b_N and rank for models with three enzymes, (n, m) each.

    The columns x_a, x_b, x_c, made orthogonal to column 0, have unit directions with cosines c_ab, c_ac, c_bc. Made
    orthogonal to each other too,

    .. math::
        s^2 = 1 - c_{ab}^2, \qquad g = (c_{bc} - c_{ab} c_{ac}) / s, \qquad h^2 = 1 - c_{ac}^2 - g^2,

    the second has the part s, and the third the parts c_ac, g and h along them.
    """
    n, m = len(points), len(index)
    squares, rank = np.empty((n, m)), np.empty((n, m), dtype=np.int64)
    (each_a, a), (each_b, b), (each_c, c) = (np.unique(column, return_inverse=True) for column in index.T)
    widest = max(1, m, part.n * max(len(each_a), len(each_b), len(each_c)), len(each_a) * len(each_b))
    step = max(1, _BLOCK // widest)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        k = points[rows]
        base = Base.at(part, k[:, 0])
        first, second, third = (
            Columns.at(part, base, k[:, 1 + j], each) for j, each in enumerate((each_a, each_b, each_c))
        )
        cab, cac, cbc = _cosines(first, second, a, b), _cosines(first, third, a, c), _cosines(second, third, b, c)
        ra, rb, rc = first.rate[:, a], second.rate[:, b], third.rate[:, c]
        lb, lc = second.length[:, b], third.length[:, c]
        rest = base.rest[:, :, None] - first.direction * first.rate[:, None, :]
        outside = np.einsum("ntu,ntu->nu", rest, rest)[:, a]
        s2 = 1.0 - cab**2
        apart = s2 > _CANCELLATION
        s = np.sqrt(np.where(apart, s2, 1.0))
        g = (cbc - cab * cac) / s
        h2 = 1.0 - cac**2 - g**2
        apart &= h2 > _CANCELLATION
        h = np.sqrt(np.where(apart, h2, 1.0))
        rb = (rb - cab * ra) / s
        rc = (rc - cac * ra - g * rb) / h
        residual = outside - rb**2 - rc**2
        block = (part.n + 1) * residual
        block += (base.along[:, None] - first.along[:, a] - second.along[:, b] - third.along[:, c]) ** 2
        block += (ra - first.length[:, a] - lb * cab - lc * cac) ** 2
        block += (rb - lb * s - lc * g) ** 2
        block += (rc - lc * h) ** 2
        ranks = base.live[:, None].astype(np.int64) + first.live[:, a] + second.live[:, b] + third.live[:, c]
        _correct(
            part, index, k, ~apart | (residual * s2 * h2 <= _CANCELLATION * outside), block, ranks
        )  # fmt: skip
        squares[rows], rank[rows] = block, ranks
    return squares, rank


def _cosines(left: Columns, right: Columns, a: IntArray, b: IntArray) -> FloatArray:
    """Cosines (n, m) between the column a[i] of one side and the column b[i] of the other."""
    if len(a) * _GATHERED > left.length.shape[1] * right.length.shape[1]:
        return np.asarray((left.direction.transpose(0, 2, 1) @ right.direction)[:, a, b])
    return np.asarray(np.einsum("ntm,ntm->nm", left.direction[:, :, a], right.direction[:, :, b]))


def _explicit(part: Increments, index: IntArray, points: FloatArray) -> tuple[FloatArray, RankArray]:
    n, m = len(points), len(index)
    x = part.designs(np.tile(index, (n, 1)), np.repeat(points, m, axis=0))
    squares, rank = projected_squares(x, part.rates)
    return squares.reshape(n, m), rank.reshape(n, m)
