"""The probability that f passes a threshold as the target of an integration: points where that is undecided."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from .. import _validate, _warnings
from .._reason import LEVEL_OF_TOL, Reason
from ..evaluation import Evaluation, evaluating
from ..measures import Empirical, Measure
from ..posterior import Estimate
from ..process import ANOVA
from .fitted import FittedProcess
from .functionals.nodes import Nodes, spread_nodes
from .functionals.probability import probability_of, threshold_of
from .functionals.sampled import BLOCK, Sampled
from .functionals.tail import has_tail, moments, tail_nodes
from .run import Integration
from .sequence import first_points

if TYPE_CHECKING:
    from .model import KernelModel
    from .result import IntegrationResult

FloatArray = NDArray[np.float64]

Target = Literal["mean", "probability"]
TARGETS: tuple[Target, ...] = ("mean", "probability")

#: Evaluations when neither `n` nor `tol` is given, and the most that a `tol` alone may use.
DEFAULT_N, MOST_FOR_TOL = 100, 300
#: Part of the evaluations that come first, for the integral itself: they say where f is high at all.
FIRST_PART = 0.3
#: The rest comes in this many batches, each after a fit.
BATCHES = 10
#: No tolerance is accepted before this number of batches: the first find the parts of the region one after the other.
FEWEST_BATCHES = 4
#: Directions that are looked at, as far out as the region seems to be, for parts of it that are not known yet.
DIRECTIONS = 1024


@dataclass(frozen=True)
class Exceedance:
    """The event that f is above a threshold (sign 1), or below it (sign -1)."""

    threshold: float
    sign: float

    def __str__(self) -> str:
        return f"P(f {'>' if self.sign > 0.0 else '<'} {self.threshold:g})"

    def estimate(self, process: FittedProcess, measure: Measure) -> Estimate:
        """Return the probability of the event."""
        return probability_of(Sampled.spread(process, measure), measure, self.threshold, self.sign)

    def conclude(self, model: KernelModel, points: FloatArray, values: FloatArray) -> IntegrationResult:
        """Return the result whose number is the probability of the event, for at least three values."""
        found = model.conclude(points, values)
        if found.rule.kind != "bayes":
            hits = values > self.threshold if self.sign > 0.0 else values < self.threshold
            row = {point.tobytes(): hit for point, hit in zip(points + 0.0, hits, strict=True)}
            share = float(found.rule.weights @ [row[point.tobytes()] for point in found.rule.points + 0.0])
            return replace(found, posterior=Estimate(share, 0.0, 0.0, lower=0.0, upper=1.0), target=self)
        estimate = self.estimate(model.fitted(points, values), model.measure)
        return replace(found, posterior=estimate, target=self)

    def next_points(self, process: FittedProcess, measure: Measure, known: FloatArray, n: int, seed: int) -> FloatArray:
        """Return n points where it is undecided whether f passes the threshold.

        Candidates are evenly spread nodes of the measure and, for a rare event, nodes that are moved into its tail.
        They are taken one after the other: the one whose weight times the probability of a wrong side is largest, given
        that the ones before will be known. Every batch has one point that is as far out as the event is rare, in the
        direction where its side is least certain: the event may have parts in which there is no value yet. Where
        the process leaves nothing undecided, all further ones are such points.
        """
        nodes = self._candidates(process, measure)
        shell = _shell(process, measure, nodes, self, n, seed) if n > 1 and has_tail(measure) else known[:0]
        explore = shell[:1]
        chosen = _undecided(process, nodes, self.threshold, np.concatenate([known, explore]), n - len(explore))
        return np.concatenate([explore, chosen, shell[1 : 1 + n - len(explore) - len(chosen)]])

    def _candidates(self, process: FittedProcess, measure: Measure) -> Nodes:
        spread = spread_nodes(measure, BLOCK, 1)
        if not has_tail(measure):
            return spread
        tail = tail_nodes(process, measure, self.threshold, self.sign)
        if tail is None:
            return spread
        points = np.concatenate([spread.points, tail.points])
        return Nodes(points, np.concatenate([spread.weights, tail.weights]), 1)


def _log_doubt(mean: FloatArray, spread: FloatArray, threshold: float) -> FloatArray:
    """Return the logarithm of the probability that f is on the other side of the threshold than the mean, (q,)."""
    safe = np.where(spread > 0.0, spread, 1.0)
    return np.where(spread > 0.0, log_ndtr(-np.abs(mean - threshold) / safe), -np.inf)


def _undecided(process: FittedProcess, nodes: Nodes, threshold: float, known: FloatArray, n: int) -> FloatArray:
    """Return at most n of the nodes, chosen one after the other; what is known, and the ones before, count as values.

    The covariance under the most probable kernel is conditioned on each choice by one step of a pivoted Cholesky
    factorisation.
    """
    leading = process.members[int(np.argmax(process.weights))]
    u = process.natural(nodes.points)
    at = leading.predict(u)
    diagonal = leading.kernel.diag(u)
    variance = at.variance(diagonal)
    mean = leading.shift + at.mean
    unit = math.sqrt(leading.amplitude)
    log_weights = np.log(np.maximum(nodes.weights, np.finfo(float).tiny))
    columns: list[FloatArray] = []

    def column(x: FloatArray) -> FloatArray:
        """Return the covariance of the nodes with the point x (1, d), given the values and the points before."""
        there = leading.predict(x)
        c = leading.kernel(u, x)[:, 0] - at.known.T @ there.known[:, 0] + at.unknown.T @ there.unknown[:, 0]
        return np.asarray(c)

    def condition(c: FloatArray, own: float) -> None:
        nonlocal variance
        if own > 0.0:
            columns.append(c / math.sqrt(own))
            variance = np.maximum(variance - columns[-1] ** 2, 0.0)

    # Points that were chosen by another rule and have no value yet.
    fresh = process.natural(known[len(leading.points) :]) if len(known) > len(leading.points) else u[:0]
    for x in fresh:
        there = leading.predict(x[None])
        condition(column(x[None]), float(there.variance(leading.kernel.diag(x[None]))[0]))
    chosen: list[int] = []
    # At a point that is known rounding leaves some variance, which was enough to choose it again and again.
    seen = {point.tobytes() for point in known + 0.0}
    again = np.array([point.tobytes() in seen for point in nodes.points + 0.0])
    while len(chosen) < n:
        score = log_weights + _log_doubt(mean, unit * np.sqrt(variance), threshold)
        score[again] = score[chosen] = -np.inf
        best = int(np.argmax(score))
        if score[best] == -np.inf:
            break
        chosen.append(best)
        c = column(u[best : best + 1])
        for before in columns:
            c = c - before * before[best]
        condition(c, float(variance[best]))
    return nodes.points[chosen]


def _shell(process: FittedProcess, measure: Measure, nodes: Nodes, event: Exceedance, n: int, seed: int) -> FloatArray:
    """Return points (n, d), as many standard deviations out as the event is rare, the least certain side first."""
    mean, _ = moments(process, nodes.points)
    share = float(np.sum(nodes.weights[event.sign * (mean - event.threshold) > 0.0]))
    radius = float(np.clip(-ndtri(max(share, 1e-9)), 1.5, 6.0))
    generator = np.random.default_rng([7, seed])
    z = generator.standard_normal((DIRECTIONS, measure.uniform_dim))
    # Between the typical distance from the centre, for an event that is no direction of its own, and that of the event.
    length = np.linalg.norm(z, axis=1, keepdims=True)
    x = measure.from_normal(z * np.maximum(radius / length, 1.0))
    centre, spread = moments(process, x)
    return x[np.argsort(-_log_doubt(centre, spread, event.threshold), kind="stable")[:n]]


def checked_target(target: Any, above: Any, below: Any, method: str, design: Any) -> Exceedance | None:
    """Return the event whose probability is asked for, or None for the mean; refuse arguments that contradict it."""
    if _validate.choice(target, "target", TARGETS) == "mean":
        if above is not None or below is not None:
            raise ValueError(
                f'`{"below" if above is None else "above"}` goes with `target="probability"`: pass that, or ask '
                "`result.probability` of the result"
            )
        return None
    if method == "net" or design is not None:
        which = '`method="net"`' if method == "net" else "`design`"
        raise ValueError(
            f'{which} cannot be given with `target="probability"`, which chooses its points by the process: leave it '
            "out, or integrate the mean and ask `result.probability`"
        )
    return Exceedance(*threshold_of(above, below))


def integrate_exceedance(
    f: Callable[[FloatArray], Any],
    measure: Measure,
    event: Exceedance,
    how: Evaluation,
    *,
    n: int | None,
    tol: float | None,
    rng: Any,
    **options: Any,
) -> IntegrationResult:
    """Return the probability of an event, with points chosen for it; the other arguments are those of `integrate`."""
    limit = (MOST_FOR_TOL if tol else DEFAULT_N) if n is None else n
    run = Integration(measure, rng=rng, **options)
    model = run.model
    # Far in a tail the process extrapolates. With this family one of six 99 % intervals missed the probability 1e-6 of
    # a sum of six Gaussian inputs (n = 24), off by 3 sd; without it none was off by more than 1.1 sd.
    model.leave_out(ANOVA)
    first = min(limit, max(first_points(measure.dim) if run.n_first else 8, math.ceil(FIRST_PART * limit)))
    batch = max(1, math.ceil((limit - first) / BATCHES))
    asked, rounds = 0, 0
    reason = None
    with evaluating(f, measure.dim, how, limit, "integrate", measure=measure) as evaluate:
        while reason is None:
            if asked < first:
                size = min(max(run.n_first, 8), first) if asked == 0 else first - asked
                points = run.ask(size)
            else:
                known, values = run.data
                rounds += 1
                process = model.fitted(known, values)
                points = event.next_points(process, measure, known, min(batch, limit - asked), rounds)
                points = _new(points, known)
            asked += len(points)
            done = evaluate(points)
            if done.values.ndim > 1:
                raise ValueError(
                    f"`f` returned {done.values.shape[1]} columns, and the points of a probability are chosen for one: "
                    "return one column, or integrate the mean and ask `result.probability` of all columns"
                )
            run.tell(points[done.kept], done.values[done.kept])
            run.skip(points[~done.kept])
            _validate.some_values(run.n_evaluations)
            if tol is not None and rounds >= FEWEST_BATCHES:
                low, high = event.estimate(model.fitted(*run.data), measure).interval(LEVEL_OF_TOL)
                reason = Reason.TOLERANCE if high - low <= 2.0 * tol else None
            if reason is None and (asked >= limit or not len(points)):
                every = isinstance(measure, Empirical) and not len(points)
                reason = Reason.EXHAUSTED if every else Reason.BUDGET if tol is None else Reason.NOT_REACHED
        changed = evaluate.recheck()
    known, values = run.data
    if len(known) < 3:
        raise ValueError(f"`n` must be at least 3 for a probability, and {len(known)} values are known: raise `n`")
    found = event.conclude(model, known, values)
    notes = [reason.sentence(n=asked, tol=tol), f"points chosen for {event}", found.status, changed]
    status = "; ".join(filter(None, notes))
    if changed is not None:
        _warnings.warn(changed)
    skipped = asked - len(known)
    if skipped:
        _warnings.warn(f"f failed at {skipped} of {asked} points, which were skipped")
    if not reason.success:
        _warnings.warn(status)
    return replace(found, status=status, n_skipped=skipped, reason=reason, success=reason.success, model=model)


def _new(points: FloatArray, known: FloatArray) -> FloatArray:
    """Return the points that are not known."""
    seen = {point.tobytes() for point in known + 0.0}
    fresh = list({p.tobytes(): p for p in points + 0.0 if p.tobytes() not in seen}.values())
    return np.array(fresh).reshape(-1, known.shape[1])
