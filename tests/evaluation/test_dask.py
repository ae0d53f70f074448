"""A real cluster: Dask's scheduler and worker processes on this machine, with workers that are killed."""

import os
import signal
import threading
import time
import traceback

import numpy as np
import pytest

import fwbq
from fwbq.evaluation import EvaluationError, Evaluator, executors
from fwbq.evaluation.journal import Journal

dask = pytest.importorskip("dask", reason="Dask is not installed (the extra dask)")

DIM = 4
MATRIX = np.random.default_rng(8).normal(size=(DIM, 30))


@pytest.fixture(scope="module")
def client(dask_cluster):
    with dask_cluster() as client:
        yield client


@pytest.fixture
def doomed(dask_cluster):
    """A cluster of one's own, to kill workers of."""
    with dask_cluster() as client:
        yield client


def sample(n):
    return np.random.default_rng(0).normal(size=(n, DIM))


def slow_product(log, seconds):
    """Bits that depend on how many rows are multiplied at once; each call is written down with its process."""

    def f(x):
        time.sleep(seconds * len(x))
        y = np.tanh(x @ MATRIX @ MATRIX.T @ MATRIX).sum(axis=1)
        with open(log, "a") as file:
            file.write("".join(f"{os.getpid()} {row.tobytes().hex()}\n" for row in x))
        return y

    return f


def calls(log):
    """Return (process, point) of every finished evaluation."""
    return [tuple(line.split()) for line in log.read_text().splitlines()] if log.exists() else []


def test_a_cluster_changes_no_bit(client, tmp_path):
    x, f = sample(70), slow_product(tmp_path / "log", 0.0)
    serial = Evaluator(f, DIM)(x).values
    (tmp_path / "log").unlink()
    evaluate = Evaluator(f, DIM, executor=client.get_executor())
    assert evaluate(x).values.tobytes() == serial.tobytes()
    assert evaluate.vectorized is True
    processes = {process for process, _ in calls(tmp_path / "log")}
    assert len(processes) == 2 and str(os.getpid()) not in processes


def with_gradient(x):
    """A value and its gradient, at many points or one; where the first coordinate is large, no gradient is known."""
    gradient = np.where(x[..., :1] > 1.0, np.nan, -2.0 * x)
    return -np.sum(x**2, axis=-1), gradient


@pytest.mark.parametrize("vectorized", [None, True, False])
def test_values_and_gradients_come_back_from_a_cluster(client, tmp_path, vectorized):
    x, path = sample(40), tmp_path / "run.db"
    here = Evaluator(with_gradient, DIM, gradient=True, vectorized=vectorized)(x)
    assert np.isnan(here.gradients).any() and not np.isnan(here.gradients).all()
    how = {"gradient": True, "vectorized": vectorized, "journal": path, "tag": "f"}
    with Evaluator(with_gradient, DIM, executor=client.get_executor(), **how) as evaluate:
        there = evaluate(x)
    with Evaluator(with_gradient, DIM, **how) as evaluate:
        resumed = evaluate(x)
    assert (there.n_new, resumed.n_new) == (40, 0)
    for found in (there, resumed):
        assert found.values.tobytes() == here.values.tobytes()
        np.testing.assert_array_equal(found.gradients, here.gradients)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_worker_that_is_killed_halfway_changes_no_bit_and_loses_nothing(doomed, tmp_path):
    x, log = sample(100), tmp_path / "log"
    serial = Evaluator(slow_product(tmp_path / "serial", 0.0), DIM)(x).values
    victim = next(iter(doomed.run(os.getpid).values()))
    at_the_kill = {}

    def kill_halfway():
        while len(calls(log)) < len(x) // 2:
            time.sleep(0.005)
        at_the_kill["recorded"] = {row.tobytes().hex() for row in journal.evaluations()[0]}
        at_the_kill["calls"] = len(calls(log))
        os.kill(victim, signal.SIGKILL)

    with Journal(tmp_path / "run.db", {}) as journal:
        killer = threading.Thread(target=kill_halfway)
        killer.start()
        result = Evaluator(slow_product(log, 0.01), DIM, executor=doomed.get_executor(), journal=journal)(x)
        killer.join()
        assert result.values.tobytes() == serial.tobytes()
        assert (result.n_new, result.n_reused, result.n_skipped, len(journal)) == (100, 0, 0, 100)
    assert str(victim) in {process for process, _ in calls(log)}  # it did work,
    assert 0 < len(at_the_kill["recorded"]) < 100  # it died in between,
    later = {point for _, point in calls(log)[at_the_kill["calls"] :]}
    assert later and not later & at_the_kill["recorded"]  # and what was recorded by then was not evaluated again


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_an_integral_survives_the_loss_of_a_worker_halfway(doomed, tmp_path):
    log, measure = tmp_path / "log", fwbq.Gaussian(np.zeros(DIM), 0.1)
    alone = fwbq.integrate(slow_product(tmp_path / "alone", 0.0), measure, n=24, rng=3)
    victim = next(iter(doomed.run(os.getpid).values()))

    def kill_halfway():
        while len(calls(log)) < 12:
            time.sleep(0.005)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill_halfway)
    killer.start()
    together = fwbq.integrate(slow_product(log, 0.01), measure, n=24, rng=3, executor=doomed.get_executor())
    killer.join()
    assert (together.mean, together.sd) == (alone.mean, alone.sd)
    assert together.interval(0.95) == alone.interval(0.95)
    assert together.rule.points.tobytes() == alone.rule.points.tobytes()
    assert together.n_evaluations == 24


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_point_that_kills_every_worker_is_named(doomed, tmp_path):
    x = np.arange(6.0)[:, None] * np.ones(DIM)
    killers = tmp_path / "killers"

    def deadly(x):
        if x[0] == 2.0:
            with open(killers, "a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return x[0]

    evaluate = Evaluator(deadly, DIM, vectorized=False, on_error="skip", executor=doomed.get_executor())
    result = evaluate(x)
    # Dask may lose workers for reasons of its own on a busy machine; that the innocent go free is tested without it.
    assert "KilledWorker" in {failure.index: failure.reason for failure in result.failures}[2]
    assert result.values[result.kept].tolist() == x[result.kept, 0].tolist() and result.n_new >= 3
    assert len(killers.read_text()) > 1  # Dask did try again


def deadly_rows(x):
    """Vectorised, and deadly at some of the points that an integral under a standard Gaussian asks for first."""
    if np.any(x[:, 0] > 1.0):
        os._exit(1)
    return x[:, 0] ** 2


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_an_integral_with_points_that_kill_their_workers_comes_to_an_end(doomed, on_error):
    """A finished result is lost with the worker that holds it, and repeated on workers that are killed in turn."""
    options = {"n": 8, "rng": 0, "executor": doomed.get_executor(), "on_error": on_error}
    if on_error == "raise":
        with pytest.raises(EvaluationError, match=r"f failed at point .*its worker was lost \(KilledWorker"):
            fwbq.integrate(deadly_rows, fwbq.Gaussian([0.0], 1.0), **options)
    else:
        with pytest.warns(RuntimeWarning, match="points, which were skipped"):
            result = fwbq.integrate(deadly_rows, fwbq.Gaussian([0.0], 1.0), **options)
        assert result.n_skipped >= 1 and result.n_skipped + result.n_evaluations == 8
        assert (result.points <= 1.0).all() and (result.values == result.points[:, 0] ** 2).all()


def test_a_local_cluster_that_gave_up_its_workers_is_asked_for_them_again(tmp_path, dask_cluster):
    """Dask drops a worker of a LocalCluster that is not back after `lost-worker-timeout`; here that is always."""
    x = np.arange(6.0)[:, None] * np.ones(DIM)
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "100ms"}), dask_cluster() as client:
        evaluate = Evaluator(deadly, DIM, vectorized=False, on_error="skip", executor=client.get_executor())
        result = evaluate(x)
    assert 2 in result.skipped and result.values[result.kept].tolist() == x[result.kept, 0].tolist()


