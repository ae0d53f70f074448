"""What the page shows of a comparison, as numbers and names that fit into JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..selection import Comparison, label
from . import words
from .decision import level

#: Models in the table: the most probable ones. Each row makes the page larger, and nobody reads further.
ROWS = 1000
#: Members in the figure of inclusion probabilities: as many as can be read at its size.
MEMBERS = 30
# Draws of the numerical error: two thousand, fewer when the models are so many that memory would not hold them.
_DRAWS, _NUMBERS = 2000, 20_000_000


def draws(models: int) -> int:
    """Return how many draws of the numerical error the page is made from.

    Examples
    --------
    >>> draws(352), draws(50_000)
    (2000, 400)
    """
    return int(np.clip(_NUMBERS // max(models, 1), 100, _DRAWS))


def contents(comparison: Comparison, shares: np.ndarray) -> dict[str, Any]:
    """Return all that the figures and the table are drawn from.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    shares : (draws, m) array
        Draws of the models' posterior probabilities.
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
        "mmd": _mmd(comparison.settings.get("mmd")),
    }


def numbers(values: ArrayLike, digits: int = 6) -> list[float | None]:
    """Return numbers rounded to significant digits; what is not finite becomes None.

    Examples
    --------
    >>> numbers([0.12345678, float("inf"), 3.0])
    [0.123457, None, 3.0]
    """
    flat = np.asarray(values, dtype=np.float64).ravel().tolist()
    return [float(f"{x:.{digits}g}") if math.isfinite(x) else None for x in flat]


def _members(names: Iterable[Any]) -> tuple[list[str], list[list[int]]]:
    """Return the sorted members of all models that are tuples, and for each model the positions of its members."""
    members = [tuple(words.clean(str(e)) for e in name) if isinstance(name, tuple) else () for name in names]
    known = sorted({e for name in members for e in name}, key=lambda e: (e.casefold(), e))
    number = {e: j for j, e in enumerate(known)}
    return known, [[number[e] for e in name] for name in members]


def _inclusion(comparison: Comparison, size: int) -> dict[str, Any]:
    frame = comparison.inclusion(size)
    top = frame.head(MEMBERS)
    return {
        "total": len(frame),
        "name": [words.clean(str(e)) for e in top["name"]],
        **{key: numbers(top[key]) for key in ("probability", "lower", "upper")},
    }


def _error(comparison: Comparison) -> dict[str, Any]:
    """Return the standard deviation of the log evidence by number of points: median of all models, and of the best."""
    best = comparison.names.index(comparison.best)
    kept = []
    for stage in comparison.stages:
        sd = stage.evidences.log_sd
        median = float(np.median(sd[np.isfinite(sd)])) if np.isfinite(sd).any() else math.nan
        kept.append((stage.n, median, float(sd[best])))
    return {
        "n": [n for n, _, _ in kept],
        "median": numbers([m for _, m, _ in kept], 4),
        "best": numbers([b for _, _, b in kept], 4),
    }


def _mmd(curves: Any) -> list[dict[str, Any]]:
    """Return the curves of worst-case error against n: one, or several by name, of pairs [n, mmd]."""
    named = curves.items() if isinstance(curves, Mapping) else [("", curves or [])]
    out = []
    for name, pairs in named:
        table = np.asarray(pairs, dtype=np.float64).reshape(-1, 2)
        table = table[np.all(np.isfinite(table), axis=1) & np.all(table > 0.0, axis=1)]
        if len(table):
            out.append({"name": words.clean(str(name), 60), "n": numbers(table[:, 0]), "mmd": numbers(table[:, 1])})
    return out
