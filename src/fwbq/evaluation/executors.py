"""What differs from one kind of executor to another: how work gets there, how much of it at a time, what can travel."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

# Executors that do not say how many workers they have get this many tasks at once, at least: two for each of 32.
_SMALLEST_WINDOW = 64
# Seconds without any worker after which a cluster that had some is given up; Dask replaces a lost one in about five.
_DESERTED = 60.0
# Seconds between two questions to a cluster about its workers: an answer takes milliseconds, a lost worker is replaced
# in seconds.
_INTERVAL = 1.0
# Seconds to fetch a finished result from a cluster; then its worker is taken to be lost, and Dask to repeat the call.
# A result is a few numbers, and arrives in milliseconds.
_FETCH = 10.0


class ResultLost(Exception):
    """The worker that held a finished result is gone; the executor is computing it again."""


class DesertedError(RuntimeError):
    """A cluster has lost all its workers and gets no new ones."""


def checked_executor(executor: Any) -> Executor | None:
    """Return an executor, or None."""
    if executor is None or isinstance(executor, Executor):
        return executor
    hint = (
        "for Dask pass client.get_executor()"
        if hasattr(executor, "get_executor")
        else "pass e.g. ThreadPoolExecutor(4), or None to evaluate here"
    )
    raise TypeError(f"`executor` must be a concurrent.futures.Executor or None, got {type(executor).__name__}: {hint}")


def check_travels(f: Any, executor: Executor | None) -> None:
    """Check that f is fit to travel to the processes of an executor, if it has any."""
    if isinstance(executor, ProcessPoolExecutor):
        dumps: Callable[[Any], bytes] = pickle.dumps
        hint = "define it at the top level of a module, or use a ThreadPoolExecutor"
    elif executor is not None and _is_dask(executor):
        dumps, hint = import_module("cloudpickle").dumps, "keep locks, files and connections out of it"
    else:
        return
    try:
        dumps(f)
    except Exception as error:
        raise TypeError(
            f"`f` cannot be sent to the processes of `executor` ({type(error).__name__}: {error}): {hint}"
        ) from error


class Workers:
    """An executor as `Dispatch` sees it.

    Dask's executor gives the futures of `concurrent.futures`, but leaves one unresolved for ever when the worker that
    holds a finished result dies and the repetition kills further workers. Its client's own futures do not, and have the
    same methods; they are used instead.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._client = _private(executor, "_client") if _is_dask(executor) else None
        self._options = (_private(executor, "_kwargs") or {}) if _is_dask(executor) else {}
        self._size, self._asked = _SMALLEST_WINDOW, -math.inf
        self._alive = -math.inf  # when workers were last seen; none at the beginning means that they are yet to come

    @property
    def refuse_to_cancel_what_runs(self) -> bool:
        """Whether `cancel` leaves alone what has begun; Dask would drop that too."""
        return isinstance(self._executor, ThreadPoolExecutor | ProcessPoolExecutor)

    def submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future[Any]:
        """Hand out one call."""
        if self._client is None:
            return self._executor.submit(function, *arguments, **options)
        # Not pure: equal calls are two calls, so that a failed one can be tried again.
        future: Future[Any] = self._client.submit(function, *arguments, **{**self._options, "pure": False}, **options)
        return future

    def window(self) -> int:
        """Return how many tasks to hand out at a time: twice the workers."""
        workers = _private(self._executor, "_max_workers")
        if isinstance(workers, int):
            return 2 * workers
        self._ask()
        return self._size

    def next_finished(self, finished: SimpleQueue[Future[Any]]) -> Future[Any]:
        """Wait for a future to be put into the queue; raise DesertedError when nobody is left to finish one."""
        if self._client is None:
            return finished.get()
        while True:
            try:
                return finished.get(timeout=_INTERVAL)
            except Empty:
                self._not_deserted()

    def outcome(self, future: Future[Any]) -> tuple[Any, BaseException | None]:
        """Return result and fault of a finished call; raise ResultLost when it is not finished any more."""
        if future.cancelled():
            return None, CancelledError("cancelled by the executor")
        if self._client is None:
            fault = future.exception()
            return (future.result() if fault is None else None), fault
        self._not_deserted()
        try:
            return future.result(_FETCH), None
        except TimeoutError:
            raise ResultLost from None
        except Exception as error:
            return None, error

    def forget(self, future: Future[Any]) -> None:
        """Let go of a result that is safe here: Dask would compute it again if the worker that holds it died."""
        if self._client is not None:
            future.release()  # type: ignore[attr-defined]

    def has_result(self, future: Future[Any]) -> bool:
        """Whether a call has come back with a result; waits for nothing."""
        if self._client is None:
            return future.done() and not future.cancelled() and future.exception() is None
        return getattr(future, "status", None) == "finished"

    def _not_deserted(self) -> None:
        self._ask()
        if -math.inf < self._alive < time.monotonic() - _DESERTED:
            raise DesertedError(f"the cluster has lost all its workers, and for {_DESERTED:g} s no new one has come")

    def _ask(self) -> None:
        """Ask a cluster for its workers, now and then: it may grow, or lose them all."""
        now = time.monotonic()
        if self._client is None or now - self._asked < _INTERVAL:
            return
        self._asked = now
        try:
            threads = self._client.nthreads()
        except OSError:  # the scheduler does not answer: as good as no worker
            return
        cluster: Any = getattr(self._client, "cluster", None)
        if threads:
            self._alive = now
            self._size = max(_SMALLEST_WINDOW, 2 * sum(threads.values()))
        elif not getattr(cluster, "workers", True) and getattr(cluster, "worker_spec", None):
            # Dask's LocalCluster gives up workers that die every few seconds: ask for as many as it was made with.
            cluster.scale(len(cluster.worker_spec))


def _private(executor: Executor, name: str) -> Any:
    """Return a private attribute of an executor, None where it has none: the one place that reads such names.

    Dask's executor has no public name for its client (``_client``) and the options of its calls (``_kwargs``), and the
    pools of the standard library, loky and mpi4py have none for their number of workers (``_max_workers``). Should one
    of them go away, Dask's own futures are used, or the window of an executor that does not say how many it has.
    """
    return getattr(executor, name, None)


def processes_of(executor: ProcessPoolExecutor) -> list[Any]:
    """Return the worker processes of a pool, which has no public name for them (``_processes``)."""
    return list((_private(executor, "_processes") or {}).values())


def manager_of(executor: ProcessPoolExecutor) -> Thread | None:
    """Return the thread that looks after the processes of a pool, which has no public name for it."""
    thread: Thread | None = _private(executor, "_executor_manager_thread")
    return thread


def _is_dask(executor: Executor) -> bool:
    return type(executor).__module__.startswith("distributed.")
