"""The run: evaluate in rounds, propagate the numerical error, drop models that cannot win, stop when it is decided."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate, _warnings
from .._reason import LEVEL_OF_TOL, Reason
from .._threads import one_blas_thread
from ..evaluation import Evaluation, EvaluationError, Evaluator, Journal, heard, what_is_kept
from ..evaluation.progress import shown
from .comparison import Comparison
from .contenders import Contenders, Numbered
from .evidence import Earlier, Evidences
from .family import Evaluate, Family, ModelFamily
from .label import label
from .linear_process import LinearDoubts
from .map_probability import leader, map_probabilities
from .options import LEAST, NEVER, Options
from .own_points import own_evidence, unsettled, worthwhile
from .runner import Runner
from .shared import Block, Shared
from .stage import Stage

Array = NDArray[np.float64]
_log = logging.getLogger(__name__)

#: A model leaves the race when the probability that it beats the leader falls below this; with the heavy tails of
#: nine degrees of freedom that is six standard deviations after the first round.
_OUT = 1e-4
#: Points before which no model is dropped and no decision taken: ten say too little about how smooth a likelihood is.
_DECIDE = 20
#: Models from which on the rounds before that are not noted, and those far from winning are known roughly only; with
#: fewer, what such rounds say is shown, and helps a forecast.
_MANY = 100
#: Standard deviation of a log evidence above which a model that could be first is named.
_WIDE = 3.0
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
    race = Race(grouped, options, earlier, spread)
    with (
        _opened(options.evaluation, grouped) as how,
        shown(how.progress, options.sizes[-1], "compare, points") as bar,
    ):
        try:
            with heard():
                for size in options.sizes:
                    over = race.round(size, how)
                    bar.advance(race.size - bar.done)
                    if (over or size == options.sizes[-1]) and race.settle(how):
                        break
                race.recheck()
        except KeyboardInterrupt as stop:
            stop.add_note(what_is_kept(race.finished, options.evaluation.journal))
            raise
    return race.comparison(settings or {})


class Race:
    """A comparison between two rounds: the posteriors of all evidences, and the models that are still evaluated.

    Parameters
    ----------
    grouped, options, earlier, spread
        As for `compare_families`.

    Attributes
    ----------
    history : list of Stage
        The state after each round.
    size : int
        Points of each model in contention.
    """

    def __init__(
        self,
        grouped: Sequence[Family],
        options: Options,
        earlier: Sequence[Earlier | None] | None = None,
        spread: int | None = None,
    ) -> None:
        self.options = options
        self.names = tuple(name for family in grouped for name in family.names)
        _validate.different(self.names, "the names of `models`")
        self.log_prior = options.log_prior(self.names)
        self.runners = _runners(grouped, options, spread)
        self.evidences = Evidences.empty(len(self.names))
        self.history: list[Stage] = []
        self.size = 0
        #: Evidences from points of a model's own, by its position.
        self.own: dict[int, Evidences] = {}
        self._points = np.zeros(len(self.names), dtype=np.intp)
        self._spent = 0
        self._calls = _Calls()
        self._end = self._budget_end
        self._screened = [
            (runner, known)
            for runner, known in zip(self.runners, earlier or [None] * len(self.runners), strict=True)
            if known is not None
        ]
        self._take_over()

    def _take_over(self) -> None:
        """Begin with evidences that are known, and leave out the models that cannot win by them."""
        for runner, known in self._screened:
            self.evidences = self.evidences.put(runner.slots, known.evidences)
            self._points[runner.slots] = known.n
        if self._screened and self.options.race:
            self._drop([runner for runner, _ in self._screened], int(np.nanargmax(self._score)))

    @property
    def _score(self) -> Array:
        """Log of evidence times prior probability of each model, (m,)."""
        return self.evidences.log_median + self.log_prior

    @property
    def _budget_end(self) -> tuple[Reason, str]:
        return Reason.BUDGET, f"the budget of {self.options.sizes[-1]} points for each model ended"

    @property
    def finished(self) -> int:
        """Evaluations that the models have been told of."""
        return int(sum(runner.counts().sum() for runner in self.runners))

    def round(self, size: int, how: Evaluation) -> bool:
        """Evaluate the models in contention at `size` points each and judge; return whether the race is over.

        Parameters
        ----------
        size : int
            Points of each model, at most: a budget for all of them may allow fewer.
        how : Evaluation
            How log integrands are called, with the open journal.
        """
        size, cut = _affordable(self.runners, size, self._spent, self.options.budget)
        if not self.history and cut and size < LEAST and not self._screened:
            _refuse_budget(self.options.budget, self.runners)
        taken = self._extend(size, how)
        early = size < min(_DECIDE, self.options.sizes[-1]) and any(taken)
        if not early or cut or self._noted:
            self._note(size, taken)
        if cut:
            self._end = self._end[0], f"the budget of {self.options.budget} evaluations in all ended"
            return True
        return False if early else self._judge(sum(taken))

    def settle(self, how: Evaluation) -> bool:
        """Give models that could be first, and that shared points do not settle, points of their own.

        Return whether the race ends here: what was decided before may be open again.
        """
        before = len(self.own)
        while (slot := self._unsettled()) is not None:
            k = next(k for k, runner in enumerate(self.runners) if slot in runner.slots)
            self.own[slot], taken = own_evidence(
                self.runners[k], slot, self.options.sizes[-1], self.options.seed, self._calls.of_family(k, how)
            )
            self._spent += taken
            self._points[slot] = taken
            self.evidences = self.evidences.put(np.array([slot]), self.own[slot])
        if len(self.own) == before:
            return True
        self._remember(self.size, len(self.own) - before)
        last = self.history[-1]
        decided = _decided(self.evidences, self.log_prior, last.best, last.map_probability, self.options)
        still = self._end[0] is not Reason.DECIDED or decided is not None
        self._end = (Reason.DECIDED, decided) if decided is not None else self._budget_end
        return still

    def _unsettled(self) -> int | None:
        """Return the likeliest model that is to get points of its own, if there is one."""
        if not worthwhile(len(self.own), self.options.sizes[-1], self._spent, self.options.budget):
            return None
        wanted = np.zeros(len(self.names), dtype=bool)
        for runner in self.runners:
            if isinstance(runner, Shared):
                wanted[runner.slots] = unsettled(runner, self.evidences, self._end[0] is Reason.DECIDED)
        wanted[list(self.own)] = False
        if wanted.any():
            best = leader(map_probabilities(self.evidences, self.log_prior), self._score)
            wanted &= _contention(self.evidences, self.log_prior, best, None)
        return int(np.argmax(np.where(wanted, self._score, -np.inf))) if wanted.any() else None

    def recheck(self) -> None:
        """Warn when the first point that was evaluated has another value now."""
        changed = self._calls.recheck()
        if changed is not None:
            _warnings.warn(changed)

    @property
    def _noted(self) -> bool:
        """Whether the state is noted after a round that decides nothing.

        Of many models with points of their own it is not: the posteriors would be a third of the time of the race.
        """
        return len(self.names) < _MANY or not all(runner.each_alone for runner in self.runners)

    def _extend(self, size: int, how: Evaluation) -> list[int]:
        """Bring the models in contention to `size` points; return the evaluations of each family."""
        taken = [runner.extend(size, self._calls.of_family(k, how)) for k, runner in enumerate(self.runners)]
        self._spent += sum(taken)
        self.size = size
        return taken

    def _take_in(self, runners: Iterable[Runner]) -> None:
        """Take in what runners know of their models in contention."""
        for runner in runners:
            self.evidences = self.evidences.put(runner.slots[runner.active], runner.posteriors())

    def _note(self, size: int, taken: Sequence[int]) -> None:
        """Note the state after a round, given the evaluations that it took of each family."""
        contenders = sum(len(runner.active) for runner in self.runners)
        self._take_in([runner for runner, new in zip(self.runners, taken, strict=True) if new])
        for slot, known in self.own.items():
            self.evidences = self.evidences.put(np.array([slot]), known)
        best = leader(map_probabilities(self.evidences, self.log_prior), self._score)
        near = _contention(self.evidences, self.log_prior, best, self.options.tol)
        self._take_in([runner for runner in self.runners if runner.refine(near)])
        for runner in self.runners:
            runner.resume()
        self._remember(size, contenders)

    def _remember(self, size: int, contenders: int) -> None:
        """Add the state to the history: models that were evaluated, and points of each."""
        chances = map_probabilities(self.evidences, self.log_prior)
        best = leader(chances, self._score)
        self.history.append(Stage(size, self._spent, contenders, self.evidences, best, float(chances[best])))
        _log.info(
            "%d points each, %d evaluations in all, %d models in contention: %s leads with P(MAP) = %.3f",
            size, self._spent, contenders, label(self.names[best]), chances[best],
        )  # fmt: skip

    def _judge(self, taken: int) -> bool:
        """Stop when it is decided or no point is left; otherwise drop the models that cannot win."""
        self._end = self._budget_end
        last = self.history[-1]
        decided = _decided(self.evidences, self.log_prior, last.best, last.map_probability, self.options)
        if decided and not any(runner.unknown().any() for runner in self.runners):
            return self._stop(decided)
        if not taken:
            self._end = Reason.EXHAUSTED, "the designs have no further points"
            return True
        if self.options.race:
            self._drop(self.runners, last.best)
        return False

    def _stop(self, decided: str) -> bool:
        """End the race, unless models of which nothing is known yet can still be evaluated; all others then rest."""
        blank = _blank(self.evidences, self.log_prior, self.runners)
        if not blank.any():
            self._end = Reason.DECIDED, decided
            return True
        self._end = Reason.NOT_REACHED, decided
        return self.options.race and not sum([runner.rest(blank) for runner in self.runners])

    def _drop(self, runners: Sequence[Runner], best: int) -> None:
        keep = _contention(self.evidences, self.log_prior, best, self.options.tol)
        for runner in runners:
            runner.drop(keep, self._score)

    def comparison(self, settings: Mapping[str, Any]) -> Comparison:
        """Return what was found, with warnings about what cannot be relied on."""
        for runner in self.runners:
            runner.resume()
        best = self.history[-1].best
        reason, status = self._why(best)
        _warn_of_linear(self.runners, self.names, best)
        for runner in self.runners:
            for name, remark in runner.remarks().items():
                _warnings.warn(f"model {name!r}: {remark}")
        skipped = sum(runner.n_skipped for runner in self.runners)
        if skipped:
            _warnings.warn(f"log integrands failed at {skipped} of {self._spent} evaluations, which were skipped")
        points = np.maximum(self._points, np.concatenate([runner.counts() for runner in self.runners]))
        _warn_of_wide(self.names, self.evidences, self.runners, _contention(self.evidences, self.log_prior, best, None))
        own = {"own_points": [label(self.names[slot]) for slot in self.own]} if self.own else {}
        kept = self.options.remembered() | {"reason": reason.value} | own
        kept |= _worst_case_errors(self.runners) | dict(settings)
        return Comparison(self.names, self.evidences, self.log_prior, points, tuple(self.history), status, kept)

    def _why(self, best: int) -> tuple[Reason, str]:
        """Return why the race ended, and in words; warn of likelihoods that are zero."""
        reason, status = self._end
        if reason is Reason.BUDGET and (self.options.stop is not None or self.options.tol is not None):
            reason = Reason.NOT_REACHED
        if not np.isfinite(self.evidences.log_median[best]):
            status = "every likelihood is zero at every point evaluated: check the models' units"
            _warnings.warn(status)
            return Reason.ZERO, status
        if self.evidences.nothing.any():
            unknown = _unknown_words(self.names, self.evidences.nothing)
            _warnings.warn(unknown)
            return reason, f"{status}; {unknown}"
        return reason, status


def _worst_case_errors(runners: Sequence[Runner]) -> dict[str, Any]:
    """Return the errors of the rules of linear processes, as a setting, where there are any."""
    sharing = [runner for runner in runners if not runner.each_alone]
    errors = {f"d = {runner.family.measure.dim}": runner.errors for runner in sharing}
    return {"mmd": errors} if any(errors.values()) else {}


def _runners(grouped: Sequence[Family], options: Options, spread: int | None) -> list[Runner]:
    """Return what evaluates the models of each family: at points of each model's own, or at shared ones."""
    process = (options.process_kernel, options.process_amplitude, options.design, options.seed)
    runners: list[Runner] = []
    many = sum(len(family.names) for family in grouped) >= _MANY
    first = 0
    for family in grouped:
        if options.evidence == "log" and isinstance(family, ModelFamily) and family.coordinates is None:
            runners.append(Contenders(family, first, options.sizes[-1], *process, rough=many))
        else:
            runners.append(Shared(family, first, options.evidence, *process, spread))
        first += len(family.names)
    return runners


