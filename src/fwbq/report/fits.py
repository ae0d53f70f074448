"""What the page shows of the data of kinetic models: time courses, and the curves of the leading models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..chema import ContradictedError, Dataset, FittedCourse, KineticFit, fit
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
#: Sets of rates whose numbers are listed.
_GROUPS = 6
#: The sum of both forms of the substrate is called constant when it varies by less than this part: measurement error.
_CONSERVED = 0.4


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
                "rates": numbers(np.where(part.used, part.slopes, np.nan)[:-1]),
                "enzymes": [
                    {"name": words.clean(e), "levels": numbers(part.enzymes[:, dataset.names.index(e)])}
                    for e in enzymes
                ],
                "models": [
                    {"name": words.clean(label(name)), **_course(found.courses[k], part)} for name, found in fitted
                ],
            }
        )
    return {
        "total": len(dataset.conditions),
        "forms": [words.clean(name) for name in dataset.forms],
        "conditions": conditions,
        "without": without,
        "astray": [words.clean(label(name)) for name, found in fitted if _astray(found)],
        "constants": [row for name, found in fitted for row in _constants(dataset, found)],
    }


def _course(course: FittedCourse, data: Dataset) -> dict[str, Any]:
    total = data.substrate + data.phospho
    # What is phosphorylated leaves the substrate, if the two are measured in the same unit: then their sum is constant.
    known = total[np.isfinite(total)]
    conserved = np.isfinite(total[0]) and np.ptp(known) <= _CONSERVED * known.mean()
    rest = total[0] - np.median(course.levels, axis=0)
    return {
        "levels": _band(course.levels, course.levels),
        "substrate": numbers(rest) if conserved else None,
        "rates": _band(course.rates, course.predicted),
        "covered": course.covered,
    }


def _astray(found: KineticFit) -> bool:
    """Whether a band of levels leaves the measured ones by more than their own range."""
    for course in found.courses:
        low, high = np.quantile(course.levels, [0.05, 0.95], axis=0)
        least, most = np.nanmin(course.phospho), np.nanmax(course.phospho)
        if np.nanmin(low) < least - (most - least) or np.nanmax(high) > most + (most - least):
            return True
    return False


def _constants(dataset: Dataset, found: KineticFit) -> list[list[str]]:
    """Return a row for each constant and rate of a model: model, name, unit, median and 90 % interval."""
    plain, starred = dataset.forms
    actors = [f"dephosphorylation of {starred}", *(f"phosphorylation by {e}" for e in found.model)]
    units = [starred, *[plain] * len(found.model)]
    rows = [
        (f"K, {actor}", f"unit of {unit}", found.constants[:, j])
        for j, (actor, unit) in enumerate(zip(actors, units, strict=True))
    ]
    for group in dataset.groups[:_GROUPS]:
        course = found.courses[group[0]]
        own = f", {'; '.join(dataset.conditions[i] for i in group)}" if len(dataset.groups) > 1 else ""
        per = [f"{starred} per time", *(f"{starred} per time and {e}" for e in found.model)]
        rows += [(f"V, {actor}{own}", per[j], course.velocities[:, j]) for j, actor in enumerate(actors)]
        rows.append((f"noise of the rates{own}", per[0], course.noise))
    said = []
    for name, unit, draws in rows:
        low, middle, high = np.quantile(draws, [0.05, 0.5, 0.95])
        interval = f"{low:.3g} to {high:.3g}".replace("-", "−")
        said.append([words.clean(x) for x in (label(found.model), name, f"{middle:.3g}", interval, unit)])
    return said


def _units(comparison: Comparison) -> UnitChoice:
    """Return in which units the priors were meant; comparisons of earlier versions have those of their data."""
    return "data" if comparison.settings.get("units") == "data" else "given"


def _enzymes(name: Any) -> tuple[str, ...]:
    return name if isinstance(name, tuple) else (str(name),)


def _band(middle: FloatArray, spread: FloatArray) -> dict[str, Any]:
    low, high = np.quantile(spread, [0.05, 0.95], axis=0)
    return {"low": numbers(low), "middle": numbers(np.median(middle, axis=0)), "high": numbers(high)}
