"""Tasks on an executor: handed out a window at a time, taken back as they finish, followed up when they are lost."""

from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .executors import DesertedError, ResultLost, Workers

# How often a task is handed out again that somebody else cancelled (a restarted Dask scheduler, for example). A
# scheduler that is restarted a third time during one call would not let it finish.
_RESUBMISSIONS = 2


@dataclass(frozen=True, eq=False)
class Task:
    """One call on a worker: ``function(f, x, attempt, **options)`` for rows of a batch."""

    rows: list[int]
    function: Callable[..., Any]
    f: Callable[..., Any]
    x: NDArray[np.float64]
    options: dict[str, Any]
    divisible: bool = True
    # Handed over as well, so that an executor that takes equal calls for one call runs a failed one again.
    attempt: int = 0
    suspect: bool = False

    def run(self) -> Any:
        """Call it here."""
        return self.function(self.f, self.x, self.attempt, **self.options)

    def submit(self, workers: Workers) -> Future[Any]:
        """Call it there."""
        return workers.submit(self.function, self.f, self.x, self.attempt, **self.options)

    def split(self) -> "list[Task]":
        """Return a task for each row."""
        return [replace(self, rows=[i], x=self.x[k : k + 1]) for k, i in enumerate(self.rows)]


@dataclass(frozen=True)
class Landed:
    """A task that came back, with its result or with the executor's fault; after a fatal one it is of no more use."""

    task: Task
    result: Any = None
    fault: BaseException | None = None
    fatal: bool = False


class _Unfinished:
    """What stands for a task whose finished result was lost, and which the executor repeats by itself."""


_UNFINISHED = _Unfinished()


class Dispatch:
    """The tasks that an executor holds.

    Parameters
    ----------
    workers : Workers
        The executor.
    in_flight : int, optional
        How many tasks to hand out at a time. By default twice the workers: enough to keep them busy, but not all tasks,
        so that an error does not wait for thousands and a second process on the same journal can share the work.

    Notes
    -----
    A worker that dies takes with it tasks that merely waited there. So a lost task is only a suspect; when all others
    are back, suspects are handed out again one at a time, then, if lost again, row by row. A point that was lost while
    no other was running has itself killed the worker.
    """

    def __init__(self, workers: Workers, in_flight: int | None = None) -> None:
        self._workers = workers
        self._in_flight = in_flight
        self._flying: dict[Future[Any], Task] = {}
        self._finished: SimpleQueue[Future[Any]] = SimpleQueue()
        self._again: list[Task] = []
        self._suspects: list[Task] = []

    def run(self, tasks: Iterator[Task], stop: Callable[[], bool]) -> Iterator[list[Landed]]:
        """Yield what has landed, in the order of landing, until all tasks have.

        Once `stop()` is true no more is handed out and what is under way is waited for.
        """
        while True:
            while not stop() and len(self._flying) < (self._in_flight or self._workers.window()):
                task = self._next(tasks)
                if task is None:
                    break
                try:
                    future = task.submit(self._workers)
                except Exception as error:
                    yield [Landed(task, fault=error, fatal=True)]
                    break
                self._flying[future] = task
                future.add_done_callback(self._finished.put)
            if not self._flying:
                return
            if stop() and self._workers.refuse_to_cancel_what_runs:  # what has begun is waited for
                for future in list(self._flying):
                    future.cancel()
            try:
                futures = self._now_finished()
                landed = [self._landed(self._flying[future], future) for future in futures]
            except DesertedError as error:
                yield [Landed(task, fault=error, fatal=True) for task in (*self._flying.values(), *self._suspects)]
                for future in self._flying:
                    future.cancel()
                return
            yield [item for item in landed if isinstance(item, Landed)]
            for future, item in zip(futures, landed, strict=True):  # only now: what an interruption finds here is kept
                if item is _UNFINISHED:
                    future.add_done_callback(self._finished.put)
                else:
                    del self._flying[future]
                    self._workers.forget(future)

    def _now_finished(self) -> list[Future[Any]]:
        """Wait for a task to finish, and return it with all that have finished meanwhile, to be recorded at once."""
        futures = [self._workers.next_finished(self._finished)]
        while True:
            try:
                futures.append(self._finished.get_nowait())
            except Empty:
                return futures

    def abandon(self) -> list[Landed]:
        """Return what is finished, wait for nothing else, and cancel what can be cancelled."""
        finished = []
        for future, task in self._flying.items():
            if self._workers.has_result(future):
                try:
                    finished.append(Landed(task, self._workers.outcome(future)[0]))
                except (ResultLost, DesertedError):  # an interruption is being reported already
                    continue
        for future in self._flying:
            future.cancel()  # last, because Dask would drop finished results too
        return [item for item in finished if item.result is not None]

    def under_way(self) -> list[Task]:
        """Return the tasks that have not come back with a result."""
        return [task for future, task in self._flying.items() if not self._workers.has_result(future)]

    def _next(self, tasks: Iterator[Task]) -> Task | None:
        if self._again:
            return self._again.pop()
        task = next(tasks, None)
        if task is None and self._suspects and not self._flying:
            return self._suspects.pop(0)
        return task

    def _landed(self, task: Task, future: Future[Any]) -> "Landed | _Unfinished | None":
        try:
            result, fault = self._workers.outcome(future)
        except ResultLost:
            return _UNFINISHED
        if fault is None:
            return Landed(task, result)
        if isinstance(fault, KeyboardInterrupt):  # Ctrl-C reached the worker before it reached us
            raise fault
        if isinstance(fault, BrokenExecutor):
            return Landed(task, fault=fault, fatal=True)
        again = replace(task, attempt=task.attempt + 1)
        if isinstance(fault, CancelledError):
            if task.attempt < _RESUBMISSIONS:
                self._again.append(again)
                return None
        elif not task.suspect:
            self._suspects.append(replace(again, suspect=True))
            return None
        elif task.divisible and len(task.rows) > 1:
            self._suspects.extend(again.split())
            return None
        return Landed(task, fault=fault)
