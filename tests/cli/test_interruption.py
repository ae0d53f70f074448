"""Ctrl-C at the command line: it ends at once, whoever is working, and says what is kept."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

#: The first call of each process is quick, so that there is something to keep; every further one takes a minute.
MODULE = """
import time
import numpy as np

calls = []

def f(x):
    calls.append(x)
    if len(calls) > 1:
        time.sleep(60.0)
    return float(np.exp(-x[0] ** 2))
"""
#: Background shells ignore SIGINT, and their children with them.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from fwbq.cli import main
sys.argv[0] = "fwbq"
main()
"""


def finished(journal: Path) -> int:
    if not journal.exists():
        return 0
    with closing(sqlite3.connect(journal, timeout=60.0)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM evaluation").fetchone()[0])
        except sqlite3.OperationalError:  # the table is not there yet
            return 0


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals to a group of processes are of POSIX")
@pytest.mark.parametrize(
    ("workers", "dask", "group"),
    [("1", False, True), ("1", False, False), ("2", False, True), ("2", False, False), ("2", True, True)],
)
def test_ctrl_c_ends_at_once_and_says_what_is_kept(tmp_path, workers, dask, group):
    (tmp_path / "slow.py").write_text(MODULE)
    arguments = ["integrate", "slow:f", "--measure", "norm(0, 1)", "--scalar", "--n", "20", "--workers", workers]
    if dask:
        pytest.importorskip("distributed")
        arguments += ["--dask", "local"]
    run = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments, "--journal", "run.db"], cwd=tmp_path, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    while finished(tmp_path / "run.db") < int(workers):
        assert run.poll() is None
        time.sleep(0.05)
    (os.killpg if group else os.kill)(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=50.0)  # the calls take a minute
    assert run.returncode == 130
    count = finished(tmp_path / "run.db")
    assert count == int(workers) or dask  # the code of f travels with every call there, and each is a first one
    kept = f"{count} evaluation{'s are' if count != 1 else ' is'} finished and kept in the journal 'run.db'"
    assert said.strip() == f"fwbq: interrupted: {kept}: run the same again to go on from there"


#: Its fourth call catches every exception and goes on.
DEAF = """
import time
import numpy as np

calls = []

def f(x):
    calls.append(x)
    while len(calls) > 3:
        try:
            time.sleep(60.0)
        except BaseException:
            pass
    return float(np.exp(-x[0] ** 2))
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals to a group of processes are of POSIX")
def test_ctrl_c_ends_a_function_that_does_not_answer(tmp_path):
    (tmp_path / "deaf.py").write_text(DEAF)
    arguments = ["integrate", "deaf:f", "--measure", "norm(0, 1)", "--scalar", "--n", "20", "--journal", "run.db"]
    run = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    while finished(tmp_path / "run.db") < 3:
        assert run.poll() is None
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=50.0)  # the function would go on for ever
    assert run.returncode == 130
    assert said.startswith("fwbq: interrupted: the function did not end when it was asked to")
    assert "kept where --journal names a file" in said
    assert finished(tmp_path / "run.db") == 3
