"""The benchmarks use names that exist: each of them can be loaded, though none is run here."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


def test_there_are_benchmarks():
    assert len(BENCHMARKS) > 8


@pytest.mark.parametrize("path", [p for p in BENCHMARKS if p.stem != "__main__"], ids=lambda p: p.stem)
def test_a_benchmark_loads(path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # what some of them set for themselves
    spec = importlib.util.spec_from_file_location(f"benchmark_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
