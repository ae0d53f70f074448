"""By which rules models are screened, and what a screen leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from .. import _frozen, _validate
from ..selection import Comparison, Evidences, Rest
from . import _checks
from .dataset import Dataset
from .kinetics import IntArray
from .odds import Odds


@dataclass(frozen=True, eq=False)
class ScreenRules:
    """The rules by which models are screened.

    Attributes
    ----------
    n : tuple of int
        Points of the design in the rounds, increasing.
    top : int
        How many of the best models of a size must not be lost.
    most : int
        Models to keep after a round at most: what limits memory when the data do not tell them apart.
    level : float
        Probability that a log evidence leaves its interval, on either side.
    listed : int
        Models to keep after the last round at most.
    adapt : bool
        Whether, of the rounds before the last, only the one that promises the least work is made, if any: with more
        points it takes longer and leaves fewer models to the last, as a sample of them shows.
    """

    n: tuple[int, ...] = (20, 50, 100)
    top: int = 1000
    most: int = 2_000_000
    level: float = 1e-3
    listed: int = 20_000
    adapt: bool = False

    def __post_init__(self) -> None:
        sizes = tuple(_validate.count(size, "n", minimum=4) for size in self.n)
        if not sizes or list(sizes) != sorted(set(sizes)):
            _checks.fail("`n` must be increasing numbers of points, such as (20, 50, 100)")
        top = _validate.count(self.top, "top")
        most = max(_validate.count(self.most, "most"), top)
        level = _validate.probability(self.level, "level")
        _frozen.freeze(self, n=sizes, top=top, most=most, level=level, listed=max(self.listed, top))


@dataclass(frozen=True, eq=False)
class Survivors:
    """What the screen left.

    Attributes
    ----------
    models : (m, size) int array
        Columns of the enzymes of the models that are left, in lexicographic order.
    evidences : Evidences
        Posteriors of their log evidences after the last round, as wide as the intervals of the judge.
    rounds : tuple of dict
        ``n``, ``models`` and ``survived`` of each round.
    dropped : int
        How many models were dropped.
    log_dropped : float
        Log of the sum of their evidences.
    capped : bool
        Whether models were dropped for their number alone.
    """

    models: IntArray
    evidences: Evidences
    rounds: tuple[dict[str, int], ...]
    dropped: int
    log_dropped: float
    capped: bool

    @property
    def evaluations(self) -> int:
        """Likelihoods evaluated: values of a round are not kept for the next, they would take too much memory."""
        return sum(each["models"] * each["n"] for each in self.rounds)


def named(dataset: Dataset, models: Iterable[Iterable[int]]) -> tuple[tuple[str, ...], ...]:
    """Return models, given as columns of their enzymes, as tuples of names."""
    return tuple(tuple(dataset.names[j] for j in model) for model in models)


def with_screened(result: Comparison, found: Sequence[Survivors], odds: Odds | None = None) -> Comparison:
    """Return a comparison of survivors as one of all the models that were screened.

    Prior probabilities are equal among all, or given by `odds`; the dropped models become the `rest`; their evaluations
    are counted.
    """
    dropped = sum(each.dropped for each in found)
    total = len(result) + dropped
    spent = sum(each.evaluations for each in found)
    entered = sum(each.rounds[0]["models"] for each in found)
    kept = sum(len(each.models) for each in found)
    status = f"screened {entered:,} models, {kept:,} of them compared; {result.status}"
    if any(each.capped for each in found):
        status += (
            f"; more would have survived, and only the best {kept:,} were kept: the data do not tell the models apart, "
            "and P(MAP) is among those kept"
        )
    log_prior = np.full(len(result), -np.log(total)) if odds is None else odds.log_prior(result.names)
    log_total = np.log(total) if odds is None else odds.log_total
    log_weight = float(logsumexp([each.log_dropped for each in found])) - float(log_total)
    stages = tuple(replace(stage, evaluations=stage.evaluations + spent) for stage in result.stages)
    rounds = [{"enzymes": each.models.shape[1]} | row for each in found for row in each.rounds]
    return replace(
        result,
        log_prior=log_prior,
        status=status,
        stages=stages,
        settings=result.settings | {"rounds": rounds},
        rest=Rest(dropped, log_weight) if dropped else None,
    )
