"""The screen: models of one size in rounds, of which each drops those that cannot be among the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from .._gauss import tensor_grid
from .._threads import one_blas_thread
from ..designs import Spread
from ..evaluation import Progress, in_order
from ..evaluation.progress import shown
from ..selection import Evidences, LogScale
from ..selection.nodes import Nodes, nodes
from . import _checks
from .dataset import Dataset
from .family import KineticFamily, prior
from .gauss import gauss_rule
from .judge import LEADING, Judge
from .kinetics import FloatArray, IntArray, increments
from .likelihood import block_at
from .sieve import Sieve
from .sifter import AT_ONCE, Found, Look, Sifter, threshold
from .survivors import ScreenRules, Survivors

# Models of a task of the later rounds. Pairs share the columns of their enzymes: at 100 points the likelihoods of one
# among ten thousand enzymes take 35 microseconds with 2,000 of them, 25 with 10,000 or 20,000.
_TASK = 10_000
# Gauss nodes per coordinate of the sums that look at models in turn, the last those of the judge, by the number of
# enzymes. Of the leading 3,000 pairs of five simulated sets (300 to 10,000 enzymes, n = 20, noise 0.1 to 3 %) the log
# evidences by 4, 6 and 12 nodes are within 4.4, 1.5 and 0.3 of those by the full rule of the comparison, 0.3, 0.12 and
# 0.03 in root mean square; of triples by 4 and 6 within 0.2 and 0.04. Twice the difference, as measured on the leading
# models of the data at hand, is allowed for (`Judge.fitted`).
_NODES = {1: (6, 16), 2: (4, 6, 12), 3: (4, 6)}
# Models of which it is measured how many a round would leave: where it leaves one in a hundred, that is known to a
# fifth. With 500 and 8,000 of them no evidence of benchmarks/constants.py changed.
_SAMPLE = 2_000
# Nodes per coordinate of the rule against which the errors of the others are measured, for triples: ten thousand nodes.
# For pairs it is the rule of the comparison.
_REFERENCE = {3: 10}
# Nodes per coordinate of the judge for models with more enzymes: with five of them four thousand nodes in all.
_FEWEST_NODES = 4


class Models(Protocol):
    """Models of one size that can be screened."""

    @property
    def dataset(self) -> Dataset:
        """The data."""

    @property
    def size(self) -> int:
        """Enzymes in a model."""

    @property
    def truncated(self) -> bool:
        """Whether rates are truncated."""

    def __len__(self) -> int: ...

    @property
    def gain(self) -> float:
        """How many times quicker a likelihood is in the first round than in a later one."""

    def pilot(self) -> IntArray:
        """Return some models that are likely to be good, as columns of their enzymes, (m, size)."""

    def sample(self, count: int) -> IntArray:
        """Return some models of any kind, at most `count` of them."""

    def parts(self) -> Iterable[Any]:
        """Return the tasks of the first round."""

    def found(self, look: Look, part: Any) -> tuple[Found, int]:
        """Return what may be among the best of one task, and how many models it had."""


@one_blas_thread
def survivors(
    models: Models, rules: ScreenRules, *, executor: Executor | None = None, progress: bool | Progress | None = None
) -> Survivors:
    """Screen models of one size: drop those that at least ``rules.top`` others are certainly better than.

    Parameters
    ----------
    models : Models
        Such as :class:`Pairs`.
    rules : ScreenRules
        What must not be lost.
    executor : concurrent.futures.Executor, optional
        Where models are judged; the answer is the same for any, to the last bit.
    progress : bool or Progress, optional
        Show progress; by default on a terminal.
    """
    dataset, size = models.dataset, models.size
    if min(dataset.n_shared) < 3 + dataset.basal:
        _checks.fail(
            "`dataset` must have at least three increments for every set of rates, or no pair can be told from another"
        )
    places = KineticFamily(dataset, (dataset.names[:size],)).coordinates
    design, reference = Spread(prior(1 + size), places).take(rules.n[-1]), _reference(places, size)
    judges = [_judge(design[:n], places, size, rules.level) for n in rules.n]
    rounds: list[dict[str, int]] = []
    found = Found.nothing(size)
    begin, judge, floor = _pilot(models, judges, reference, rules)
    for step, n in enumerate(rules.n):
        if step < begin or (rules.adapt and begin < step < len(judges) - 1):
            continue
        entered = rounds[-1]["survived"] if rounds else len(models)
        if rounds:
            best = np.argsort(-found.centre, kind="stable")
            judge, reached = _fitted(models, judges[step], reference, found.models[best], rules.top)
            floor = max(floor, reached)
        look = Look(judge, floor, rules.top, rules.most, last=n == rules.n[-1])
        with shown(progress, entered, f"screen at {n} points") as bar:
            if not rounds:
                tasks = in_order(executor, partial(models.found, look), models.parts())
            else:
                tasks = in_order(executor, partial(_again, dataset, look, models.truncated), _tasks(found))
            parts = [replace(Found.nothing(size, found.dropped, found.log_dropped), capped=found.capped)]
            for _, (part, count) in tasks:
                parts.append(part)
                if sum(len(each.models) for each in parts) > rules.most:
                    parts = [look.kept(Found.merge(parts))]
                bar.advance(count)
            found = look.kept(Found.merge(parts))
        rounds.append({"n": n, "models": entered, "survived": len(found.models)})
    if len(found.models) > rules.listed:
        found = found.keep(rules.top, rules.listed)
    found = found.in_order()
    evidences = _evidences(models, judge, found)
    return Survivors(found.models, evidences, tuple(rounds), found.dropped, found.log_dropped, found.capped)


def _tasks(found: Found) -> list[IntArray]:
    """Return the models of an earlier round in lexicographic order, in pieces of one task each."""
    models = found.in_order().models
    return [models[i : i + _TASK] for i in range(0, len(models), _TASK)]


def _again(dataset: Dataset, look: Look, truncated: bool, models: IntArray) -> tuple[Found, int]:
    """Return which of some models (m, size) may be among the best, and their number."""
    return sifted(dataset, look, truncated, models), len(models)


@one_blas_thread
def sifted(dataset: Dataset, look: Look, truncated: bool, models: IntArray) -> Found:
    """Return which of some models (m, size) may be among the best."""
    parts, sifter = increments(dataset), Sifter(look, models.shape[1])
    for start in range(0, len(models), _TASK):
        some = models[start : start + _TASK]
        values = block_at(parts, some, look.judge.points, truncated=truncated)[0]
        for i in range(0, len(some), AT_ONCE):
            sifter.add(values[:, i : i + AT_ONCE], some[i : i + AT_ONCE].__getitem__)
    return sifter.found()


def _judge(points: FloatArray, places: LogScale, enzymes: int, level: float) -> Judge:
    """Return a judge by values at these points, not yet fitted."""
    judge = None
    for size in _NODES.get(enzymes, (_FEWEST_NODES,)):
        judge = Judge(points, places.forward(points), race_nodes(places, enzymes, size), level, quick=judge)
    assert judge is not None
    return judge


def _reference(places: LogScale, enzymes: int) -> Nodes:
    """Return the nodes against which those of the judge are measured."""
    if enzymes in _REFERENCE:
        return race_nodes(places, enzymes, _REFERENCE[enzymes])
    return nodes(prior(1 + enzymes), places)


def race_nodes(places: LogScale, enzymes: int, size: int) -> Nodes:
    """Return a tensor Gauss rule, `size` nodes per coordinate, for the prior of K of models with `enzymes` enzymes."""
    x = np.linspace(0.0, 7.0, 4001)
    k, weight = gauss_rule(x, np.exp(-((x - 1.0) ** 2)), size)
    grid = tensor_grid([k] * (1 + enzymes))
    log_weights = np.zeros(())
    for _ in range(1 + enzymes):
        log_weights = np.add.outer(log_weights, np.log(weight))
    axes = tuple(places.forward(np.repeat(k[:, None], 1 + enzymes, axis=1)).T)
    return Nodes(places.forward(grid), log_weights.ravel(), axes)


def _enough(top: int) -> int:
    """Return of how many leading models the intervals are computed to learn what the `top`-th lower bound is."""
    return max(2 * top, AT_ONCE)


def _pilot(models: Models, judges: Sequence[Judge], reference: Nodes, rules: ScreenRules) -> tuple[int, Judge, float]:
    """Return which round is the first, its judge, and the least upper bound that keeps a model.

    Kernels are fitted to models that are likely to be good. That bound is the `top`-th of the lower ends of their
    intervals, by the points of the last round: among ten thousand enzymes it is 3 higher than by the first 20 points,
    and after these the sieves leave two fifths of the pairs that they would leave otherwise.
    """
    parts, likely = increments(models.dataset), models.pilot()
    values = block_at(parts, likely, judges[0].points, truncated=models.truncated)[0]
    judge = judges[0].fitted(values, reference)
    centre, _ = Sieve(judge.chain()[0])(values)
    best = np.argsort(-centre, kind="stable")[: _enough(rules.top)]
    if len(judges) == 1:
        return 0, judge, _floor(judge, values[:, best], rules.top)
    last, floor = _fitted(models, judges[-1], reference, likely[best], rules.top)
    if not rules.adapt:
        return 0, judge, floor
    some, leading, fitted, work = models.sample(_SAMPLE), likely[best[:LEADING]], [judge], list[float]()
    for i, n in enumerate(rules.n[:-1]):
        if i:
            values = block_at(parts, leading, judges[i].points, truncated=models.truncated)[0]
            fitted.append(judges[i].fitted(values, reference))
        look = Look(fitted[i], floor, rules.top, rules.most, last=False)
        left = len(sifted(models.dataset, look, models.truncated, some).models) / len(some)
        # In units of one point for every model by the formulas of the first round.
        work.append(n + models.gain * left * rules.n[-1])
        if work[-1] <= rules.n[i + 1]:
            break
    else:
        fitted.append(last)
        work.append(rules.n[-1])
    begin = int(np.argmin(work))
    return begin, fitted[begin], floor


def _fitted(models: Models, judge: Judge, reference: Nodes, best: IntArray, top: int) -> tuple[Judge, float]:
    """Fit the judge's kernel to the best models (m, size), the very best first; find what keeps a model."""
    leading = best[: _enough(top)]
    values = block_at(increments(models.dataset), leading, judge.points, truncated=models.truncated)[0]
    judge = judge.fitted(values[:, :LEADING], reference)
    return judge, _floor(judge, values, top)


def _floor(judge: Judge, values: FloatArray, top: int) -> float:
    """Return the `top`-th lower bound of models with values (n, m)."""
    lower = [np.subtract(*judge(values[:, i : i + AT_ONCE])) for i in range(0, values.shape[1], AT_ONCE)]
    return threshold(np.concatenate(lower), top)


def _evidences(models: Models, judge: Judge, found: Found) -> Evidences:
    """Return the posteriors of models that the judge has seen; where a fast formula failed they are computed again."""
    centre, width = found.centre.copy(), found.width.copy()
    unsure = np.flatnonzero(np.isinf(width))
    if len(unsure):
        parts = increments(models.dataset)
        values = block_at(parts, found.models[unsure], judge.points, truncated=models.truncated)[0]
        centre[unsure], width[unsure] = judge(values)
    m = len(centre)
    return Evidences(
        np.full(m, "log", dtype="<U8"), centre, width / judge.reach, np.full(m, len(judge.points) - 1.0), np.zeros(m)
    )
