"""What is said of a comparison of kinetic models beside its ranking: units, rates, fit, and other priors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..chema.prediction import UNFIT
from ..selection import Comparison, label
from . import words

#: A log evidence is said to be wrong when it differs from that of thousands of points by this many standard deviations,
#: and to be unknown when its own is larger than this.
_APART, _WIDE = 4.0, 3.0
#: Probability of a negative rate that is worth a sentence.
_NEGATIVE = 0.05


def no_model_predicts(comparison: Comparison) -> str:
    """Return the sentence that precedes a ranking of models none of which predicts the rates; else nothing."""
    q2 = _number(_checks(comparison), "fit", "q2")
    if q2 is None or q2 >= UNFIT:
        return ""
    return (
        f"No model predicts the rates of {_forms(comparison)[1]} (leave-one-out Q² {_two(q2)}): do not read the "
        "ranking as regulation."
    )


def kinetic_remarks(comparison: Comparison) -> list[str]:
    """Return a sentence each for units, rates, fit and prior sensitivity; empty for other models."""
    settings = comparison.settings
    if "likelihood" not in settings or "units" not in settings:
        return []
    lines = (_units, _rates, _negative, _fit, _sensitivity, _numerics)
    return [*filter(None, (line(comparison) for line in lines))]


def _units(comparison: Comparison) -> str:
    if comparison.settings["units"] != "data":
        return (
            "Units: those of the data. The priors expect constants K and rates V near 1 in them; in other units the "
            "probabilities would be different."
        )
    factors = comparison.settings.get("factors")
    if not isinstance(factors, Mapping):
        return ""
    try:
        plain, starred = _forms(comparison)
        said = [(starred, factors["phospho"]), (plain, factors["substrate"]), ("time", factors["time"])]
        named = ", ".join(f"{name} in {value:.4g}" for name, value in said)
    except (KeyError, TypeError, ValueError):
        return ""
    return (
        f"Units: levels in their means, time by the rates of change ({named}), so that the answer does not depend on "
        "the units of the data."
    )


def _rates(comparison: Comparison) -> str:
    settings = comparison.settings
    conditions, lines = settings.get("conditions", 1), settings.get("cell_lines", 1)
    if conditions == 1:
        return "Rates: one condition, with one set of rates V and one noise."
    if settings.get("rates") == "own":
        return f"Rates: each of the {conditions} conditions has rates V and noise of its own; constants K are shared."
    if lines == 1:
        return f"Rates: the {conditions} conditions share the rates V, the noise and the constants K."
    return (
        f"Rates: the conditions of each of the {lines} cell lines (column cell_line) share the rates V and the noise; "
        "all share the constants K."
    )


def _negative(comparison: Comparison) -> str:
    p = _number(_checks(comparison), "fit", "p_negative")
    if p is None or p <= _NEGATIVE:
        return ""
    return (
        f"Signs: the closed form lets rates be negative, and one of the leading model is with probability "
        f"{words.probability(p)}; with rates truncated to V ≥ 0 the order may be another."
    )


def _fit(comparison: Comparison) -> str:
    checks = _checks(comparison)
    q2, without = (_number(checks, "fit", name) for name in ("q2", "q2_without_enzymes"))
    if q2 is None or without is None:
        return ""
    text = (
        f"Fit: the leading model predicts rates that were left out with Q² {_two(q2)} (1 is perfect; without enzymes "
        f"{_two(without)})"
    )
    p = _number(checks, "fit", "p_value")
    if p is None:
        return f"{text}."
    return f"{text}; the best model of enzymes at permuted times is as good with probability {words.probability(p)}."


def _sensitivity(comparison: Comparison) -> str:
    found = _checks(comparison).get("sensitivity")
    if not isinstance(found, Mapping) or not found:
        return ""
    firsts = Counter(label(tuple(map(str, name))) for name in found.values())
    best = label(comparison.best)
    stays = firsts.pop(best, 0)
    text = (
        f"Prior sensitivity: with the unit of time and the prior of K halved and doubled, {words.shorten(best)} stays "
        f"first in {stays} of {len(found)}"
    )
    others = ", ".join(f"{words.shorten(name)} in {count}" for name, count in firsts.most_common(2))
    return f"{text}; else {others}." if others else f"{text}."


def _numerics(comparison: Comparison) -> str:
    """Return what thousands of points say of the leading evidences, where that is not what was found."""
    method = comparison.settings.get("method", "log")
    said = []
    own = comparison.settings.get("own_points")
    if isinstance(own, list) and own:
        said.append(
            "the points that models share did not settle the log evidence of all that could be first, and "
            f"{len(own)} of them got points of their own"
        )
    if method != "log":
        said.append(
            f"the method {words.clean(str(method), 20)} is the paper's and understates its error: of simulated sets "
            "its 95 % intervals held 55 to 90 %"
        )
    rows = _checks(comparison).get("models")
    for row in rows if isinstance(rows, list) else []:
        try:
            name = tuple(map(str, row["model"]))
            again, error = float(row["log_evidence_again"]), float(row["log_evidence_again_sd"])
            at = comparison.names.index(name)
        except (KeyError, TypeError, ValueError):
            continue
        found, sd = (float(x[at]) for x in (comparison.evidences.log_median, comparison.evidences.log_sd))
        if sd > _WIDE or abs(found - again) > _APART * (sd + error):
            said.append(
                f"the log evidence of {words.shorten(label(name))} is {words.log_evidence(found, sd)} by the "
                f"comparison and {words.log_evidence(again, error)} by thousands of points: the likelihood is too "
                "narrow for the points that models share; take the units of the data, or more points"
            )
            break
    return f"Numerics: {'; '.join(said)}." if said else ""


def _checks(comparison: Comparison) -> Mapping[str, Any]:
    checks = comparison.settings.get("checks")
    return checks if isinstance(checks, Mapping) else {}


def _number(checks: Mapping[str, Any], part: str, name: str) -> float | None:
    value = checks.get(part, {}).get(name) if isinstance(checks.get(part), Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def _forms(comparison: Comparison) -> tuple[str, str]:
    """Return what the two forms of the substrate are called."""
    forms = comparison.settings.get("forms")
    if isinstance(forms, list | tuple) and len(forms) == 2:
        return words.shorten(str(forms[0])), words.shorten(str(forms[1]))
    return "S", "S*"


def _two(x: float) -> str:
    return f"{x:.2f}".replace("-", "−")
