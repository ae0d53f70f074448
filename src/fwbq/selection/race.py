"""The run: evaluate in rounds, propagate the numerical error, drop models that cannot win, stop when it is decided."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate, _warnings
from .._reason import LEVEL_OF_TOL, Reason
from .._threads import one_blas_thread
from ..evaluation import EvaluationError, Evaluator, Journal, Progress
from .comparison import Comparison
from .contenders import Contenders, Numbered
from .evidence import Earlier, Evidences
from .family import Evaluate, Family, ModelFamily
from .linear_process import LinearDoubts
from .map_probability import leader, map_probabilities
from .options import LEAST, NEVER, Options
from .shared import Block, Shared
from .stage import Stage

Array = NDArray[np.float64]

#: A model leaves the race when the probability that it beats the leader falls below this; with the heavy tails of
#: nine degrees of freedom that is six standard deviations after the first round.
_OUT = 1e-4
#: Points before which no model is dropped and no decision taken: ten say too little about how smooth a likelihood is.
_DECIDE = 20
#: Draws from which the 95 % interval of a probability is read: its ends have a standard error of 6 % of half its width.
_DRAWS = 500


@one_blas_thread
def compare_families(
    grouped: Sequence[Family],
    options: Options | None = None,
    *,
    earlier: Sequence[Earlier | None] | None = None,
    spread: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compare models that are evaluated as blocks; see :func:`fwbq.compare_models` for what is done.

    Parameters
    ----------
    grouped : sequence of Family
        Each with its measure, names and block function.
    options : Options, optional
        The options of `compare_models`.
    earlier : sequence of Earlier or None, optional
        What is known of the models of each family; None: nothing. Models that cannot win by that are not evaluated,
        unless ``race=False``, and their evidences are the earlier ones.
    spread : int, optional
        Of shared points, how many are spread over the prior. Further ones are chosen for the leading models, where
        their likelihoods are large: see :func:`fwbq.selection.leaders.telling_nodes`. By default all are spread.
    settings : mapping, optional
        What the result is to remember beside the options, JSON-able.
    """
    options = options or Options()
    sizes, stop, tol, race = options.sizes, options.stop, options.tol, options.race
    names = tuple(name for family in grouped for name in family.names)
    _validate.different(names, "the names of `models`")
    log_prior = options.log_prior(names)
    runners = _runners(grouped, options, spread)

    evidences, points = Evidences.empty(len(names)), np.zeros(len(names), dtype=np.intp)
    known = [(runner, each) for runner, each in zip(runners, earlier or [], strict=bool(earlier)) if each is not None]
    for runner, each in known:
        evidences = evidences.put(runner.slots, each.evidences)
        points[runner.slots] = each.n
    if known and race:
        score = evidences.log_median + log_prior
        keep = _contention(evidences, log_prior, int(np.nanargmax(score)), tol)
        for runner, _ in known:
            runner.drop(keep, score)
    spent = 0
    history: list[Stage] = []
    ended = Reason.BUDGET, f"the budget of {sizes[-1]} points for each model ended"
    reason, status = ended
    with ExitStack() as stack:
        store = None
        if options.journal is not None:
            store = stack.enter_context(Journal(options.journal, _identity(grouped, options.version)))
        bar = stack.enter_context(Progress(sizes[-1], "compare, points", options.progress))
        for size in sizes:
            size, cut = _affordable(runners, size, spent, options.budget)
            if not history and cut and size < LEAST and not known:
                _refuse_budget(options.budget, runners)
            taken = [runner.extend(size, _evaluation(k, options, store)) for k, runner in enumerate(runners)]
            spent += sum(taken)
            contenders = sum(len(runner.active) for runner in runners)
            for runner, new in zip(runners, taken, strict=True):
                if new:
                    evidences = evidences.put(runner.slots[runner.active], runner.posteriors())
                runner.resume()
            chances = map_probabilities(evidences, log_prior)
            best = leader(chances, evidences.log_median + log_prior)
            history.append(Stage(size, spent, contenders, evidences, best, float(chances[best])))
            bar.advance(size - bar.done)
            if cut:
                status = f"the budget of {options.budget} evaluations in all ended"
                break
            if size < min(_DECIDE, sizes[-1]) and any(taken):
                continue
            decided = _decided(evidences, log_prior, best, float(chances[best]), options)
            reason, status = ended
            if decided and not any(isinstance(runner, Shared) and runner.unknown().any() for runner in runners):
                blank = _blank(evidences, log_prior, runners)
                reason, status = Reason.NOT_REACHED if blank.any() else Reason.DECIDED, decided
                if not blank.any():
                    break
                # All but the models of which nothing is known yet may rest.
                if race and not sum([runner.rest(blank) for runner in runners]):
                    break
                continue
            if not sum(taken):
                reason, status = Reason.EXHAUSTED, "the designs have no further points"
                break
            if race:
                keep = _contention(evidences, log_prior, best, tol)
                for runner in runners:
                    runner.drop(keep, evidences.log_median + log_prior)
    for runner in runners:
        runner.resume()
    if reason is Reason.BUDGET and (stop is not None or tol is not None):
        reason = Reason.NOT_REACHED
    if not np.isfinite(evidences.log_median[best]):
        reason, status = Reason.ZERO, "every likelihood is zero at every point evaluated: check the models' units"
        _warnings.warn(status)
    elif evidences.nothing.any():
        unknown = _unknown_words(names, evidences.nothing)
        status = f"{status}; {unknown}"
        _warnings.warn(unknown)
    _warn_of_linear(runners, names, best)
    skipped = sum(runner.n_skipped for runner in runners)
    if skipped:
        _warnings.warn(f"log integrands failed at {skipped} of {spent} evaluations, which were skipped")
    points = np.maximum(points, np.concatenate([runner.counts() for runner in runners]))
    kept = options.remembered() | {"reason": reason.value}
    errors = {f"d = {runner.family.measure.dim}": runner.errors for runner in runners if isinstance(runner, Shared)}
    if any(errors.values()):
        kept["mmd"] = errors
    return Comparison(names, evidences, log_prior, points, tuple(history), status, kept | dict(settings or {}))


