"""Which model is first when the priors are somewhat different: a test of how far the data decide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from .._quasi_random import quasi_random
from .dataset import Dataset
from .family import prior
from .kinetics import FloatArray, increments
from .likelihood import block_at

__all__ = ["CHANGES", "leaders_under_changes", "scores_under_changes"]

#: What is changed, and by which units it comes to pass. A unit of time that is twice as long halves the rates that the
#: prior expects. Levels and time in a unit of c together leave the expected rates alone, and expect K near c.
CHANGES: dict[str, dict[str, float]] = {
    "unit of time halved": {"time": 0.5},
    "unit of time doubled": {"time": 2.0},
    "prior of K halved": {"time": 0.5, "level": 0.5},
    "prior of K doubled": {"time": 2.0, "level": 2.0},
}
# Points of the prior at which likelihoods are averaged. Log evidences of the twenty leading pairs of six simulated sets
# were right to 0.05 with 1024, and to 0.18 with 256, which are taken where rates are truncated: that takes longer.
_POINTS, _FEWER = 1024, 256
# Where levels are explained the likelihood is a smooth function of K_0 alone.
_ON_A_LINE = 64


def leaders_under_changes(
    dataset: Dataset,
    models: Sequence[tuple[int, ...]],
    log_prior: FloatArray,
    *,
    truncated: bool = False,
    power: float = 1.0,
) -> dict[str, int]:
    """Position in `models` of the one that is first under each of the :data:`CHANGES`.

    Parameters
    ----------
    dataset : Dataset
        The data, in the units of the priors.
    models : sequence of tuples of int
        Columns of the enzymes of the leading models, of any sizes.
    log_prior : (m,) array
        Log prior probabilities of these.
    truncated : bool, optional
        Whether V is truncated to V >= 0.
    power : float, optional
        To which likelihoods are raised.
    """
    scores = scores_under_changes(dataset, models, log_prior, truncated=truncated, power=power)
    return {name: int(np.argmax(score)) for name, score in scores.items()}


def scores_under_changes(
    dataset: Dataset,
    models: Sequence[tuple[int, ...]],
    log_prior: FloatArray,
    *,
    truncated: bool = False,
    power: float = 1.0,
) -> dict[str, FloatArray]:
    """Log evidence plus log prior probability of each model under each of the :data:`CHANGES`, (m,) each.

    The parameters are those of :func:`leaders_under_changes`.
    """
    found = {}
    sizes = sorted({len(model) for model in models})
    for name, units in CHANGES.items():
        parts = increments(dataset.rescaled(**units))
        count = _ON_A_LINE if dataset.explained == "levels" else _FEWER if truncated else _POINTS
        score = np.array(log_prior, dtype=np.float64)
        for size in sizes:
            which = [i for i, model in enumerate(models) if len(model) == size]
            index = np.array([models[i] for i in which], dtype=np.intp).reshape(len(which), size)
            k = prior(1 + size).from_uniform(quasi_random(count, 1 + size))
            values = power * block_at(parts, index, k, truncated=truncated)[0]
            score[which] += logsumexp(values, axis=0) - np.log(len(k))
        found[name] = score
    return found
