"""Single numbers: their sign, their range, how many of a thing there may be."""

import math
import operator
import os
from functools import cache
from typing import Any

import numpy as np

from .arrays import real, shown

# Closed forms hold squares and cubes of length-scales and standard deviations, and of their ratios: within these limits
# none of them leaves the range of float64, 1e-308 to 1e308.
_SMALLEST_SCALE, _LARGEST_SCALE = 1e-100, 1e100


def single(x: Any, name: str, expected: str) -> float:
    """Return a single real number."""
    if isinstance(x, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be {expected}, got {x!r} of type bool: pass a number")
    array = real(x, name, expected)
    if array.ndim != 0:
        raise ValueError(f"`{name}` must be {expected}, got an array of shape {array.shape}: pass a single number")
    return float(array)


def positive(x: Any, name: str) -> float:
    """Return a positive finite number."""
    number = single(x, name, "a positive finite number")
    if not (0.0 < number < math.inf):
        raise ValueError(f"`{name}` must be a positive finite number, got {number}")
    return number


def nonnegative(x: Any, name: str) -> float:
    """Return a finite number that is zero or larger."""
    number = single(x, name, "a finite number >= 0")
    if not (0.0 <= number < math.inf):
        raise ValueError(f"`{name}` must be a finite number >= 0, got {number}")
    return number


def probability(x: Any, name: str) -> float:
    """Return a number strictly between zero and one."""
    number = single(x, name, "a number strictly between 0 and 1")
    if not (0.0 < number < 1.0):
        raise ValueError(f"`{name}` must lie strictly between 0 and 1, got {number}: 95 % is written 0.95")
    return number


def fraction(x: Any, name: str) -> float:
    """Return a number in the closed interval [0, 1]."""
    number = single(x, name, "a number in [0, 1]")
    if not (0.0 <= number <= 1.0):
        raise ValueError(f"`{name}` must lie in [0, 1], got {number}")
    return number


def count(n: Any, name: str, minimum: int = 1) -> int:
    """Return a whole number, at least ``minimum``."""
    try:
        if isinstance(n, (bool, np.bool_)):
            raise TypeError
        number = operator.index(n)
    except TypeError:
        raise TypeError(
            f"`{name}` must be a whole number >= {minimum}, got {shown(n)} of type {type(n).__name__}: "
            f"pass an int, e.g. int({name})"
        ) from None
    if number < minimum:
        raise ValueError(f"`{name}` must be a whole number >= {minimum}, got {shown(number)}")
    return number


def index(i: Any, name: str, size: int) -> int:
    """Return a row number 0 <= i < ``size``."""
    number = count(i, name, minimum=0)
    if number >= size:
        raise ValueError(f"`{name}` must be a row number below {size}, got {number}")
    return number


def some_values(n: int) -> int:
    """Return the number of values, of which there must be one."""
    if n == 0:
        raise ValueError("no value of the integrand is known: tell some, or see why every point failed")
    return n


@cache
def _memory() -> int:
    """Return the bytes of memory of this machine; where the system does not say, more than any has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**46


def fits_in_memory(n: int, width: int, name: str, what: str) -> int:
    """Return a number n of rows of ``width`` float64 numbers if this machine can hold them."""
    needed, there = 8 * n * width, _memory()
    if needed > there:
        size = f"about {needed / 2**30:.3g} GB" if needed < 2**100 else "more than any machine has"
        raise ValueError(
            f"`{name}` must be a number of {what} that fits in memory, {there / 2**30:.3g} GB here, got {shown(n)}, "
            f"which would take {size}: ask for fewer"
        )
    return n


def moderate(x: Any, name: str, what: str) -> None:
    """Check that length-scales, standard deviations or widths lie between 1e-100 and 1e100."""
    array = np.asarray(x)
    bad = ~((array >= _SMALLEST_SCALE) & (array <= _LARGEST_SCALE))
    if bad.any():
        raise ValueError(
            f"`{name}` must give {what} between {_SMALLEST_SCALE:g} and {_LARGEST_SCALE:g}, got "
            f"{float(array[bad].flat[0]):g}: choose units in which the numbers are neither tiny nor huge"
        )
