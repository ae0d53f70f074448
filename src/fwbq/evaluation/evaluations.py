"""What an evaluation brings: what f may return, the row of numbers that is kept of it, and the values of a batch."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .failures import Failure
from .returned import as_array, without_lone_column

FloatArray = NDArray[np.float64]


class BadResult(TypeError):
    """What f returned is not what it is to return; the message says how."""


@dataclass(frozen=True)
class Returns:
    """What f returns at a point, and the row of numbers that is kept of it.

    A number or a vector of m numbers is kept as it is. A value with its gradient is kept as one row of 1 + d numbers,
    in memory and in the journal; the last d are NaN where the gradient is not known.

    Parameters
    ----------
    dim : int
        The number of coordinates d.
    minus_infinity : bool
        Whether -inf is a good value, as it is for a log likelihood.
    gradient : bool
        Whether f returns pairs (value, gradient).

    Examples
    --------
    >>> Returns(2, gradient=True).rows(([1.0, 2.0], [[3.0, 4.0], [np.nan, 5.0]]), 2).tolist()
    [[1.0, 3.0, 4.0], [2.0, nan, nan]]
    """

    dim: int
    minus_infinity: bool = False
    gradient: bool = False

    @property
    def width(self) -> int | None:
        """Number of numbers in a row, where f is not free to choose it; otherwise None."""
        return 1 + self.dim if self.gradient else None

    @property
    def words(self) -> tuple[str, str]:
        """What f returns, in symbols: given (n, d) points, and given one point (d,)."""
        return ("((n,), (n, d))", "(float, (d,))") if self.gradient else ("(n,) or (n, m)", "float or (m,)")

    def rows(self, given: Any, n: int | None) -> FloatArray:
        """Return a copy of what f returned as rows of float64.

        Parameters
        ----------
        given
            What f returned.
        n : int or None
            For how many points; None for one point that was given as (d,).

        Returns
        -------
        (n,) or (n, m) array
            For n = None, () or (m,).

        Raises
        ------
        BadResult
        """
        if self.gradient:
            return self._with_gradient(given, n)
        array = _numbers(given)
        fits = array.ndim <= 1 if n is None else array.ndim in (1, 2) and len(array) == n
        if not fits or array.shape[-1:] == (0,):
            expected = "a number or a vector (m,)" if n is None else f"({n},) or ({n}, m)"
            raise BadResult(f"it returned shape {array.shape} where {expected} was expected")
        return without_lone_column(array, n)

    def _with_gradient(self, given: Any, n: int | None) -> FloatArray:
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise BadResult(f"it returned {_kind(given)} where {self._expected(n)}")
        value, gradient = _numbers(given[0], " as value"), _numbers(given[1], " as gradient")
        if n is None and value.shape == (1,):
            value = value[0]
        before = () if n is None else (n,)
        if value.shape != before or gradient.shape != (*before, self.dim):
            raise BadResult(f"it returned shapes {value.shape} and {gradient.shape} where {self._expected(n)}")
        rows = np.concatenate([value[..., None], gradient], axis=-1)
        unknown = ~np.isfinite(rows).all(axis=-1)  # nor has a value of minus infinity a gradient
        rows[..., 1:][unknown] = np.nan
        return rows

    def _expected(self, n: int | None) -> str:
        shapes = f"() and ({self.dim},)" if n is None else f"({n},) and ({n}, {self.dim})"
        return f"a pair (values, gradients) of shapes {shapes} was expected, because of `gradient=True`"

    def accept(self, rows: FloatArray) -> bool:
        """Whether rows of one shape, or one row, can be kept: values are finite, gradients may be NaN."""
        values = self.values(rows)
        return bool(np.all(np.isfinite(values) | ((values == -np.inf) & self.minus_infinity)))

    def values(self, rows: FloatArray) -> FloatArray:
        """Return the values in rows."""
        return rows[..., 0] if self.gradient else rows

    def gradients(self, rows: FloatArray) -> FloatArray | None:
        """Return the gradients in rows (n, 1 + d), (n, d); None where f returns none."""
        return rows[..., 1:] if self.gradient else None


def _numbers(value: Any, what: str = "") -> FloatArray:
    """Return a float64 copy of real numbers of any shape; `what` says which part of a result they are."""
    if value is None:
        raise BadResult(f"it returned None{what} (is a `return` missing?)")
    if np.ma.is_masked(value):
        raise BadResult(f"it returned masked values{what}, which are not numbers (fill them, or leave the point out)")
    try:
        array = as_array(value)
    except ValueError:  # sequences of different lengths
        raise BadResult(f"it returned {_kind(value)}{what}, whose parts do not form an array of numbers") from None
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            pass
    if array.dtype.kind not in "biuf":
        raise BadResult(f"it returned {type(value).__name__} of dtype {array.dtype}{what}, not real numbers")
    return np.array(array, dtype=np.float64)


def _kind(value: Any) -> str:
    """Return what a result is, in words: its type, and the number of its parts or its shape."""
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return f"{type(value).__name__} of shape {np.shape(value)}"


@dataclass(frozen=True, eq=False)
class Evaluations:
    """Values of f at a batch of points.

    Attributes
    ----------
    points : (n, d) array
        As f saw them (-0.0 is written 0.0).
    values : (n,) or (n, m) array
        In the order of the points; NaN in the skipped rows.
    n_new : int
        Points at which f was called successfully for this batch.
    n_reused : int
        Rows whose value was there already: from the journal, from an earlier batch or from a repeated row.
    failures : tuple of Failure
        The skipped points, by row; empty unless ``on_error="skip"``.
    gradients : (n, d) array or None
        With ``gradient=True``, in the order of the points; NaN in the skipped rows, where the value is -inf, and where
        f returned a gradient that is not finite.
    """

    points: FloatArray
    values: FloatArray
    n_new: int
    n_reused: int
    failures: tuple[Failure, ...]
    gradients: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.points)

    @property
    def skipped(self) -> NDArray[np.intp]:
        """Rows that were skipped, ascending."""
        return np.array([failure.index for failure in self.failures], dtype=np.intp)

    @property
    def n_skipped(self) -> int:
        """How many rows were skipped."""
        return len(self.failures)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Mask (n,) of the rows that have a value."""
        mask = np.ones(len(self.points), dtype=bool)
        mask[self.skipped] = False
        return mask

    def __repr__(self) -> str:
        return f"Evaluations({len(self)} points: {self.n_new} new, {self.n_reused} reused, {self.n_skipped} skipped)"