def _blank(evidences: Evidences, log_prior: Array, runners: Sequence[Runner]) -> NDArray[np.bool_]:
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


def _warn_of_wide(
    names: Sequence[Hashable], evidences: Evidences, runners: Sequence[Runner], possible: NDArray[np.bool_]
) -> None:
    """Warn of models on shared points that could be first and whose evidence is hardly known."""
    shared = np.concatenate([np.full(len(r.slots), isinstance(r, Shared) and r.shares_scales) for r in runners])
    wide = shared & possible & ~evidences.nothing & (evidences.log_sd > _WIDE)
    if wide.any():
        _warnings.warn(
            f"the log evidence of {_these(names, wide)} has a standard deviation above {_WIDE:g}, and could be the "
            "highest: take the units of the data, raise `n`, or compare fewer models"
        )


def _affordable(runners: Sequence[Runner], size: int, spent: int, limit: int | None) -> tuple[int, bool]:
    """Return the size of a round that the total budget allows, and whether it had to be cut."""
    if limit is None:
        return size, False
    most = size
    while most > 0 and sum(runner.missing(most) for runner in runners) > limit - spent:
        most -= 1
    return most, most < size


def _refuse_budget(budget: int | None, runners: Sequence[Runner]) -> None:
    count = sum(len(runner.active) for runner in runners)
    raise ValueError(
        f"`budget` must be at least {LEAST * count}, which is {LEAST} evaluations for each of {count} models, got "
        f"{budget}: raise it, or compare fewer models"
    )


