"""How to make a comparison again, to the digit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..selection import Comparison
from . import words

# Arguments with their defaults, which need not be written.
_ARGUMENTS: dict[str, Any] = {
    "method": "log", "stages": None, "stop": None, "tol": None, "evidence": "log", "amplitude": None,
    "race": True, "budget": None, "rng": None,
}  # fmt: skip
# Models that are written out when they were given; more would fill the page.
_MOST = 30


def recipes(comparison: Comparison) -> list[tuple[str, str]]:
    """Return titles and texts: the command that made the comparison, when it is known, and the call in Python.

    Parameters
    ----------
    comparison : Comparison
        Its `settings` say how it was made.
    """
    command = comparison.settings.get("command")
    found = [("On the command line", words.clean(command, 4000))] if isinstance(command, str) and command else []
    return [*found, ("In Python", python(comparison))]


def python(comparison: Comparison) -> str:
    """Return the call in Python that makes the comparison again."""
    settings = comparison.settings
    kinetic = "likelihood" in settings
    source = settings.get("data")
    lines = ["import fwbq", ""]
    if kinetic and isinstance(source, str):
        lines += [f"dataset = {words.clean(source, 2000)}"]
    elif kinetic:
        lines += ["# `dataset` is the data set that was compared, a fwbq.chema.Dataset"]
    else:
        lines += ["# `models` has the same names, log integrands and measures"]
    lines += [f"comparison = fwbq.{'chema.compare' if kinetic else 'compare_models'}("]
    lines += ["    dataset," if kinetic else "    models,"]
    lines += [f"    {words.clean(argument, 2000)}," for argument in _arguments(comparison, settings, kinetic)]
    lines += [")", f'comparison.report("report.html"{", dataset" if kinetic else ""})']
    if settings.get("rng") is None:
        lines.insert(2, "# no seed was given: the draws of the numerical error will differ in the last digits")
    return "\n".join(lines)


def _arguments(comparison: Comparison, settings: Mapping[str, Any], kinetic: bool) -> list[str]:
    found = []
    if kinetic and settings.get("max_enzymes") is not None:
        found.append(f"max_enzymes={settings['max_enzymes']!r}")
    elif kinetic and "max_enzymes" in settings:
        few = comparison.rest is None and len(comparison.names) <= _MOST
        found.append(f"models={list(comparison.names)!r}" if few else "models=models,  # the same models")
    if kinetic:
        # Versions that did not say it had the units of the data, and rates of its own for every condition.
        found += [] if settings.get("units") == "data" else ['units="given"']
        found += [] if settings.get("rates") == "shared" else ['rates="own"']
        found += ["basal=True"] if settings.get("basal") else []
        found += [f"{key}={settings[key]!r}" for key in ("effective", "inclusion") if settings.get(key) is not None]
    if kinetic:
        found.append(f"truncated={str(settings['likelihood']).startswith('truncated')}")
    for key, default in _ARGUMENTS.items():
        value = settings.get(key)
        if value is not None and value != default:
            found.append(f"{key}={value!r}")
    if settings.get("kernel") is not None:
        found.append(f"kernel=fwbq.{settings['kernel']}")
    if np.ptp(comparison.log_prior) > 0.0 and settings.get("inclusion") is None:
        found.append("prior=prior,  # the same prior probabilities of the models")
    return found
