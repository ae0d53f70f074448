"""Calling f: all at once or point by point, here or on an executor, with nothing lost and nothing paid for twice.

The answer of a run depends on the points and on f alone. Batches are cut into calls by a rule that knows neither the
number of workers nor what the journal holds, results are put back in the order of the points, and what failed is named.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate
from .._threads import users_blas_threads
from ..measures import Measure
from .calls import PROBE, Finding, Trouble, evaluate_rows, find_out, named
from .dispatch import Dispatch, Landed, Task
from .executors import DesertedError, Workers, checked_executor
from .journal import Journal, JournalError, point_keys
from .progress import Progress
from .tags import function_identity

__all__ = ["EvaluationError", "Evaluations", "Evaluator", "Failure"]

FloatArray = NDArray[np.float64]

# A batch for a vectorised f is cut into about this many calls, so that up to 16 workers have something to do; a larger
# number would give up more of what vectorisation gains when there is no executor.
_CALLS_PER_BATCH = 16
# The most points in one call by default: large enough to hide the cost of a call, small enough for a journal to be
# worth having and for intermediate arrays of f to stay in cache.
_LARGEST_CALL = 512
# With on_error="skip" the first points may be bad ones; after this many the fault is f's.
_PROBE_ATTEMPTS = 8


class EvaluationError(RuntimeError):
    """The integrand failed at a point, which the message names.

    Attributes
    ----------
    failures : tuple of Failure
        All points known to have failed, by row. The exception that f raised at the first is the ``__cause__``.
    """

    def __init__(self, message: str, failures: "tuple[Failure, ...]" = ()) -> None:
        super().__init__(message)
        self.failures = failures


@dataclass(frozen=True, eq=False)
class Failure:
    """A point at which f could not be evaluated.

    Attributes
    ----------
    index : int
        Row of the batch.
    point : (d,) array
    reason : str
    cause : Exception or None
        What f raised.
    """

    index: int
    point: FloatArray
    reason: str
    cause: BaseException | None = None

    def __str__(self) -> str:
        return f"{_written(self.point)}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Evaluations:
    """Values of f at a batch of points.

    Attributes
    ----------
    points : (n, d) array
        As f saw them (-0.0 is written 0.0).
    values : (n,) or (n, m) array
        In the order of the points; NaN in the skipped rows.
    n_new : int
        Points at which f was called successfully for this batch.
    n_reused : int
        Rows whose value was there already: from the journal, from an earlier batch or from a repeated row.
    failures : tuple of Failure
        The skipped points, by row; empty unless ``on_error="skip"``.
    """

    points: FloatArray
    values: FloatArray
    n_new: int
    n_reused: int
    failures: tuple[Failure, ...]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def skipped(self) -> NDArray[np.intp]:
        """Rows that were skipped, ascending."""
        return np.array([failure.index for failure in self.failures], dtype=np.intp)

    @property
    def n_skipped(self) -> int:
        """How many rows were skipped."""
        return len(self.failures)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Mask (n,) of the rows that have a value."""
        mask = np.ones(len(self.points), dtype=bool)
        mask[self.skipped] = False
        return mask

    def __repr__(self) -> str:
        return f"Evaluations({len(self)} points: {self.n_new} new, {self.n_reused} reused, {self.n_skipped} skipped)"


