"""What the page shows of the data of kinetic models: time courses, and the curves of the leading models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..chema import ContradictedError, Dataset, FittedCourse, fit
from ..chema.units import UnitChoice
from ..selection import Comparison, label
from . import words
from .numbers import numbers

FloatArray = NDArray[np.float64]

#: Models whose curves are drawn, and the least probability of those after the first: more would hide each other.
MODELS, _LEAST = 3, 0.01
#: Conditions that can be chosen from: each adds curves to the page, and nobody looks through more.
CONDITIONS = 24
_DRAWS = 400


def fits(comparison: Comparison, probabilities: np.ndarray, dataset: Dataset | None) -> dict[str, Any]:
    """Return measured and fitted time courses; empty without data.

    Parameters
    ----------
    comparison : Comparison
        Of kinetic models.
    probabilities : (m,) array
        Posterior probabilities of the listed models.
    dataset : Dataset or None
        The data that they were compared on.

    Raises
    ------
    ValueError
        When a leading model has an enzyme that the data do not have.
    """
    if dataset is None:
        return {}
    best = comparison.names.index(comparison.best)
    others = [int(i) for i in np.argsort(-probabilities, kind="stable") if i != best and probabilities[i] >= _LEAST]
    leading = [_enzymes(comparison.names[i]) for i in (best, *others[: MODELS - 1])]
    for name in leading:
        missing = [e for e in name if e not in dataset.names]
        if missing:
            raise ValueError(
                f"`dataset` has no enzyme {missing[0]!r}, which is in the leading model {label(name)}: pass the data "
                "set that the models were compared on"
            )
    truncated = str(comparison.settings.get("likelihood", "")).startswith("truncated")
    dataset, units = dataset.with_rates(comparison.settings.get("rates", "own")), _units(comparison)
    fitted, without = [], []
    for name in leading:
        try:
            fitted.append((name, fit(dataset, name, units=units, truncated=truncated, draws=_DRAWS, rng=0)))
        except ContradictedError:
            without.append(words.clean(label(name)))
    enzymes = list(dict.fromkeys(e for name in leading for e in name))
    conditions = []
    for k, part in enumerate(dataset.split()[:CONDITIONS]):
        conditions.append(
            {
                "name": words.clean(part.conditions[0]),
                "times": numbers(part.times),
                "substrate": numbers(part.substrate),
                "phospho": numbers(part.phospho),
                "rates": numbers(part.rates),
                "enzymes": [
                    {"name": words.clean(e), "levels": numbers(part.enzymes[:, dataset.names.index(e)])}
                    for e in enzymes
                ],
                "models": [{"name": words.clean(label(name)), **_course(found.courses[k])} for name, found in fitted],
            }
        )
    return {"total": len(dataset.conditions), "conditions": conditions, "without": without}


def _course(course: FittedCourse) -> dict[str, Any]:
    return {
        "levels": _band(course.levels, course.levels),
        "rates": _band(course.rates, course.predicted),
        "covered": course.covered,
    }


def _units(comparison: Comparison) -> UnitChoice:
    """Return in which units the priors were meant; comparisons of earlier versions have those of their data."""
    return "data" if comparison.settings.get("units") == "data" else "given"


def _enzymes(name: Any) -> tuple[str, ...]:
    return name if isinstance(name, tuple) else (str(name),)


def _band(middle: FloatArray, spread: FloatArray) -> dict[str, Any]:
    low, high = np.quantile(spread, [0.05, 0.95], axis=0)
    return {"low": numbers(low), "middle": numbers(np.median(middle, axis=0)), "high": numbers(high)}
