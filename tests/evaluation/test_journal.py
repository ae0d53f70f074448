import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fwbq.evaluation.journal import Journal, JournalError, point_keys

IDENTITY = {"measure": {"type": "Gaussian", "mean": [0.0], "cov": [[1.0]]}, "function": "module:f", "version": "1"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


def points(*x):
    return np.array(x, dtype=float)[:, None]


@settings(max_examples=15, deadline=None)
@given(
    x=hnp.arrays(np.float64, (5, 3), elements=st.floats(allow_nan=False, allow_infinity=False)),
    y=hnp.arrays(np.float64, st.sampled_from([(5,), (5, 1), (5, 4)]), elements=st.floats(-1e300, 1e300)),
)
def test_what_is_recorded_comes_back_to_the_bit_after_reopening(x, y):
    x = np.unique(x + 0.0, axis=0)
    y = y[: len(x)]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.db"
        with Journal(path, IDENTITY) as journal:
            assert journal.record(x, y).tobytes() == y.tobytes()
        with Journal(path, IDENTITY) as journal:
            found, values = journal.get(x)
            everything = journal.evaluations()
    assert found.all() and values.tobytes() == y.tobytes() and values.shape == y.shape
    assert everything[0].tobytes() == x.tobytes() and everything[1].tobytes() == y.tobytes()


def test_the_key_is_the_exact_point_and_negative_zero_is_zero(path):
    with Journal(path, IDENTITY) as journal:
        journal.record(points(1.0, -0.0), [10.0, 20.0])
        found, values = journal.get(points(np.nextafter(1.0, 2.0), 1.0, 0.0, -0.0))
    assert found.tolist() == [False, True, True, True]
    assert values[1:].tolist() == [10.0, 20.0, 20.0] and np.isnan(values[0])
    assert point_keys(points(1.0)) == [np.float64(1.0).tobytes()]


def test_the_first_writer_wins_and_both_go_on_with_its_value(path):
    with Journal(path, IDENTITY) as one, Journal(path, IDENTITY) as two:
        one.record(points(1.0), [10.0])
        assert two.record(points(0.0, 1.0), [5.0, 11.0]).tolist() == [5.0, 10.0]
        assert one.get(points(0.0, 1.0))[1].tolist() == [5.0, 10.0]


def test_a_record_is_in_the_file_when_record_returns(path):
    with Journal(path, IDENTITY) as journal:
        journal.record(points(1.0), [10.0])
        copy = path.parent / "copy.db"
        for suffix in ("", "-wal"):  # what a killed process leaves behind
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
        with Journal(copy, IDENTITY) as other:
            assert other.get(points(1.0))[1].tolist() == [10.0]
        connection = journal._file.connection()
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL


def test_series_are_separate(path):
    with Journal(path, IDENTITY) as journal:
        journal.record(points(1.0), [10.0], "a", vectorized=True)
        journal.record(np.ones((1, 2)), [[1.0, 2.0, 3.0]], "b")
        assert journal.series() == ["a", "b"]
        assert not journal.get(points(1.0), "c")[0].any()
        assert journal.get(np.ones((1, 2)), "b")[1].tolist() == [[1.0, 2.0, 3.0]]
        assert (journal.finding("a"), journal.finding("b"), journal.finding("c")) == (True, None, None)
        with pytest.raises(JournalError, match=r"2 coordinates, these have 1"):
            journal.get(points(1.0), "b")
        with pytest.raises(JournalError, match="a vector of 3 before and a number now"):
            journal.record(np.zeros((1, 2)), [1.0], "b")
        with pytest.raises(KeyError, match="no series 'c'"):
            journal.evaluations("c")
        assert len(journal) == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_not_recorded(path, bad):
    with Journal(path, IDENTITY) as journal:
        with pytest.raises(ValueError, match="values"):
            journal.record(points(1.0, 2.0), [1.0, bad])
        assert len(journal) == 0
        if bad == -np.inf:
            assert journal.record(points(1.0), [bad], minus_infinity=True) == bad
            assert journal.get(points(1.0))[1] == bad
        else:
            with pytest.raises(ValueError, match="values"):
                journal.record(points(1.0), [bad], minus_infinity=True)


def test_a_wrong_number_of_values_is_refused(path):
    with Journal(path, IDENTITY) as journal, pytest.raises(ValueError, match=r"\(2,\) or \(2, m\)"):
        journal.record(points(1.0, 2.0), [1.0])


def test_failures_are_written_down_until_the_point_succeeds(path):
    with Journal(path, IDENTITY) as journal:
        journal.record_failures(points(1.0, 2.0), ["bad weather", "worse"])
        journal.record_failures(points(1.0), ["still bad"])
        assert not journal.get(points(1.0, 2.0))[0].any()
        assert sorted((p.tolist(), why) for p, why in journal.failures()) == [([1.0], "still bad"), ([2.0], "worse")]
        journal.record(points(1.0), [3.0])
        assert [p.tolist() for p, _ in journal.failures()] == [[2.0]]


# -- identity ---------------------------------------------------------------------------------------------------------


def test_another_problem_is_refused_and_the_error_says_what_differs(path):
    with Journal(path, IDENTITY) as journal:
        journal.record(points(1.0), [10.0])
    other = {
        "measure": {"type": "Gaussian", "mean": [0.5], "cov": [[1.0]]},
        "function": "module:f",
        "version": "2",
        "new": 1,
    }
    with pytest.raises(JournalError) as error:
        Journal(path, other)
    text = str(error.value)
    assert "another problem" in text
    assert "measure.mean: [0.0] in the journal, [0.5] here" in text
    assert 'version: "1" in the journal, "2" here' in text and "new: absent in the journal, 1 here" in text
    assert "function" not in text
    with Journal(path, IDENTITY) as journal:
        assert len(journal) == 1


def test_identity_ignores_the_order_of_keys_and_keeps_infinities(path):
    identity = {"b": [1, {"y": float("inf"), "x": 0.1}], "a": "é"}
    Journal(path, identity).close()
    with Journal(path, {"a": "é", "b": [1, {"x": 0.1, "y": float("inf")}]}) as journal:
        assert journal.identity == identity
    with pytest.raises(JournalError, match=r"0\.1"):
        Journal(path, {"a": "é", "b": [1, {"x": np.nextafter(0.1, 1.0), "y": float("inf")}]})


def test_an_identity_that_is_not_json_is_a_type_error(path):
    with pytest.raises(TypeError, match="JSON"):
        Journal(path, {"f": np.sin})


def test_without_identity_an_existing_journal_is_read_and_none_is_made(path):
    with pytest.raises(JournalError, match="no such file"):
        Journal(path, None)
    assert not path.exists()
    Journal(path, IDENTITY).close()
    with Journal(path, None) as journal:
        assert journal.identity == IDENTITY
    empty = path.parent / "empty.db"
    empty.touch()
    with pytest.raises(JournalError, match="`identity` is needed"):
        Journal(empty, None)
    with Journal(empty, IDENTITY) as journal:
        assert len(journal) == 0


# -- files that are something else ------------------------------------------------------------------------------------


def test_a_directory_a_missing_directory_and_a_text_file(tmp_path):
    with pytest.raises(JournalError, match="is a directory"):
        Journal(tmp_path, IDENTITY)
    with pytest.raises(JournalError, match="does not exist; create it first"):
        Journal(tmp_path / "no" / "run.db", IDENTITY)
    text = tmp_path / "notes.txt"
    text.write_text("My notes of many years.\n" * 100)
    before = text.read_bytes()
    with pytest.raises(JournalError, match="not a journal"):
        Journal(text, IDENTITY)
    assert text.read_bytes() == before and os.listdir(tmp_path) == ["notes.txt"]


def test_a_foreign_database_is_left_as_it_is(tmp_path):
    path = tmp_path / "bookmarks.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (address TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match="another program"):
        Journal(path, IDENTITY)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["bookmarks.db"]


def test_a_newer_format_is_refused(path):
    Journal(path, IDENTITY).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(JournalError, match="format 99, this version of fwbq reads up to 2"):
        Journal(path, IDENTITY)


@pytest.mark.parametrize("keep", [10, 100, 4096, 0.5, -1])
def test_a_truncated_file_is_reported_as_damaged(path, keep):
    with Journal(path, IDENTITY) as journal:
        journal.record(np.arange(2000.0)[:, None], np.arange(2000.0))
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    with pytest.raises(JournalError, match=r"damaged|not a journal"):
        Journal(path, IDENTITY)


def test_a_scribbled_page_is_reported_as_damaged(path):
    with Journal(path, IDENTITY) as journal:
        journal.record(np.arange(2000.0)[:, None], np.arange(2000.0))
    content = bytearray(path.read_bytes())
    content[8 * 4096 : 9 * 4096] = os.urandom(4096)
    path.write_bytes(content)
    with pytest.raises(JournalError, match="damaged"):
        Journal(path, IDENTITY)


@contextmanager
def as_somebody_else():
    """Root may write anywhere: give that up for a moment."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(me)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are of POSIX")
@pytest.mark.parametrize("what", ["file", "directory", "both"])
def test_a_read_only_place_is_a_clear_error_at_once(what):
    directory = Path(tempfile.mkdtemp())
    try:
        directory.chmod(0o777)
        path = directory / "run.db"
        with as_somebody_else():
            with Journal(path, IDENTITY) as journal:
                journal.record(points(1.0), [10.0])
            if what != "directory":
                path.chmod(0o444)
        if what != "file":
            directory.chmod(0o555)
        with as_somebody_else(), pytest.raises(JournalError, match=r"read-only|cannot be opened"):
            Journal(path, IDENTITY)
        directory.chmod(0o777)
        path.chmod(0o666)
        with Journal(path, IDENTITY) as journal:
            assert journal.get(points(1.0))[1].tolist() == [10.0]
    finally:
        shutil.rmtree(directory)


def test_a_full_disk_is_a_clear_error_and_loses_nothing(path):
    with Journal(path, IDENTITY) as journal:
        journal.record(points(1.0), [10.0])
        pages = journal._file.connection().execute("PRAGMA page_count").fetchone()[0]
        journal._file.connection().execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(JournalError, match="the disk is full") as error:
            journal.record(np.arange(10.0, 2000.0)[:, None], np.zeros(1990))
        assert isinstance(error.value.__cause__, sqlite3.OperationalError)
        assert len(journal) == 1  # the transaction as a whole was taken back
        journal._file.connection().execute("PRAGMA max_page_count=1000000")
        journal.record(points(2.0), [20.0])
    with Journal(path, IDENTITY) as journal:
        assert journal.evaluations()[1].tolist() == [10.0, 20.0]


FILL = """
import resource, sys
import numpy as np
from fwbq.evaluation.journal import Journal, JournalError
journal = Journal(sys.argv[1], {})
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    for i in range(10_000):
        journal.record(np.array([[float(i)]]), [float(i)])
        print(i)
except JournalError as error:
    print("error:", error)
"""


@pytest.mark.skipif(importlib.util.find_spec("resource") is None, reason="no limit of file sizes on this system")
def test_what_was_recorded_before_the_disk_refused_is_there(path):
    """The operating system refuses to let the file grow, in the middle of a run."""
    out = subprocess.run([sys.executable, "-c", FILL, path], capture_output=True, text=True, check=True).stdout
    *numbers, last = out.splitlines()
    assert last.startswith("error: ") and "disk" in last and len(numbers) > 10
    with Journal(path, {}) as journal:
        assert journal.evaluations()[1].tolist() == [float(i) for i in numbers]


# -- several users ----------------------------------------------------------------------------------------------------


def write_many(path, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(120)
    with Journal(path, IDENTITY) as journal:
        return {int(i): float(journal.record(points(i), [seed * 1000.0 + i])[0]) for i in order}


def test_processes_that_write_at_once_agree_and_corrupt_nothing(path):
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        views = list(pool.map(write_many, [path] * 3, range(3)))
    assert views[0] == views[1] == views[2]
    with Journal(path, IDENTITY) as journal:
        x, y = journal.evaluations()
        assert len(journal) == 120
        assert journal._file.connection().execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert {int(i): v for i, v in zip(x[:, 0], y, strict=True)} == views[0]


def test_threads_may_share_a_journal(path):
    with Journal(path, IDENTITY) as journal:
        threads = [
            threading.Thread(target=lambda k=k: [journal.record(points(k + i / 100), [float(k)]) for i in range(20)])
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(journal) == 80


def test_a_lock_that_is_never_given_back_is_a_clear_error(path):
    Journal(path, IDENTITY).close()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(JournalError, match="another process keeps it locked"):
            Journal(path, IDENTITY, timeout=0.05)
    finally:
        blocker.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_closed_journal_and_one_from_before_a_fork_refuse(path):
    journal = Journal(path, IDENTITY)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            journal.get(points(1.0))
        except JournalError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert b"opened by another process" in os.read(read, 1000)
    os.close(read)
    os.close(write)
    assert "0 evaluations" in repr(journal)
    journal.close()
    journal.close()
    assert "closed" in repr(journal)
    with pytest.raises(JournalError, match="is closed"):
        journal.record(points(1.0), [1.0])


def test_openings_of_a_new_journal_at_once_all_succeed(tmp_path):
    """Who looks while another creates the journal sees it whole or not at all."""
    interval = sys.getswitchinterval()
    failures = []

    def begin(path, together):
        together.wait()
        try:
            Journal(path, IDENTITY).close()
        except JournalError as error:
            failures.append(error)

    sys.setswitchinterval(1e-6)  # let the threads interleave as often as they can
    try:
        for repeat in range(40):
            together = threading.Barrier(4)
            threads = [threading.Thread(target=begin, args=(tmp_path / f"{repeat}.db", together)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
