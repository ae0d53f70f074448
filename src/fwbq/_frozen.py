"""Immutable values: arrays that cannot be written to, and how a frozen dataclass sets its fields."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def readonly(array: ArrayLike) -> NDArray[np.float64]:
    """Return a float64 copy that cannot be written to."""
    copy = np.array(array, dtype=np.float64)
    copy.setflags(write=False)
    return copy


def shown(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.setflags(write=False)
    return view


def lock(instance: Any) -> None:
    """Let nobody write to the arrays that a frozen dataclass holds, from within its constructor."""
    for field in fields(instance):
        value = getattr(instance, field.name)
        if isinstance(value, np.ndarray):
            object.__setattr__(instance, field.name, shown(value))


def freeze(instance: object, **values: Any) -> None:
    """Set the fields of a frozen dataclass from within its constructor."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)
