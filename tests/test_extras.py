"""A package that is not installed is an error that names an extra which exists."""

import re
import tomllib
from pathlib import Path

import pytest

import fwbq
from fwbq import _extras

SOURCE = Path(fwbq.__file__).parent
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def test_what_is_there_is_loaded():
    assert _extras.load("json", "test", "a test").dumps([1]) == "[1]"


def test_what_is_missing_is_said_with_the_remedy():
    with pytest.raises(ImportError, match=r'a test needs nowhere, which is not installed: pip install "fwbq\[test\]"'):
        _extras.load("nowhere.at.all", "test", "a test")


def test_every_extra_that_an_error_advises_exists():
    advised = {}
    for path in SOURCE.rglob("*.py"):
        for name in re.findall(r'_extras\.load\([^,()]+, "(\w+)"', path.read_text()):
            advised.setdefault(name, path.name)
    assert {"arviz", "report", "dask"} <= set(advised), "the search finds no extras: its pattern is wrong"
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert {name: file for name, file in advised.items() if name not in extras} == {}
