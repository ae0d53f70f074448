"""Inhibitors: which kinase they act on, and how much of its activity they take away.

What is measured of a kinase under its inhibitor is often its phosphorylation, which may stay or even rise, while its
activity, which is what acts on a substrate, falls. So the level of an inhibited kinase, as an enzyme, is multiplied by
one minus the efficacy in the conditions that were treated with the inhibitor, or what it is above its level at rest is.
As a substrate it is left as measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import _validate
from . import _checks

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["Inhibitor", "inhibited", "stimulated"]

# What separates the treatments in the name of a condition: "UACC812 EGF+AKTi".
_BETWEEN = re.compile(r"[\s+,;/&|]+")


@dataclass(frozen=True)
class Inhibitor:
    """A treatment that takes activity away from a kinase.

    Attributes
    ----------
    name : str
        Of the treatment: a condition has it when it is one of the words of the condition's name, as in ``EGF+AKTi``,
        or the whole of it.
    kinase : str
        The variable whose activity falls.
    efficacy : float
        The part of the activity that is lost, above 0 and at most 1.

    Examples
    --------
    >>> Inhibitor.parse("AKTi=AKT_pS473:0.9")
    Inhibitor(name='AKTi', kinase='AKT_pS473', efficacy=0.9)
    """

    name: str
    kinase: str
    efficacy: float = 1.0

    def __post_init__(self) -> None:
        part = _validate.positive(self.efficacy, "efficacy")
        if part > 1.0:
            _checks.fail(f"`efficacy` is the part of the activity that is lost, at most 1; got {part:g}")
        object.__setattr__(self, "efficacy", part)

    @classmethod
    def parse(cls, text: str) -> Inhibitor:
        """Read ``NAME=KINASE`` or ``NAME=KINASE:efficacy``."""
        name, equals, rest = text.partition("=")
        kinase, efficacy = rest, "1"
        before, colon, after = rest.rpartition(":")
        if colon and is_number(after):
            kinase, efficacy = before, after
        if not (equals and name.strip() and kinase.strip()):
            _checks.fail(
                f"`inhibitor` {text!r} must be NAME=KINASE or NAME=KINASE:efficacy, e.g. AKTi=AKT_pS473:0.9: the "
                "treatment, and the variable whose activity it lowers"
            )
        return cls(name.strip(), kinase.strip(), float(efficacy))

    def treats(self, condition: str) -> bool:
        """Whether a condition was treated with this inhibitor, by its name."""
        words = {word.partition("=")[0] for word in _BETWEEN.split(condition)}
        return self.name == condition or self.name in words


def inhibited(dataset: Dataset, inhibitors: Iterable[Inhibitor | str], *, rest: bool = False) -> Dataset:
    """Return the data with the activities of inhibited kinases lowered; see :meth:`Dataset.inhibited`.

    With `rest` they are lowered to the mean level at the first times of all conditions, and not to zero: most of what
    is measured of a kinase at rest is often background, and no activity.
    """
    every = as_inhibitors(inhibitors)
    levels = np.array(dataset.enzymes)
    for each in every:
        column = dataset.columns([each.kinase])[0]
        low = _at_rest(dataset, column) if rest else 0.0
        rows = [i for i, name in enumerate(dataset.condition) if each.treats(name)]
        treated(each, dataset.conditions)
        levels[rows, column] = low + (1.0 - each.efficacy) * (levels[rows, column] - low)
    return dataset.with_values(enzymes=levels)


def _at_rest(dataset: Dataset, column: int) -> float:
    """Return the mean of the first measured levels of the conditions."""
    courses = (dataset.enzymes[rows, column] for rows in dataset.rows())
    return float(np.mean([course[np.isfinite(course)][0] for course in courses]))


def stimulated(dataset: Dataset, stimuli: Sequence[str]) -> Dataset:
    """Return the data with each stimulus as a further candidate, at level 1 in the conditions that had it, else 0.

    The name of a stimulus is one of the words of a condition's name, as that of an inhibitor is.
    """
    if not stimuli:
        return dataset
    given = [[float(Inhibitor(name, "").treats(condition)) for name in stimuli] for condition in dataset.condition]
    return dataset.with_values(
        enzymes=np.column_stack([dataset.enzymes, np.array(given)]), names=[*dataset.names, *stimuli]
    )


def as_inhibitors(given: Iterable[Inhibitor | str]) -> tuple[Inhibitor, ...]:
    """Return inhibitors that were given as values or as text."""
    if isinstance(given, str):
        given = (given,)
    return tuple(each if isinstance(each, Inhibitor) else Inhibitor.parse(str(each)) for each in given)


def treated(inhibitor: Inhibitor, conditions: Sequence[str], kind: str = "inhibitor") -> list[str]:
    """Return the conditions that were treated with an inhibitor or stimulus; there must be one."""
    found = [name for name in conditions if inhibitor.treats(name)]
    if not found:
        example = f"EGF+{inhibitor.name}" if kind == "inhibitor" else f"{inhibitor.name}+AKTi"
        _checks.fail(
            f"no condition was treated with the {kind} {inhibitor.name!r}: it must be a word of the condition's "
            f"name, as in {example!r}; the conditions are {_checks.listed(conditions)}"
        )
    return found


def is_number(text: str) -> bool:
    """Whether text is a number, NaN and infinity among them."""
    try:
        float(text)
    except ValueError:
        return False
    return True
