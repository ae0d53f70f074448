r"""Log marginal likelihood of the kinetic models given K, for many models and design points at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal, overload

import numpy as np
from numpy.exceptions import RankWarning
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from .. import _validate, _warnings
from . import _checks
from .dataset import Dataset
from .kinetics import Base, BoolArray, Columns, FloatArray, Increments, IntArray, increments, projected_squares
from .truncated import MOST_COLUMNS, log_truncation_ratio

__all__ = ["candidate_models", "design_matrix", "log_likelihood", "log_likelihood_block"]

Model = tuple[str | int, ...]
# What settings, printouts and reports call the two likelihoods.
CLOSED_FORM, TRUNCATED = "closed form of the paper (V not truncated)", "truncated (V >= 0)"
RankArray = NDArray[np.int64]

# Pairs and triples of which less than this part of the residual is left after the subtraction in the fast formulas are
# computed again by Gram-Schmidt; the others are right to about 1e-12.
_CANCELLATION = 1e-4
# Entries of the arrays (points, times, enzymes) handled at a time: 256 kB of float64, within a cache.
_BLOCK = 32_000
# The same where single matrices are made: fewer and larger steps.
_MATRICES = 500_000
# All cosines between two sets of columns by one product take less time than single ones when they are fewer than so
# many times those that are needed.
_GATHERED = 16
# Models that are listed as tuples of names: five million of 80 bytes take 400 MB.
MOST_MODELS = 5_000_000


def candidate_models(dataset: Dataset, max_enzymes: int = 2) -> list[tuple[str, ...]]:
    """All models with at most `max_enzymes` enzymes: the empty one, the singles, the pairs, ...

    Within a model, and among models of one size, the order is that of the columns.

    Parameters
    ----------
    dataset : Dataset
        With E enzymes.
    max_enzymes : int
        Largest size.

    Returns
    -------
    list of tuple of str
        1 + E + E(E-1)/2 + ... models.

    Examples
    --------
    >>> len(candidate_models(Dataset.example()))
    352
    """
    most = _validate.count(max_enzymes, "max_enzymes", minimum=0)
    e, size, term = dataset.n_enzymes, 1, 1
    for r in range(1, min(most, e) + 1):
        term = term * (e - r + 1) // r
        size += term
    if size > MOST_MODELS:
        _checks.fail(f"{size:,} models are too many to list; fwbq.chema.compare screens them without a list")
    return [model for r in range(min(most, e) + 1) for model in combinations(dataset.names, r)]


def design_matrix(dataset: Dataset, model: Iterable[str | int], K: ArrayLike) -> FloatArray:
    """X(K): column 0 is -y_S*/(y_S* + K_0), column j is y_Ej y_S/(y_S + K_j).

    Parameters
    ----------
    dataset : Dataset
        With one condition (every condition has rates V of its own; see :meth:`Dataset.split`).
    model : tuple of str or int
        Enzymes, by name or column index.
    K : (n, 1 + len(model)) array_like
        Not negative.

    Returns
    -------
    (n, N, 1 + len(model)) array
    """
    index = dataset.columns(model)
    parts = increments(dataset)
    if len(parts) != 1:
        _checks.fail("`dataset` has several conditions, each with a design matrix of its own; take them by split()")
    points = _constants(K, 1 + len(index))
    return parts[0].designs(np.tile(np.array(index, dtype=np.intp), (len(points), 1)), points)


def log_likelihood(
    dataset: Dataset, model: Iterable[str | int], K: ArrayLike, *, truncated: bool = False
) -> FloatArray:
    r"""Log marginal likelihood of one model at the points K, with V and sigma integrated out.

    .. math::
        \log L(K) = -\log 2 + \log \Gamma(N/2) - \tfrac N2 \log 2\pi - \tfrac r2 \log(N+1) - \tfrac N2 \log b_N,

    with b_N as in the module `fwbq.chema.kinetics` and r the rank of X(K), which is d = 1 + len(model) unless columns
    depend on each other. The factor 1/2, absent in the paper's print, is that of the prior p(sigma) = 1/sigma; it is
    the same for all models. Several conditions have independent V and sigma and share K: their log likelihoods add up.

    Parameters
    ----------
    dataset : Dataset
        The data.
    model : tuple of str or int
        Enzymes, by name or column index.
    K : (n, 1 + len(model)) array_like
        Michaelis constants, not negative: K_0 of the dephosphorylation, then one per enzyme in the order of `model`.
    truncated : bool
        Truncate V to V >= 0 as the paper's prior declares (its formula, the default here, does not). At most two
        enzymes; costs about a thousand times more.

    Returns
    -------
    (n,) array

    Warns
    -----
    numpy.exceptions.RankWarning
        Columns of X(K) depend on each other (a silent enzyme, whose level is always zero, enzymes in proportion, fewer
        increments than columns). The value is the likelihood under the prior restricted to what the data can tell:
        V ~ N(1, N sigma^2 (X'X)^+), with r in place of d. So a silent enzyme changes nothing: the likelihood is exactly
        that of the model without it.

    Examples
    --------
    >>> data = Dataset.example()
    >>> a, b = (log_likelihood(data, m, [[1.0, 1.0, 1.0]])[0] for m in (data.regulators, ("E1", "E2")))
    >>> bool(a > b + 10)
    True
    """
    index = dataset.columns(model)
    return log_likelihood_block(dataset, [index], K, truncated=truncated)[:, 0]


@overload
def log_likelihood_block(
    dataset: Dataset,
    models: Sequence[Iterable[str | int]],
    K: ArrayLike,
    *,
    truncated: bool = ...,
    return_rank: Literal[False] = ...,
) -> FloatArray: ...
@overload
def log_likelihood_block(
    dataset: Dataset,
    models: Sequence[Iterable[str | int]],
    K: ArrayLike,
    *,
    truncated: bool = ...,
    return_rank: Literal[True],
) -> tuple[FloatArray, RankArray]: ...
def log_likelihood_block(
    dataset: Dataset,
    models: Sequence[Iterable[str | int]],
    K: ArrayLike,
    *,
    truncated: bool = False,
    return_rank: bool = False,
) -> FloatArray | tuple[FloatArray, RankArray]:
    """:func:`log_likelihood` of many models of one size at the same points.

    Every enzyme's column is projected once per point; a pair then costs one inner product and a closed form.

    Parameters
    ----------
    dataset : Dataset
        The data.
    models : sequence of m models
        Tuples of enzyme names or column indices, all of the same length d - 1.
    K : (n, d) array_like
        Points, not negative.
    truncated : bool
        See :func:`log_likelihood`.
    return_rank : bool
        Return the ranks too, instead of warning.

    Returns
    -------
    values : (n, m) array
    rank : (n, m) int array
        Only with `return_rank`: the least rank of X(K) over the conditions.

    Examples
    --------
    >>> data = Dataset.example()
    >>> pairs = candidate_models(data)[27:]
    >>> log_likelihood_block(data, pairs, np.ones((4, 3))).shape
    (4, 325)
    """
    index = model_indices(dataset, models)
    points = _constants(K, 1 + index.shape[1])
    if truncated and points.shape[1] > MOST_COLUMNS:
        _checks.fail(f"`truncated=True` is available for at most {MOST_COLUMNS - 1} enzymes per model")
    values, rank = block_at(increments(dataset), index, points, truncated=truncated)
    if return_rank:
        return values, rank
    deficient = rank < points.shape[1]
    if deficient.any():
        j = int(np.flatnonzero(deficient.any(axis=0))[0])
        names = tuple(dataset.names[e] for e in index[j])
        _warnings.warn(
            f"{deficient.sum()} of {deficient.size} design matrices have dependent columns, e.g. model {names}: a "
            "silent enzyme, enzymes in proportion, or fewer increments than columns; what the data cannot tell apart "
            "is kept at the prior mean",
            RankWarning,
        )
    return values


def block_at(
    parts: Sequence[Increments], index: IntArray, points: FloatArray, *, truncated: bool = False
) -> tuple[FloatArray, RankArray]:
    """:func:`log_likelihood_block` without checks: models as column indices (m, d - 1), and ranks; (n, m) each."""
    values = np.zeros((len(points), len(index)))
    rank = np.full(values.shape, points.shape[1], dtype=np.int64)
    for part in parts:
        squares, part_rank = _squares(part, index, points)
        if not np.all(squares > 0):
            i, j = np.argwhere(~(squares > 0))[0]
            _checks.fail(
                f"the model {tuple(index[j])} at K = {points[i]} predicts the rates without any error, and its "
                "likelihood is infinite; are all levels constant or zero?"
            )
        n = part.n
        values += gammaln(n / 2) - np.log(2) - n / 2 * np.log(2 * np.pi)
        values -= part_rank * (0.5 * np.log(n + 1)) + n / 2 * np.log(squares / (2 * (n + 1)))
        if truncated:
            values += _truncation(part, index, points)
        np.minimum(rank, part_rank, out=rank)
    return values, rank


def _constants(K: ArrayLike, dim: int) -> FloatArray:
    points = _validate.points(K, "K", dim)
    if np.any(points < 0):
        _checks.fail(f"`K` must not be negative; the smallest entry is {points.min():g}")
    return points


def model_indices(dataset: Dataset, models: Sequence[Iterable[str | int]]) -> IntArray:
    """Return models of one size, given by names or columns of their enzymes, as columns (m, size)."""
    position = {name: j for j, name in enumerate(dataset.names)}
    rows: list[tuple[int, ...]] = []
    for model in models:
        try:
            row = () if isinstance(model, str) else tuple(position[e] for e in model)  # type: ignore[index]
        except (KeyError, TypeError):
            row = ()
        # Anything but a tuple of known, different names takes the slow way, which checks and if need be refuses it.
        rows.append(row if row and len(set(row)) == len(row) else dataset.columns(model))
    sizes = {len(row) for row in rows}
    if len(sizes) > 1:
        _checks.fail(f"`models` must have the same number of enzymes in one block; got {sorted(sizes)}")
    return np.array(rows, dtype=np.intp).reshape(len(rows), max(sizes, default=0))


def _squares(part: Increments, index: IntArray, points: FloatArray) -> tuple[FloatArray, RankArray]:
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
    size = max(1, _MATRICES // (k.shape[1] * part.n))
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


def _truncation(part: Increments, index: IntArray, points: FloatArray) -> FloatArray:
    n, m = len(points), len(index)
    result = np.empty(n * m)
    step = max(1, _MATRICES // (part.n * points.shape[1]))
    for start in range(0, n * m, step):
        which = np.arange(start, min(start + step, n * m))
        x = part.designs(index[which % m], points[which // m])
        result[which] = log_truncation_ratio(x, part.rates)
    return result.reshape(n, m)
