"""Amplitude: the factor on the kernel's variance, estimated from values at the points of a rule."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .regression import Regression

FloatArray = NDArray[np.float64]


def normalise(values: FloatArray) -> tuple[FloatArray, NDArray[np.intc]]:
    """Scale every column by a power of two so that squares neither overflow nor vanish.

    Parameters
    ----------
    values : (n,) or (n, m) array
        Finite values.

    Returns
    -------
    scaled : array of the same shape
        Largest magnitude of each column in [1/2, 1), or zero; no bit is lost, except from values below 1e-308 of it.
    exponent : () or (m,) array of int
        ``values == numpy.ldexp(scaled, exponent)``.

    Examples
    --------
    >>> import numpy as np
    >>> normalise(np.array([3e300, -6e300]))[0].tolist() == normalise(np.array([3e300, -6e300]) / 2**1000)[0].tolist()
    True
    """
    exponent = np.frexp(np.max(np.abs(values), axis=0))[1]
    return np.ldexp(values, -exponent), exponent


def standardised_squares(regression: Regression) -> FloatArray:
    """Return the squares of the leave-one-out errors over their variances at amplitude one, (n,) or (n, m)."""
    errors, variances = regression.leave_one_out()
    return np.asarray((errors.T**2 / variances).T)


def leave_one_out(regression: Regression) -> FloatArray:
    """Return the amplitude at which the leave-one-out errors, in standard deviations, have mean square one.

    Infinite when no degree of freedom is left. Compare it with `Regression.amplitude`, the one of greatest likelihood:
    far apart, they say that the kernel does not fit the values. Where the Gram matrix is singular to working precision
    every point is determined by the others to below rounding, which says nothing; the same is then computed for a
    largest set of independent points too, and the larger of the two amplitudes returned.

    Examples
    --------
    >>> import numpy as np
    >>> from fwbq._linalg import CholeskyFactor
    >>> float(leave_one_out(Regression(CholeskyFactor.of(np.eye(2)), np.array([3.0, 1.0]))))
    5.0
    """
    if regression.df <= 0:
        return np.full(regression.values.shape[1:], np.inf)
    amplitude = np.asarray(np.mean(standardised_squares(regression), axis=0))
    if regression.factor.independent is not None:
        rows, part = regression.factor.independent
        if len(rows) > regression.rank:
            amplitude = np.maximum(amplitude, leave_one_out(regression.only(rows, part)))
    return amplitude
