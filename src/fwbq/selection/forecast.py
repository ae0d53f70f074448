"""What more certainty about a comparison would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _validate
from .label import label

if TYPE_CHECKING:
    from .comparison import Comparison


def forecast(comparison: Comparison, level: float) -> str:
    """Return what would be needed for more certainty, in words; see :meth:`Comparison.forecast`."""
    _validate.probability(level, "level")
    if comparison.map_probability >= level:
        return f"nothing more: P(MAP) = {comparison.map_probability:.4g} is above {level:g} already"
    score = comparison.evidences.log_median + comparison.log_prior
    if len(comparison.names) < 2:
        return "nothing more: there is one model"
    first, second = np.argsort(-score)[:2]
    gap = score[first] - score[second]
    if not np.isfinite(gap):
        return "cannot be predicted: the likelihood of all models but one, or of all, was zero at every point evaluated"
    history = [(s.n, float(np.hypot(*s.evidences.log_sd[[first, second]]))) for s in comparison.stages]
    usable = [(n, sd) for n, sd in history if 0.0 < sd < np.inf]
    if len(usable) < 2 or gap <= 0.0:
        return "cannot be predicted: there are too few rounds, or the two leading models have equal probability"
    (n0, s0), (n1, s1) = usable[0], usable[-1]
    rate = np.log(s0 / s1) / np.log(n1 / n0)
    if rate <= 0.05:
        return "cannot be predicted: the numerical error has not fallen from round to round yet"
    from scipy.special import ndtri

    # Not below what has been spent: a rival further down may be what keeps the decision open.
    with np.errstate(over="ignore"):
        needed = n1 * max(s1 * float(ndtri(level)) / gap, 1.0) ** (1.0 / rate)
    if not needed < 1e9:
        return (
            "more than a billion points for each of the two leading models: their posterior probabilities are too "
            "close to be told apart by computing more"
        )
    return (
        f"about {int(np.ceil(needed)):,} points for each of the two leading models, {label(comparison.names[first])} "
        f"and {label(comparison.names[second])} (now {n1}; the error falls like n^-{rate:.1f})"
    )
