"""The evaluation of one batch of points: cut into calls, handed out, judged, recorded."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .calls import PROBE, Finding, Trouble, evaluate_rows, find_out, named
from .dispatch import Dispatch, Landed, Task
from .executors import DesertedError, Workers
from .failures import EvaluationError, Failure, words, written
from .journal_file import JournalError
from .known import Known
from .progress import Progress

if TYPE_CHECKING:
    from .evaluator import Evaluator

FloatArray = NDArray[np.float64]

# A batch for a vectorised f is cut into about this many calls, so that up to 16 workers have something to do; a larger
# number would give up more of what vectorisation gains when there is no executor.
_CALLS_PER_BATCH = 16
# The most points in one call by default: large enough to hide the cost of a call, small enough for a journal to be
# worth having and for intermediate arrays of f to stay in cache.
_LARGEST_CALL = 512
# With on_error="skip" the first points may be bad ones; after this many the fault is f's.
_PROBE_ATTEMPTS = 8


class Batch:
    """The evaluation of one batch: which rows, in which calls, with what result.

    Parameters
    ----------
    evaluator : Evaluator
        How f is called; its `vectorized` is set when it is found out.
    known : Known
        What is known of f already, and takes up what becomes known.
    workers : Workers or None
        Where f is called.
    x : (n, d) array
        The points, and `keys`, the exact bytes of each.
    opening : bool
        Whether the first calls are those by which it is found out how f is called.
    """

    def __init__(
        self,
        evaluator: "Evaluator",
        known: Known,
        workers: Workers | None,
        x: FloatArray,
        keys: list[bytes],
        *,
        opening: bool,
    ) -> None:
        self.evaluator = evaluator
        self.known = known
        self.workers = workers
        self.opening = opening
        self.x = x
        self.keys = keys
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        self.rows = sorted(i for key, i in first.items() if key not in known.values and key not in known.failed)
        self.n_new = 0
        self.failures: dict[int, Failure] = {}
        self.stop: BaseException | None = None
        self.progress = Progress(enabled=False)

    # -- the order of events ------------------------------------------------------------------------------------------

    def run(self, progress: Progress) -> None:
        """Evaluate the rows that are not known; raise what stops it."""
        self.progress = progress
        own, journal = self.evaluator, self.known.journal
        if own.vectorized is None and journal is not None:
            own.vectorized = journal.finding(self.known.series)
        if own.vectorized is None:
            missing = self._not_in_journal(self.rows)
            if missing:
                self._find_out(missing)
        if self.stop is None:
            self._work(self._tasks(self._calls()), self._settle)
        self._conclude()

    def _calls(self) -> Iterator[list[int]]:
        """Cut the rows into calls, by a rule that knows nothing of workers and journals."""
        own, rows = self.evaluator, self.rows
        if own.vectorized is False:
            size = own.chunk_size or 1
        else:
            if self.opening:  # as they were, or would have been, called to find out about f
                yield rows[: PROBE - 1]
                yield rows[PROBE - 1 : PROBE]
                rows = rows[PROBE:]
            size = own.chunk_size or max(1, min(_LARGEST_CALL, math.ceil(len(rows) / _CALLS_PER_BATCH)))
        for start in range(0, len(rows), size):
            yield rows[start : start + size]

    def _tasks(self, calls: Iterable[list[int]]) -> Iterator[Task]:
        """Leave out what is known by now. Asked for one by one, so that a second process's results are seen."""
        own = self.evaluator
        for call in calls:
            rows = self._not_in_journal(
                [i for i in call if self.keys[i] not in self.known.values and i not in self.failures]
            )
            if rows:
                options = {"returns": own.returns, "vectorized": own.vectorized, "timeout": own.how.timeout}
                yield Task(rows, evaluate_rows, own.f, self.x[rows], options)

    def _not_in_journal(self, rows: list[int]) -> list[int]:
        found = self.known.look_up(self.x[rows], [self.keys[i] for i in rows])
        self.progress.advance(int(found.sum()))
        return [i for k, i in enumerate(rows) if not found[k]]

    def _find_out(self, missing: list[int]) -> None:
        own = self.evaluator
        attempts = range(1 if own.how.on_error == "raise" else min(len(missing), _PROBE_ATTEMPTS))
        first: Finding | None = None
        for attempt in attempts:
            rows = (missing[attempt:] + missing[:attempt])[:PROBE]
            x = self.x[[rows[k % len(rows)] for k in range(PROBE)]]
            options = {"returns": own.returns, "timeout": own.how.timeout}
            task = Task(rows, find_out, own.f, x, options, divisible=False)
            finding = self._alone(task)
            if finding is None:
                return
            if finding.vectorized is not None:
                own.vectorized = finding.vectorized
                # The calls of a later attempt are not those of an undisturbed run: only the finding is used then.
                if attempt == 0:
                    known = finding.rows[: len(rows)]  # a batch of one or two points was padded with repeats
                    self._settle([Landed(replace(task, rows=rows[: len(known)]), known)])
                return
            first = first or finding
        assert first is not None
        point = self.x[missing[0]]
        tried, alone = first.rows
        many, one = own.returns.words
        self.stop = _caused(
            EvaluationError(
                f"{own.called} could not be called at point {own.where(point)} (row {missing[0]} of {len(self.x)}): "
                f"given an array of shape ({PROBE - 1}, {own.dim}), {tried}; given one point of shape ({own.dim},), "
                f"{alone}. {own.called} must be vectorised, (n, d) -> {many}, or take one point, (d,) -> {one}; "
                "`vectorized=True` or `vectorized=False` says which, and then only that is tried.",
                (Failure(missing[0], point, str(alone), alone.exception),),
            ),
            tried,
        )

    # -- doing it -----------------------------------------------------------------------------------------------------

    def _alone(self, task: Task) -> Any:
        """Run one task and return what it returns, or set `stop`."""
        results: list[Any] = []
        self._work(iter([task]), lambda landed: results.extend(item.result for item in landed))
        if self.failures and self.stop is None:  # its workers were lost
            self.stop = self._error()
        return results[0] if results and self.stop is None else None

    def _work(self, tasks: Iterator[Task], settle: Callable[[list[Landed]], None]) -> None:
        if self.workers is None:
            for task in tasks:
                settle([Landed(task, task.run())])
                if self._must_stop():
                    return
            return
        dispatch = Dispatch(self.workers, self.evaluator.in_flight)
        try:
            for landed in dispatch.run(tasks, self._must_stop):
                settle([item for item in landed if item.fault is None])
                self._note_faults(landed, dispatch)
        except BaseException:  # an interruption: nothing is waited for, what is finished is kept
            settle(dispatch.abandon())
            raise

    def _note_faults(self, landed: list[Landed], dispatch: Dispatch) -> None:
        """Stop when the executor is of no more use; points whose worker was lost have failed."""
        faults = [(item.task, item.fault, item.fatal) for item in landed if item.fault is not None]
        fatal = [(task, fault) for task, fault, is_fatal in faults if is_fatal]
        if fatal:
            lost = [*(task for task, _ in fatal), *dispatch.under_way()]
            self.stop = self.stop or self._broken(lost, fatal[0][1])
        for task, fault, is_fatal in faults:
            if not is_fatal and not self._must_stop():
                for i in task.rows:
                    self._fail(i, f"its worker was lost ({named(fault)})", fault)

    def _must_stop(self) -> bool:
        return self.stop is not None or (bool(self.failures) and self.evaluator.how.on_error == "raise")

    # -- results ------------------------------------------------------------------------------------------------------

    def _settle(self, landed: list[Landed]) -> None:
        """Judge finished rows, record the good ones in one transaction and note the others."""
        own = self.evaluator
        good: dict[bytes, FloatArray] = {}
        for item in landed:
            if self._all_good(item.result):
                good.update((self.keys[i], result) for i, result in zip(item.task.rows, item.result, strict=True))
                continue
            for i, result in zip(item.task.rows, item.result, strict=True):
                if isinstance(result, Trouble):
                    self._fail(i, str(result), result.restored())
                elif not self.known.fits(result):
                    width = None if result.ndim == 0 else len(result)
                    self._fail(i, f"it returned {words(width)}, at other points {words(self.known.width)}", None)
                elif not own.returns.accept(result):
                    self._fail(i, f"it returned {written(own.returns.values(result))}", None)
                else:
                    good[self.keys[i]] = result
        self.progress.advance(sum(len(item.task.rows) for item in landed))
        if isinstance(self.stop, JournalError):  # the disk is full: hold what still comes in
            self.known.unrecorded.update(good)
            return
        try:
            self.known.keep(good, own.vectorized)
        except JournalError as error:
            self.stop = error
        else:
            self.n_new += len(good)

    def _all_good(self, results: Sequence[Any]) -> bool:
        """Whether all values of a call can be kept; checked at once, for a check of each costs more than a cheap f."""
        if any(isinstance(result, Trouble) for result in results) or len({result.shape for result in results}) != 1:
            return False
        return self.known.fits(results[0]) and self.evaluator.returns.accept(np.array(results))

    def _fail(self, i: int, reason: str, cause: BaseException | None) -> None:
        self.failures[i] = Failure(i, self.x[i], reason, cause)

    def _broken(self, tasks: Sequence[Task], error: BaseException) -> EvaluationError:
        rows = sorted({i for task in tasks for i in task.rows})
        shown = ", ".join(self.evaluator.where(self.x[i]) for i in rows[:3]) + (", …" if len(rows) > 3 else "")
        failed = tuple(Failure(i, self.x[i], f"the executor failed ({named(error)})", error) for i in rows)
        died = isinstance(error, BrokenExecutor | DesertedError)
        return _caused(
            EvaluationError(
                f"the executor failed ({named(error)}) while {len(rows)} evaluation(s) were under way, at {shown}. "
                + (
                    f"A worker process dies when {self.evaluator.called} crashes the interpreter or memory runs out. "
                    if died
                    else ""
                )
                + f"{self._kept_words()} A new executor{self._resume_words()} goes on from there.",
                failed,
            ),
            error,
        )

    def _called_words(self) -> str:
        """Say how f was called where the user chose it and no call has succeeded: f may take points otherwise."""
        given = self.evaluator.how.vectorized
        if (
            given is None
            or self.evaluator.where is not written
            or self.n_new
            or self.evaluator.n_new
            or self.evaluator.n_reused
        ):
            return ""
        ways = {True: "many points at once, of shape (n, d)", False: "one point at a time, of shape (d,)"}
        words = f"; {self.evaluator.called} was given {ways[given]}, because of `vectorized={given}`"
        return f"{words}: if it takes {ways[not given]}, leave that out"

    def _error(self) -> EvaluationError:
        failed = tuple(self.failures[i] for i in sorted(self.failures))
        more = f" {len(failed) - 1} more point(s) failed." if len(failed) > 1 else ""
        return _caused(
            EvaluationError(
                f"{self.evaluator.called} failed at point {self.evaluator.where(failed[0].point)} (row "
                f"{failed[0].index} of {len(self.x)}): "
                f'{failed[0].reason}.{more} {self._kept_words()} `on_error="skip"` goes on without such points'
                f"{self._called_words()}.",
                failed,
            ),
            failed[0].cause,
        )

    def _kept_words(self) -> str:
        journal = self.known.journal
        where = "in memory" if journal is None else f"in the journal {str(journal.path)!r}"
        return f"{self.n_new} new evaluation(s) of this batch are finished and kept {where}."

    def _resume_words(self) -> str:
        return "" if self.known.journal is None else " and the same journal"

    def _conclude(self) -> None:
        known = self.known
        failed = [self.failures[i] for i in sorted(self.failures)]
        if failed and known.journal is not None and not isinstance(self.stop, JournalError):
            known.journal.record_failures([f.point for f in failed], [f.reason for f in failed], known.series)
        if self.stop is not None:
            if known.unrecorded:
                self.stop.add_note(
                    f"{len(known.unrecorded)} finished evaluation(s) are held in memory; the next call of this "
                    "evaluator, or closing it, writes them."
                )
            raise self.stop
        if failed and self.evaluator.how.on_error == "raise":
            raise self._error()
        known.failed.update((self.keys[failure.index], failure) for failure in failed)


def _caused(error: EvaluationError, cause: "BaseException | Trouble | None") -> EvaluationError:
    error.__cause__ = cause.restored() if isinstance(cause, Trouble) else cause
    return error
