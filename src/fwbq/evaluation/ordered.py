"""Results of many calls on an executor, in the order of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .dispatch import Dispatch, Task
from .executors import Workers

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    executor: Executor | None, function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with `function(item)`, in the order of the items, whoever computes them.

    Parameters
    ----------
    executor : concurrent.futures.Executor or None
        Where the function is called; None calls it here. A few more calls than there are workers are handed out at a
        time. What a lost worker of a Dask cluster had not delivered is computed again by others.
    function : callable
        Of one item. It must be fit to travel to the processes of the executor, and its result must not depend on where
        it is called.
    items : iterable
        The arguments.

    Raises
    ------
    Exception
        What the function raised, when it did so twice for the same item; or that the executor is broken.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as executor:
    ...     list(in_order(executor, abs, [-3, 2, -1]))
    [(-3, 3), (2, 2), (-1, 1)]
    """
    if executor is None:
        for item in items:
            yield item, function(item)
        return
    nothing = np.empty((0, 0))
    tasks = (Task([i], _call, function, nothing, {"item": item}, divisible=False) for i, item in enumerate(items))
    dispatch = Dispatch(Workers(executor))
    landed: dict[int, tuple[Item, Result]] = {}
    expected = 0
    try:
        for some in dispatch.run(tasks, lambda: False):
            for each in some:
                if each.fault is not None:
                    raise each.fault
                landed[each.task.rows[0]] = (each.task.options["item"], each.result)
            while expected in landed:
                yield landed.pop(expected)
                expected += 1
    finally:
        dispatch.abandon()


def _call(function: Callable[[Any], Any], _points: NDArray[np.float64], _attempt: int, *, item: Any) -> Any:
    return function(item)
