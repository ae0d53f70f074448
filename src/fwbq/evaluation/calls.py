"""One call of the integrand, as it happens on a worker: no evaluator, no journal, nothing that cannot travel."""

import contextvars
import pickle
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .evaluations import BadResult, Returns
from .interruption import heard
from .returned import as_array

FloatArray = NDArray[np.float64]

# Points looked at to find out how f wants to be called: two in one call and one in another, because only an f that
# takes (n, d) returns two rows for the former and one for the latter.
PROBE = 3


@dataclass
class Trouble:
    """What went wrong with one call of f, in a form that can cross to another process."""

    words: str
    exception: BaseException | None = None
    trace: str = ""

    def __str__(self) -> str:
        return self.words

    def restored(self) -> BaseException | None:
        """Return the exception; one that came from another process without its traceback gets it as a note."""
        if self.exception is not None and self.exception.__traceback__ is None and self.trace:
            self.exception.add_note(self.trace)
        return self.exception


@dataclass
class Finding:
    """Whether f takes many points at once, and the values of the points that were tried to find out.

    `vectorized` is None when that cannot be told; the rows are then the two troubles, with an array and with one point.
    """

    vectorized: bool | None
    rows: list[Any]


class _Overdue(TimeoutError):
    pass


def is_calling(frame: FrameType | None) -> bool:
    """Return whether a function of the user's is being called in a frame or in those that it was called from.

    Examples
    --------
    >>> import sys
    >>> _call(lambda x: is_calling(sys._getframe()), np.zeros(1), None), is_calling(sys._getframe())
    (True, False)
    """
    while frame is not None and frame.f_code is not _call.__code__:
        frame = frame.f_back
    return frame is not None


def evaluate_rows(
    f: Callable[[FloatArray], Any],
    x: FloatArray,
    attempt: int,
    *,
    returns: Returns,
    vectorized: bool,
    timeout: float | None,
) -> list[FloatArray | Trouble]:
    """Evaluate the rows of x in one call of a vectorised f, or one by one; `attempt` only tells equal calls apart."""
    if vectorized and len(x) > 1:
        try:
            return list(returns.rows(_call(f, x, timeout), len(x)))
        except Exception:
            pass  # one bad point must not take the others with it: ask for them one by one
    results: list[FloatArray | Trouble] = []
    for row in x:
        try:
            if vectorized:
                results.append(returns.rows(_call(f, row[None], timeout), 1)[0])
            else:
                results.append(returns.rows(_call(f, row, timeout), None))
        except Exception as error:
            results.append(_trouble(error))
    return results


# -- whether f takes many points or one -------------------------------------------------------------------------------


def find_out(
    f: Callable[[FloatArray], Any], x: FloatArray, attempt: int, *, returns: Returns, timeout: float | None
) -> Finding:
    """Find out how f wants to be called, on three points; `attempt` only tells equal calls apart."""
    shape: tuple[int, ...] = ()
    try:
        given = _call(f, x[:-1], timeout)
        shape = () if returns.gradient else as_array(given).shape
        two = returns.rows(given, PROBE - 1)
        one = returns.rows(_call(f, x[-1:], timeout), 1)
        if two.shape[1:] != one.shape[1:]:
            raise BadResult(f"it returned shape {two.shape} for {len(two)} points and {one.shape} for one")
        if len(shape) == 2 and shape[1] == x.shape[1]:
            alone = returns.rows(_call(f, x[:1], timeout), 1)
            if not np.allclose(alone[0], two[0], rtol=1e-6, atol=0.0, equal_nan=True):
                raise BadResult("its value at a point changed with the other points of the array")
        return Finding(True, [*two, *one])
    except Exception as error:
        together = _trouble(error)
    try:
        value = returns.rows(_call(f, x[0], timeout), None)
        extra = _extra_values(f, x, shape, timeout) if value.ndim else 0
        if extra:
            raise BadResult(
                f"it returned a vector of {len(value)}, but given arrays of n points it returns n {extra:+d} values, "
                "so that it looks vectorised with a wrong number of values"
            )
        return Finding(False, [value])
    except Exception as error:
        return Finding(None, [together, _trouble(error)])


