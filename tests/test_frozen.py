"""Immutable values hold copies that nobody can write to."""

from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

from fwbq import _frozen


def test_a_read_only_array_is_a_copy():
    given = np.array([1, 2, 3])
    held = _frozen.readonly(given)
    given[0] = 7
    assert held.tolist() == [1.0, 2.0, 3.0] and held.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        held[0] = 5.0


def test_fields_are_set_from_within_and_not_from_outside():
    @dataclass(frozen=True)
    class Value:
        x: float

        def __post_init__(self):
            _frozen.freeze(self, x=2.0 * self.x)

    value = Value(3.0)
    assert value.x == 6.0
    with pytest.raises(FrozenInstanceError):
        value.x = 1.0
