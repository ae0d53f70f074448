"""Integrals of which all values are equal: what that leaves open, in words and as an error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..posterior import AveragedPosterior, ColumnPosteriors, IntegralPosterior

FloatArray = NDArray[np.float64]

#: Of n independent points all miss a region of probability 3 / n with probability 0.05.
MISSED = 3.0


def varied(values: FloatArray) -> NDArray[np.bool_]:
    """Return for each column of values (n,) or (n, m), n >= 1, whether any two of them differ, (m,)."""
    columns = values.reshape(len(values), -1)
    return np.asarray(np.any(columns != columns[0], axis=0))


def all_equal(values: FloatArray) -> str:
    """Return a remark if all values of a column are equal, so that nothing but the first of them is known of it.

    Examples
    --------
    >>> all_equal(np.zeros(20))[:25], all_equal(np.array([0.0, 1.0]))
    ('all 20 values are equal: ', '')
    >>> all_equal(np.array([[0.0, 1.0], [0.0, 2.0]]))[:35]
    'all 2 values of column 1 are equal:'
    """
    n = len(values)
    if n < 2:
        return ""
    equal = ~varied(values)
    if not equal.any():
        return ""
    missed = (
        f"a region where f differs, which {n} points may well have missed if its probability is below "
        f"{min(MISSED / n, 1.0):.2g}"
    )
    if equal.all():
        return f"all {n} values are equal: the answer is exact if f is constant, and says nothing of {missed}"
    found = np.flatnonzero(equal)
    listed = ", ".join(map(str, found[:5] + 1)) + (", ..." if len(found) > 5 else "")
    which = f"column {listed}" if len(found) == 1 else f"each of the columns {listed}"
    return (
        f"all {n} values of {which} are equal: the interval there allows for {missed}; leave such a column out if it "
        "is constant"
    )


def unseen(values: FloatArray) -> FloatArray | None:
    """Return the standard deviation that columns of equal values have beside others that vary, (m,); zero for these.

    A process learns its amplitude from differences between values. Where there are none it states no error, though a
    region of probability 3 / n may well have been missed in which the column differs. By how much, nothing says. It is
    taken for the largest of the value itself and the ranges of the other columns, because a tolerance holds for all
    columns in the same unit. With f = (exp(x), 1[min(x, y) > 0.9]) on the unit square and ten seeds, seven runs ended
    at ``tol=2e-3`` with the second integral known as 0 +- 0, which is 0.01; with this error none did.

    Returns
    -------
    (m,) array or None
        None when no column is of equal values, or every one.

    Examples
    --------
    >>> unseen(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0]])).round(3)
    array([1.531, 0.   ])
    """
    equal = ~varied(values)
    if len(values) < 2 or not equal.any() or equal.all():
        return None
    unit = np.maximum(np.abs(values[0]), np.max(np.ptp(values, axis=0)))
    half_width = unit * min(MISSED / len(values), 1.0)
    return np.asarray(np.where(equal, half_width / ndtri(0.975), 0.0))


def widened(
    posterior: IntegralPosterior | AveragedPosterior | ColumnPosteriors, values: FloatArray
) -> IntegralPosterior | AveragedPosterior | ColumnPosteriors:
    """Return the posterior of integrals with at least the error `unseen` in columns of equal values beside others."""
    least = unseen(values)
    if least is None:
        return posterior
    if isinstance(posterior, ColumnPosteriors):
        parts = [
            IntegralPosterior(value, error, np.inf, 0.0) if error > 0.0 else part
            for part, value, error in zip(posterior.parts, values[0], least, strict=True)
        ]
        return ColumnPosteriors(tuple(parts))
    if isinstance(posterior, AveragedPosterior):
        return replace(posterior, components=tuple(_at_least(part, least) for part in posterior.components))
    return _at_least(posterior, least)


def _at_least(posterior: IntegralPosterior, least: FloatArray) -> IntegralPosterior:
    return replace(posterior, scale=np.maximum(posterior.scale, least))
