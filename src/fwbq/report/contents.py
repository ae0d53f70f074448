"""What the page shows of a comparison, as numbers and names that fit into JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..chema import Dataset
from ..selection import Comparison, label
from . import words
from .decision import level
from .fits import fits
from .numbers import numbers

#: Models in the table: the most probable ones. Each row makes the page larger, and nobody reads further.
ROWS = 1000
#: Members in the figure of inclusion probabilities: it is then as high as the figures beside it.
MEMBERS = 12
#: Probability of every range on the page, from the 5 % to the 95 % quantile of the draws of the numerical error.
LEVEL = 0.9


def contents(comparison: Comparison, shares: np.ndarray, dataset: Dataset | None = None) -> dict[str, Any]:
    """Return all that the figures and the table are drawn from.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    shares : (draws, m) array
        Draws of the listed models' posterior probabilities.
    dataset : Dataset, optional
        The data of kinetic models.
    """
    log_posterior = comparison.evidences.log_median + comparison.log_prior
    mean = shares.mean(axis=0)
    rows = np.lexsort((-log_posterior, -mean))[:ROWS]
    best = comparison.names.index(comparison.best)
    if best not in rows:
        rows[-1] = best
    q05, q25, q50, q75, q95 = np.quantile(shares[:, rows], [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    listed = comparison.evidences.take(rows)
    members, of = _members(comparison.names[i] for i in rows)
    return {
        "total": comparison.n_models,
        "level": level(comparison),
        "best": int(np.flatnonzero(rows == best)[0]),
        "models": {
            "name": [words.clean(label(comparison.names[i])) for i in rows],
            "members": of,
            "position": [int(i) + 1 for i in rows],
            "probability": numbers(mean[rows]),
            "q05": numbers(q05),
            "q25": numbers(q25),
            "q50": numbers(q50),
            "q75": numbers(q75),
            "q95": numbers(q95),
            "map": numbers(comparison.map_probabilities[rows]),
            "logEvidence": numbers(listed.log_median, 10),
            "sd": numbers(listed.log_sd, 4),
            "bayes": numbers(listed.log_median - comparison.evidences.take([best]).log_median[0]),
            "evaluations": [int(n) for n in comparison.points[rows]],
        },
        "members": members,
        "inclusion": _inclusion(comparison, len(shares)),
        "history": {
            "n": [s.n for s in comparison.stages],
            "evaluations": [s.evaluations for s in comparison.stages],
            "contenders": [s.contenders for s in comparison.stages],
            "best": [words.shorten(label(comparison.names[s.best])) for s in comparison.stages],
            "map": numbers([s.map_probability for s in comparison.stages]),
        },
        "error": _error(comparison),
        "fits": fits(comparison, mean, dataset),
    }


def _members(names: Iterable[Any]) -> tuple[list[str], list[list[int]]]:
    """Return the sorted members of all models that are tuples, and for each model the positions of its members."""
    members = [tuple(words.clean(str(e)) for e in name) if isinstance(name, tuple) else () for name in names]
    known = sorted({e for name in members for e in name}, key=lambda e: (e.casefold(), e))
    number = {e: j for j, e in enumerate(known)}
    return known, [[number[e] for e in name] for name in members]


def _inclusion(comparison: Comparison, size: int) -> dict[str, Any]:
    frame = comparison.inclusion(size, LEVEL)
    top, others = frame.head(MEMBERS), frame.iloc[MEMBERS:]
    return {
        "total": len(frame),
        "others": numbers(others["probability"].head(1)),
        "name": [words.clean(str(e)) for e in top["name"]],
        **{key: numbers(top[key]) for key in ("probability", "lower", "upper")},
    }


def _error(comparison: Comparison) -> dict[str, Any]:
    """Return the standard deviation of the log evidence by number of points: median of all models, and of the best."""
    frame = comparison.error_history()
    return {
        "n": [int(n) for n in frame["n"]],
        "median": numbers(frame["median"], 4),
        "best": numbers(frame["leading"], 4),
    }
