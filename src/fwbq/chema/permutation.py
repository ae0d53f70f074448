"""Whether enzymes that have nothing to do with the substrate would do as well: their levels at other times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from .._quasi_random import quasi_random
from .dataset import Dataset
from .family import prior
from .kinetics import FloatArray, Increments, IntArray, increments
from .likelihood import block_at

__all__ = ["permutation_p_value"]

# Points of the prior of K for the evidence of each model: the statistic is the same rough one for every permutation.
_POINTS = 16
# Permutations: 99 where they take a fraction of a second, and for thousands of enzymes 19, the fewest that can give a
# p-value of 0.05.
_MOST, _LEAST = 99, 19
# Likelihoods of all permutations together: about a second.
_WORK = 4_000_000
# Pairs are looked at that hold one of the best enzymes alone: of eight, of fewer where these would be many pairs.
_PARTNERS, _PAIRS = 8, 20_000


def permutation_p_value(
    dataset: Dataset, size: int, *, listed: Sequence[IntArray] = (), seed: int = 0
) -> tuple[float, int]:
    """Probability that enzymes at permuted times explain the rates as well as they do at their own.

    The rows of all enzymes together are permuted within each condition; rates and levels of the substrate stay. The
    statistic is the evidence of the best model that a search over singles and pairs finds, so that the choice among
    many models is part of the comparison.

    Parameters
    ----------
    dataset : Dataset
        The data, in the units of the priors.
    size : int
        The largest number of enzymes in a model; pairs are the largest that are looked at.
    listed : sequence of (m, size) int arrays, optional
        The models to choose among, one array for each size; all of at most `size` enzymes by default.
    seed : int, optional
        Of the permutations.

    Returns
    -------
    p_value : float
        (1 + permutations at least as good) / (1 + permutations).
    permutations : int
    """
    rng = np.random.default_rng(seed)
    largest = max([2, *(models.shape[1] for models in listed)])
    points = [prior(dim).from_uniform(quasi_random(_POINTS, dim)) for dim in range(1, 2 + largest)]
    parts = increments(dataset)
    if listed:
        work = _POINTS * sum(map(len, listed))
    else:
        work = _POINTS * dataset.n_enzymes * (1 + (_partners(dataset.n_enzymes) if size > 1 else 0))
    count = int(np.clip(_WORK // work, _LEAST, _MOST))
    rows = _rows(dataset)

    def best(of: Sequence[Increments]) -> float:
        return _best(of, dataset.n_enzymes, min(size, 2), points, listed)

    observed = best(parts)
    as_good = 0
    for _ in range(count):
        other = []
        for part, conditions in zip(parts, rows, strict=True):
            scatter = np.arange(part.means, part.rows)
            order = np.concatenate([*(rng.permutation(each) for each in conditions), scatter])
            other.append(replace(part, enzymes=part.enzymes[order]))
        as_good += best(other) >= observed
    return (1 + as_good) / (1 + count), count


def _rows(dataset: Dataset) -> list[list[IntArray]]:
    """Rows of the increments of each condition, in each group."""
    result = []
    for members in dataset.groups:
        ends = np.cumsum([0, *(dataset.n_increments[i] for i in members)])
        result.append([np.arange(a, b) for a, b in pairwise(ends.tolist())])
    return result


def _best(
    parts: Sequence[Increments], n_enzymes: int, size: int, points: list[FloatArray], listed: Sequence[IntArray]
) -> float:
    """Largest log evidence among the models that are looked at."""
    if listed:
        return max(float(_evidences(parts, models, points).max()) for models in listed)
    enzymes = np.arange(n_enzymes)
    alone = _evidences(parts, enzymes[:, None], points)
    if size < 2 or n_enzymes < 2:
        return float(alone.max())
    first = np.argsort(-alone, kind="stable")[: _partners(n_enzymes)]
    pairs = np.column_stack([np.repeat(first, n_enzymes), np.tile(enzymes, len(first))])
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    return max(float(alone.max()), float(_evidences(parts, pairs, points).max()))


def _evidences(parts: Sequence[Increments], models: IntArray, points: list[FloatArray]) -> FloatArray:
    values = block_at(parts, models, points[models.shape[1]])[0]
    return np.asarray(logsumexp(values, axis=0) - np.log(_POINTS))


def _partners(n_enzymes: int) -> int:
    return int(np.clip(_PAIRS // n_enzymes, 1, _PARTNERS))
