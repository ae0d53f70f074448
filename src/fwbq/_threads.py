"""One BLAS thread inside the library's own loops, whatever the user has set.

The arrays of a design or a rule fit a cache. Handing them to several BLAS threads costs more than the work itself, and
on a busy machine, where a thread waits for its turn, hundreds of times more. So every entry point of the library runs
with one BLAS thread (`one_blas_thread`), and every call of a function of the user's from inside runs with the number of
threads that the user has set (`users_blas_threads`).

Most BLAS libraries, the OpenBLAS in the wheels of NumPy and SciPy among them, have one number of threads for the whole
process. It is one while at least one thread of the process is inside the library's loops, and the user's own number at
all other times. OpenBLAS on OpenMP has a number for each thread that calls it; it is then set for that thread alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


Numbers = list[tuple[Any, int]]  # BLAS libraries with the number of threads that the user has set, where it is not one


class _Thread(threading.local):
    """What each thread knows of itself: whether it is inside the library's loops, and what the user had set for it."""

    def __init__(self) -> None:
        self.limited = False
        self.users: Numbers = []


_thread = _Thread()
_lock = threading.RLock()
_threads_inside = 0
_users: Numbers = []


@cache
def _libraries() -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the BLAS libraries of NumPy and SciPy, those with one number of threads and those with one per thread.

    They are looked for once, because that takes 4 ms.
    """
    import numpy
    import scipy.linalg
    from threadpoolctl import ThreadpoolController

    assert numpy and scipy.linalg  # only what is loaded can be found
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    own = [each.internal_api == "openblas" and each.threading_layer == "openmp" for each in found]
    shared = tuple(each for each, per_thread in zip(found, own, strict=True) if not per_thread)
    return shared, tuple(each for each, per_thread in zip(found, own, strict=True) if per_thread)


def _limit(libraries: tuple[Any, ...]) -> Numbers:
    """Set one thread and return what was set before, where it was more."""
    before = [(each, n) for each in libraries if (n := each.get_num_threads()) not in (None, 1)]
    _set([(each, 1) for each, _ in before])
    return before


def _set(numbers: Numbers) -> None:
    for library, n in numbers:
        library.set_num_threads(n)
        # threadpoolctl 3.8 lets no other thread set the number of the process until the one that did gives it free.
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()


def _go_in() -> None:
    """Count this thread in; the first to come in sets one BLAS thread and remembers what the user had."""
    global _threads_inside
    shared, own = _libraries()
    with _lock:
        if _threads_inside == 0:
            _users[:] = _limit(shared)
        _threads_inside += 1
        _thread.users = _limit(own)
        _thread.limited = True


def _go_out() -> None:
    """Count this thread out; the last to leave gives the user's number of BLAS threads back."""
    global _threads_inside
    with _lock:
        _thread.limited = False
        _set(_thread.users)
        _threads_inside -= 1
        if _threads_inside == 0:
            _set(_users)


def _after_fork() -> None:
    """Forget, in a child process, the threads of its parent that do not exist there."""
    global _lock, _threads_inside
    _lock = threading.RLock()
    if _threads_inside and not _thread.limited:
        _set(_users)
    _threads_inside = int(_thread.limited)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def one_blas_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function run with one BLAS thread; inside another such function this costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> @one_blas_thread
    ... def square(x):
    ...     return x @ x
    >>> bool((square(np.eye(2)) == np.eye(2)).all())
    True
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        if _thread.limited:
            return function(*args, **kwargs)
        try:
            _go_in()
            return function(*args, **kwargs)
        finally:
            if _thread.limited:
                _go_out()

    return limited


def users_blas_threads(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that calls code of the user's run with the number of BLAS threads that the user has set."""

    @wraps(function)
    def released(*args: P.args, **kwargs: P.kwargs) -> T:
        if not _thread.limited:
            return function(*args, **kwargs)
        _go_out()
        try:
            return function(*args, **kwargs)
        finally:
            _go_in()

    return released
