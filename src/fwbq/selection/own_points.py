"""Models that could be first but are not known from shared points: they get the engine of `evidence`, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inference import EvidenceRun
from .contenders import Verdict, as_evidences
from .evidence import Evidences
from .family import Evaluate, check_evaluated
from .shared import CARRIED, Block, Shared

# Standard deviation of a log evidence above which shared points are taken not to have found it: a factor of 1.6.
_WIDE = 0.5
# Effective points that carry a likelihood below which a model that could be first gets points of its own. With 5 to 10
# of 200 points 93 % of 434 intervals held in units far from those of the data, with more 98 %; the errors are small.
_FEW = 10.0
# Points below which a run of its own knows less of a model than the shared points do.
_LEAST = 50
# Most models that get points of their own: each takes about half a second.
_MOST = 40


def worthwhile(models: int, n: int, spent: int, budget: int | None) -> bool:
    """Return whether one more model may get n points of its own, when so many models have them."""
    return n >= _LEAST and models < _MOST and (budget is None or spent + n <= budget)


def unsettled(runner: Shared, evidences: Evidences, decided: bool) -> NDArray[np.bool_]:
    """Return which models of a family are not known from its shared points, (models of the family,).

    Those whose likelihood too few points carry and, unless all is decided, those with a wide error.
    """
    if decided or not runner.shares_scales:
        return np.asarray(runner.carrying < CARRIED)
    return np.asarray((runner.carrying < _FEW) | (evidences.take(runner.slots).log_sd > _WIDE))


def own_evidence(runner: Any, slot: int, n: int, seed: int, evaluate: Evaluate) -> tuple[Evidences, int]:
    """Return the evidence of one model of a family from points of its own, and how many these are.

    Parameters
    ----------
    runner : Shared
        The family.
    slot : int
        Position of the model among all.
    n : int
        Most points.
    seed : int
        Of the run.
    evaluate : Evaluate
        How the family's functions are called.
    """
    model = slot - int(runner.slots[0])
    function = Block(runner.family, np.array([model]))
    options: dict[str, Any] = {"n": n, "rng": seed, "quick": True}
    run = EvidenceRun(runner.family.measure, **options)
    asked = 0
    while asked < n and not run.ended:
        x = run.ask(n - asked)
        if not len(x):
            break
        values, kept = evaluate(function, x)
        run.tell(x[kept], values[kept, 0])
        if not kept.all():
            run.skip(x[~kept])
        asked += len(x)
    check_evaluated(run.n_evaluations, runner.family.names[model])
    return as_evidences([Verdict.of(run.result())]), asked
