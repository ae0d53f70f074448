"""Models that are looked at before a screen: some that are likely to be good, and some of any kind."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from ..designs import Spread
from .dataset import Dataset
from .family import KineticFamily, prior
from .kinetics import IntArray, increments
from .likelihood import block_at

# To learn how large the leading evidences are, the pairs of the 32 enzymes that are best alone are evaluated first; of
# fewer enzymes where these would be more than 50,000 pairs, a thousandth of all pairs of ten thousand enzymes. With 8
# and 60 instead of 32 the errors of the leading pairs of benchmarks/constants.py were 1.07 and 1.00 times as large.
_PILOT, _PILOT_MODELS = 32, 50_000


def likely(dataset: Dataset, size: int, truncated: bool = False) -> IntArray:
    """Return models with `size` enzymes that are likely to be good, each once, in lexicographic order.

    They are the best of those with one enzyme less, found in the same way, with every further enzyme.
    """
    parts, enzymes = increments(dataset), np.arange(dataset.n_enzymes)
    models = enzymes[:, None]
    for so_far in range(1, size):
        k = Spread(prior(1 + so_far), KineticFamily(dataset, (dataset.names[:so_far],)).coordinates).take(10)
        alone = logsumexp(block_at(parts, models, k, truncated=truncated)[0], axis=0)
        most = min(_PILOT, max(1, _PILOT_MODELS // len(enzymes)))
        best = models[np.argsort(-alone, kind="stable")[:most]]
        larger = np.column_stack([np.repeat(best, len(enzymes), axis=0), np.tile(enzymes, len(best))])
        larger = np.sort(larger[np.all(larger[:, :-1] != larger[:, -1:], axis=1)], axis=1)
        models = np.unique(larger, axis=0)
    return models


def any_sets(dataset: Dataset, size: int, count: int) -> IntArray:
    """Return `count` sets of `size` different enzymes, drawn at random, the same every time."""
    rng = np.random.default_rng(0)
    return np.sort([rng.choice(dataset.n_enzymes, size, replace=False) for _ in range(count)], axis=1)
