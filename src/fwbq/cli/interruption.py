"""Ctrl-C while a function of the user's does not answer: the program ends all the same."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds that a function has to end after Ctrl-C.
_PATIENCE = 1.5


@contextmanager
def ending_unanswered(say: Callable[[], int]) -> Iterator[None]:
    """End the process where Ctrl-C comes while a function is being called in this thread that goes on regardless.

    A function that catches every exception, or that computes in C for minutes, does not end at Ctrl-C. What interrupts
    anything else is left to end by itself. A function that holds Python's global lock is waited for: nothing else runs.

    Parameters
    ----------
    say : callable
        Says what has happened and returns the exit code.
    """
    main = threading.main_thread()
    if threading.current_thread() is not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    ended = threading.Event()

    def watch() -> None:
        while signal.SIGINT not in os.read(reading, 1):
            if ended.is_set():
                return
        from ..evaluation import is_calling

        if ended.wait(_PATIENCE) or not is_calling(sys._current_frames().get(main.ident or 0)):
            return
        for process in multiprocessing.active_children():
            process.kill()
        os._exit(say())

    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, name="fwbq-interruption", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        os.write(writing, b"\0")
        watcher.join()
        os.close(reading)
        os.close(writing)
