"""Numbers as people read them: with the digits that their error leaves, and without digits that say nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: Numbers between the first and the last are written without an exponent, errors from the second on.
_SMALLEST, _SMALLEST_ERROR, _LARGEST = 1e-4, 1e-6, 1e7
#: Decimals that a number of order one has in double precision.
_MOST_PLACES = 15


def with_error(value: float, sd: float) -> str:
    """Return a number and its standard deviation, to the second digit of the latter.

    Examples
    --------
    >>> with_error(1.571567721, 0.005), with_error(-1234.5, 130.0), with_error(2.5, 3.14e-9)
    ('1.5716 ± 0.0050', '-1230 ± 130', '2.5000000000 ± 3.1e-09')
    >>> with_error(3.0, 0.0), with_error(1.23456e-9, 1e-12)
    ('3 ± 0', '1.2346e-09 ± 1.0e-12')
    """
    if not (sd > 0.0 and math.isfinite(sd)):
        return f"{with_digits_of(sd, value)[0]} ± {sd:g}"
    return f"{with_digits_of(sd, value)[0]} ± {error(sd)}"


def error(sd: float) -> str:
    """Return a standard deviation with two digits.

    Examples
    --------
    >>> error(0.005), error(123.4), error(1e-9), error(0.0)
    ('0.0050', '120', '1.0e-09', '0')
    """
    if not (sd > 0.0 and math.isfinite(sd)):
        return f"{sd:g}"
    if not _SMALLEST_ERROR <= sd < _LARGEST:
        return f"{sd:.1e}"
    places = 1 - _order(sd)
    return f"{round(sd, places):.{max(places, 0)}f}"


def with_digits_of(sd: float, *numbers: float) -> list[str]:
    """Return numbers written to the second digit of an error; to ten digits if the error is zero or not finite.

    Examples
    --------
    >>> with_digits_of(0.0123, 3.14159, 2.0), with_digits_of(2e-9, 1.23456e-6), with_digits_of(0.0, 0.1 + 0.2)
    (['3.142', '2.000'], ['1.2346e-06'], ['0.3'])
    """
    if not (sd > 0.0 and math.isfinite(sd)):
        return [f"{number:.10g}" for number in numbers]
    places = 1 - _order(sd)
    return [_written(number, places) for number in numbers]


def short(x: float) -> str:
    """Return a parameter with four digits, as few as it needs, so that it can be read and typed.

    Examples
    --------
    >>> short(0.9999999694663881), short(1234.5678), short(1e-7), short(0.25), short(120000.0)
    ('1.0', '1235.0', '1e-07', '0.25', '120000.0')
    """
    return repr(float(f"{x:.4g}"))


def short_parameter(x: Any) -> str:
    """Return a number, or numbers, with four digits each; anything else as it writes itself.

    Examples
    --------
    >>> short_parameter(np.array([0.123456, 2.0])), short_parameter(None)
    ('[0.1235, 2.0]', 'None')
    """
    if isinstance(x, np.ndarray):
        return f"[{', '.join(map(short_parameter, x))}]"
    return short(float(x)) if isinstance(x, (float, np.floating)) else repr(x)


def _order(x: float) -> int:
    """Return the power of ten of the first digit of a positive number that is written with two digits."""
    return int(f"{x:.1e}".split("e")[1])


def _written(number: float, places: int) -> str:
    """Return a number rounded to a number of decimals, which may be negative; with an exponent where it needs one."""
    if not math.isfinite(number):
        return f"{number:g}"
    rounded = round(number, places) + 0.0  # no "-0.00"
    size = max(abs(rounded), 10.0**-places)
    if places <= _MOST_PLACES and _SMALLEST <= size < _LARGEST:
        return f"{rounded:.{max(places, 0)}f}"
    if not rounded:
        return "0"
    digits = _order(abs(rounded)) + places
    return f"{rounded:.{min(max(digits, 0), _MOST_PLACES)}e}"
