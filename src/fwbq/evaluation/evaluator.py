"""Calling f: all at once or point by point, here or on an executor, with nothing lost and nothing paid for twice.

The answer of a run depends on the points and on f alone. Batches are cut into calls by a rule that knows neither the
number of workers nor what the journal holds, results are put back in the order of the points, and what failed is named.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate
from .._threads import users_blas_threads
from ..measures import Measure
from .batch import Batch
from .evaluation import Evaluation
from .evaluations import Evaluations, Returns
from .executors import Workers, check_travels
from .failures import EvaluationError, Failure, written
from .interruption import heard
from .journal import Journal, point_keys
from .journal_file import JournalError
from .known import Known
from .progress import Progress, shown
from .tags import function_identity

FloatArray = NDArray[np.float64]
_log = logging.getLogger(__name__)

#: Evaluations from which on one more is no expense, and is made to see whether f still returns the same.
_ENOUGH_TO_RECHECK = 100
#: Relative difference of two values at a point that counts as none: a matrix product rounds differently for one row
#: than for many, in single precision by up to about 1e-7 for each factor of ten that cancels.
_SAME = 1e-6
#: The same, relative to the largest value of the first batch: near a zero of f all digits of a value may be rounding.
_ROUNDED = 1e-12


class Evaluator:
    """Evaluate f at points: in batches, in parallel, journalled.

    Parameters
    ----------
    f : callable
        Vectorised, ``(n, d) -> (n,)`` or ``(n, m)``, or for one point, ``(d,) -> float`` or ``(m,)``. It receives
        copies and may change them.
    dim : int
        The number of coordinates d.
    evaluation : Evaluation, optional
        How f is called, where, and where its values are kept. Fields of it can be given as keywords too (`options`).
    series : str, optional
        The name of this integrand within the journal, for callers who vouch that it always means the same function. By
        default the series that belongs to f: different functions in one open `Journal` are kept apart.
    measure : Measure, optional
        For the journal's identity.
    chunk_size : int, optional
        Points per call of a vectorised f (default: a sixteenth of the batch, at most 512), or per task of an f for one
        point (default 1). It never depends on the number of workers.
    in_flight : int, optional
        Calls handed to the executor at a time; default twice its workers, at least 64 where their number may grow.
    minus_infinity : bool
        Whether -inf is a good value, as it is for a log-likelihood.
    called : str
        What messages call f: the name that the user knows it by.
    where : callable, optional
        A point (d,) as messages show it; by default its coordinates.
    **options
        Fields of `Evaluation`: `executor`, `journal`, `tag`, `version`, `vectorized`, `on_error`, `timeout`,
        `progress`, `gradient`, `recheck`. They take the place of those of `evaluation`.

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

    *Gradients.* With ``gradient=True`` f returns pairs, ``(n, d) -> ((n,), (n, d))`` or ``(d,) -> (float, (d,))``. Both
    are checked, and kept in the journal as one row of 1 + d numbers.

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
    fwbq.evaluation.failures.EvaluationError: f failed at point [1.0] (row 1 of 3): it raised ZeroDivisionError...
    """

    def __init__(
        self,
        f: Callable[[FloatArray], Any],
        dim: int,
        evaluation: Evaluation | None = None,
        *,
        series: str | None = None,
        measure: Measure | None = None,
        chunk_size: int | None = None,
        in_flight: int | None = None,
        minus_infinity: bool = False,
        called: str = "f",
        where: Callable[[FloatArray], str] | None = None,
        **options: Any,
    ) -> None:
        self.f = _validate.function(f, called.strip("`"))
        self.called = called
        self.where = where or written
        self.dim = _validate.count(dim, "dim")
        self.how = replace(evaluation or Evaluation(), **options)
        self.vectorized = self.how.vectorized  # None until it is found out
        self.returns = Returns(self.dim, minus_infinity, self.how.gradient)
        self.chunk_size = None if chunk_size is None else _validate.count(chunk_size, "chunk_size")
        self.in_flight = None if in_flight is None else _validate.count(in_flight, "in_flight")
        self.n_new = 0
        self.n_reused = 0
        self._first: tuple[FloatArray, FloatArray, float] | None = None  # a point, its row, the largest value beside it
        check_travels(f, self.how.executor)
        self._workers = None if self.how.executor is None else Workers(self.how.executor)
        self._opening = self.vectorized is None
        self._known = Known(self.returns)
        self._owns_journal = self.how.journal is not None and not isinstance(self.how.journal, Journal)
        self._known.series = series or ""
        if self.how.journal is not None:
            self._open(self.how.journal, series, measure)

    def _open(self, journal: str | os.PathLike[str] | Journal, series: str | None, measure: Measure | None) -> None:
        """Open the journal, or take the open one, and find the series that belongs to f."""
        known = self._known
        identity = None if isinstance(journal, Journal) and series is not None else self._identity()
        if isinstance(journal, Journal):
            known.journal = journal
        else:
            spec = None if measure is None else measure.spec()
            known.journal = Journal(journal, {**(identity or {}), "measure": spec})
        if series is None and identity is not None:
            known.series = known.journal.series_for(identity, alone=self._owns_journal)
        found = known.journal.finding(known.series)
        if None not in (found, self.vectorized) and found is not self.vectorized:
            self.close()
            raise JournalError(
                f"journal {str(known.journal.path)!r} was made with vectorized={found}, this call says "
                f"vectorized={self.vectorized}, and f may return other values then: leave `vectorized` out, or name "
                "another file"
            )

    def _identity(self) -> dict[str, Any]:
        """Return what the values of f depend on beside the point."""
        function = function_identity(self.f) if self.how.tag is None else self.how.tag
        with_gradient = {"gradient": True} if self.how.gradient else {}
        return {"dim": self.dim, "function": function, "version": self.how.version, **with_gradient}

    @property
    def journal(self) -> Journal | None:
        """The journal."""
        return self._known.journal

    @property
    def series(self) -> str:
        """The name of this integrand within the journal."""
        return self._known.series

    @property
    def width(self) -> int | None:
        """Number of values that f returns at a point; None for a plain number, and as long as no value is known."""
        return None if self.how.gradient else self._known.width

    @property
    def failures(self) -> tuple[Failure, ...]:
        """All points skipped so far."""
        return tuple(self._known.failed.values())

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
        keys, known = point_keys(x), self._known
        known.flush(self.vectorized)
        batch = Batch(self, known, self._workers, x, keys, opening=self._opening)
        if batch.rows:
            self._opening = False
            with shown(self.how.progress, len(batch.rows)) as progress:
                batch.run(progress)
        failures = tuple(
            replace(known.failed[key], index=i, point=x[i]) for i, key in enumerate(keys) if key in known.failed
        )
        rows = np.full(len(x) if known.width is None else (len(x), known.width), np.nan)
        for i, key in enumerate(keys):
            if key in known.values:
                rows[i] = known.values[key]
        reused = len(x) - batch.n_new - len(failures)
        self.n_new += batch.n_new
        self.n_reused += reused
        if self._first is None and len(failures) < len(x):
            i = next(i for i, key in enumerate(keys) if key in known.values)
            magnitudes = np.abs(rows[np.isfinite(rows)])
            self._first = x[i : i + 1], np.array(rows[i]), float(np.max(magnitudes, initial=0.0))
        _log.info("%d points: %d evaluated, %d known before, %d failed", len(x), batch.n_new, reused, len(failures))
        returns = self.returns
        return Evaluations(x, returns.values(rows), batch.n_new, reused, failures, returns.gradients(rows))

    @users_blas_threads
    def recheck(self, evaluated: int | None = None) -> str | None:
        """Evaluate the first point once more, where `Evaluation.recheck` says so.

        Parameters
        ----------
        evaluated : int, optional
            Evaluations that the run has made; by default those of this evaluator.

        Returns
        -------
        str or None
            What is wrong with f, in words; None when it returned the same value, or was not called.
        """
        wanted = self.how.recheck
        if wanted is None:
            wanted = (self.n_new if evaluated is None else evaluated) >= _ENOUGH_TO_RECHECK
        if self._first is None or not wanted:
            return None
        x, before, largest = self._first
        again = Known(self.returns)  # without the journal: the second value is not recorded
        batch = Batch(self, again, self._workers, x, point_keys(x), opening=False)
        point = self.where(x[0])
        try:
            batch.run(Progress(enabled=False))
        except EvaluationError as error:
            return f"{self.called} failed at {point} at the end of the run ({error.failures[0].reason}), not before"
        if again.failed:
            (failure,) = again.failed.values()
            return f"{self.called} failed at {point} at the end of the run ({failure.reason}), not before"
        (now,) = again.values.values()
        old, new = np.atleast_1d(self.returns.values(before)), np.atleast_1d(self.returns.values(now))
        if old.shape == new.shape:
            with np.errstate(invalid="ignore"):
                allowed = _SAME * np.maximum(np.abs(old), np.abs(new)) + _ROUNDED * largest
                differs = (old != new) & ~(np.abs(old - new) <= allowed)
            if not differs.any():
                return None
            old, new = old[differs], new[differs]
        return (
            f"{self.called} is not a function of the point alone: at {point} it returned {old[0]:.10g} at the "
            f"beginning and {new[0]:.10g} at the end of the run. It drifts, is random, or depends on its calls before, "
            "which the stated error does not include: let it depend on its argument only"
        )

    def meanwhile(self, what: str, size: int) -> AbstractContextManager[None]:
        """Say on the progress bar, if there is one, what is computed between evaluations: see `Progress.meanwhile`."""
        bar = self.how.progress
        return bar.meanwhile(what, max(size, 1)) if isinstance(bar, Progress) else nullcontext()

    def forget(self) -> None:
        """Drop the values kept in memory; a point asked for again is looked up in the journal, or evaluated anew."""
        self._known.values.clear()

    def close(self) -> None:
        """Close the journal if it was opened here."""
        try:
            self._known.flush(self.vectorized)
        finally:
            if self._owns_journal and self.journal is not None:
                self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def evaluating(
    f: Callable[[FloatArray], Any],
    dim: int,
    evaluation: Evaluation,
    total: int,
    description: str,
    **options: Any,
) -> Iterator[Evaluator]:
    """Open an evaluator whose batches advance one progress bar, and close both at the end.

    Parameters
    ----------
    f, dim, evaluation
        As for `Evaluator`.
    total : int
        Points at which f may be evaluated in all batches together.
    description : str
        The word before the bar.
    **options
        Further ones of `Evaluator`.

    Examples
    --------
    >>> with evaluating(lambda x: x[:, 0], 1, Evaluation(progress=False), 3, "integrate") as evaluate:
    ...     evaluate([[1.0], [2.0], [3.0]]).values.tolist()
    [1.0, 2.0, 3.0]
    """
    with (
        shown(evaluation.progress, total, description) as bar,
        Evaluator(f, dim, evaluation, progress=bar, **options) as evaluate,
    ):
        try:
            with heard():
                yield evaluate
        except KeyboardInterrupt as stop:
            stop.add_note(what_is_kept(len(evaluate._known.values), evaluation.journal))
            raise


def what_is_kept(finished: int, journal: str | os.PathLike[str] | Journal | None) -> str:
    """Say what an interrupted run has finished, where that is kept, and how to go on.

    Examples
    --------
    >>> what_is_kept(12, "run.db")
    "12 evaluations are finished and kept in the journal 'run.db': run the same again to go on from there."
    >>> what_is_kept(1, None)
    '1 evaluation is finished and lost: with `journal="run.db"` it would be kept, and the same call would go on.'
    """
    count = f"{finished} evaluation{'s are' if finished != 1 else ' is'} finished"
    if journal is None:
        them = "they" if finished != 1 else "it"
        return f'{count} and lost: with `journal="run.db"` {them} would be kept, and the same call would go on.'
    path = journal.path if isinstance(journal, Journal) else os.fspath(journal)
    return f"{count} and kept in the journal {str(path)!r}: run the same again to go on from there."
