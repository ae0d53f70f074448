"""A lock for objects that several threads may use, and that can be pickled and copied all the same."""

from __future__ import annotations

import threading
from types import TracebackType


class Lock:
    """A re-entrant lock, for use in a ``with`` statement. A copy is another lock, which nobody holds.

    Examples
    --------
    >>> import pickle
    >>> with Lock() as lock, pickle.loads(pickle.dumps(lock)):
    ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> Lock:
        self._lock.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
