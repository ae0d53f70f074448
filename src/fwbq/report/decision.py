"""The decision in one sentence, and what must be said beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..selection import Comparison, label
from . import words
from .kinetics import kinetic_remarks, no_model_predicts

#: Level at which a run that was given none is called decided.
LEVEL = 0.95
# Models are counted as rivals from this P(MAP) on: one chance in a hundred.
_RIVAL = 0.01
# Above this P(MAP) no more computing is expected to change which model is first: one chance in a thousand is left.
_SETTLED = 0.999


@dataclass(frozen=True)
class Decision:
    """What the comparison says.

    Attributes
    ----------
    verdict : str
        ``"decided"``, ``"undecided"`` or ``"single"``.
    headline : str
        The posterior probabilities of the best model and of the runner-up; before them, of kinetic models none of
        which predicts the rates, that this is so.
    ranking : str
        Whether more computing could change which model is first; empty for one model.
    remarks : tuple of str
        Further sentences.
    """

    verdict: str
    headline: str
    ranking: str
    remarks: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything that is said, the most important first."""
        return tuple(filter(None, (self.headline, self.ranking, *self.remarks)))


def level(comparison: Comparison) -> float:
    """Return the P(MAP) at which the run was to stop, else 0.95."""
    stop = comparison.settings.get("stop")
    return float(stop) if isinstance(stop, (int, float)) and 0.0 < stop < 1.0 else LEVEL


def decision(comparison: Comparison, shares: np.ndarray | None = None) -> Decision:
    """Word the decision.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    shares : (draws, m) array, optional
        Draws of the listed models' posterior probabilities; the comparison's own by default.
    """
    if shares is None:
        with np.errstate(invalid="ignore"):
            shares = comparison.probabilities()
    best = comparison.names.index(comparison.best)
    name = _name(comparison, best)
    ended = _ended(comparison)
    if comparison.n_models == 1:
        evidence = words.with_error(
            float(comparison.evidences.log_median[best]), float(comparison.evidences.log_sd[best])
        )
        return Decision("single", f"{name} is the only model: log evidence {evidence}.", "", (ended,))

    if not np.isfinite(comparison.evidences.log_median[best]):
        headline = (
            f"None of {comparison.n_models:,} models can be ranked: no likelihood is positive where it was evaluated."
        )
        return Decision("undecided", headline, "", (ended,))

    chance, wanted = comparison.map_probability, level(comparison)
    mean = shares.mean(axis=0)
    others = np.delete(np.arange(len(comparison)), best)
    if len(others):
        second = int(others[np.lexsort((-comparison.map_probabilities[others], -mean[others]))[0]])
        following = f"; next is {_name(comparison, second)} with {words.probability(float(mean[second]))}"
        shown = [best, second]
    else:
        following, shown = "", [best]
    leading = words.probability(float(mean[best]))
    remarks = [_numerical(comparison, shares, shown), *kinetic_remarks(comparison), ended]
    unknown = np.flatnonzero(comparison.evidences.nothing)
    if len(unknown) and chance >= wanted:
        verdict = "undecided"
        headline = (
            f"Undecided among {comparison.n_models:,} models: {name} leads with posterior probability "
            f"{leading}{following}."
        )
        more = f" and of {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
        ranking = (
            f"Nothing is known of the evidence of {_name(comparison, int(unknown[0]))}{more}: the likelihood was zero "
            f"at every point evaluated. Among the others, {name} is the maximum a posteriori model (MAP) with "
            f"probability {words.certainty(chance)}."
        )
    elif chance >= wanted:
        verdict = "decided"
        headline = (
            f"{name} is the most probable of {comparison.n_models:,} models: posterior probability "
            f"{leading}{following}."
        )
        outlook = "would not" if chance > _SETTLED else "is unlikely to"
        ranking = (
            f"More computing {outlook} change which model is first: given the numerical error, {name} is the maximum a "
            f"posteriori model (MAP) with probability {words.certainty(chance)}."
        )
    else:
        verdict = "undecided"
        headline = (
            f"Undecided among {comparison.n_models:,} models: {name} leads with posterior probability "
            f"{leading}{following}."
        )
        ranking = (
            f"More computing could change which model is first: given the numerical error, {name} is the maximum a "
            f"posteriori model (MAP) with probability {words.probability(chance)}{_rivals(comparison, best)}."
        )
        remarks.append(f"For P(MAP) above {wanted:g}: {_forecast(comparison, wanted)}.")
    middle = float(mean[best])
    if middle < 0.5:
        remarks.insert(
            0, f"{name} holds less than one half: the other models together {words.probability(1.0 - middle)}."
        )
    if comparison.rest is not None:
        remarks.insert(-1, _rest(comparison, float(np.mean(1.0 - shares.sum(axis=1)))))
    unfit = no_model_predicts(comparison)
    if unfit:
        verdict, headline = "undecided", f"{unfit} {headline}"
    return Decision(verdict, headline, ranking, tuple(filter(None, remarks)))


def _name(comparison: Comparison, position: int) -> str:
    return words.shorten(label(comparison.names[position]))


def _numerical(comparison: Comparison, shares: np.ndarray, which: list[int]) -> str:
    """Return where 90 % of the draws of the numerical error leave the probabilities; nothing when it shows nowhere."""
    said = []
    for i in which:
        low, high = (words.probability(float(q)) for q in np.quantile(shares[:, i], [0.05, 0.95]))
        if low != high:
            said.append(f"{_name(comparison, i)} between {low} and {high}")
    return f"Numerical error (90 %): {', '.join(said)}." if said else ""


def _rivals(comparison: Comparison, best: int) -> str:
    """Return the model that is most likely the MAP in place of the leader, and how many more may be."""
    chances = comparison.map_probabilities
    others = [int(i) for i in np.argsort(-chances, kind="stable") if i != best]
    if not others:
        return ""
    text = f", {_name(comparison, others[0])} with {words.probability(float(chances[others[0]]))}"
    more = int(np.sum(chances[others[1:]] >= _RIVAL))
    return text + (f", and {more:,} more with above {_RIVAL:g}" if more else "")


def _rest(comparison: Comparison, mass: float) -> str:
    assert comparison.rest is not None
    return (
        f"{comparison.rest.count:,} of the {comparison.n_models:,} models were screened out and are not listed; "
        f"together they hold a posterior probability of {words.probability(max(mass, 0.0))}. P(MAP) compares the "
        f"{len(comparison.names):,} models that are listed."
    )


def _forecast(comparison: Comparison, wanted: float) -> str:
    text = comparison.forecast(wanted)
    score = comparison.evidences.log_median + comparison.log_prior
    for i in np.argsort(-score)[:2]:
        full = label(comparison.names[i])
        text = text.replace(full, words.shorten(full)) if full else text
    return words.clean(text, 400)


def _ended(comparison: Comparison) -> str:
    """Return why the run ended, and what it took; evidences that were given did not run."""
    status, n = words.clean(comparison.status, 500), comparison.n_evaluations
    spent = f"{n:,} evaluation{'s' if n != 1 else ''}"
    if comparison.settings.get("evidence") == "given":
        return f"{status[0].upper()}{status[1:]}{f'; they took {spent}' if n else ''}."
    return f"The run ended after {spent}: {status}."
