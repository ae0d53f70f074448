"""Immutable values: arrays that cannot be written to, and how a frozen dataclass sets its fields."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def readonly(array: ArrayLike) -> NDArray[np.float64]:
    """Return a float64 copy that cannot be written to."""
    copy = np.array(array, dtype=np.float64)
    copy.setflags(write=False)
    return copy


def freeze(instance: object, **fields: Any) -> None:
    """Set the fields of a frozen dataclass from within its constructor."""
    for name, value in fields.items():
        object.__setattr__(instance, name, value)
