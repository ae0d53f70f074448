"""Commands on a cluster: a scheduler and two workers, each a process of its own, one of which is killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import fwbq
from fwbq.chema import Dataset
from fwbq.cli.app import run

distributed = pytest.importorskip("distributed", reason="Dask is not installed (the extra dask)")

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
    return np.log(f(x))
"""
GAUSSIAN = "gaussian(mean=[0,0], cov=1)"


def start(*arguments, where):
    """Start a module as a process that imports the fwbq under test."""
    paths = os.pathsep.join([str(Path(fwbq.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", *arguments], cwd=where, env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
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
        address = json.loads(file.read_text())["address"]
        with distributed.Client(address) as client:
            client.wait_for_workers(2, timeout=60)
        yield address
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in ("slow_on_cluster", "quick_here"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "slow_on_cluster.py").write_text(FUNCTION.replace("LOG = None", f"LOG = {str(tmp_path / 'log')!r}"))
    (tmp_path / "quick_here.py").write_text(FUNCTION)
    return tmp_path


@contextmanager
def a_worker_killed(address):
    """Kill a worker process while it works, during what is done in the context."""
    if not hasattr(signal, "SIGKILL"):
        pytest.skip("needs SIGKILL")
    with distributed.Client(address, set_as_default=False) as client:
        processes = client.run(os.getpid)
        assert len(processes) == 2
        killed, stop = [], threading.Event()

        def working(dask_scheduler):  # inside, so that its code goes to the scheduler
            return [each for each, worker in dask_scheduler.workers.items() if worker.processing]

        def kill():
            while not (killed or stop.is_set()):
                if busy := client.run_on_scheduler(working):
                    os.kill(processes[busy[0]], signal.SIGKILL)
                    killed.append(busy[0])

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        try:
            yield
        finally:
            stop.set()
            killer.join(timeout=10)
        assert killed, "no worker was seen at work"
        assert set(client.scheduler_info()["workers"]) == set(processes) - set(killed)


def printed(arguments, capsys):
    code = run([*arguments, "--no-progress"])
    out, err = capsys.readouterr()
    assert code in (0, 3), err
    return out


def processes_that_called(here):
    return set((here / "log").read_text().split())


def evidence(module, *where):
    return ["evidence", f"{module}:log_likelihood", "--prior", GAUSSIAN, "--n", "20", "--json", *where]


def integral(module, *where):
    return ["integrate", f"{module}:f", "--measure", GAUSSIAN, "--n", "24", "--vectorized", "--json", *where]


@pytest.mark.parametrize("command", [integral, evidence])
def test_own_code_on_a_cluster_that_loses_a_worker_gives_the_same_bits(cluster, here, capsys, command):
    with a_worker_killed(cluster):
        together = printed(command("slow_on_cluster", "--dask", cluster), capsys)
    assert json.loads(together) == json.loads(printed(command("quick_here"), capsys))
    assert str(os.getpid()) not in processes_that_called(here)


def test_select_on_a_cluster_that_loses_a_worker_gives_the_same_bits(cluster, here, capsys):
    data = str(here / "data.csv")
    Dataset.example().to_csv(data)
    with a_worker_killed(cluster):
        printed(["select", data, "--out", "together", "--dask", cluster], capsys)
    printed(["select", data, "--out", "alone"], capsys)
    for name in ("ranking.csv", "history.csv", "probabilities.csv", "inclusion.csv", "numerical-error.csv"):
        assert (here / "together" / name).read_bytes() == (here / "alone" / name).read_bytes()


def test_paper_on_a_cluster_that_loses_a_worker_gives_the_same_bits(cluster, here, capsys):
    with a_worker_killed(cluster):
        printed(["paper", "mean-elements", "--out", "together", "--dask", cluster], capsys)
    printed(["paper", "mean-elements", "--out", "alone"], capsys)
    files = sorted(path.name for path in (here / "alone").iterdir())
    assert files == sorted(path.name for path in (here / "together").iterdir()) != []
    for name in files:
        if name.endswith(".csv"):
            assert (here / "together" / name).read_bytes() == (here / "alone" / name).read_bytes()


def test_a_cluster_on_this_machine_is_started_for_a_command(here, capsys):
    together = printed(integral("slow_on_cluster", "--dask", "local", "--workers", "2"), capsys)
    assert json.loads(together) == json.loads(printed(integral("quick_here"), capsys))
    called = processes_that_called(here)
    assert len(called) == 2 and str(os.getpid()) not in called
    for process in called:  # they end with the command
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)


def test_a_cluster_that_is_not_there_is_said_in_one_sentence(capsys, monkeypatch):
    monkeypatch.setattr("fwbq.cli.workers._PATIENCE", 1)
    code = run(["paper", "points", "--dask", "tcp://127.0.0.1:1"])
    error = capsys.readouterr().err
    assert code == 2 and "--dask 'tcp://127.0.0.1:1': no scheduler answers there" in error
    assert run(["paper", "points", "--dask", "tcp://127.0.0.1:1", "--workers", "2"]) == 2
    assert "the cluster of --dask has its own" in capsys.readouterr().err
