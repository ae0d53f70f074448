"""Commands on a cluster: a scheduler and two workers, each a process of its own, one of which is killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import fwbq
from fwbq.chema import Dataset
from fwbq.cli.app import run

pytest.importorskip("distributed", reason="Dask is not installed (the extra dask)")

FUNCTION = """
import os, time
import numpy as np

LOG = None

def f(x):
    if LOG is not None:
        time.sleep(0.05 * len(x))
        with open(LOG, "a") as file:
            file.write(f"{os.getpid()}\\n" * len(x))
    return np.exp(-np.sum(x**2, axis=1) + x[:, 0])

def log_likelihood(x):
    return -np.sum((x - 0.5) ** 2, axis=1)
"""
GAUSSIAN = "gaussian(mean=[0,0], cov=1)"


def start(*arguments, where):
    """Start a module as a process that imports the fwbq under test."""
    paths = os.pathsep.join([str(Path(fwbq.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", *arguments], cwd=where, env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Address of a scheduler, and its two workers, in a directory that has nothing of the user's."""
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    scheduler = start(
        "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show",
        "--scheduler-file", str(file), where=folder,
    )  # fmt: skip
    workers = []
    try:
        while not file.exists():
            assert scheduler.poll() is None, "the scheduler did not start"
            time.sleep(0.05)
        workers = [
            start(
                "distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny",
                "--no-dashboard", where=folder,
            )
            for _ in range(2)
        ]  # fmt: skip
        yield json.loads(file.read_text())["address"], workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


def printed(arguments, capsys):
    code = run([*arguments, "--json", "--no-progress"])
    out, err = capsys.readouterr()
    assert code in (0, 3), err
    return json.loads(out)


def test_commands_on_a_cluster_that_loses_a_worker_give_the_same_bits(cluster, here, capsys):
    address, workers = cluster
    log = here / "log"
    (here / "slow_on_cluster.py").write_text(FUNCTION.replace("LOG = None", f"LOG = {str(log)!r}"))
    (here / "quick_here.py").write_text(FUNCTION)

    def called():
        return log.read_text().split() if log.exists() else []

    def kill_one_halfway():
        while len(called()) < 8 or len(set(called())) < 2:
            time.sleep(0.01)
        os.kill(workers[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_one_halfway, daemon=True)
    killer.start()
    options = ["--measure", GAUSSIAN, "--n", "24", "--vectorized"]
    together = printed(["integrate", "slow_on_cluster:f", *options, "--dask", address], capsys)
    killer.join(timeout=10)
    assert not killer.is_alive() and str(workers[0].pid) in called()  # both worked, and one died
    assert str(os.getpid()) not in called()
    assert together == printed(["integrate", "quick_here:f", *options], capsys)

    options = ["--prior", GAUSSIAN, "--n", "20"]
    together = printed(["evidence", "quick_here:log_likelihood", *options, "--dask", address], capsys)
    assert together == printed(["evidence", "quick_here:log_likelihood", *options], capsys)

    data = here / "data.csv"
    Dataset.simulate(6, rng=1).to_csv(data)
    for out, where in (("together", ["--dask", address]), ("alone", [])):
        printed(["select", str(data), "--n", "10", "--out", out, *where], capsys)
    ranking = [(here / out / "ranking.csv").read_bytes() for out in ("together", "alone")]
    assert ranking[0] == ranking[1]


def test_a_cluster_that_is_not_there_is_said_in_one_sentence(capsys, monkeypatch):
    monkeypatch.setattr("fwbq.cli.workers._PATIENCE", 1)
    code = run(["paper", "points", "--dask", "tcp://127.0.0.1:1"])
    error = capsys.readouterr().err
    assert code == 2 and "--dask 'tcp://127.0.0.1:1': no scheduler answers there" in error
    assert run(["paper", "points", "--dask", "tcp://127.0.0.1:1", "--workers", "2"]) == 2
    assert "the cluster of --dask has its own" in capsys.readouterr().err
