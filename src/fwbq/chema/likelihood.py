r"""Log marginal likelihood of the kinetic models given K, for many models and design points at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, overload

import numpy as np
from numpy.exceptions import RankWarning
from numpy.typing import ArrayLike
from scipy.special import gammaln

from .. import _validate, _warnings
from . import _checks
from .candidates import model_indices
from .dataset import Dataset
from .kinetics import FloatArray, Increments, IntArray, increments
from .residuals import MATRICES, RankArray, squared_residuals
from .truncated import MOST_COLUMNS, log_truncation_ratio

__all__ = ["design_matrix", "log_likelihood", "log_likelihood_block"]
# What settings, printouts and reports call the two likelihoods.
CLOSED_FORM, TRUNCATED = "closed form of the paper (V not truncated)", "truncated (V >= 0)"


def design_matrix(dataset: Dataset, model: Iterable[str | int], K: ArrayLike) -> FloatArray:
    """X(K): column 0 is -y_S*/(y_S* + K_0), column j is y_Ej y_S/(y_S + K_j).

    Parameters
    ----------
    dataset : Dataset
        With one set of rates V: the rows of conditions that share them are stacked.
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
        _checks.fail(
            "`dataset` has several sets of rates, each with a design matrix of its own; take its conditions by split()"
        )
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
    the same for all models. Conditions that share V and sigma (:attr:`Dataset.groups`) are one regression: Y and the
    rows of X(K) are stacked, N counts all their increments. Groups share K alone: their log likelihoods add up.

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
    >>> from fwbq.chema import candidate_models
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
    points = parts[0].constants(points, index.shape[1])
    values = np.zeros((len(points), len(index)))
    rank = np.full(values.shape, points.shape[1], dtype=np.int64)
    for part in parts:
        squares, part_rank = squared_residuals(part, index, points)
        if not np.all(squares > 0):
            i, j = np.argwhere(~(squares > 0))[0]
            _checks.fail(
                f"the model of the enzymes {tuple(index[j].tolist())}, counted from 0, at K = {points[i]} predicts the "
                "rates without any error, and its likelihood is infinite; are all levels constant or zero?"
            )
        n = part.n
        values += gammaln(n / 2) - np.log(2) - n / 2 * np.log(2 * np.pi)
        values -= part_rank * (0.5 * np.log(n + 1)) + n / 2 * np.log(squares / (2 * (n + 1)))
        if truncated:
            values += _truncation(part, index, points)
        if part.log_odds is not None:
            values += part.log_odds[index].sum(axis=1)
        np.minimum(rank, part_rank, out=rank)
    return values, rank


def _constants(K: ArrayLike, dim: int) -> FloatArray:
    points = _validate.points(K, "K", dim)
    if np.any(points < 0):
        _checks.fail(f"`K` must not be negative; the smallest entry is {points.min():g}")
    return points


def _truncation(part: Increments, index: IntArray, points: FloatArray) -> FloatArray:
    n, m = len(points), len(index)
    result = np.empty(n * m)
    step = max(1, MATRICES // (part.n * points.shape[1]))
    for start in range(0, n * m, step):
        which = np.arange(start, min(start + step, n * m))
        x = part.designs(index[which % m], points[which // m])
        result[which] = log_truncation_ratio(x, part.rates)
    return result.reshape(n, m)
