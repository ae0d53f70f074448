"""The posterior of the Michaelis constants of one model: points of the prior, weighed by the likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..designs.qmc import scrambled_engine
from .family import prior
from .kinetics import FloatArray, Increments, IntArray
from .likelihood import block_at

# Points of the prior that are weighed: doubled until 200 of them are effective, for bands that are known to some 5 % of
# their width; at the last size a likelihood a thousand times narrower than the prior still has dozens.
_FIRST, _LAST, _EFFECTIVE = 2**12, 2**17, 200.0


def constants_posterior(
    parts: Sequence[Increments], columns: IntArray, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """Return points of the prior of K, their posterior probabilities, and the logarithm of the mean likelihood."""
    measure = prior(1 + len(columns))
    engine = scrambled_engine("sobol", measure.uniform_dim, generator)
    points, logs = np.empty((0, measure.dim)), np.empty(0)
    while True:
        more = measure.from_uniform(engine.random(max(len(points), _FIRST)))
        points = np.vstack([points, more])
        logs = np.concatenate([logs, block_at(parts, columns[None], more)[0][:, 0]])
        weights = np.exp(logs - logs.max())
        mean = float(logs.max() + np.log(weights.mean()))
        weights /= weights.sum()
        if len(points) >= _LAST or np.sum(weights**2) * _EFFECTIVE <= 1.0:
            return points, weights, mean
