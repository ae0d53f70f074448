"""Arrays: points, values, weights."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Weights typed or computed by hand sum to one up to rounding; a larger gap means they were never normalised.
SUM_TOLERANCE = 1e-9


def shown(x: Any) -> str:
    """Return something as an error shows it: its repr, cut to 60 characters."""
    if isinstance(x, int) and x.bit_length() > 200:  # Python itself refuses to print the largest of them
        return f"an integer of about {round(x.bit_length() * math.log10(2.0))} digits"
    try:
        text = repr(x)
    except ValueError:  # it holds such an integer
        return "very large integers"
    return text if len(text) <= 60 else text[:57] + "..."


def real(x: ArrayLike, name: str, expected: str) -> Array:
    """Return real numbers as a float64 array; what is masked, ragged, too large or no number at all is refused."""
    if np.ma.is_masked(x):
        raise ValueError(
            f"`{name}` has masked values, which are not numbers: leave these rows out, e.g. with "
            f"np.ma.compress_rows({name}), or fill them, {name}.filled(...)"
        )
    try:
        array = np.asarray(x)
        if array.dtype.kind == "O" and not any(each is None for each in array.flat):  # None would become NaN
            try:
                array = array.astype(np.float64)
            except (TypeError, ValueError):
                pass
    except ValueError:
        raise ValueError(f"`{name}` must be {expected}, but its rows differ in length: make it rectangular") from None
    except OverflowError:
        raise ValueError(
            f"`{name}` must be {expected}, got {shown(x)}, beyond the largest number of float64, 1.8e308: choose "
            "units in which the numbers are smaller"
        ) from None
    if array.dtype.kind not in "iuf":
        raise TypeError(f"`{name}` must be {expected}, got {shown(x)} of type {type(x).__name__}: pass real numbers")
    return np.asarray(array, dtype=np.float64)


def finite(array: Array, name: str) -> None:
    """Check that no entry is NaN or infinite."""
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        place = f" at index {where if len(where) > 1 else where[0]}" if where else ""
        raise ValueError(
            f"`{name}` must be finite, got {array[where]}{place} ({int(bad.sum())} such value(s)): "
            "remove or replace NaN and infinity"
        )


def points(x: ArrayLike, name: str = "x", dim: int | None = None) -> Array:
    """Return points as a finite, C-contiguous (n, d) array; (n,) is an error that says ``x[:, None]``.

    Parameters
    ----------
    x : array_like, shape (n, d)
        The points, one per row; n may be zero.
    name : str
        The parameter's name, for the error.
    dim : int, optional
        The required d.

    Examples
    --------
    >>> points([[0, 1], [2, 3]]).shape
    (2, 2)
    >>> points([0.0, 1.0])
    Traceback (most recent call last):
    ...
    ValueError: `x` must be points of shape (n, d), got shape (2,): for n points in one dimension pass x[:, None], ...
    """
    shape = f"(n, {dim})" if dim is not None else "(n, d)"
    array = real(x, name, f"points of shape {shape}")
    if array.ndim == 1:
        raise ValueError(
            f"`{name}` must be points of shape {shape}, got shape {array.shape}: for n points in one dimension pass "
            f"{name}[:, None], for a single point pass {name}[None, :]"
        )
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"`{name}` must be points of shape {shape}, got shape {array.shape}: one row per point")
    if dim is not None and array.shape[1] != dim:
        raise ValueError(
            f"`{name}` must be points of shape (n, {dim}), got shape {array.shape}: one row per point, "
            f"{dim} coordinate(s) each"
        )
    finite(array, name)
    return np.ascontiguousarray(array)


def at_least_one_point(x: Array, name: str) -> Array:
    """Return points of which there is at least one."""
    if len(x) == 0:
        raise ValueError(f"`{name}` must have at least one row, got shape {x.shape}: pass one or more points")
    return x


def values(f: ArrayLike, name: str, n: int) -> Array:
    """Return function values as a finite (n,) or (n, m) array: one row per point, one column per integrand."""
    array = real(f, name, f"values of shape ({n},) or ({n}, m)")
    if array.ndim not in (1, 2) or array.shape[0] != n:
        raise ValueError(
            f"`{name}` must be values of shape ({n},) or ({n}, m), got shape {array.shape}: one row per point"
        )
    finite(array, name)
    return array


def values_or_minus_infinity(f: ArrayLike, name: str, n: int) -> Array:
    """Values (n,) or (n, m) that may be -inf, as log-likelihoods may, but neither NaN nor +inf."""
    array = real(f, name, f"values of shape ({n},) or ({n}, m)")
    minus_infinity = array == -np.inf
    return np.where(minus_infinity, -np.inf, values(np.where(minus_infinity, 0.0, array), name, n))


def log_values(f: ArrayLike, name: str, n: int) -> Array:
    """Log likelihoods (n,), finite or -inf."""
    array = values_or_minus_infinity(f, name, n)
    if array.shape != (n,):
        remedy = ": take its only column, [:, 0]" if array.shape == (n, 1) else ""
        raise ValueError(f"`{name}` must be one value per point, shape ({n},), got shape {array.shape}{remedy}")
    return array


def vector(x: ArrayLike, name: str, size: int | None = None) -> Array:
    """Return a finite one-dimensional array, of the given size if one is given."""
    expected = f"a vector of shape ({size if size is not None else 'n'},)"
    array = real(x, name, expected)
    if array.ndim != 1 or (size is not None and array.size != size):
        raise ValueError(f"`{name}` must be {expected}, got shape {array.shape}")
    finite(array, name)
    return array


def simplex(w: ArrayLike, name: str, size: int | None = None) -> Array:
    """Return weights that are >= 0 and sum to one, as a vector; a sum off by rounding alone is divided out."""
    array = vector(w, name, size)
    if array.size == 0:
        raise ValueError(f"`{name}` must have at least one entry, got none")
    if (array < 0.0).any():
        i = int(np.argmin(array))
        raise ValueError(f"`{name}` must be >= 0, got {array[i]} at index {i}")
    total = math.fsum(array)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"`{name}` must sum to 1, got a sum of {total}: divide by it, {name} / sum({name})")
    # Weights that are normalised already stay the same to the bit, so that saving and loading changes nothing.
    return array / total if abs(total - 1.0) > 4 * np.finfo(float).eps else array


def numbers(x: ArrayLike, name: str) -> Array:
    """Return real numbers as an array of any shape; infinity and NaN are allowed."""
    return real(x, name, "real numbers")


def not_negative(x: ArrayLike, name: str) -> Array:
    """Return numbers of which none is below zero; infinity is allowed."""
    array = real(x, name, "numbers >= 0")
    if (array < 0.0).any():
        raise ValueError(f"`{name}` must be >= 0, got {array.min()}: pass distances and deviations without a sign")
    return array


def counts(n: Any, name: str) -> Array:
    """Return one whole number >= 1 or an array of them, as float64."""
    array = real(n, name, "whole numbers >= 1")
    if not ((array >= 1.0) & (array == np.floor(array)) & np.isfinite(array)).all():
        raise ValueError(f"`{name}` must be whole numbers >= 1, got {shown(n)}")
    return array
