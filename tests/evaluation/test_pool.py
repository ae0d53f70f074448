"""Workers that are opened for one call."""

import math
import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from fwbq.evaluation import pool
from fwbq.evaluation.executors import manager_of, processes_of

#: A script that is interrupted while two workers sleep: it prints when it is ready, and how long the end took.
SCRIPT = """
import signal, time
from fwbq.evaluation import pool
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background shell takes away
try:
    with pool(2, time.sleep) as executor:
        calls = [executor.submit(time.sleep, 60.0) for _ in range(8)]
        while not any(call.running() for call in calls):
            time.sleep(0.01)
        print("ready", flush=True)
        while not calls[0].done():  # an interruption just before an endless wait would be met only after it
            time.sleep(0.05)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_what_can_be_sent_goes_to_processes_and_the_rest_to_threads():
    with pool(2, math.sqrt) as executor:
        assert isinstance(executor, ProcessPoolExecutor)
        assert executor.submit(math.sqrt, 4.0).result() == 2.0
    with pool(2, lambda x: x) as executor:
        assert isinstance(executor, ThreadPoolExecutor)
    with pool(1, math.sqrt) as executor:
        assert executor is None


def of_the_script(x):
    return x


def test_what_a_script_defines_is_sent_only_to_copies_of_its_process(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "of_the_script", of_the_script, raising=False)
    monkeypatch.setattr(of_the_script, "__module__", "__main__")
    ways = multiprocessing.get_all_start_methods()
    contexts = {method: multiprocessing.get_context(method) for method in ways}
    for method, kind in (("fork", ProcessPoolExecutor), ("spawn", ThreadPoolExecutor)):
        if method in ways:
            monkeypatch.setattr(multiprocessing, "get_context", lambda *_, method=method: contexts[method])
            with pool(2, of_the_script) as executor:
                assert isinstance(executor, kind)


def test_a_number_of_workers_is_checked():
    with pytest.raises(ValueError, match="`workers` must be"), pool(0):
        pass


def test_an_error_does_not_wait_for_what_runs():
    with pytest.raises(ValueError, match="stop"), pool(2, time.sleep) as executor:
        call = executor.submit(time.sleep, 600.0)
        while not call.running():
            time.sleep(0.01)
        running, manager = processes_of(executor), manager_of(executor)
        raise ValueError("stop")
    assert running and manager is not None
    assert not manager.is_alive()  # the end of Python writes into a pipe that this thread closes
    for process in running:
        assert multiprocessing.connection.wait([process.sentinel], 60.0)  # long before the ten minutes of the call


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals to a group of processes are of POSIX")
@pytest.mark.parametrize("group", [True, False], ids=["group", "parent"])
def test_ctrl_c_ends_workers_that_are_busy(group):
    run = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert run.stdout is not None and run.stdout.readline() == "ready\n"
    (os.killpg if group else os.kill)(run.pid, signal.SIGINT)
    out, _ = run.communicate(timeout=50.0)  # the calls take a minute
    assert out == "interrupted\n" and run.returncode == 0
