"""The decision in one sentence, and what must be said beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..selection import Comparison, label
from . import words

#: Level at which a run that was given none is called decided.
LEVEL = 0.95
# A second model is named as a rival, or models are counted as such, from this P(MAP) on: one chance in a hundred.
_RIVAL = 0.01


@dataclass(frozen=True)
class Decision:
    """What the comparison says.

    Attributes
    ----------
    verdict : str
        ``"decided"``, ``"undecided"`` or ``"single"``.
    headline : str
        One sentence.
    remarks : tuple of str
        Further sentences.
    """

    verdict: str
    headline: str
    remarks: tuple[str, ...]


def level(comparison: Comparison) -> float:
    """Return the P(MAP) at which the run was to stop, else 0.95."""
    stop = comparison.settings.get("stop")
    return float(stop) if isinstance(stop, (int, float)) and 0.0 < stop < 1.0 else LEVEL


def decision(comparison: Comparison, shares: np.ndarray) -> Decision:
    """Word the decision.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    shares : (draws, m) array
        Draws of the models' posterior probabilities.
    """
    chances = comparison.map_probabilities
    best = comparison.names.index(comparison.best)
    name = words.shorten(label(comparison.best))
    spent = f"{comparison.n_evaluations:,} evaluation{'s' if comparison.n_evaluations != 1 else ''}"
    ended = f"The run ended: {words.clean(comparison.status, 300)}."
    if comparison.n_models == 1:
        evidence = words.with_error(
            float(comparison.evidences.log_median[best]), float(comparison.evidences.log_sd[best])
        )
        return Decision("single", f"{name} is the only model: log evidence {evidence}, after {spent}.", (ended,))

    wanted = level(comparison)
    chance = float(chances[best])
    order = np.argsort(-chances, kind="stable")
    others = [int(i) for i in order if i != best]
    second = float(chances[others[0]]) if others else 0.0
    remarks = [_share(comparison, shares[:, best]), ended]
    if chance >= wanted:
        verdict = "decided"
        headline = (
            f"{name} is the MAP with probability {words.certainty(chance)} given the numerical error; {spent}; "
            f"nothing else above {words.ceiling(second)}."
        )
    else:
        verdict = "undecided"
        more = int(np.sum(chances[others[1:]] >= _RIVAL))
        rivals = f"followed by {words.shorten(label(comparison.names[others[0]]))} with {words.probability(second)}"
        if more:
            rivals += f" and {more:,} more above {_RIVAL:g}"
        headline = (
            f"Undecided: {name} leads with P(MAP) = {words.probability(chance)} given the numerical error, {rivals}; "
            f"{spent}."
        )
        remarks.append(f"For P(MAP) above {wanted:g}: {_forecast(comparison, wanted)}.")
    if comparison.rest is not None:
        remarks.insert(1, _rest(comparison, float(np.mean(1.0 - shares.sum(axis=1)))))
    return Decision(verdict, headline, tuple(remarks))


def _share(comparison: Comparison, draws: np.ndarray) -> str:
    low, high = (float(q) for q in np.quantile(draws, [0.05, 0.95]))
    middle = float(np.mean(draws))
    text = (
        f"Its posterior probability among the {comparison.n_models:,} models is {words.probability(middle)}; the "
        f"numerical error leaves it {words.interval(low, high)}, with probability 0.9."
    )
    if middle < 0.5:
        others = words.probability(1.0 - middle)
        text += f" That is less than one half: the other models together hold {others}."
    return text


def _rest(comparison: Comparison, mass: float) -> str:
    assert comparison.rest is not None
    return (
        f"{comparison.rest.count:,} of the {comparison.n_models:,} models were screened out and are not listed; "
        f"together they hold a posterior probability of {words.probability(max(mass, 0.0))}, and P(MAP) is among the "
        f"{len(comparison.names):,} that are."
    )


def _forecast(comparison: Comparison, wanted: float) -> str:
    text = comparison.forecast(wanted)
    score = comparison.evidences.log_median + comparison.log_prior
    for i in np.argsort(-score)[:2]:
        full = label(comparison.names[i])
        text = text.replace(full, words.shorten(full)) if full else text
    return words.clean(text, 400)
