"""Parameters with one number per coordinate, and the dimensions that must agree."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from .. import _frozen
from .arrays import Array, finite, real


def positive_scalar_or_vector(x: ArrayLike, name: str) -> float | Array:
    """Return one positive number for all coordinates, a float, or a read-only (d,) array of them."""
    expected = "a positive number or a vector of shape (d,) of positive numbers"
    if isinstance(x, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be {expected}, got {x!r} of type bool: pass a number")
    array = real(x, name, expected)
    if array.ndim > 1 or array.size == 0:
        raise ValueError(f"`{name}` must be {expected}, got shape {array.shape}")
    bad = ~((array > 0.0) & np.isfinite(array))
    if bad.any():
        raise ValueError(f"`{name}` must be positive and finite, got {float(array[bad][0])}: pass {expected}")
    return float(array) if array.ndim == 0 else _frozen.readonly(array)


def per_coordinate(allow_infinite: Iterable[str] = (), /, **parameters: ArrayLike) -> dict[str, Array]:
    """Return scalars and (d,) vectors brought to one d; scalars are repeated, all scalars mean d = 1.

    Parameters
    ----------
    allow_infinite : names of parameters that may be infinite (never NaN).
    **parameters : scalars or vectors of shape (d,), by name.

    Examples
    --------
    >>> per_coordinate(lower=0.0, upper=[1.0, 2.0])["lower"]
    array([0., 0.])
    """
    arrays = {name: real(x, name, "a number or a vector of shape (d,)") for name, x in parameters.items()}
    first = ""
    for name, array in arrays.items():
        if array.ndim > 1 or array.size == 0:
            raise ValueError(f"`{name}` must be a number or a vector of shape (d,), got shape {array.shape}")
        if array.ndim == 1 and not first:
            first = name
        if array.ndim == 1 and array.size != arrays[first].size:
            raise ValueError(
                f"`{name}` must be a number or have the length of `{first}`, {arrays[first].size}, "
                f"got length {array.size}"
            )
        if name not in allow_infinite:
            finite(array, name)
        elif np.isnan(array).any():
            raise ValueError(f"`{name}` must not be NaN: pass a number, or infinity for no bound")
    dim = arrays[first].size if first else 1
    return {name: np.broadcast_to(array, (dim,)).copy() for name, array in arrays.items()}


def ordered(lower: Array, upper: Array) -> None:
    """Check that each ``lower`` is strictly below its ``upper``."""
    bad = ~(lower < upper)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"`lower` must be less than `upper` in every coordinate, got {lower[i]} and {upper[i]} in coordinate {i}: "
            "swap the bounds, or drop a coordinate that does not vary"
        )


def dimension(dim: int, expected: int | None, name: str, owner: str) -> int:
    """Return ``dim`` if it agrees with the ``expected`` dimension of the ``owner`` (None agrees with any)."""
    if expected is not None and dim != expected:
        raise ValueError(
            f"`{name}` has dimension {dim} but {owner} has dimension {expected}: make the two agree "
            "(a scalar lengthscale fits any dimension)"
        )
    return dim
