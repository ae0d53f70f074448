"""An interruption that is not lost, whoever catches it on the way."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Heard:
    """Whether Ctrl-C arrived while a run listens, and in which process that is: copies of it inherit the handler."""

    process = 0
    arrived = False


def _hear(number: int, frame: FrameType | None) -> None:
    """Note an interruption and raise it, as Python's own handler does."""
    _Heard.arrived = _Heard.process == os.getpid()
    signal.default_int_handler(number, frame)


@contextmanager
def heard() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of a block if one arrived that was caught within it.

    A function that ends in ``except: return -inf``, a callback of a C library and an ignored exception in a destructor
    swallow an interruption, and what they return or leave behind is then not what it should be. Nothing is changed
    outside the main thread, or where the program handles SIGINT in a way of its own.
    """
    own = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if own else None
    if before not in (signal.default_int_handler, _hear):
        yield
        return
    outermost = _Heard.process != os.getpid()
    if outermost:
        _Heard.process, _Heard.arrived = os.getpid(), False
        signal.signal(signal.SIGINT, _hear)
    try:
        try:
            yield
        except Exception as error:  # what an interruption has become on its way
            if _Heard.arrived:
                raise KeyboardInterrupt from error
            raise
        if _Heard.arrived:
            raise KeyboardInterrupt
    finally:
        if outermost:
            _Heard.process, _Heard.arrived = 0, False
            if signal.getsignal(signal.SIGINT) is _hear:
                signal.signal(signal.SIGINT, signal.default_int_handler)
