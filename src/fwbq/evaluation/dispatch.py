"""Tasks on an executor: handed out a window at a time, taken back as they finish, followed up when they are lost."""

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

# How often a task is handed out again that somebody else cancelled (a restarted Dask scheduler, for example).
_RESUBMISSIONS = 2
# Executors that do not say how many workers they have get this many tasks at once, at least.
_SMALLEST_WINDOW = 64


@dataclass(frozen=True, eq=False)
class Task:
    """One call on a worker: ``function(f, x, attempt, **options)`` for rows of a batch."""

    rows: list[int]
    function: Callable[..., Any]
    f: Callable[..., Any]
    x: NDArray[np.float64]
    options: dict[str, Any]
    divisible: bool = True
    # Handed over as well, because Dask takes equal calls for one call and would not run a failed one again.
    attempt: int = 0
    suspect: bool = False

    def run(self) -> Any:
        """Call it here."""
        return self.function(self.f, self.x, self.attempt, **self.options)

    def submit(self, executor: Executor) -> Future[Any]:
        """Call it there."""
        return executor.submit(self.function, self.f, self.x, self.attempt, **self.options)

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


class Dispatch:
    """The tasks that an executor holds.

    Parameters
    ----------
    executor : concurrent.futures.Executor
    in_flight : int, optional
        How many tasks to hand out at a time. By default twice the workers: enough to keep them busy, but not all tasks,
        so that an error does not wait for thousands and a second process on the same journal can share the work.

    Notes
    -----
    A worker that dies takes with it tasks that merely waited there. So a lost task is only a suspect; when all others
    are back, suspects are handed out again one at a time, then, if lost again, row by row. What is lost alone is
    guilty.
    """

    def __init__(self, executor: Executor, in_flight: int | None = None) -> None:
        self._executor = executor
        self._in_flight = in_flight
        self._size, self._asked = _SMALLEST_WINDOW, -math.inf
        self._flying: dict[Future[Any], Task] = {}
        self._finished: SimpleQueue[Future[Any]] = SimpleQueue()
        self._again: list[Task] = []
        self._suspects: list[Task] = []

    def run(self, tasks: Iterator[Task], stop: Callable[[], bool]) -> Iterator[list[Landed]]:
        """Yield what has landed, in the order of landing, until all tasks have.

        Once `stop()` is true no more is handed out and what is under way is waited for.
        """
        while True:
            while not stop() and len(self._flying) < self._window():
                task = self._next(tasks)
                if task is None:
                    break
                try:
                    future = task.submit(self._executor)
                except Exception as error:
                    yield [Landed(task, fault=error, fatal=True)]
                    break
                self._flying[future] = task
                future.add_done_callback(self._finished.put)
            if not self._flying:
                return
            if stop() and isinstance(self._executor, ThreadPoolExecutor | ProcessPoolExecutor):
                # These refuse to cancel what has begun. Dask would drop that too, so its window is waited for.
                for future in list(self._flying):
                    future.cancel()
            futures = [self._finished.get()]  # and all that have finished meanwhile, to be recorded at once
            while True:
                try:
                    futures.append(self._finished.get_nowait())
                except Empty:
                    break
            landed = [self._landed(self._flying[future], future) for future in futures]
            yield [item for item in landed if item is not None]
            for future in futures:  # only now: what an interruption finds here is kept
                del self._flying[future]

    def abandon(self) -> list[Landed]:
        """Cancel what can be cancelled, wait for nothing, and return what is finished."""
        for future in self._flying:
            future.cancel()
        return [
            Landed(task, future.result())
            for future, task in self._flying.items()
            if future.done() and not future.cancelled() and future.exception() is None
        ]

    def under_way(self) -> list[Task]:
        """Return the tasks that have not come back with a result."""
        return [
            task
            for future, task in self._flying.items()
            if not future.done() or future.cancelled() or future.exception() is not None
        ]

    def _next(self, tasks: Iterator[Task]) -> Task | None:
        if self._again:
            return self._again.pop()
        task = next(tasks, None)
        if task is None and self._suspects and not self._flying:
            return self._suspects.pop(0)
        return task

    def _landed(self, task: Task, future: Future[Any]) -> Landed | None:
        fault = CancelledError("cancelled by the executor") if future.cancelled() else future.exception()
        if fault is None:
            return Landed(task, future.result())
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

    def _window(self) -> int:
        if self._in_flight is not None:
            return self._in_flight
        workers = getattr(self._executor, "_max_workers", None)  # the pools of the standard library, loky, mpi4py
        if isinstance(workers, int):
            return 2 * workers
        client = getattr(self._executor, "_client", None)  # Dask: a cluster may grow, so ask now and then
        if client is not None and hasattr(client, "nthreads") and time.monotonic() - self._asked > 1.0:
            self._asked = time.monotonic()
            self._size = max(_SMALLEST_WINDOW, 2 * sum(client.nthreads().values()))
        return self._size
