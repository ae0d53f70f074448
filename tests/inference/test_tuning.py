"""Tuned numbers: all in one file, each with what set it."""

import ast
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import fwbq
from fwbq.inference.tuning import TUNING

ROOM = Path(fwbq.inference.__file__).parent
SOURCE = (ROOM / "tuning.py").read_text()


def numbers():
    return [(part.name, field.name) for part in fields(TUNING) for field in fields(getattr(TUNING, part.name))]


def test_every_number_is_used():
    source = "\n".join(path.read_text() for path in ROOM.rglob("*.py") if path.name != "tuning.py")
    used = set(re.findall(r"TUNING\.(\w+)\.(\w+)", source))
    # A function that reads many numbers of one part gives the part a name.
    for part in re.findall(
        r"numbers(?:, \w+)* = TUNING\.(\w+)|numbers = TUNING\.(\w+)|numbers = \w+\.dim, TUNING\.(\w+)", source
    ):
        used |= {(name, field) for name in part if name for field in re.findall(r"numbers\.(\w+)", source)}
    assert [number for number in numbers() if number not in used] == []


def test_every_number_has_its_reason():
    """A comment before it, or before the one it belongs together with."""
    lines = SOURCE.splitlines()
    for i, line in enumerate(lines):
        if re.match(r"    \w+: (float|int|tuple)", line):
            before = lines[i - 1].strip()
            assert before.startswith("#:") or re.match(r"\w+: (float|int|tuple)", before), line


def test_a_number_cannot_be_changed_by_accident():
    assert all(is_dataclass(getattr(TUNING, part.name)) for part in fields(TUNING))
    with pytest.raises(AttributeError):
        TUNING.climb.gain = 0.1


def test_no_module_of_the_room_has_numbers_of_its_own():
    """Constants of a module that are plain numbers, but for bounds, roundings, sizes of a search, and a format."""
    bounds = {
        "assessment.py": "_LARGEST _MOST_INFLATION _ROUNDING",
        "chart.py": "_MOST_NODES",
        "data.py": "_DEEPEST",
        "depth.py": "_MOST",
        "doubts/failures.py": "_MOST",
        "doubts/inflation.py": "_LARGEST",
        "gradients/process.py": "_BLOCK",
        "facade.py": "LEAST_FOR_TOL MOST_FITTED MOST_FOR_TOL _ALL_ROUNDING",
        "joint_process.py": "_ROUNDING",
        "local_process.py": "_CLOUD _CLOUDS _CLOUD_PER_DIMENSION _FIRST_CLOUD _MOST_NOISE _SHRINK _STEP",
        "nodes.py": "_CUBIC_DIM _QUADRATIC_DIM _SEQUENCES",
        "proposers/climb.py": "_CONDITION _LEAST_RADIUS _MOST_GAIN",
        "proposers/climbs.py": "_FAILED _MOST_MODES",
        "proposers/exchange.py": "_MOST_ROUNDING _ROUNDING _TRIED",
        "proposers/probes.py": "_LARGEST _LEAST_DISTANCE _MOST",
        "proposers/quadrature.py": "_LEAST_LEFT",
        "quadratic.py": "_DEEPEST _LEAST_TRUST",
        "result.py": "_FEWEST _HALF_WIDTH _SHARE _TINY",
        "run.py": "DEFAULT_N",
        "sign_process.py": "_CONVERGED _JITTER _LEAST _SWEEPS",
        "surrogate.py": "_STEEPEST",
    }
    found = set()
    for path in ROOM.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if (
                isinstance(node, ast.Assign)
                and any(
                    isinstance(each, ast.Constant) and isinstance(each.value, (int, float))
                    for each in ast.walk(node.value)
                )
                and not isinstance(node.value, ast.Dict)
            ):
                found |= {(path.relative_to(ROOM).as_posix(), target.id) for target in node.targets}
    assert found == {(file, name) for file, names in bounds.items() for name in names.split()}
