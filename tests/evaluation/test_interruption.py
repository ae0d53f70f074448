"""What an interrupted run says: what is kept, and how to go on."""

import logging

import numpy as np
import pytest

import fwbq

GAUSSIAN = fwbq.Gaussian([0.0], [[1.0]])


def interrupting(after, log):
    """A function of one point that is interrupted after some calls."""
    calls = []

    def f(x):
        if len(calls) == after:
            raise KeyboardInterrupt
        calls.append(x)
        return -float(x[0] ** 2) if log else float(np.exp(x[0]))

    return f


def runs():
    return {
        "integrate": lambda **o: fwbq.integrate(interrupting(7, False), GAUSSIAN, n=30, **o),
        "net": lambda **o: fwbq.integrate(interrupting(7, False), GAUSSIAN, n=64, method="net", **o),
        "evidence": lambda **o: fwbq.evidence(interrupting(7, True), GAUSSIAN, n=30, **o),
    }


@pytest.mark.parametrize("name", runs())
def test_a_run_without_a_journal_says_that_its_values_are_lost(name):
    with pytest.raises(KeyboardInterrupt) as stop:
        runs()[name](vectorized=False, rng=0)
    (note,) = stop.value.__notes__
    assert note.startswith('7 evaluations are finished and lost: with `journal="run.db"` they would be kept')


@pytest.mark.parametrize("name", runs())
def test_a_run_with_a_journal_says_where_its_values_are(name, tmp_path):
    path = tmp_path / "run.db"
    with pytest.raises(KeyboardInterrupt) as stop:
        runs()[name](vectorized=False, journal=path, tag="f")
    assert stop.value.__notes__[0].startswith(f"7 evaluations are finished and kept in the journal {str(path)!r}")
    with fwbq.Journal(path, None) as journal:
        assert len(journal) == 7


def test_a_comparison_says_what_is_kept(tmp_path):
    models = {"a": fwbq.Model(interrupting(15, True), GAUSSIAN, vectorized=False)}
    with pytest.raises(KeyboardInterrupt) as stop:
        fwbq.compare_models(models, n=40, journal=tmp_path / "run.db", tag="models")
    count, _, words = stop.value.__notes__[0].partition(" ")
    assert 10 <= int(count) <= 15 and words.startswith("evaluations are finished and kept in the journal")


def test_long_runs_report_to_the_log(caplog):
    with caplog.at_level(logging.INFO, logger="fwbq"):
        found = fwbq.compare_models({"a": fwbq.Model(lambda x: -(x[:, 0] ** 2), GAUSSIAN)}, n=20, rng=0)
    lines = [record.getMessage() for record in caplog.records]
    assert "10 points each, 10 evaluations in all, 1 models in contention: a leads with P(MAP) = 1.000" in lines
    assert lines[0] == "6 points: 6 evaluated, 0 known before, 0 failed"
    assert lines[-1] == f"compare_models: {found!r}"
    assert {record.name.partition(".")[0] for record in caplog.records} == {"fwbq"}