def _runners(grouped: Sequence[Family], options: Options, spread: int | None) -> list[Shared | Contenders]:
    """Return what evaluates the models of each family: at points of each model's own, or at shared ones."""
    process = (options.kernel, options.process_amplitude, options.design, options.seed)
    runners: list[Shared | Contenders] = []
    first = 0
    for family in grouped:
        if options.evidence == "log" and isinstance(family, ModelFamily) and family.coordinates is None:
            runners.append(Contenders(family, first, options.sizes[-1], *process))
        else:
            runners.append(Shared(family, first, options.evidence, *process, spread))
        first += len(family.names)
    return runners


def _blank(evidences: Evidences, log_prior: Array, runners: Sequence[Shared | Contenders]) -> NDArray[np.bool_]:
    """Return of which models nothing is known that could decide: zero at every point, but not by the prior, (m,).

    Of models that resemble each other, the others say that such a likelihood is small.
    """
    alike = np.concatenate([np.full(len(runner.slots), runner.family.alike) for runner in runners])
    return np.asarray(evidences.nothing & ~alike & (log_prior > NEVER))


def _unknown_words(names: Sequence[Hashable], which: NDArray[np.bool_]) -> str:
    """Say of which models nothing is known, and what to do."""
    return (
        f"the likelihood of {_these(names, which)} was zero at every point evaluated, so that nothing is known of the "
        "evidence: check the units, raise `n`, give the model a `start` of positive likelihood, or leave it out"
    )


def _affordable(runners: Sequence[Shared | Contenders], size: int, spent: int, limit: int | None) -> tuple[int, bool]:
    """Return the size of a round that the total budget allows, and whether it had to be cut."""
    if limit is None:
        return size, False
    most = size
    while most > 0 and sum(runner.missing(most) for runner in runners) > limit - spent:
        most -= 1
    return most, most < size


def _refuse_budget(budget: int | None, runners: Sequence[Shared | Contenders]) -> None:
    count = sum(len(runner.active) for runner in runners)
    raise ValueError(
        f"`budget` must be at least {LEAST * count}, which is {LEAST} evaluations for each of {count} models, got "
        f"{budget}: raise it, or compare fewer models"
    )


