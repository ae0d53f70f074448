"""The tables of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _validate
from .label import label

if TYPE_CHECKING:
    import pandas as pd

    from .comparison import Comparison


def ranks(comparison: Comparison, top: int, draws: int | None) -> pd.DataFrame:
    """Return P(model has rank r), r = 1..top, for the models that are ever among the first `top`."""
    import pandas as pd

    logs = comparison.log_draws(draws, None) + comparison.log_prior
    top = min(_validate.count(top, "top"), len(comparison.names))
    ranks = np.argsort(-logs, axis=1, kind="stable")[:, :top]
    seen, inverse = np.unique(ranks, return_inverse=True)
    counts = np.zeros((len(seen), top))
    np.add.at(counts, (inverse.reshape(ranks.shape), np.arange(top)), 1.0 / len(logs))
    frame = pd.DataFrame(counts, index=[label(comparison.names[i]) for i in seen], columns=range(1, top + 1))
    return frame.iloc[np.lexsort(tuple(-counts[:, r] for r in reversed(range(top))))]


def inclusion(comparison: Comparison, draws: int | None, level: float) -> pd.DataFrame:
    """Return the inclusion probability of each member of tuple-named models."""
    import pandas as pd
    from scipy.sparse import csr_array

    sets = [name if isinstance(name, tuple) else () for name in comparison.names]
    members = list(dict.fromkeys(e for name in sets for e in name))
    tail = 50.0 * (1.0 - _validate.probability(level, "level"))
    if not members:
        return pd.DataFrame({"name": members, "probability": [], "lower": [], "upper": []})
    position = {e: j for j, e in enumerate(members)}
    columns = np.array([position[e] for name in sets for e in dict.fromkeys(name)], dtype=np.intp)
    ends = np.cumsum([0, *(len(set(name)) for name in sets)])
    holds = csr_array((np.ones(len(columns)), columns, ends), shape=(len(sets), len(members)))
    shares = (holds.T @ comparison.probabilities(draws).T).T
    low, middle, high = np.percentile(shares, [tail, 50.0, 100.0 - tail], axis=0)
    frame = pd.DataFrame({"name": members, "probability": middle, "lower": low, "upper": high})
    return frame.sort_values("probability", ascending=False, ignore_index=True, kind="stable")


def models(comparison: Comparison, draws: int | None) -> pd.DataFrame:
    """Return a row for each model, most probable first."""
    import pandas as pd

    shares = comparison.probabilities(draws)
    q05, q25, q50, q75, q95 = np.quantile(shares, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    frame = pd.DataFrame(
        {
            "model": [label(name) for name in comparison.names],
            "log_evidence": comparison.evidences.log_median,
            "log_evidence_sd": comparison.evidences.log_sd,
            "probability": shares.mean(axis=0),
            "q05": q05,
            "q25": q25,
            "q50": q50,
            "q75": q75,
            "q95": q95,
            "map_probability": comparison.map_probabilities,
            "evaluations": comparison.points,
        }
    )
    order = np.lexsort((-(comparison.evidences.log_median + comparison.log_prior), -frame["probability"].to_numpy()))
    return frame.iloc[order].reset_index(drop=True)


def rounds(comparison: Comparison) -> pd.DataFrame:
    """Return a row for each round."""
    import pandas as pd

    return pd.DataFrame(
        {
            "n": [s.n for s in comparison.stages],
            "evaluations": [s.evaluations for s in comparison.stages],
            "contenders": [s.contenders for s in comparison.stages],
            "best": [label(comparison.names[s.best]) for s in comparison.stages],
            "map_probability": [s.map_probability for s in comparison.stages],
        }
    )


def errors(comparison: Comparison) -> pd.DataFrame:
    """Return the standard deviation of the log evidence after each round."""
    import pandas as pd

    best = comparison.names.index(comparison.best)
    rows = []
    for s in comparison.stages:
        sd = s.evidences.log_sd
        known = sd[np.isfinite(sd)]
        rows.append((s.n, float(sd[best]), float(np.median(known)) if len(known) else np.nan))
    return pd.DataFrame(rows, columns=["n", "leading", "median"])
