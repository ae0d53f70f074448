"""Checks of what users pass in: shapes, finiteness, positivity. Other errors are worded where they arise.

Each function returns the checked value in the form the rest of the package works with (float64 arrays, plain Python
numbers) or raises a ``TypeError`` (not a number at all) or ``ValueError`` (a number that cannot be) that names the
parameter, what was expected, what came and what to do.
"""

from .arrays import (
    SUM_TOLERANCE,
    Array,
    at_least_one_point,
    counts,
    log_values,
    not_negative,
    numbers,
    points,
    shown,
    simplex,
    values,
    values_or_minus_infinity,
    vector,
)
from .coordinates import dimension, ordered, per_coordinate, positive_scalar_or_vector
from .kinds import choice, different, flag, function, generator, instance, parameter_names, text
from .matrices import covariance, covariances
from .scalars import count, fits_in_memory, fraction, index, moderate, nonnegative, positive, probability, some_values

__all__ = [
    "SUM_TOLERANCE",
    "Array",
    "at_least_one_point",
    "choice",
    "count",
    "counts",
    "covariance",
    "covariances",
    "different",
    "dimension",
    "fits_in_memory",
    "flag",
    "fraction",
    "function",
    "generator",
    "index",
    "instance",
    "log_values",
    "moderate",
    "nonnegative",
    "not_negative",
    "numbers",
    "ordered",
    "parameter_names",
    "per_coordinate",
    "points",
    "positive",
    "positive_scalar_or_vector",
    "probability",
    "shown",
    "simplex",
    "some_values",
    "text",
    "values",
    "values_or_minus_infinity",
    "vector",
]