def deadly(x):
    if x[0] == 2.0:
        os._exit(1)
    return x[0]


def test_a_cluster_without_workers_is_given_up(doomed, monkeypatch, tmp_path):
    monkeypatch.setattr(executors, "_DESERTED", 3.0)

    def sleeps(x):
        time.sleep(60.0)
        return x[0]

    leaving = threading.Timer(1.0, lambda: doomed.cluster.scale(0))
    leaving.start()
    with pytest.raises(EvaluationError, match="the cluster has lost all its workers, and for 3 s") as error:
        Evaluator(sleeps, DIM, vectorized=False, executor=doomed.get_executor())(sample(3))
    assert [failure.index for failure in error.value.failures] == [0, 1, 2]
    leaving.join()


def test_an_integral_on_a_cluster_has_a_timeout(client):
    def hangs(x):
        if x[0] > 1.0:
            time.sleep(60.0)
        return float(x[0] ** 2)

    options = {"n": 8, "rng": 0, "executor": client.get_executor(), "vectorized": False, "timeout": 1.0}
    measure, begun = fwbq.Gaussian([0.0], 1.0), time.monotonic()
    with pytest.raises(EvaluationError, match="it timed out: no result after 1 s"):
        fwbq.integrate(hangs, measure, **options)
    with pytest.warns(RuntimeWarning, match="points, which were skipped"):
        result = fwbq.integrate(hangs, measure, on_error="skip", **options)
    assert result.n_skipped >= 1 and (result.points <= 1.0).all()
    assert time.monotonic() - begun < 55.0  # no call was waited for to its end


def test_errors_and_timeouts_on_a_cluster_name_the_point(client):
    x = np.arange(6.0)[:, None] * np.ones(DIM)

    def raises(x):
        if x[0] == 3.0:
            raise ValueError("three is no good")
        return x[0]

    def hangs(x):
        if x[0] == 3.0:
            time.sleep(60.0)
        return x[0]

    with pytest.raises(EvaluationError, match=r"at point \[3.0, 3.0, 3.0, 3.0\] \(row 3 of 6\)") as error:
        Evaluator(raises, DIM, vectorized=False, executor=client.get_executor())(x)
    assert isinstance(error.value.__cause__, ValueError)
    assert "in raises" in "".join(traceback.format_exception(error.value))  # where it happened, on the worker
    result = Evaluator(hangs, DIM, vectorized=False, executor=client.get_executor(), timeout=0.5, on_error="skip")(x)
    assert result.skipped.tolist() == [3] and "timed out" in result.failures[0].reason


def test_the_client_itself_is_not_an_executor(client):
    with pytest.raises(TypeError, match=r"for Dask pass client\.get_executor\(\)"):
        Evaluator(np.sin, DIM, executor=client)


def test_a_function_that_cannot_travel_is_a_clear_error(client):
    lock = threading.Lock()

    def guarded(x):
        with lock:
            return x[0]

    with pytest.raises(TypeError, match=r"cannot pickle '_thread.lock' object\): keep locks"):
        Evaluator(guarded, DIM, executor=client.get_executor())
