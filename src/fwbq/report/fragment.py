"""A comparison as notebooks show it: the decision, and the leading models."""

from __future__ import annotations

from html import escape

import numpy as np

from .. import _html
from ..selection import Comparison
from . import words
from .decision import Decision

_ROWS = 5


def fragment(comparison: Comparison, said: Decision) -> str:
    """Return a piece of HTML: the headline, what more computing could change, and a table of the leading models."""
    with np.errstate(invalid="ignore"):  # models without any likelihood have no difference from each other
        leading = comparison.to_frame().head(_ROWS).to_dict(orient="records")
    rows = [
        [
            words.shorten(str(r["model"])),
            words.with_range(r["probability"], r["q05"], r["q95"]),
            words.probability(r["map_probability"]),
            words.with_error(r["log_evidence"], r["log_evidence_sd"]),
        ]
        for r in leading
    ]
    columns = ["model", "probability (90 % range)", "P(MAP)", "log evidence"]
    text = f"<p><strong>{escape(said.headline)}</strong> {escape(said.ranking)}</p>"
    return text + _html.grid(columns, rows, title=f"The leading {len(rows)} of {comparison.n_models:,} models")
