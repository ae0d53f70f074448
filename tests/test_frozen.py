"""Immutable values hold copies that nobody can write to."""

from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

import fwbq
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


def test_the_arrays_of_a_value_are_locked_but_those_they_came_from_are_not():
    @dataclass(frozen=True)
    class Value:
        x: np.ndarray
        name: str = "x"

        def __post_init__(self):
            _frozen.lock(self)

    given = np.zeros(3)
    value = Value(given)
    given[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        value.x[0] = 2.0


def arrays(value, path):
    """Every public array of a result, with its name."""
    for name in dir(value):
        found = None if name.startswith("_") else getattr(value, name)
        if isinstance(found, np.ndarray) and found.size:
            yield f"{path}.{name}", found, lambda name=name: getattr(value, name)


def test_nobody_changes_a_result_by_writing_to_its_arrays():
    measure = fwbq.Gaussian([0.0], [[1.0]])
    integral = fwbq.integrate(lambda x: np.exp(x[:, 0]), measure, n=12)
    evidence = fwbq.evidence(lambda x: -(x[:, 0] ** 2), measure, n=12)
    comparison = fwbq.compare({"a": (-1.0, 0.1), "b": (-2.0, 0.2)})
    values = {
        "integral": integral, "rule": integral.rule, "posterior": integral.posterior, "evidence": evidence,
        "draws": evidence.posterior, "mode": evidence.modes[0], "comparison": comparison,
        "evidences": comparison.evidences, "measure": measure,
    }  # fmt: skip
    changed = []
    for path, value in values.items():
        for name, found, again in arrays(value, path):
            if found.flags.writeable:
                before = found.copy()
                found[...] = found[::-1] if found.dtype.kind == "U" else found + 1
                changed += [name] if not np.array_equal(again(), before) else []
    assert changed == []