def find_out_at_once(f: Callable[[FloatArray], Any], x: FloatArray) -> tuple[bool | None, Any]:
    """Find out whether an f that returns one number for each point takes many points or one, by giving it all points.

    For use within the call of another function, which has its points and wants their values; `find_out` chooses its
    calls, so that they are the same whatever is known already. An f that takes (n, d) is called with nothing else,
    unless it raises.

    Parameters
    ----------
    f : callable
        (n, d) -> (n,), or (d,) -> float.
    x : (n, d) array
        The points.

    Returns
    -------
    vectorized : bool or None
        Whether f takes many points; None when that cannot be told, because there is only one, or because f returned
        the wrong shape either way.
    given : array_like
        What f returned: for all points, or, where `vectorized` is False, for the first.

    Raises
    ------
    Exception
        What f raised when it was given all points, if it cannot be called with one either.

    Examples
    --------
    >>> find_out_at_once(lambda x: x.sum(axis=1), np.ones((3, 2)))
    (True, array([2., 2., 2.]))
    >>> find_out_at_once(lambda x: float(x[0]), np.ones((3, 2)))
    (False, [1.0])
    """
    n, d = x.shape
    given: Any = None
    failed: Exception | None = None
    try:
        given = f(x.copy())
        fits = np.shape(given) == (n,)
        if fits and n == d > 1:  # a function of one point that works by coordinates gives d values too
            fits = np.shape(f(x[:1].copy())) == (1,)
    except Exception as error:
        fits, failed = False, error
    if fits:
        return True if n > 1 else None, given  # for a single point both may work
    try:
        alone = np.asarray(f(x[0].copy()), dtype=float)
    except Exception:
        alone = np.empty(0)
    if alone.size == 1:
        return False, [alone.item()]
    if failed is not None:
        raise failed
    return None, given


def _extra_values(f: Callable[[FloatArray], Any], x: FloatArray, shape: tuple[int, ...], timeout: float | None) -> int:
    """Return k when f gives n + k values for an array of n points, for n = 2 (of `shape`) and n = 1; otherwise 0."""
    extra = shape[0] - (PROBE - 1) if len(shape) == 1 else 0
    try:
        return extra if extra and as_array(_call(f, x[-1:], timeout)).shape == (1 + extra,) else 0
    except Exception:
        return 0


def _call(f: Callable[[FloatArray], Any], x: FloatArray, timeout: float | None) -> Any:
    if timeout is None:
        with heard():  # what f returns when it was interrupted and caught that is no value
            return f(x.copy())
    outcome: list[Any] = []
    context = contextvars.copy_context()  # np.errstate and the like hold in the thread as they do here

    def target() -> None:
        try:
            outcome.append((True, context.run(f, x.copy())))
        except BaseException as error:
            outcome.append((False, error))

    limit = timeout * (len(x) if x.ndim == 2 else 1)
    thread = threading.Thread(target=target, name="fwbq-evaluation", daemon=True)
    thread.start()
    thread.join(limit)
    if not outcome:
        raise _Overdue(f"no result after {limit:g} s")
    succeeded, value = outcome[0]
    if succeeded:
        return value
    raise value


def _trouble(error: BaseException) -> Trouble:
    if isinstance(error, BadResult):
        return Trouble(str(error))
    if isinstance(error, _Overdue):
        return Trouble(f"it timed out: {error}")
    trace = "".join(traceback.format_exception(error))
    try:
        # What cannot be read back would break a process pool.
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(named(error))
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()) if "\n" not in note)
    return Trouble(f"it raised {named(error)}{notes}", error, trace)


def named(error: BaseException) -> str:
    """Return the type of an error and its text, if it has one."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
