"""P(MAP): the probability of each model to have the highest posterior probability, given the numerical error."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .evidence import Evidences

Array = NDArray[np.float64]

#: Leading models with all their quantiles on the grid, and contenders with some of them. Twice or half as many changed
#: no probability of 10 to 20,000 models by more than 6e-7.
_FINE, _COARSE = 24, 400
#: Points of the grid on which the other contenders, each of them with hardly a chance, are summed. With 64 and 1024 of
#: them probabilities among 20,000 models changed by 7e-6 and 4e-7 at most.
_THIN = 256
#: The grid begins at a value that the largest evidence falls short of with at most this probability. Contenders beyond
#: the first 400 that exceed this value with less than this probability are left out.
_NO_CHANCE = 1e-9
#: To find where the grid may begin, one of this number of its points is tried; with 4 and 64 probabilities changed by
#: 3e-8.
_SKIP = 16
#: Values of distribution functions held at a time: 16 MB.
_BLOCK = 2_000_000


def map_probabilities(evidences: Evidences, log_prior: Array) -> Array:
    r"""Return P(model i has the highest posterior probability) for independent posteriors, (m,).

    .. math:: P_i = \int \prod_{j \ne i} F_j(x)\,\mathrm{d}F_i(x),

    F_i the distribution function of log Z_i + log prior, on a grid of the models' own quantiles: all models in one
    pass. Only models that have a chance of more than one in ten million count, the others get zero; so do those whose
    likelihood was zero at every point, as long as one was not.

    The grid has quantiles of the 400 contenders that are the likeliest to be large. Of further contenders the product
    of the distribution functions is interpolated between 256 points of that grid, so that time and memory grow in
    proportion to the number of models.
    """
    out = np.zeros(len(evidences))
    if np.all(np.isneginf(evidences.log_median)):
        # No model has any evidence: the prior is all there is.
        return np.asarray(np.exp(log_prior) / np.sum(np.exp(log_prior)))
    low, high = evidences.quantile(np.array([[0.5e-7], [1.0 - 0.5e-7]])) + log_prior
    contenders = np.flatnonzero(high >= low.max())
    rivals = _with_width(evidences.take(contenders))
    shift = log_prior[contenders]
    score = rivals.log_median + shift
    if len(contenders) > _COARSE:
        beyond = 1.0 - rivals.cdf(score.max() - shift[None, :])[0]
        order = np.lexsort((-score, -beyond))
        first, others = np.sort(order[:_COARSE]), np.sort(order[_COARSE:])
    else:
        first, others = np.arange(len(contenders)), np.arange(0)
    leading = np.argsort(-score, kind="stable")[:_FINE]
    grid = np.unique(
        np.concatenate(
            [
                (rivals.take(leading).quantile(_levels(160)[:, None]) + shift[leading]).ravel(),
                (rivals.take(first).quantile(_levels(8)[:, None]) + shift[first]).ravel(),
            ]
        )
    )
    near = rivals.take(first)
    grid = grid[_certain(near, shift[first], grid) :]
    chances = np.zeros(len(contenders))
    background = np.zeros(len(grid) - 1)
    # 7,040 points by 400 models at most: 23 MB, used twice.
    F, size = near.cdf(grid[:, None] - shift[first]), (len(grid) - 1, len(first))
    if len(others):
        others = others[1.0 - rivals.take(others).cdf(grid[0] - shift[None, others])[0] > _NO_CHANCE]
        thin = np.unique(np.linspace(0, len(grid) - 1, _THIN).astype(int))
        product = np.concatenate([np.log(middle).sum(axis=1) for middle, _ in _cells(F.__getitem__, *size)])
        chances[others], background = _tail(rivals.take(others), shift[others], grid, thin, product)
    done = 0
    for middle, step in _cells(F.__getitem__, *size):
        logs = np.log(middle)
        every = logs.sum(axis=1) + background[done : done + len(logs)]
        chances[first] += np.sum(np.exp(every[:, None] - logs) * step, axis=0)
        done += len(logs)
    out[contenders] = chances
    return np.asarray(out / out.sum())


def leader(chances: Array, score: Array) -> int:
    """Return the position of the model most likely the MAP; of equals (to 1e-4) the higher score, then the first."""
    return int(np.lexsort((-np.arange(len(score)), score, np.round(chances, 4)))[-1])


def _with_width(evidences: Evidences) -> Evidences:
    """Make posteriors without width very narrow ones, so that equal models share the probability."""
    size = np.abs(evidences.centre)
    narrow = np.where(evidences.kind == "log", np.maximum(size, 1.0), size) * 1e-13
    return Evidences(
        evidences.kind, evidences.centre, np.maximum(evidences.scale, narrow), evidences.df, evidences.offset
    )


def _levels(size: int) -> Array:
    """Return quantile levels, dense in the middle and out to 1e-9 in the tails."""
    return np.asarray(ndtr(np.linspace(-6.0, 6.0, size + 1)))


def _certain(evidences: Evidences, shift: Array, grid: Array) -> int:
    """Return the place of the last of some points of the grid that the largest exceeds almost surely; else 0."""
    some = np.arange(0, len(grid) - 1, _SKIP)
    with np.errstate(divide="ignore"):
        product = np.log(evidences.cdf(grid[some, None] - shift)).sum(axis=1)
    return int(some[max(int(np.searchsorted(product, np.log(_NO_CHANCE))) - 1, 0)])


def _cells(F: Callable[[slice], Array], cells: int, models: int) -> Iterator[tuple[Array, Array]]:
    """Yield for runs of cells of a grid the distribution functions in the middle and their steps, (cells, m) each.

    F returns the distribution functions at some of the cells + 1 points of the grid.
    """
    rows = max(1, _BLOCK // max(1, models))
    for start in range(0, cells, rows):
        some = F(slice(start, start + rows + 1))
        yield np.maximum(0.5 * (some[1:] + some[:-1]), 1e-300), np.diff(some, axis=0)


def _tail(
    evidences: Evidences, shift: Array, grid: Array, thin: NDArray[np.intp], product: Array
) -> tuple[Array, Array]:
    """Return the chances of contenders behind the leading ones, and the log product of their distribution functions.

    Parameters
    ----------
    evidences, shift
        The contenders.
    grid : (g,) array
        The whole grid.
    thin : (t,) int array
        The points of it that are used here.
    product : (g - 1,) array
        Log product of the distribution functions of the leading models, in the cells of the whole grid.

    Returns
    -------
    (m,) array, (g - 1,) array
        The second in the cells of the whole grid.
    """
    x = grid[thin]

    def F(rows: slice) -> Array:
        return evidences.cdf(x[rows, None] - shift)

    size = len(x) - 1, len(evidences)
    logs = np.zeros(len(x) - 1)
    position = 0
    for middle, _ in _cells(F, *size):
        logs[position : position + len(middle)] = np.log(middle).sum(axis=1)
        position += len(middle)
    cells, places = 0.5 * (x[1:] + x[:-1]), 0.5 * (grid[1:] + grid[:-1])
    every = logs + np.interp(cells, places, product)
    chances = np.zeros(len(evidences))
    position = 0
    for middle, step in _cells(F, *size):
        chances += np.sum(np.exp(every[position : position + len(middle), None] - np.log(middle)) * step, axis=0)
        position += len(middle)
    return chances, np.interp(places, cells, logs)
