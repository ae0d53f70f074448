"""The journal: a file in which every finished evaluation is safe before it is used.

One SQLite file in write-ahead mode with ``synchronous=FULL``: a commit has reached the disk when `Journal.record`
returns, so that neither ``kill -9`` nor a loss of power takes back what was recorded. The file is tagged with the
identity of the problem (measure, function, version) and refuses any other. Every row has a checksum: what a bad disk
has changed is never used.
"""

import hashlib
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate, _warnings
from .failures import words
from .identity import canonical
from .journal_file import JournalError, JournalFile, checksum

__all__ = ["Journal", "JournalError", "point_keys"]

FloatArray = NDArray[np.float64]


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
    fwbq.evaluation.journal_file.JournalError: ...function: "square" in the journal, "cube" here...
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: Mapping[str, Any] | None, *, timeout: float = 60.0
    ) -> None:
        self._file = JournalFile(path, identity, timeout)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def identity(self) -> dict[str, Any]:
        """What makes two runs the same problem."""
        return self._file.identity

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
        if row[3] != checksum(series, *row[:3]):
            raise self._file.damaged(f"the description of series {series!r} does not fit its checksum")
        return row[0], row[1], None if row[2] is None else bool(row[2])

    def _value(self, connection: sqlite3.Connection, series: str, point: bytes) -> bytes | None:
        """Return the value of a point; None when there is none, or one whose checksum does not fit."""
        row = connection.execute(
            "SELECT value, checksum FROM evaluation WHERE series=? AND point=?", (series, point)
        ).fetchone()
        if row is None:
            return None
        if row[1] != checksum(series, point, row[0]):
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
        with self._file.lock, self._file.explained("cannot be read"):
            connection = self._file.connection()
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
        gradient: bool = False,
    ) -> FloatArray:
        """Write evaluations down; when this returns they are on the disk.

        Parameters
        ----------
        points : (n, d) array
        values : (n,) or (n, m) array
            Finite; with `gradient` (n, 1 + d), each value followed by its gradient, which may be NaN.
        series : str
        vectorized : bool, optional
            How f is called, remembered with the first record of the series (see `finding`).
        minus_infinity : bool
            Whether -inf is a good value, as it is for a log-likelihood.
        gradient : bool
            Whether the rows are values with their gradients.

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
        y = _checked(values, x.shape, minus_infinity, gradient).astype("<f8")
        width = None if y.ndim == 1 else y.shape[1]
        with self._file.transaction("cannot be written") as connection:
            shape = self._shape(connection, series, x.shape[1])
            if shape is None:
                row = (series, x.shape[1], width, None if vectorized is None else int(vectorized))
                connection.execute("INSERT INTO series VALUES (?, ?, ?, ?, ?)", (*row, checksum(*row)))
            elif shape[0] != width:
                raise JournalError(
                    f"journal {str(self.path)!r}, series {series!r}: f returned {words(shape[0])} before and "
                    f"{words(width)} now; a changed f needs another `version` and another journal"
                )
            stored = y.copy()
            for i, key in enumerate(point_keys(x)):
                value = y[i].tobytes()
                if not connection.execute(
                    "INSERT OR IGNORE INTO evaluation (series, point, value, checksum) VALUES (?, ?, ?, ?)",
                    (series, key, value, checksum(series, key, value)),
                ).rowcount:
                    before = self._value(connection, series, key)
                    if before is not None:
                        stored[i] = _from_bytes(before, width)
                        continue
                    connection.execute(
                        "UPDATE evaluation SET value=?, checksum=? WHERE series=? AND point=?",
                        (value, checksum(series, key, value), series, key),
                    )
        return stored.astype(np.float64)

    def record_failures(self, points: ArrayLike, reasons: Sequence[str], series: str = "") -> None:
        """Write down why points failed, for `failures`; they stay to be evaluated."""
        x = _validate.points(points, "points")
        with self._file.transaction("cannot be written") as connection:
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
        with self._file.lock, self._file.explained("cannot be read"):
            connection = self._file.connection()
            shape = self._series_row(connection, series)
            if shape is None:
                raise KeyError(f"the journal has no series {series!r}; it has {self.series()}")
            rows = []
            for point, value, stored in connection.execute(
                "SELECT point, value, checksum FROM evaluation WHERE series=? ORDER BY id", (series,)
            ).fetchall():
                if stored == checksum(series, point, value):
                    rows.append((point, value))
                else:
                    self._warn_of_damage(series, point)
        dim, width, _ = shape
        points = np.array([np.frombuffer(row[0], "<f8") for row in rows], dtype=np.float64).reshape(len(rows), dim)
        values = np.array([_from_bytes(row[1], width) for row in rows], dtype=np.float64)
        return points, values

    def failures(self, series: str = "") -> list[tuple[FloatArray, str]]:
        """Return (point, reason) of every point that failed and has not succeeded since."""
        with self._file.lock, self._file.explained("cannot be read"):
            rows = self._file.connection().execute(
                "SELECT point, reason FROM failure WHERE series=? AND NOT EXISTS (SELECT 1 FROM evaluation "
                "WHERE evaluation.series = failure.series AND evaluation.point = failure.point)",
                (series,),
            )
            return [(np.frombuffer(point, "<f8").astype(np.float64), reason) for point, reason in rows]

    def finding(self, series: str = "") -> bool | None:
        """Return how f is called: True with (n, d), False with one point, None when the journal does not know."""
        with self._file.lock, self._file.explained("cannot be read"):
            row = self._series_row(self._file.connection(), series)
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
        text = canonical(identity)
        with self._file.transaction("cannot be written") as connection:
            known = connection.execute("SELECT series, checksum FROM integrand WHERE identity=?", (text,)).fetchone()
            if known is not None:
                if known[1] != checksum(known[0], text):
                    raise self._file.damaged(f"the function of series {known[0]!r} does not fit its checksum")
                return str(known[0])
            taken = connection.execute("SELECT name FROM series UNION SELECT series FROM integrand").fetchone()
            # A series that stands there already has another function, or one that is not known.
            name = "" if alone or taken is None else hashlib.sha256(text.encode()).hexdigest()[:24]
            connection.execute("INSERT OR REPLACE INTO integrand VALUES (?, ?, ?)", (name, text, checksum(name, text)))
        return name

    def series(self) -> list[str]:
        """Return the names of the series."""
        with self._file.lock, self._file.explained("cannot be read"):
            return [row[0] for row in self._file.connection().execute("SELECT name FROM series ORDER BY name")]

    def __len__(self) -> int:
        with self._file.lock, self._file.explained("cannot be read"):
            return int(self._file.connection().execute("SELECT count(*) FROM evaluation").fetchone()[0])

    def __repr__(self) -> str:
        state = "closed" if self._file.closed else f"{len(self)} evaluations"
        return f"Journal({str(self.path)!r}, {state})"

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _checked(values: ArrayLike, shape: tuple[int, ...], minus_infinity: bool, gradient: bool) -> FloatArray:
    """Return rows to be recorded, for points of this shape."""
    check = _validate.values_or_minus_infinity if minus_infinity else _validate.values
    n, dim = shape
    if not gradient:
        return check(values, "values", n)
    rows = np.asarray(values, dtype=np.float64)
    if rows.shape != (n, 1 + dim):
        raise ValueError(
            f"`values` with `gradient=True` must have shape ({n}, {1 + dim}), a value and its {dim} derivatives for "
            f"each point, got {rows.shape}"
        )
    return np.column_stack([check(rows[:, 0], "values", n), rows[:, 1:]])


def _from_bytes(blob: bytes, width: int | None) -> FloatArray:
    value = np.frombuffer(blob, "<f8")
    return value.reshape(()) if width is None else value
