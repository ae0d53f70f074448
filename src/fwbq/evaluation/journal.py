"""The journal: a file in which every finished evaluation is safe before it is used.

One SQLite file in write-ahead mode with ``synchronous=FULL``: a commit has reached the disk when `Journal.record`
returns, so that neither ``kill -9`` nor a loss of power takes back what was recorded. The file is tagged with the
identity of the problem (measure, function, version) and refuses any other. Every row has a checksum: what a bad disk
has changed is never used.
"""

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate, _warnings

__all__ = ["Journal", "JournalError", "point_keys"]

FloatArray = NDArray[np.float64]

_APPLICATION_ID = 0x66776271  # the letters "fwbq", in SQLite's own field for "whose file is this"
_FORMAT = 2  # 1 had neither checksums nor the table of integrands
_HEADER = b"SQLite format 3\x00"

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE series (
    name TEXT PRIMARY KEY,
    dim INTEGER NOT NULL,
    width INTEGER,          -- NULL: f returns a number; m: a vector of m numbers
    vectorized INTEGER,     -- NULL: not known; 0: f takes one point; 1: f takes (n, dim)
    checksum BLOB           -- of the other columns
) WITHOUT ROWID;
CREATE TABLE evaluation (
    id INTEGER PRIMARY KEY,
    series TEXT NOT NULL REFERENCES series (name),
    point BLOB NOT NULL,    -- dim float64, little-endian, no negative zero
    value BLOB NOT NULL,    -- 1 or m float64, little-endian
    checksum BLOB,          -- of series, point and value
    UNIQUE (series, point)
);
CREATE TABLE integrand (    -- which function a series belongs to, where the identity of the file does not say it
    series TEXT PRIMARY KEY,
    identity TEXT NOT NULL,
    checksum BLOB           -- of the other columns
) WITHOUT ROWID;
CREATE TABLE failure (
    series TEXT NOT NULL,
    point BLOB NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (series, point)
) WITHOUT ROWID;
"""

# From format 1 to 2; the checksums of what is there already are added row by row.
_UPGRADE = """
ALTER TABLE series ADD COLUMN checksum BLOB;
ALTER TABLE evaluation ADD COLUMN checksum BLOB;
CREATE TABLE integrand (series TEXT PRIMARY KEY, identity TEXT NOT NULL, checksum BLOB) WITHOUT ROWID;
"""

# What SQLite reports -> what it means to the person in front of it. Matched by prefix of the error's symbolic name.
_MEANINGS = {
    "SQLITE_FULL": "the disk is full; free some space and start again",
    "SQLITE_READONLY": "the file or its directory is read-only; make both writable, or name another place",
    "SQLITE_CANTOPEN": "the file cannot be opened; its directory must exist and be writable",
    "SQLITE_PERM": "the file may not be opened by this user",
    "SQLITE_BUSY": "another process keeps it locked; wait for that process, or raise `timeout`",
    "SQLITE_PROTOCOL": "it cannot be locked; keep the journal on a local disk, not on a network file system",
    "SQLITE_CORRUPT": "the file is damaged; move it away (`sqlite3 FILE .recover` may save what is left)",
    "SQLITE_NOTADB": "the file is not a journal (not an SQLite database); it was left as it is",
    "SQLITE_IOERR": "the disk reports an error; check its space, its quota and its health",
}


class JournalError(RuntimeError):
    """A journal cannot be opened, belongs to another problem, or cannot be written.

    What had been recorded before stays recorded.
    """


def point_keys(points: FloatArray) -> list[bytes]:
    """Return the exact bytes of each point, the key under which it is remembered.

    Two points are the same when their float64 bytes are, except that -0.0 counts as 0.0: the two are equal numbers,
    and a design that mirrors its points must not pay for the origin twice. No rounding: a point that differs in the
    last bit is another point.

    Parameters
    ----------
    points : (n, d) array

    Returns
    -------
    list of n bytes objects of length 8 d

    Examples
    --------
    >>> import numpy as np
    >>> first, second, third = point_keys(np.array([[0.0], [-0.0], [5e-324]]))
    >>> first == second, first == third
    (True, False)
    """
    return [row.tobytes() for row in np.ascontiguousarray(points + 0.0, dtype="<f8")]


def _canonical(identity: Mapping[str, Any]) -> str:
    try:
        return json.dumps(identity, sort_keys=True, separators=(",", ":"))
    except TypeError as error:
        raise TypeError(f"`identity` must consist of JSON values (str, float, int, list, dict): {error}") from error


def _short(value: Any, limit: int = 80) -> str:
    text = json.dumps(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _differences(there: Any, here: Any, path: str = "") -> Iterator[str]:
    """Say where two JSON values differ, as `path: theirs, not ours`."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted(there.keys() | here.keys()):
            name = f"{path}.{key}" if path else key
            if key not in here:
                yield f"{name}: {_short(there[key])} in the journal, absent here"
            elif key not in there:
                yield f"{name}: absent in the journal, {_short(here[key])} here"
            else:
                yield from _differences(there[key], here[key], name)
    elif (
        isinstance(there, list)
        and isinstance(here, list)
        and len(there) == len(here)
        and all(isinstance(each, dict) for each in (*there, *here))
    ):
        for i, (one, other) in enumerate(zip(there, here, strict=True)):
            yield from _differences(one, other, f"{path}[{i}]")
    elif _canonical({"": there}) != _canonical({"": here}):
        yield f"{path}: {_short(there)} in the journal, {_short(here)} here"


