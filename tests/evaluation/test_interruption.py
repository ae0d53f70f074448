"""What an interrupted run says: what is kept, and how to go on."""

import logging
import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor

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


@pytest.fixture
def listening():
    """Let Ctrl-C raise, as it does at a terminal; programs in the background of a shell ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def catching(after, log, then):
    """A function of one point that is interrupted in a call, catches that, and does something else."""
    calls = []

    def f(x):
        calls.append(x)
        try:
            if len(calls) == after + 1:
                os.kill(os.getpid(), signal.SIGINT)
            return -float(x[0] ** 2) if log else float(np.exp(x[0]))
        except BaseException:
            return then()

    return f


def fail():
    raise ValueError("the solver did not converge")


@pytest.mark.parametrize("then", [lambda: -1e3, fail], ids=["returns", "raises"])
@pytest.mark.parametrize("name", ["integrate", "net", "evidence", "compare_models"])
def test_what_a_function_makes_of_an_interruption_is_no_value(name, then, listening, tmp_path):
    log = name in ("evidence", "compare_models")
    options = {"journal": tmp_path / "run.db", "rng": 0, "tag": "f"}

    def run(f):
        if name == "compare_models":
            return fwbq.compare_models({"a": fwbq.Model(f, GAUSSIAN, vectorized=False)}, n=20, **options)
        if name == "evidence":
            return fwbq.evidence(f, GAUSSIAN, n=20, vectorized=False, **options)
        method = "net" if name == "net" else "process"
        return fwbq.integrate(f, GAUSSIAN, n=64, method=method, vectorized=False, **options)

    with pytest.raises(KeyboardInterrupt) as stop:
        run(catching(7, log, then))
    assert "kept in the journal" in stop.value.__notes__[0]
    resumed = run(catching(-1, log, then))
    options |= {"journal": None, "tag": None}
    whole = run(catching(-1, log, then))
    if log:
        key = ("a",) if name == "compare_models" else ()
        evidence = [r.log_evidence(*key) if key else r.log_evidence for r in (resumed, whole)]
        assert evidence[0] == evidence[1]
    else:
        assert resumed.mean == whole.mean and np.array_equal(resumed.values, whole.values)


def test_an_interruption_that_a_library_loses_between_evaluations_ends_the_run(listening, monkeypatch):
    from fwbq.integration.run import Integration

    real = Integration.ask

    def ask(self, *args, **kwargs):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Integration, "ask", ask)
    with pytest.raises(KeyboardInterrupt):
        fwbq.integrate(lambda x: np.exp(x[:, 0]), GAUSSIAN, n=12)


def caught_at_the_right(x):
    try:
        if x[0] > 0.0:
            os.kill(os.getpid(), signal.SIGINT)
        return float(np.exp(x[0]))
    except BaseException:
        return 1e3


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods()[:2])
def test_a_worker_process_that_is_interrupted_returns_no_value(method, listening):
    # A terminal sends Ctrl-C to the processes of a pool too.
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as executor:
        with pytest.raises(KeyboardInterrupt):
            fwbq.integrate(caught_at_the_right, GAUSSIAN, n=12, vectorized=False, executor=executor)
        again = fwbq.integrate(np.sin, GAUSSIAN, n=12, executor=executor, rng=0)  # the workers are as before
    assert again.mean == fwbq.integrate(np.sin, GAUSSIAN, n=12, rng=0).mean


def test_a_program_that_handles_interruptions_by_itself_keeps_its_handler():
    def own(*arguments):
        raise AssertionError("not called")

    before = signal.signal(signal.SIGINT, own)
    try:
        fwbq.integrate(lambda x: np.exp(x[:, 0]), GAUSSIAN, n=12)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
