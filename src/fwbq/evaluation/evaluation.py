"""How f is called and where its values are kept, as one value."""

from __future__ import annotations

import os
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from typing import Any, Literal

from .. import _frozen, _validate
from .executors import checked_executor
from .journal import Journal
from .progress import Progress


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """How f is called and where its values are kept: the options that `integrate`, `evidence` and comparisons share.

    Parameters
    ----------
    executor : concurrent.futures.Executor, optional
        Where f is called: threads, processes, ``dask.distributed.Client.get_executor()``; None calls it here. The
        executor stays the caller's.
    journal : path-like or Journal, optional
        Where each finished evaluation is written before it is used. A path is opened with the identity (dim, measure,
        function, version) and closed at the end; a `Journal` stays the caller's.
    tag : str, optional
        A name for f in the journal's identity; give another whenever f changes. By default f is identified by its code
        and everything that the code refers to (`fwbq.evaluation.function_identity`).
    version : str
        Of f, for the journal's identity: raise it when files or programs that f uses change.
    vectorized : bool, optional
        Whether f takes all points at once, (n, d), or one point (d,). None finds out on the first batch.
    on_error : {"raise", "skip"}
        What to do about a point at which f raises, times out or returns NaN, an infinity or another shape. "raise"
        finishes and keeps what is under way, then raises `EvaluationError`. "skip" goes on and lists the failures.
    timeout : float, optional
        Seconds for one evaluation. f then runs in a thread of its own, which is abandoned when the time is over (Python
        cannot end it; on a process or Dask worker it dies with the worker).
    progress : bool or Progress, optional
        None draws a bar when standard error is a terminal, True always, False never. A `Progress` is advanced.
    gradient : bool
        Whether f returns pairs (values (n,), gradients (n, d)), or for one point (value, gradient (d,)). A gradient
        that is not finite is kept as NaN; a value that is not finite is a failure, as without gradients.
    recheck : bool, optional
        Whether the first point is evaluated once more at the end, and a warning says when the value has changed: f then
        drifts, is random, or depends on its calls before. None does so when at least 100 points were evaluated. The
        second value is not used, recorded or counted.

    Examples
    --------
    >>> how = Evaluation(on_error="skip", timeout=5.0)
    >>> how.on_error, how.vectorized
    ('skip', None)
    >>> Evaluation(on_error="ignore")
    Traceback (most recent call last):
    ...
    ValueError: `on_error` must be one of 'raise', 'skip', got 'ignore'
    """

    executor: Executor | None = None
    journal: str | os.PathLike[str] | Journal | None = None
    tag: str | None = None
    version: str = ""
    vectorized: bool | None = None
    on_error: Literal["raise", "skip"] = "raise"
    timeout: float | None = None
    progress: bool | Progress | None = None
    gradient: bool = False
    recheck: bool | None = None

    def __post_init__(self) -> None:
        _frozen.freeze(
            self,
            executor=checked_executor(self.executor),
            tag=None if self.tag is None else _validate.text(self.tag, "tag"),
            version=_validate.text(self.version, "version"),
            vectorized=None if self.vectorized is None else _validate.flag(self.vectorized, "vectorized"),
            on_error=_validate.choice(self.on_error, "on_error", ("raise", "skip")),
            timeout=None if self.timeout is None else _validate.positive(self.timeout, "timeout"),
            gradient=_validate.flag(self.gradient, "gradient"),
            recheck=None if self.recheck is None else _validate.flag(self.recheck, "recheck"),
        )

    def seed(self, rng: Any) -> Any:
        """Return the `rng` that a user gave; 0 for None with a journal, because a restart must ask for the same points.

        Examples
        --------
        >>> Evaluation().seed(None), Evaluation(journal="run.db").seed(None), Evaluation(journal="run.db").seed(3)
        (None, 0, 3)
        """
        return 0 if rng is None and self.journal is not None else rng

    @property
    def keywords(self) -> dict[str, Any]:
        """The options that are not the usual ones, as keywords of `integrate`, `evidence` or a comparison.

        Examples
        --------
        >>> Evaluation(on_error="skip", version="2").keywords
        {'version': '2', 'on_error': 'skip'}
        """
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {each.name: given[each.name] for each in fields(self) if given[each.name] != each.default}
