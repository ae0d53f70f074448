"""The SQLite file of a journal: opening it, its format and identity, transactions, errors in words."""

import hashlib
import json
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import _validate, _warnings
from .identity import canonical, differences, digest

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
    # Of statements that never change: a table or a column that they name is not there.
    "SQLITE_ERROR": "the file is damaged; move it away (`sqlite3 FILE .recover` may save what is left)",
    "SQLITE_NOTADB": "the file is not a journal (not an SQLite database); it was left as it is",
    "SQLITE_IOERR": "the disk reports an error; check its space, its quota and its health",
}


class JournalError(RuntimeError):
    """A journal cannot be opened, belongs to another problem, or cannot be written.

    What had been recorded before stays recorded.
    """


class JournalFile:
    """An open journal file of one problem: the right format, the right identity, not damaged.

    Parameters
    ----------
    path, identity, timeout
        As for `Journal`.
    """

    def __init__(self, path: str | os.PathLike[str], identity: Mapping[str, Any] | None, timeout: float) -> None:
        self.path = Path(path)
        self._timeout = _validate.positive(timeout, "timeout")
        # A wide lock: sqlite3 lets several threads share a connection, but not a transaction.
        self.lock = threading.RLock()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._look_at_file(must_exist=identity is None)
        with self.explained("cannot be opened"):
            self._connection = sqlite3.connect(
                str(self.path.absolute()), timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
        try:
            self._prepare(identity)
        except BaseException:
            self.close()
            raise

    def _look_at_file(self, must_exist: bool) -> None:
        """Refuse what SQLite would misread, before it can touch it."""
        try:
            mode = self.path.stat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a pipe would be waited for
                raise JournalError(f"journal {str(self.path)!r} is a device or a pipe, not a file; name another")
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
        with self.explained("cannot be opened"):
            connection = self.connection()
            self._refuse_foreign(connection)
            self._use_write_ahead(connection)
            connection.execute("PRAGMA synchronous=FULL")
        with self.transaction("cannot be opened") as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                self._create(connection, identity)
            elif version < _FORMAT:
                self._upgrade(connection)
            # A write that changes nothing: a read-only file is found out now, not with the first result.
            connection.execute("UPDATE meta SET value = value")
        if 0 < version < _FORMAT:
            _warnings.warn(
                f"journal {str(self.path)!r} was begun by an older version of fwbq, which kept no checksums: its "
                "values were taken as they are, and have checksums from now on"
            )
        self._check()
        with self.explained("cannot be read"):
            stored = dict(self.connection().execute("SELECT key, value FROM meta"))
        text = str(stored.get("identity", ""))
        if hashlib.sha256(text.encode()).hexdigest() != stored.get("digest"):
            raise self.damaged("the identity of the problem does not fit its checksum")
        self.identity: dict[str, Any] = json.loads(text)
        if identity is not None and canonical(identity) != text:
            raise self._another_problem(json.loads(canonical(identity)))

    def _check(self) -> None:
        """Refuse a file whose tables are damaged; make a damaged index, by which points are found, anew.

        The whole check, not the quick one: a point that the index has lost would be evaluated again without a word. It
        takes 2 s for a million rows.
        """
        damage = self._damage()
        if damage is None:
            return
        try:
            with self.transaction("cannot be mended") as connection:
                connection.execute("REINDEX")
        except JournalError as error:
            raise self.damaged(damage) from error
        if self._damage() is not None:
            raise self.damaged(damage)
        _warnings.warn(
            f"journal {str(self.path)!r} was damaged ({damage}) and has been mended: an evaluation that was lost is "
            "made again, every other one is kept. Check the disk."
        )

    def _damage(self) -> str | None:
        """Return what SQLite finds wrong with the file; None when that is nothing."""
        with self.explained("cannot be read"):
            found = str(self.connection().execute("PRAGMA integrity_check(1)").fetchone()[0])
        return None if found == "ok" else found

    def _another_problem(self, identity: dict[str, Any]) -> JournalError:
        found = list(differences(self.identity, identity))
        shown = "; ".join(found[:6]) + (f"; and {len(found) - 6} more" if len(found) > 6 else "")
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

    def damaged(self, how: str) -> JournalError:
        """Return the error for a file that is damaged."""
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
            "INSERT INTO meta VALUES (?, ?)", [("identity", canonical(identity)), ("digest", digest(identity))]
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
                "UPDATE series SET checksum=? WHERE name=?", (checksum(name, dim, width, vectorized), name)
            )
        for row, series, point, value in connection.execute(
            "SELECT id, series, point, value FROM evaluation"
        ).fetchall():
            connection.execute("UPDATE evaluation SET checksum=? WHERE id=?", (checksum(series, point, value), row))
        connection.execute(f"PRAGMA user_version={_FORMAT}")

    def connection(self) -> sqlite3.Connection:
        """Return the open connection; an error when the file is closed, or was opened by another process."""
        if self._connection is None:
            raise JournalError(f"journal {str(self.path)!r} is closed; open it again with Journal(path, identity)")
        if os.getpid() != self._process:
            # An SQLite connection must not cross a fork: two processes would believe they hold the same locks.
            raise JournalError(f"journal {str(self.path)!r} was opened by another process; open it again in this one")
        return self._connection

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Turn errors of SQLite into a `JournalError` that says what could not be done, why, and the remedy."""
        try:
            yield
        except UnicodeDecodeError as error:  # a text that SQLite gave back, of the schema or of a row
            raise self.damaged(f"a text in it cannot be read: {error}") from error
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            if "Could not decode to UTF-8" in str(error):  # Python's words; bytes whose type was changed to text
                raise self.damaged("a text in it cannot be read") from error
            meaning = next((text for key, text in _MEANINGS.items() if name.startswith(key)), "SQLite failed")
            raise JournalError(f"journal {str(self.path)!r} {what}: {meaning} ({error})") from error

    @contextmanager
    def transaction(self, what: str) -> Iterator[sqlite3.Connection]:
        """Do all that follows or nothing of it; when this ends it is on the disk."""
        with self.lock, self.explained(what):
            connection = self.connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if self._connection is connection and connection.in_transaction:  # it may be closed by now
                    connection.execute("ROLLBACK")
                raise

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._connection is None

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        with self.lock:
            if self._connection is not None and os.getpid() == self._process:
                self._connection.close()
            self._connection = None


def checksum(*columns: str | bytes | int | None) -> bytes:
    """Return the checksum of a row, given its columns."""
    total = hashlib.sha256()
    for column in columns:
        data = column if isinstance(column, bytes) else repr(column).encode()
        total.update(len(data).to_bytes(8, "little") + data)
    return total.digest()[:16]
