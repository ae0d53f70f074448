"""Calling f: all at once or point by point, here or on an executor, with nothing lost and nothing paid for twice.

The answer of a run depends on the points and on f alone. Batches are cut into calls by a rule that knows neither the
number of workers nor what the journal holds, results are put back in the order of the points, and what failed is named.
"""

import os
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate
from .._threads import users_blas_threads
from ..measures import Measure
from .batch import Batch
from .evaluations import Evaluations
from .executors import Workers, checked_executor
from .failures import Failure, written
from .journal import Journal, point_keys
from .journal_file import JournalError
from .known import Known
from .progress import Progress
from .tags import function_identity

FloatArray = NDArray[np.float64]


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
    called : str
        What messages call f: the name that the user knows it by.
    where : callable, optional
        A point (d,) as messages show it; by default its coordinates.

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
    fwbq.evaluation.failures.EvaluationError: f failed at point [1.0] (row 1 of 3): it raised ZeroDivisionError...
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
        called: str = "f",
        where: Callable[[FloatArray], str] | None = None,
    ) -> None:
        self.f = _validate.function(f, called.strip("`"))
        self.called = called
        self.where = where or written
        self.dim = _validate.count(dim, "dim")
        self.vectorized = self.given = vectorized  # the former is found out where the latter is None
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
        self._known = Known(minus_infinity)
        self._owns_journal = journal is not None and not isinstance(journal, Journal)
        self._known.series = series or ""
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
        known = self._known
        identity = None if isinstance(journal, Journal) and series is not None else self._identity(tag, version)
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

    def _identity(self, tag: str | None, version: str) -> dict[str, Any]:
        """Return what the values of f depend on beside the point."""
        function = function_identity(self.f) if tag is None else _validate.text(tag, "tag")
        return {"dim": self.dim, "function": function, "version": _validate.text(version, "version")}

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
        return self._known.width

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
            if isinstance(self.progress, Progress):
                shown: Any = nullcontext(self.progress)
            else:
                shown = Progress(len(batch.rows), enabled=self.progress)
            with shown as progress:
                batch.run(progress)
        failures = tuple(
            replace(known.failed[key], index=i, point=x[i]) for i, key in enumerate(keys) if key in known.failed
        )
        values = np.full(len(x) if self.width is None else (len(x), self.width), np.nan)
        for i, key in enumerate(keys):
            if key in known.values:
                values[i] = known.values[key]
        reused = len(x) - batch.n_new - len(failures)
        self.n_new += batch.n_new
        self.n_reused += reused
        return Evaluations(x, values, batch.n_new, reused, failures)

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
