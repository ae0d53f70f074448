"""What is known of f: its values, in memory and in the journal, and the points at which it failed."""

import numpy as np
from numpy.typing import NDArray

from .evaluations import Returns
from .failures import Failure, words
from .journal import Journal
from .journal_file import JournalError

FloatArray = NDArray[np.float64]


class Known:
    """What f returned, and where it failed, by the exact bytes of the point.

    Parameters
    ----------
    returns : Returns
        What f returns, and as which row of numbers it is kept.

    Attributes
    ----------
    values : dict of bytes to array
        The row of each point.
    failed : dict of bytes to Failure
        The points that were skipped.
    unrecorded : dict of bytes to array
        Rows that a full disk kept out of the journal.
    width : int or None
        Numbers in a row; None for a plain number, and as long as no value is known.
    """

    def __init__(self, returns: Returns) -> None:
        self.values: dict[bytes, FloatArray] = {}
        self.failed: dict[bytes, Failure] = {}
        self.unrecorded: dict[bytes, FloatArray] = {}
        self.returns = returns
        self.width = returns.width
        self._width_known = self.width is not None
        self.journal: Journal | None = None
        self.series = ""

    def fits(self, value: FloatArray) -> bool:
        """Let the first value say what f returns; return whether this value agrees."""
        width = None if value.ndim == 0 else len(value)
        if not self._width_known:
            self.width, self._width_known = width, True
        return self.width == width

    def look_up(self, x: FloatArray, keys: list[bytes]) -> NDArray[np.bool_]:
        """Take over what the journal holds at points (n, d); return which of them it has."""
        if self.journal is None or not len(x):
            return np.zeros(len(x), dtype=bool)
        found, values = self.journal.get(x, self.series)
        if found.any():
            if not self.fits(values[found][0]):
                raise JournalError(
                    f"journal {str(self.journal.path)!r}, series {self.series!r}: it holds "
                    f"{words(None if values.ndim == 1 else values.shape[1])} for each point, and f returns "
                    f"{words(self.width)} now; a changed f needs another `version` and another journal"
                )
            self.values.update((keys[i], values[i]) for i in np.flatnonzero(found))
        return found

    def keep(self, rows: dict[bytes, FloatArray], vectorized: bool | None) -> None:
        """Record finished evaluations, then remember them; in this order, so that nothing is used before it is safe."""
        if not rows:
            return
        if self.journal is not None:
            x = np.array([np.frombuffer(key, "<f8") for key in rows])
            try:
                stored = self.journal.record(
                    x, np.array(list(rows.values())), self.series, vectorized=vectorized,
                    minus_infinity=self.returns.minus_infinity, gradient=self.returns.gradient,
                )  # fmt: skip
            except BaseException:
                self.unrecorded.update(rows)
                raise
            rows = dict(zip(rows, stored, strict=True))
        self.values.update(rows)

    def flush(self, vectorized: bool | None) -> None:
        """Write down what a full disk kept out of the journal."""
        if self.unrecorded:
            held, self.unrecorded = self.unrecorded, {}
            self.keep(held, vectorized)
