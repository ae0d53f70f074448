"""How to make a comparison again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..selection import Comparison
from . import words

_ARGUMENTS = ("stages", "stop", "tol", "evidence", "amplitude", "race")


def recipe(comparison: Comparison) -> str:
    """Return the command that made the comparison when it is known, else the call in Python.

    Parameters
    ----------
    comparison : Comparison
        Its `settings` say how it was made.
    """
    command = comparison.settings.get("command")
    if isinstance(command, str) and command:
        return words.clean(command, 4000)
    return _python(comparison.settings)


def _python(settings: Mapping[str, Any]) -> str:
    kinetic = "likelihood" in settings
    arguments = [f"{key}={settings[key]!r}" for key in _ARGUMENTS if settings.get(key) is not None]
    if kinetic and str(settings["likelihood"]).startswith("truncated"):
        arguments.insert(0, "truncated=True")
    if settings.get("kernel") is not None:
        arguments.append(f"kernel=fwbq.{settings['kernel']}")
    lines = ["import fwbq", ""]
    if kinetic:
        lines += [
            "# the same data",
            'dataset = fwbq.chema.Dataset.from_csv("data.csv", ...)',
            "comparison = fwbq.chema.compare(",
        ]
        first = "    dataset,"
    else:
        lines += [
            "# the same names, log integrands and measures",
            "models = {...}",
            "comparison = fwbq.compare_models(",
        ]
        first = "    models,"
    lines += [first, *(f"    {words.clean(argument, 300)}," for argument in arguments), ")"]
    lines.append('comparison.report("report.html")')
    return "\n".join(lines)