def _warn_of_linear(runners: Sequence[Runner], names: tuple[Hashable, ...], best: int) -> None:
    """Warn of the models whose evidence a linear process cannot tell, or whose error it understates.

    Of models that resemble each other, hundreds of which cannot win, only the leading one is looked at.
    """
    doubts = LinearDoubts.none(len(names))
    for runner in runners:
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
            f"process falls to zero, and there are too few points for its parameters; {remedy}, more points, or a "
            "`kernel` with longer length-scales"
        )


def _these(names: Sequence[Hashable], which: NDArray[np.bool_]) -> str:
    """Return the names of some models, the first five of them, in words."""
    some = [repr(name) for name, named in zip(names, which, strict=True) if named]
    more = f" and {len(some) - 5:,} more" if len(some) > 5 else ""
    return f"model{'s' if len(some) > 1 else ''} {', '.join(some[:5])}{more}"


@contextmanager
def _opened(how: Evaluation, grouped: Sequence[Family]) -> Iterator[Evaluation]:
    """Open the journal of the comparison, if there is one, and close it at the end."""
    if how.journal is None:
        yield how
        return
    if isinstance(how.journal, Journal):
        raise TypeError("`journal` of a comparison must be the path of a file, got an open Journal: give its `path`")
    with Journal(how.journal, _identity(grouped, how.version)) as journal:
        yield replace(how, journal=journal)


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