def _warn_of_linear(runners: Sequence[Shared | Contenders], names: tuple[Hashable, ...], best: int) -> None:
    """Warn of the models whose evidence a linear process cannot tell, or whose error it understates.

    Of models that resemble each other, hundreds of which cannot win, only the leading one is looked at.
    """
    doubts = LinearDoubts.none(len(names))
    for runner in runners:
        if isinstance(runner, Shared):
            which = np.flatnonzero(runner.slots == best) if runner.family.alike else np.arange(len(runner.slots))
            doubts = doubts.put(runner.slots[which], runner.doubts.take(which))
    remedy = 'use `evidence="log"`'
    if doubts.few.any():
        points = doubts.carried[doubts.few]
        low, high = (f"{each:.2g}" for each in (points.min(), points.max()))
        _warnings.warn(
            f"the likelihood of {_these(names, doubts.few)} is carried by "
            f"{low if low == high else f'{low} to {high}'} of the points: a linear process cannot tell an evidence "
            f"from so few; {remedy}, or more points"
        )
    if doubts.understated.any():
        _warnings.warn(
            f"the stated error of {_these(names, doubts.understated)} may be too small: with an amplitude from "
            f"leave-one-out predictions it would be up to {doubts.factor[doubts.understated].max():.2g} times larger, "
            f"so that the kernel does not fit the likelihood; {remedy}, or another `kernel`"
        )
    if doubts.drawn_to_zero.any():
        _warnings.warn(
            f"the evidence of {_these(names, doubts.drawn_to_zero)} may be too small by up to "
            f"{doubts.lacking[doubts.drawn_to_zero].max():.2g} standard deviations: between its points a linear "
            f"process falls to zero, and the points are too few for so many parameters; {remedy}, more points, or a "
            "`kernel` with longer length-scales"
        )


def _these(names: Sequence[Hashable], which: NDArray[np.bool_]) -> str:
    """Return the names of some models, the first five of them, in words."""
    some = [repr(name) for name, named in zip(names, which, strict=True) if named]
    more = f" and {len(some) - 5:,} more" if len(some) > 5 else ""
    return f"model{'s' if len(some) > 1 else ''} {', '.join(some[:5])}{more}"


def _identity(grouped: Sequence[Family], version: str) -> dict[str, Any]:
    named = {"version": version} if version else {}
    return named | {
        "kind": "comparison",
        "families": [
            {
                "measure": None if isinstance(family, ModelFamily) and family.joint else family.measure.spec(),
                "models": family.identity(),
            }
            for family in grouped
        ],
    }


def _evaluation(number: int, options: Options, journal: Journal | None) -> Evaluate:
    """Return how family `number` evaluates a function of points; other models are another series of the journal."""

    def evaluate(function: Block | Numbered, points: Array) -> tuple[Array, NDArray[np.bool_]]:
        which = function.which if isinstance(function, Block) else None
        series = "own" if which is None else hashlib.sha256(which.astype(np.int64).tobytes()).hexdigest()[:16]
        with Evaluator(
            function, points.shape[1], vectorized=True, executor=options.executor, journal=journal,
            series=f"{number}:{series}", on_error=options.on_error, timeout=options.timeout, minus_infinity=True,
            progress=False, called="the log integrand", where=function.where,
        ) as evaluator:  # fmt: skip
            try:
                done = evaluator(points)
            except EvaluationError as error:
                raise function.named(error) from error.__cause__
        return done.values if which is None else done.values.reshape(len(points), -1), done.kept

    return evaluate


def _decided(evidences: Evidences, log_prior: Array, best: int, chance: float, options: Options) -> str | None:
    """Return in words that what was asked for is reached, or None."""
    stop, tol = options.stop, options.tol
    if stop is not None and chance >= stop:
        return f"P(MAP) reached {stop:g}"
    if tol is not None:
        logs = evidences.sample(_DRAWS, np.random.default_rng(options.seed)) + log_prior
        logs -= logs.max(axis=1, keepdims=True)
        weights = np.exp(logs)
        low, high = np.quantile(
            weights[:, best] / weights.sum(axis=1), (0.5 * (1.0 - LEVEL_OF_TOL), 0.5 * (1.0 + LEVEL_OF_TOL))
        )
        half = 0.5 * float(high - low)
        if half <= tol:
            return f"the leading probability is known to {half:.2g}"
    return None


def _contention(evidences: Evidences, log_prior: Array, best: int, tol: float | None) -> NDArray[np.bool_]:
    """Return which models may still win, or, when a probability is wanted to `tol`, may still change it.

    A model of which nothing is known yet may.
    """
    from scipy.special import stdtr

    centre, sd = evidences.log_median + log_prior, evidences.log_sd
    width = np.hypot(sd, sd[best])
    df = np.minimum(np.minimum(evidences.df, evidences.df[best]), 1e6)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(width > 0.0, (centre - centre[best]) / width, np.sign(centre - centre[best]) * np.inf)
        keep = stdtr(df, np.nan_to_num(t, nan=0.0)) >= _OUT
    # Whether a likelihood that was zero at every point stays in the race is not for the evidences to say.
    keep &= ~evidences.nothing
    keep[best] = True
    if tol is not None:
        # Models whose evidence, three standard deviations up, is so small that all of them together could change a
        # probability by a tenth of `tol` at most are left out.
        with np.errstate(invalid="ignore"):
            keep |= centre + 3.0 * sd - centre[best] > np.log(0.1 * tol / len(centre))
    return np.asarray(keep)