class Evaluator:
    """Evaluate f at points: in batches, in parallel, journalled.

    Parameters
    ----------
    f : callable
        Vectorised, ``(n, d) -> (n,)`` or ``(n, m)``, or for one point, ``(d,) -> float`` or ``(m,)``. It receives
        copies and may change them.
    dim : int
        The number of coordinates d.
    vectorized : bool, optional
        Which of the two f is. None finds out on the first batch (see Notes).
    executor : concurrent.futures.Executor, optional
        Where f is called: threads, processes, ``dask.distributed.Client.get_executor()``; None calls it here. The
        executor stays the caller's.
    journal : path-like or Journal, optional
        Where each finished evaluation is written before it is used. A path is opened with the identity (dim, measure,
        function, version) and closed by `close`; a `Journal` stays the caller's.
    series : str, optional
        The name of this integrand within the journal, for callers who vouch that it always means the same function. By
        default the series that belongs to f: different functions in one open `Journal` are kept apart.
    measure : Measure, optional
        For the journal's identity.
    tag : str, optional
        A name for f in the journal's identity; give another whenever f changes. By default f is identified by its code
        and everything that the code refers to (`fwbq.evaluation.function_identity`).
    version : str
        Of f, for the journal's identity: raise it when files or programs that f uses change.
    on_error : {"raise", "skip"}
        What to do about a point at which f raises, times out or returns NaN, an infinity or another shape. "raise"
        finishes and keeps what is under way, then raises `EvaluationError`. "skip" goes on and lists the failures.
    timeout : float, optional
        Seconds for one evaluation. f then runs in a thread of its own, which is abandoned when the time is over (Python
        cannot end it; on a process or Dask worker it dies with the worker).
    chunk_size : int, optional
        Points per call of a vectorised f (default: a sixteenth of the batch, at most 512), or per task of an f for one
        point (default 1). It never depends on the number of workers.
    in_flight : int, optional
        Calls handed to the executor at a time; default twice its workers, at least 64 where their number may grow.
    minus_infinity : bool
        Whether -inf is a good value, as it is for a log-likelihood.
    progress : bool or Progress, optional
        None draws a bar when standard error is a terminal, True always, False never. A `Progress` is advanced.

    Raises
    ------
    EvaluationError
        See `on_error`. Also, whatever `on_error` says, when no way to call f works or the executor broke.
    JournalError
        The journal cannot be opened or written.

    Notes
    -----
    *How f is called.* With ``vectorized=None`` the first batch begins with its first three points: f is called with the
    first two as a (2, d) array and with the third as a (1, d) array. If two rows and one row come back, f is
    vectorised, and these are the values of the three points. Otherwise f is called with the first point as a (d,)
    array; if a number or a vector comes back, f takes one point at a time, and this is the value of the first point. So
    a vectorised f is never called twice for a point (unless the batch has fewer than three) and no point is made up;
    an f for one point sees one array that it was not written for, which ``vectorized=False`` avoids. Where the result
    has as many columns as the points have coordinates, an f for one point that works elementwise cannot be told by
    shapes: f is called once more, with the first point alone, and the rows must agree. The finding depends on f and
    these points only; it is kept in the journal.

    *Same bits.* A matrix product may round differently for 7 rows than for 8. Therefore a batch is always cut into the
    same calls, with or without an executor and whatever its size, and a call that the journal holds in part can only
    come from a run with other batches.

    *Repeated points* are evaluated once, within a batch and over the life of the evaluator. -0.0 counts as 0.0.

    *A vectorised f that fails* does not say at which point: the points of the failed call are tried one by one, as
    (1, d) arrays, and the others are kept.

    *Lost workers.* Dask runs the work of a lost worker again by itself, and gives up on a call that was on several of
    them; it may only have waited there, so such calls are tried again one at a time when everything else is done, and
    only a point that is lost alone is a failure. A cluster that has lost all its workers is given up after a minute. A
    process pool that loses a worker is broken for good: the error says so, with everything finished kept; the same call
    with a new pool and the same journal goes on from there.

    Examples
    --------
    >>> import numpy as np
    >>> evaluate = Evaluator(lambda x: np.exp(-np.sum(x**2, axis=1)), dim=2)
    >>> points = np.random.default_rng(0).normal(size=(5, 2))
    >>> evaluate(points)
    Evaluations(5 points: 5 new, 0 reused, 0 skipped)
    >>> evaluate(points[::-1])
    Evaluations(5 points: 0 new, 5 reused, 0 skipped)
    >>> evaluate.vectorized
    True
    >>> Evaluator(lambda x: 1.0 / (float(x[0]) - 1.0), dim=1, vectorized=False)(np.array([[0.0], [1.0], [3.0]]))
    Traceback (most recent call last):
    ...
    fwbq.evaluation.evaluator.EvaluationError: f failed at point [1.0] (row 1 of 3): it raised ZeroDivisionError...
    """

    def __init__(
        self,
        f: Callable[[FloatArray], Any],
        dim: int,
        *,
        vectorized: bool | None = None,
        executor: Executor | None = None,
        journal: str | os.PathLike[str] | Journal | None = None,
        series: str | None = None,
        measure: Measure | None = None,
        tag: str | None = None,
        version: str = "",
        on_error: Literal["raise", "skip"] = "raise",
        timeout: float | None = None,
        chunk_size: int | None = None,
        in_flight: int | None = None,
        minus_infinity: bool = False,
        progress: bool | Progress | None = None,
    ) -> None:
        self.f = _validate.function(f, "f")
        self.dim = _validate.count(dim, "dim")
        self.vectorized = self._given = vectorized
        self.width: int | None = None
        self.executor: Executor | None = checked_executor(executor, f)
        self._workers = None if self.executor is None else Workers(self.executor)
        self.on_error = _validate.choice(on_error, "on_error", ("raise", "skip"))
        self.timeout = None if timeout is None else _validate.positive(timeout, "timeout")
        self.chunk_size = None if chunk_size is None else _validate.count(chunk_size, "chunk_size")
        self.in_flight = None if in_flight is None else _validate.count(in_flight, "in_flight")
        self.minus_infinity = minus_infinity
        self.progress = progress
        self.n_new = 0
        self.n_reused = 0
        self._opening = vectorized is None
        self._known: dict[bytes, FloatArray] = {}
        self._failed: dict[bytes, Failure] = {}
        self._unrecorded: dict[bytes, FloatArray] = {}
        self._shape_known = False
        self._owns_journal = journal is not None and not isinstance(journal, Journal)
        self.journal: Journal | None = None
        self.series = series or ""
        if journal is not None:
            self._open(journal, series, measure, tag, version)

    def _open(
        self,
        journal: str | os.PathLike[str] | Journal,
        series: str | None,
        measure: Measure | None,
        tag: str | None,
        version: str,
    ) -> None:
        """Open the journal, or take the open one, and find the series that belongs to f."""
        if isinstance(journal, Journal):
            self.journal = journal
            if series is None:
                self.series = journal.series_for(self._identity(tag, version))
        else:
            identity = self._identity(tag, version)
            self.journal = Journal(journal, {**identity, "measure": None if measure is None else measure.spec()})
            if series is None:
                self.series = self.journal.series_for(identity, alone=True)
        found = self.journal.finding(self.series)
        if None not in (found, self.vectorized) and found is not self.vectorized:
            self.close()
            raise JournalError(
                f"journal {str(self.journal.path)!r} was made with vectorized={found}, this call says "
                f"vectorized={self.vectorized}, and f may return other values then: leave `vectorized` out, or name "
                "another file"
            )

    def _identity(self, tag: str | None, version: str) -> dict[str, Any]:
        """Return what the values of f depend on beside the point."""
        function = function_identity(self.f) if tag is None else _validate.text(tag, "tag")
        return {"dim": self.dim, "function": function, "version": _validate.text(version, "version")}

    @property
    def failures(self) -> tuple[Failure, ...]:
        """All points skipped so far."""
        return tuple(self._failed.values())

    @users_blas_threads
    def __call__(self, points: ArrayLike) -> Evaluations:
        """Evaluate f at each row of `points`.

        Parameters
        ----------
        points : (n, d) array

        Returns
        -------
        Evaluations
        """
        x = _validate.points(points, "points", self.dim) + 0.0
        keys = point_keys(x)
        self._flush()
        batch = _Batch(self, x, keys)
        if batch.rows:
            if isinstance(self.progress, Progress):
                shown: Any = nullcontext(self.progress)
            else:
                shown = Progress(len(batch.rows), enabled=self.progress)
            with shown as progress:
                batch.run(progress)
        failures = tuple(
            Failure(i, x[i], self._failed[key].reason, self._failed[key].cause)
            for i, key in enumerate(keys)
            if key in self._failed
        )
        values = np.full(len(x) if self.width is None else (len(x), self.width), np.nan)
        for i, key in enumerate(keys):
            if key in self._known:
                values[i] = self._known[key]
        reused = len(x) - batch.n_new - len(failures)
        self.n_new += batch.n_new
        self.n_reused += reused
        return Evaluations(x, values, batch.n_new, reused, failures)

    def forget(self) -> None:
        """Drop the values kept in memory; a point asked for again is looked up in the journal, or evaluated anew."""
        self._known.clear()

    def _flush(self) -> None:
        """Write down what a full disk kept out of the journal."""
        if self._unrecorded:
            held, self._unrecorded = self._unrecorded, {}
            self._keep(held)

    def _keep(self, rows: dict[bytes, FloatArray]) -> None:
        """Record finished evaluations, then remember them; in this order, so that nothing is used before it is safe."""
        if not rows:
            return
        if self.journal is not None:
            x = np.array([np.frombuffer(key, "<f8") for key in rows])
            try:
                stored = self.journal.record(
                    x,
                    np.array(list(rows.values())),
                    self.series,
                    vectorized=self.vectorized,
                    minus_infinity=self.minus_infinity,
                )
            except BaseException:
                self._unrecorded.update(rows)
                raise
            rows = dict(zip(rows, stored, strict=True))
        self._known.update(rows)

    def close(self) -> None:
        """Close the journal if it was opened here."""
        try:
            self._flush()
        finally:
            if self._owns_journal and self.journal is not None:
                self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Batch:
    """The evaluation of one batch: which rows, in which calls, with what result."""

    def __init__(self, evaluator: Evaluator, x: FloatArray, keys: list[bytes]) -> None:
        self.evaluator = evaluator
        self.x = x
        self.keys = keys
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        known, failed = evaluator._known, evaluator._failed
        self.rows = sorted(i for key, i in first.items() if key not in known and key not in failed)
        self.n_new = 0
        self.failures: dict[int, Failure] = {}
        self.stop: BaseException | None = None
        self.progress = Progress(enabled=False)

    # -- the order of events ------------------------------------------------------------------------------------------

    def run(self, progress: Progress) -> None:
        self.progress = progress
        own = self.evaluator
        opening, own._opening = own._opening, False
        if own.vectorized is None and own.journal is not None:
            own.vectorized = own.journal.finding(own.series)
        if own.vectorized is None:
            missing = self._not_in_journal(self.rows)
            if missing:
                self._find_out(missing)
        if self.stop is None:
            self._work(self._tasks(self._calls(opening)), self._settle)
        self._conclude()

    def _calls(self, opening: bool) -> Iterator[list[int]]:
        """Cut the rows into calls, by a rule that knows nothing of workers and journals."""
        own, rows = self.evaluator, self.rows
        if own.vectorized is False:
            size = own.chunk_size or 1
        else:
            if opening:  # as they were, or would have been, called to find out about f
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
            rows = self._not_in_journal([i for i in call if self.keys[i] not in own._known and i not in self.failures])
            if rows:
                yield Task(
                    rows, evaluate_rows, own.f, self.x[rows], {"vectorized": own.vectorized, "timeout": own.timeout}
                )

    def _not_in_journal(self, rows: list[int]) -> list[int]:
        own = self.evaluator
        if own.journal is None or not rows:
            return rows
        found, values = own.journal.get(self.x[rows], own.series)
        if found.any():
            self._fix_shape(values[found][0])
            own._known.update((self.keys[i], values[k]) for k, i in enumerate(rows) if found[k])
            self.progress.advance(int(found.sum()))
        return [i for k, i in enumerate(rows) if not found[k]]

    def _find_out(self, missing: list[int]) -> None:
        own = self.evaluator
        attempts = range(1 if own.on_error == "raise" else min(len(missing), _PROBE_ATTEMPTS))
        first: Finding | None = None
        for attempt in attempts:
            rows = (missing[attempt:] + missing[:attempt])[:PROBE]
            x = self.x[[rows[k % len(rows)] for k in range(PROBE)]]
            task = Task(rows, find_out, own.f, x, {"timeout": own.timeout}, divisible=False)
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
        self.stop = _caused(
            EvaluationError(
                f"f could not be called at point {_written(point)} (row {missing[0]} of {len(self.x)}): given an array "
                f"of shape ({PROBE - 1}, {own.dim}), {tried}; given one point of shape ({own.dim},), {alone}. f must "
                "be vectorised, (n, d) -> (n,) or (n, m), or take one point, (d,) -> float or (m,); `vectorized=True` "
                "or `vectorized=False` says which, and then only that is tried.",
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
        workers = self.evaluator._workers
        if workers is None:
            for task in tasks:
                settle([Landed(task, task.run())])
                if self._must_stop():
                    return
            return
        dispatch = Dispatch(workers, self.evaluator.in_flight)
        try:
            for landed in dispatch.run(tasks, self._must_stop):
                settle([item for item in landed if item.fault is None])
                fatal = [item for item in landed if item.fatal]
                if fatal and fatal[0].fault is not None:
                    lost = [*(item.task for item in fatal), *dispatch.under_way()]
                    self.stop = self.stop or self._broken(lost, fatal[0].fault)
                for item in landed:
                    if item.fatal:
                        continue
                    if item.fault is not None and not self._must_stop():
                        for i in item.task.rows:
                            self._fail(i, f"its worker was lost ({named(item.fault)})", item.fault)
        except BaseException:  # an interruption: nothing is waited for, what is finished is kept
            settle(dispatch.abandon())
            raise

    def _must_stop(self) -> bool:
        return self.stop is not None or (bool(self.failures) and self.evaluator.on_error == "raise")

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
                elif not self._fix_shape(result):
                    width = None if result.ndim == 0 else len(result)
                    self._fail(i, f"it returned {_words(width)}, at other points {_words(own.width)}", None)
                elif not np.all(np.isfinite(result) | ((result == -np.inf) & own.minus_infinity)):
                    self._fail(i, f"it returned {_written(result)}", None)
                else:
                    good[self.keys[i]] = result
        self.progress.advance(sum(len(item.task.rows) for item in landed))
        if isinstance(self.stop, JournalError):  # the disk is full: hold what still comes in
            own._unrecorded.update(good)
            return
        try:
            own._keep(good)
        except JournalError as error:
            self.stop = error
        else:
            self.n_new += len(good)

    def _all_good(self, results: Sequence[Any]) -> bool:
        """Whether all values of a call can be kept; checked at once, for a check of each costs more than a cheap f."""
        if any(isinstance(result, Trouble) for result in results) or len({result.shape for result in results}) != 1:
            return False
        return self._fix_shape(results[0]) and bool(np.isfinite(np.array(results)).all())

    def _fix_shape(self, value: FloatArray) -> bool:
        """Let the first value say what f returns; return whether this value agrees."""
        own = self.evaluator
        width = None if value.ndim == 0 else len(value)
        if not own._shape_known:
            own.width, own._shape_known = width, True
        return own.width == width

    def _fail(self, i: int, reason: str, cause: BaseException | None) -> None:
        self.failures[i] = Failure(i, self.x[i], reason, cause)

    def _broken(self, tasks: Sequence[Task], error: BaseException) -> EvaluationError:
        rows = sorted({i for task in tasks for i in task.rows})
        shown = ", ".join(_written(self.x[i]) for i in rows[:3]) + (", …" if len(rows) > 3 else "")
        failed = tuple(Failure(i, self.x[i], f"the executor failed ({named(error)})", error) for i in rows)
        died = isinstance(error, BrokenExecutor | DesertedError)
        return _caused(
            EvaluationError(
                f"the executor failed ({named(error)}) while {len(rows)} evaluation(s) were under way, at {shown}. "
                + ("A worker process dies when f crashes the interpreter or memory runs out. " if died else "")
                + f"{self._kept_words()} A new executor{self._resume_words()} goes on from there.",
                failed,
            ),
            error,
        )

    def _called_words(self) -> str:
        """Say how f was called where the user chose it and no call has succeeded: f may take points otherwise."""
        given = self.evaluator._given
        if given is None or self.n_new or self.evaluator.n_new or self.evaluator.n_reused:
            return ""
        ways = {True: "many points at once, of shape (n, d)", False: "one point at a time, of shape (d,)"}
        words = f"; f was given {ways[given]}, because of `vectorized={given}`"
        return f"{words}: if it takes {ways[not given]}, leave that out"

    def _error(self) -> EvaluationError:
        failed = tuple(self.failures[i] for i in sorted(self.failures))
        more = f" {len(failed) - 1} more point(s) failed." if len(failed) > 1 else ""
        return _caused(
            EvaluationError(
                f"f failed at point {_written(failed[0].point)} (row {failed[0].index} of {len(self.x)}): "
                f'{failed[0].reason}.{more} {self._kept_words()} `on_error="skip"` goes on without such points'
                f"{self._called_words()}.",
                failed,
            ),
            failed[0].cause,
        )

    def _kept_words(self) -> str:
        journal = self.evaluator.journal
        where = "in memory" if journal is None else f"in the journal {str(journal.path)!r}"
        return f"{self.n_new} new evaluation(s) of this batch are finished and kept {where}."

    def _resume_words(self) -> str:
        return "" if self.evaluator.journal is None else " and the same journal"

    def _conclude(self) -> None:
        own = self.evaluator
        failed = [self.failures[i] for i in sorted(self.failures)]
        if failed and own.journal is not None and not isinstance(self.stop, JournalError):
            own.journal.record_failures([f.point for f in failed], [f.reason for f in failed], own.series)
        if self.stop is not None:
            if own._unrecorded:
                self.stop.add_note(
                    f"{len(own._unrecorded)} finished evaluation(s) are held in memory; the next call of this "
                    "evaluator, or closing it, writes them."
                )
            raise self.stop
        if failed and own.on_error == "raise":
            raise self._error()
        own._failed.update((self.keys[failure.index], failure) for failure in failed)


def _caused(error: EvaluationError, cause: "BaseException | Trouble | None") -> EvaluationError:
    error.__cause__ = cause.restored() if isinstance(cause, Trouble) else cause
    return error


def _written(point: FloatArray) -> str:
    numbers = [repr(float(value)) for value in np.ravel(point)]
    text = ", ".join(numbers if len(numbers) <= 12 else [*numbers[:10], f"… ({len(numbers)} in all)"])
    return text if np.ndim(point) == 0 else f"[{text}]"


def _words(width: int | None) -> str:
    return "a number" if width is None else f"a vector of {width}"