class Journal:
    """An append-only file of evaluations of one problem.

    Parameters
    ----------
    path : path-like
        The file; created when absent (its directory must exist). SQLite keeps ``<path>-wal`` and ``<path>-shm``
        beside it while it is open or after a crash: move or copy the three together.
    identity : mapping, optional
        What makes two runs the same problem, as JSON values: usually the measure's ``spec()``, the function's tag and
        its version. An existing journal of another identity is refused, and the error says what differs. None takes an
        existing journal as it is, to read it.
    timeout : float
        Seconds to wait for another process that writes to the same journal.

    Raises
    ------
    JournalError
        The path is a directory, not a journal, damaged, read-only, another problem's, or written by a newer format.

    Notes
    -----
    *Series.* A journal holds one or several named series, one per integrand; `series=""` is the only one of a plain
    integral. The dimension of the points and the shape of the values are fixed by the first record of a series.

    *Two processes* may use one journal: each record is one transaction, the first writer wins, and `record` returns
    what is stored, so that both go on with the same numbers.

    *Several functions* may share one open journal: a caller who knows the identity of its function asks `series_for`
    where that function's values are.

    *Damage.* A row whose checksum does not fit is not used: `get` reports it as not found, with a warning that names
    the point, and the next `record` of the point replaces it. A file written before there were checksums gets them when
    it is opened.

    *Failures* are written down for the reader (`failures`), never as values: a point that failed is tried again by the
    next run.

    *Where.* On a local disk: SQLite's write-ahead mode needs locks and shared memory that network file systems do not
    give. Only the process that calls `record` touches the file, never the workers of an executor.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.db"
    >>> with Journal(path, {"function": "square", "version": "1"}) as journal:
    ...     _ = journal.record(np.array([[2.0], [3.0]]), np.array([4.0, 9.0]))
    >>> with Journal(path, {"function": "square", "version": "1"}) as journal:
    ...     found, values = journal.get(np.array([[3.0], [5.0]]))
    >>> found.tolist(), float(values[0])
    ([True, False], 9.0)
    >>> Journal(path, {"function": "cube", "version": "1"})
    Traceback (most recent call last):
    ...
    fwbq.evaluation.journal.JournalError: ...function: "square" in the journal, "cube" here...
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: Mapping[str, Any] | None, *, timeout: float = 60.0
    ) -> None:
        self.path = Path(path)
        self._timeout = _validate.positive(timeout, "timeout")
        # A wide lock: sqlite3 lets several threads share a connection, but not a transaction.
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._look_at_file(must_exist=identity is None)
        with self._explained("cannot be opened"):
            self._connection = sqlite3.connect(
                str(self.path.absolute()), timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
        try:
            self._prepare(identity)
        except BaseException:
            self.close()
            raise

    # -- opening ------------------------------------------------------------------------------------------------------

    def _look_at_file(self, must_exist: bool) -> None:
        """Refuse what SQLite would misread, before it can touch it."""
        try:
            with self.path.open("rb") as file:
                head = file.read(18)
                size = file.seek(0, os.SEEK_END)
        except FileNotFoundError as error:
            if must_exist:
                raise JournalError(
                    f"journal {str(self.path)!r}: there is no such file; check the path, or give "
                    "`identity` to begin one"
                ) from error
            if not self.path.parent.is_dir():
                where = str(self.path.parent)
                raise JournalError(
                    f"journal {str(self.path)!r}: the directory {where!r} does not exist; create it first"
                ) from error
            return
        except IsADirectoryError as error:
            raise JournalError(f"journal {str(self.path)!r} is a directory; name a file in it") from error
        except OSError as error:
            raise JournalError(f"journal {str(self.path)!r} cannot be read: {error}") from error
        if not head:  # nothing was written yet; another process may be about to
            return
        if not head.startswith(_HEADER):
            raise JournalError(f"journal {str(self.path)!r}: {_MEANINGS['SQLITE_NOTADB']}")
        # SQLite reads a page that is cut short as if zeros followed, which may be somebody's values. Only a crash that
        # left a write-ahead log may leave such a page, and then the log holds it whole.
        page = int.from_bytes(head[16:18], "big") or 1
        if size % (65536 if page == 1 else page) and not Path(f"{self.path}-wal").exists():
            raise JournalError(f"journal {str(self.path)!r}: {_MEANINGS['SQLITE_CORRUPT']} (cut short)")

    def _prepare(self, identity: Mapping[str, Any] | None) -> None:
        with self._explained("cannot be opened"):
            connection = self._open()
            self._refuse_foreign(connection)
            self._use_write_ahead(connection)
            connection.execute("PRAGMA synchronous=FULL")
        with self._transaction("cannot be opened") as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                self._create(connection, identity)
            elif version < _FORMAT:
                self._upgrade(connection)
            # A write that changes nothing: a read-only file is found out now, not with the first result.
            connection.execute("UPDATE meta SET value = value")
        with self._explained("cannot be read"):
            stored = dict(self._open().execute("SELECT key, value FROM meta"))
            damage = self._open().execute("PRAGMA quick_check(1)").fetchone()[0]
        if damage != "ok":
            raise self._damaged(damage)
        text = stored.get("identity", "")
        if hashlib.sha256(text.encode()).hexdigest() != stored.get("digest"):
            raise self._damaged("the identity of the problem does not fit its checksum")
        self.identity: dict[str, Any] = json.loads(text)
        if identity is not None and _canonical(identity) != text:
            raise self._another_problem(json.loads(_canonical(identity)))

    def _another_problem(self, identity: dict[str, Any]) -> JournalError:
        differences = list(_differences(self.identity, identity))
        shown = "; ".join(differences[:6]) + (f"; and {len(differences) - 6} more" if len(differences) > 6 else "")
        there, here = self.identity.get("function"), identity.get("function")
        if isinstance(there, str) and isinstance(here, dict):
            remedy = (
                f"It was made with `tag`={there!r}, or by a version of fwbq that knew functions by their names only: "
                f"if f is unchanged, pass tag={there!r}; otherwise name another file."
            )
        else:
            remedy = (
                "Name another file, or give the call the journal was made with. If f counts its calls or keeps other "
                "notes that do not change its values, pass `tag`, a name of your own for f."
            )
        return JournalError(f"journal {str(self.path)!r} belongs to another problem ({shown}). {remedy}")

    def _damaged(self, how: str) -> JournalError:
        return JournalError(f"journal {str(self.path)!r}: {_MEANINGS['SQLITE_CORRUPT']} ({how})")

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        # One transaction, so that the three are of one moment: another process may be creating the journal right now.
        connection.execute("BEGIN")
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        connection.execute("COMMIT")
        if application == _APPLICATION_ID and version > _FORMAT:
            raise JournalError(
                f"journal {str(self.path)!r} has format {version}, this version of fwbq reads up to {_FORMAT}; "
                "use the newer fwbq that wrote it"
            )
        if application != _APPLICATION_ID and (application or version or tables):
            raise JournalError(
                f"journal {str(self.path)!r} is an SQLite database of another program; it was left as it is"
            )

    def _use_write_ahead(self, connection: sqlite3.Connection) -> None:
        # Changing the mode of a new file does not wait for a process that does the same: SQLite answers "busy" at once.
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
                continue
            break
        if mode != "wal":
            raise JournalError(
                f"journal {str(self.path)!r}: SQLite's write-ahead mode is not available here (mode {mode!r}); "
                "keep the journal on a local disk, not on a network file system"
            )

    def _create(self, connection: sqlite3.Connection, identity: Mapping[str, Any] | None) -> None:
        if identity is None:
            raise JournalError(f"journal {str(self.path)!r} is empty; `identity` is needed to begin one")
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("identity", _canonical(identity)), ("digest", _digest(identity))]
        )
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={_FORMAT}")

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        for statement in filter(str.strip, _UPGRADE.split(";\n")):
            connection.execute(statement)
        for name, dim, width, vectorized in connection.execute(
            "SELECT name, dim, width, vectorized FROM series"
        ).fetchall():
            connection.execute(
                "UPDATE series SET checksum=? WHERE name=?", (_checksum(name, dim, width, vectorized), name)
            )
        for row, series, point, value in connection.execute(
            "SELECT id, series, point, value FROM evaluation"
        ).fetchall():
            connection.execute("UPDATE evaluation SET checksum=? WHERE id=?", (_checksum(series, point, value), row))
        connection.execute(f"PRAGMA user_version={_FORMAT}")

    # -- talking to SQLite --------------------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise JournalError(f"journal {str(self.path)!r} is closed; open it again with Journal(path, identity)")
        if os.getpid() != self._process:
            # An SQLite connection must not cross a fork: two processes would believe they hold the same locks.
            raise JournalError(f"journal {str(self.path)!r} was opened by another process; open it again in this one")
        return self._connection

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:  # a text that SQLite gave back, of the schema or of a row
            raise self._damaged(f"a text in it cannot be read: {error}") from error
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            meaning = next((text for key, text in _MEANINGS.items() if name.startswith(key)), "SQLite failed")
            raise JournalError(f"journal {str(self.path)!r} {what}: {meaning} ({error})") from error

    @contextmanager
    def _transaction(self, what: str) -> Iterator[sqlite3.Connection]:
        with self._lock, self._explained(what):
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _shape(self, connection: sqlite3.Connection, series: str, dim: int) -> tuple[int | None, bool | None] | None:
        """Return (width, vectorized) of a series, or None when it has no record yet."""
        row = self._series_row(connection, series)
        if row is None:
            return None
        if row[0] != dim:
            raise JournalError(
                f"journal {str(self.path)!r}, series {series!r}: its points have {row[0]} coordinates, these have "
                f"{dim}; name another file, or another series"
            )
        return row[1], row[2]

    def _series_row(self, connection: sqlite3.Connection, series: str) -> tuple[int, int | None, bool | None] | None:
        """Return (dim, width, vectorized) of a series, or None when it has no record yet."""
        row = connection.execute(
            "SELECT dim, width, vectorized, checksum FROM series WHERE name=?", (series,)
        ).fetchone()
        if row is None:
            return None
        if row[3] != _checksum(series, *row[:3]):
            raise self._damaged(f"the description of series {series!r} does not fit its checksum")
        return row[0], row[1], None if row[2] is None else bool(row[2])

    def _value(self, connection: sqlite3.Connection, series: str, point: bytes) -> bytes | None:
        """Return the value of a point; None when there is none, or one whose checksum does not fit."""
        row = connection.execute(
            "SELECT value, checksum FROM evaluation WHERE series=? AND point=?", (series, point)
        ).fetchone()
        if row is None:
            return None
        if row[1] != _checksum(series, point, row[0]):
            self._warn_of_damage(series, point)
            return None
        return bytes(row[0])

    def _warn_of_damage(self, series: str, point: bytes) -> None:
        name = f", series {series!r}" if series else ""
        at = np.frombuffer(point, "<f8").tolist() if len(point) % 8 == 0 else point.hex()
        _warnings.warn(
            f"journal {str(self.path)!r}{name}: the value at point {at} is damaged (its checksum does not fit) and is "
            "not used; f is evaluated there again. Check the disk.",
        )

    # -- use ----------------------------------------------------------------------------------------------------------

    def get(self, points: ArrayLike, series: str = "") -> tuple[NDArray[np.bool_], FloatArray]:
        """Look points up.

        Parameters
        ----------
        points : (n, d) array
        series : str

        Returns
        -------
        found : (n,) bool array
        values : (n,) or (n, m) array
            NaN in the rows that were not found.
        """
        x = _validate.points(points, "points")
        found = np.zeros(len(x), dtype=bool)
        with self._lock, self._explained("cannot be read"):
            connection = self._open()
            shape = self._shape(connection, series, x.shape[1])
            if shape is None:
                return found, np.full(len(x), np.nan)
            values = np.full(len(x) if shape[0] is None else (len(x), shape[0]), np.nan)
            for i, key in enumerate(point_keys(x)):
                value = self._value(connection, series, key)
                if value is not None:
                    found[i] = True
                    values[i] = _from_bytes(value, shape[0])
        return found, values

    def record(
        self,
        points: ArrayLike,
        values: ArrayLike,
        series: str = "",
        *,
        vectorized: bool | None = None,
        minus_infinity: bool = False,
    ) -> FloatArray:
        """Write evaluations down; when this returns they are on the disk.

        Parameters
        ----------
        points : (n, d) array
        values : (n,) or (n, m) array
            Finite.
        series : str
        vectorized : bool, optional
            How f is called, remembered with the first record of the series (see `finding`).
        minus_infinity : bool
            Whether -inf is a good value, as it is for a log-likelihood.

        Returns
        -------
        (n,) or (n, m) array
            What the journal holds now: the given values, except where a value had been recorded before.

        Raises
        ------
        JournalError
            Nothing of this call is recorded then; what was recorded before is untouched.
        """
        x = _validate.points(points, "points")
        check = _validate.values_or_minus_infinity if minus_infinity else _validate.values
        y = check(values, "values", len(x)).astype("<f8")
        width = None if y.ndim == 1 else y.shape[1]
        with self._transaction("cannot be written") as connection:
            shape = self._shape(connection, series, x.shape[1])
            if shape is None:
                row = (series, x.shape[1], width, None if vectorized is None else int(vectorized))
                connection.execute("INSERT INTO series VALUES (?, ?, ?, ?, ?)", (*row, _checksum(*row)))
            elif shape[0] != width:
                raise JournalError(
                    f"journal {str(self.path)!r}, series {series!r}: f returned {_words(shape[0])} before and "
                    f"{_words(width)} now; a changed f needs another `version` and another journal"
                )
            stored = y.copy()
            for i, key in enumerate(point_keys(x)):
                value = y[i].tobytes()
                if not connection.execute(
                    "INSERT OR IGNORE INTO evaluation (series, point, value, checksum) VALUES (?, ?, ?, ?)",
                    (series, key, value, _checksum(series, key, value)),
                ).rowcount:
                    before = self._value(connection, series, key)
                    if before is not None:
                        stored[i] = _from_bytes(before, width)
                        continue
                    connection.execute(
                        "UPDATE evaluation SET value=?, checksum=? WHERE series=? AND point=?",
                        (value, _checksum(series, key, value), series, key),
                    )
        return stored.astype(np.float64)

    def record_failures(self, points: ArrayLike, reasons: Sequence[str], series: str = "") -> None:
        """Write down why points failed, for `failures`; they stay to be evaluated."""
        x = _validate.points(points, "points")
        with self._transaction("cannot be written") as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO failure VALUES (?, ?, ?)",
                [(series, key, reason) for key, reason in zip(point_keys(x), reasons, strict=True)],
            )

    def evaluations(self, series: str = "") -> tuple[FloatArray, FloatArray]:
        """Return all points and values of a series in the order in which they were recorded.

        Returns
        -------
        points : (n, d) array
        values : (n,) or (n, m) array
        """
        with self._lock, self._explained("cannot be read"):
            connection = self._open()
            shape = self._series_row(connection, series)
            if shape is None:
                raise KeyError(f"the journal has no series {series!r}; it has {self.series()}")
            rows = []
            for point, value, checksum in connection.execute(
                "SELECT point, value, checksum FROM evaluation WHERE series=? ORDER BY id", (series,)
            ).fetchall():
                if checksum == _checksum(series, point, value):
                    rows.append((point, value))
                else:
                    self._warn_of_damage(series, point)
        dim, width, _ = shape
        points = np.array([np.frombuffer(row[0], "<f8") for row in rows], dtype=np.float64).reshape(len(rows), dim)
        values = np.array([_from_bytes(row[1], width) for row in rows], dtype=np.float64)
        return points, values

    def failures(self, series: str = "") -> list[tuple[FloatArray, str]]:
        """Return (point, reason) of every point that failed and has not succeeded since."""
        with self._lock, self._explained("cannot be read"):
            rows = self._open().execute(
                "SELECT point, reason FROM failure WHERE series=? AND NOT EXISTS (SELECT 1 FROM evaluation "
                "WHERE evaluation.series = failure.series AND evaluation.point = failure.point)",
                (series,),
            )
            return [(np.frombuffer(point, "<f8").astype(np.float64), reason) for point, reason in rows]

    def finding(self, series: str = "") -> bool | None:
        """Return how f is called: True with (n, d), False with one point, None when the journal does not know."""
        with self._lock, self._explained("cannot be read"):
            row = self._series_row(self._open(), series)
        return None if row is None else row[2]

    def series_for(self, identity: Mapping[str, Any], *, alone: bool = False) -> str:
        """Return the series that holds the evaluations of one function, a new one for a function not met before.

        Parameters
        ----------
        identity : mapping
            What makes the function this one and no other, as JSON values.
        alone : bool
            Whether the identity of the file says already which function it holds: the series is then ``""``.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> with Journal(pathlib.Path(tempfile.mkdtemp()) / "run.db", {}) as journal:
        ...     first, second = (journal.series_for({"function": name}) for name in ("square", "cube"))
        ...     first == second, first == journal.series_for({"function": "square"})
        (False, True)
        """
        text = _canonical(identity)
        with self._transaction("cannot be written") as connection:
            known = connection.execute("SELECT series, checksum FROM integrand WHERE identity=?", (text,)).fetchone()
            if known is not None:
                if known[1] != _checksum(known[0], text):
                    raise self._damaged(f"the function of series {known[0]!r} does not fit its checksum")
                return str(known[0])
            taken = connection.execute("SELECT name FROM series UNION SELECT series FROM integrand").fetchone()
            # A series that stands there already has another function, or one that is not known.
            name = "" if alone or taken is None else hashlib.sha256(text.encode()).hexdigest()[:24]
            connection.execute("INSERT OR REPLACE INTO integrand VALUES (?, ?, ?)", (name, text, _checksum(name, text)))
        return name

    def series(self) -> list[str]:
        """Return the names of the series."""
        with self._lock, self._explained("cannot be read"):
            return [row[0] for row in self._open().execute("SELECT name FROM series ORDER BY name")]

    def __len__(self) -> int:
        with self._lock, self._explained("cannot be read"):
            return int(self._open().execute("SELECT count(*) FROM evaluation").fetchone()[0])

    def __repr__(self) -> str:
        state = "closed" if self._connection is None else f"{len(self)} evaluations"
        return f"Journal({str(self.path)!r}, {state})"

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        with self._lock:
            if self._connection is not None and os.getpid() == self._process:
                self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _digest(identity: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(identity).encode()).hexdigest()


def _checksum(*columns: str | bytes | int | None) -> bytes:
    total = hashlib.sha256()
    for column in columns:
        data = column if isinstance(column, bytes) else repr(column).encode()
        total.update(len(data).to_bytes(8, "little") + data)
    return total.digest()[:16]


def _from_bytes(blob: bytes, width: int | None) -> FloatArray:
    value = np.frombuffer(blob, "<f8")
    return value.reshape(()) if width is None else value


def _words(width: int | None) -> str:
    return "a number" if width is None else f"a vector of {width}"