class _Calls:
    """How families evaluate their functions; remembers the first batch, to look at the end whether it still holds."""

    def __init__(self) -> None:
        self._first: Evaluator | None = None
        self._n_new = 0

    def recheck(self) -> str | None:
        """Return what is wrong with a function that returns other values now; see `Evaluator.recheck`."""
        return None if self._first is None else self._first.recheck(self._n_new)

    def of_family(self, number: int, how: Evaluation) -> Evaluate:
        """Return how family `number` evaluates a function of points; other models are another series of the journal."""
        how = replace(how, vectorized=True, progress=False)

        def evaluate(function: Block | Numbered, points: Array) -> tuple[Array, NDArray[np.bool_]]:
            which = function.which if isinstance(function, Block) else None
            gradient = isinstance(function, Numbered) and function.gradient
            series = "own" if which is None else hashlib.sha256(which.astype(np.int64).tobytes()).hexdigest()[:16]
            with Evaluator(
                function, points.shape[1], how, series=f"{number}:{series}", minus_infinity=True,
                called="the log integrand", where=function.where, gradient=gradient,
            ) as evaluator:  # fmt: skip
                try:
                    done = evaluator(points)
                except EvaluationError as error:
                    raise function.named(error) from error.__cause__
            self._first = self._first or evaluator
            self._n_new += done.n_new
            if which is not None:
                return done.values.reshape(len(points), -1), done.kept
            # The first column of a gradient belongs to the number of the model.
            return done.values if done.gradients is None else np.column_stack(
                [done.values, done.gradients[:, 1:]]
            ), done.kept

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
