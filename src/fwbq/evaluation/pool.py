"""Workers of this machine that are opened for one call: processes where the work can be sent to them, else threads."""

from __future__ import annotations

import logging
import multiprocessing
import pickle
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from .. import _validate
from .executors import manager_of, processes_of

_log = logging.getLogger(__name__)

# Seconds to wait at most for the thread of a pool whose processes were ended; it needs milliseconds.
_PATIENCE = 10.0


@contextmanager
def pool(workers: int, subject: Any = None, name: str = "workers") -> Iterator[Executor | None]:
    """Open workers and close them at the end; an interruption does not wait for what they are doing.

    Parameters
    ----------
    workers : int
        How many; one is this process itself.
    subject : optional
        What will be called there: processes if it can be sent to them, threads if not. What is defined in a notebook or
        in a script that is run can be sent only where processes are copies of this one, as on Linux before Python 3.14.
    name : str
        What messages call the number of workers.

    Yields
    ------
    Executor or None

    Examples
    --------
    >>> with pool(2, lambda x: x) as executor:
    ...     type(executor).__name__
    'ThreadPoolExecutor'
    """
    count = _validate.count(workers, name)
    if count == 1:
        yield None
        return
    if not _can_be_sent(subject):
        _log.info("evaluating in %d threads: what is evaluated cannot be sent to other processes", count)
        threads = ThreadPoolExecutor(count)
        try:
            yield threads
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
        threads.shutdown()
        return
    _log.info("evaluating in %d processes", count)
    processes = ProcessPoolExecutor(count, initializer=_leave_interruptions_to_the_parent)
    try:
        yield processes
    except BaseException:
        _end(processes)
        raise
    processes.shutdown()


def _can_be_sent(subject: Any) -> bool:
    try:
        sent = pickle.dumps(subject)
    except Exception:  # pickling calls methods of the user's, which may raise anything
        return False
    return b"__main__" not in sent or multiprocessing.get_context().get_start_method() == "fork"


def _leave_interruptions_to_the_parent() -> None:
    """Let Ctrl-C, which a terminal sends to all processes, be handled by the process that gave the work out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(executor: ProcessPoolExecutor) -> None:
    """End the processes at once: what they are evaluating is not waited for, and the next call is not begun."""
    running, manager = processes_of(executor), manager_of(executor)  # `shutdown` forgets them
    executor.shutdown(wait=False, cancel_futures=True)
    for process in running:
        process.kill()  # a copy of this process may have its answer to a request to end
    if manager is not None:
        # The end of Python writes into a pipe that this thread closes.
        manager.join(_PATIENCE)
