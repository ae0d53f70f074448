"""A journal on a bad disk: what was changed is never used; and journals from before there were checksums."""

import hashlib
import os
import sqlite3
import warnings

import numpy as np
import pytest

import fwbq
from fwbq.evaluation import Evaluator
from fwbq.evaluation.journal import Journal, JournalError, point_keys

X = np.linspace(0.0, 1.0, 40)[:, None]
Y = np.exp(-X[:, 0])
# The file as the first format had it.
FORMAT_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE series (name TEXT PRIMARY KEY, dim INTEGER NOT NULL, width INTEGER, vectorized INTEGER) WITHOUT ROWID;
CREATE TABLE evaluation (
    id INTEGER PRIMARY KEY, series TEXT NOT NULL REFERENCES series (name), point BLOB NOT NULL, value BLOB NOT NULL,
    UNIQUE (series, point)
);
CREATE TABLE failure (series TEXT NOT NULL, point BLOB NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (series, point))
WITHOUT ROWID;
PRAGMA application_id=1719100017;
PRAGMA user_version=1;
"""


@pytest.fixture
def path(tmp_path):
    with Journal(tmp_path / "run.db", {"function": "exp"}) as journal:
        journal.record(X, Y, vectorized=True)
    return tmp_path / "run.db"


def change(path, statement, *values):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


def damaged_value(path, row, bit):
    value = bytearray(Y[row].tobytes())
    value[bit // 8] ^= 1 << bit % 8
    change(path, "UPDATE evaluation SET value=? WHERE point=?", bytes(value), point_keys(X[row : row + 1])[0])


@pytest.mark.parametrize("bit", range(0, 64, 3))
def test_a_flipped_bit_in_a_value_is_noticed_and_the_value_replaced(path, bit):
    damaged_value(path, 5, bit)
    with Journal(path, None) as journal:
        with pytest.warns(
            RuntimeWarning, match=rf"the value at point \[{X[5, 0]}\] is damaged .* evaluated there again"
        ):
            found, values = journal.get(X)
        assert np.flatnonzero(~found).tolist() == [5] and values[found].tobytes() == Y[found].tobytes()
        with pytest.warns(RuntimeWarning, match="damaged"):
            assert len(journal.evaluations()[0]) == 39
        with pytest.warns(RuntimeWarning, match="damaged"):
            assert journal.record(X[5:6], Y[5:6]).tolist() == [Y[5]]
        assert journal.get(X)[1].tobytes() == Y.tobytes()


def test_a_run_goes_on_over_a_damaged_value(tmp_path):
    path, measure = tmp_path / "run.db", fwbq.Uniform([0.0], [1.0])

    def f(x):
        return np.exp(-x[:, 0])

    first = fwbq.integrate(f, measure, n=12, journal=path)
    change(path, "UPDATE evaluation SET value=? WHERE id=4", np.float64(0.1).tobytes())
    with pytest.warns(RuntimeWarning, match="damaged"):
        again = fwbq.integrate(f, measure, n=12, journal=path)
    assert (again.mean, again.sd) == (first.mean, first.sd)
    assert fwbq.integrate(f, measure, n=12, journal=path).mean == first.mean  # and it was repaired


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE evaluation SET value=(SELECT value FROM evaluation WHERE id=2) WHERE id=1",
        "UPDATE evaluation SET (value, checksum)=(SELECT value, checksum FROM evaluation WHERE id=2) WHERE id=1",
        "UPDATE evaluation SET checksum=NULL WHERE id=1",
        "UPDATE evaluation SET value=x'00' WHERE id=1",
    ],
)
def test_a_value_that_belongs_elsewhere_is_noticed(path, statement):
    change(path, statement)
    with Journal(path, None) as journal, pytest.warns(RuntimeWarning, match="damaged"):
        assert np.flatnonzero(~journal.get(X)[0]).tolist() == [0]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE series SET width=1",
        "UPDATE series SET dim=2",
        "UPDATE series SET vectorized=0",
        """UPDATE meta SET value='{"function":"exq"}' WHERE key='identity'""",
        "UPDATE meta SET value='{' WHERE key='identity'",
        "DELETE FROM meta WHERE key='digest'",
    ],
)
def test_a_damaged_description_is_refused(path, statement):
    change(path, statement)
    with pytest.raises(JournalError, match="the file is damaged"), Journal(path, {"function": "exp"}) as journal:
        journal.get(X)


def test_random_damage_never_gives_another_value(path):
    """Flip one bit anywhere in the file: the journal is refused, or every value that it returns is the right one."""
    intact = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = noticed = 0
    for position in rng.choice(8 * len(intact), 400, replace=False):
        data = bytearray(intact)
        data[position // 8] ^= 1 << position % 8
        path.write_bytes(data)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with Journal(path, {"function": "exp"}) as journal:
                    found, values = journal.get(X)
            except JournalError:
                refused += 1
                continue
        noticed += bool(caught)
        assert values[found].tobytes() == Y[found].tobytes()
    assert refused and noticed


def with_flipped_bits(path, intact, positions):
    data = bytearray(intact)
    for position in positions:
        data[position // 8] ^= 1 << position % 8
    path.write_bytes(data)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def test_no_evaluation_vanishes_without_a_word(path):
    """Flips in the index by which points are found: it is made anew, and said, or the journal is refused."""
    with Journal(path, None) as journal:
        journal.record(X + 1.0, Y)
    intact, points = path.read_bytes(), np.vstack([X, X + 1.0])
    index = intact.index(point_keys(X[20:21])[0], intact.index(point_keys(X[20:21])[0]) + 1)  # once in the table
    rng = np.random.default_rng(1)
    mended = 0
    for position in rng.integers(8 * (index - 500), 8 * (index + 500), 150):
        with_flipped_bits(path, intact, [position])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with Journal(path, {"function": "exp"}) as journal:
                    found, _ = journal.get(points)
            except JournalError as error:
                assert "the file is damaged" in str(error)
                continue
        assert found.all() or caught
        mended += found.all() and any("has been mended" in str(warning.message) for warning in caught)
    assert mended


@pytest.mark.parametrize("column", ["vectorized", "value BLOB", "identity TEXT"])
def test_a_damaged_name_of_a_column_is_called_damage(path, column):
    intact = path.read_bytes()
    with_flipped_bits(path, intact, [8 * intact.index(column.encode())])
    with pytest.raises(JournalError, match="the file is damaged"), Journal(path, {"function": "exp"}) as journal:
        journal.series_for({"function": "exp"})
        journal.finding()
        journal.get(X)


def test_bytes_that_became_text_are_called_damage(path):
    change(path, "UPDATE evaluation SET checksum=CAST(x'ff00fe' AS TEXT) WHERE id=3")
    with Journal(path, None) as journal, pytest.raises(JournalError, match="the file is damaged"):
        journal.get(X)


def old_journal(path, function="module:f"):
    identity = f'{{"dim":1,"function":"{function}","measure":null,"version":""}}'
    connection = sqlite3.connect(path)
    connection.executescript(FORMAT_1)
    with connection:
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?)",
            [("identity", identity), ("digest", hashlib.sha256(identity.encode()).hexdigest())],
        )
        connection.execute("INSERT INTO series VALUES ('', 1, NULL, 1)")
        connection.executemany(
            "INSERT INTO evaluation (series, point, value) VALUES ('', ?, ?)",
            [(key, y.tobytes()) for key, y in zip(point_keys(X), Y, strict=True)],
        )
    connection.close()


def f(x):
    return np.exp(-x[:, 0])


def test_a_journal_of_the_first_format_gets_checksums_and_goes_on(tmp_path):
    path = tmp_path / "run.db"
    old_journal(path)
    with (
        pytest.warns(RuntimeWarning, match="begun by an older version of fwbq, which kept no checksums"),
        pytest.raises(
            JournalError, match=r"knew functions by their names only: if f is unchanged, pass tag='module:f'"
        ),
    ):
        Evaluator(f, 1, journal=path)
    for _ in range(2):
        with Evaluator(f, 1, journal=path, tag="module:f") as evaluate:
            assert evaluate(X).n_new == 0
    damaged_value(path, 3, 17)
    with pytest.warns(RuntimeWarning, match="damaged"), Evaluator(f, 1, journal=path, tag="module:f") as evaluate:
        done = evaluate(X)
    assert done.n_new == 1 and done.values.tobytes() == Y.tobytes()


def test_values_of_an_unknown_function_are_not_taken_for_those_of_another(tmp_path):
    path = tmp_path / "run.db"
    old_journal(path)
    with pytest.warns(RuntimeWarning, match="older version"):
        Journal(path, None).close()
    with Journal(path, None) as journal:
        assert Evaluator(f, 1, journal=journal)(X).n_new == len(X)  # which function the old values are of is not known
        assert Evaluator(f, 1, journal=journal)(X).n_new == 0
        assert Evaluator(f, 1, journal=journal, series="")(X).n_new == 0  # but the caller may vouch for it


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("pipes with a name are of POSIX")
    os.mkfifo(tmp_path / "run.db")
    for path in (tmp_path / "run.db", os.devnull):
        with pytest.raises(JournalError, match="is a device or a pipe, not a file; name another"):
            Journal(path, {"function": "exp"})
