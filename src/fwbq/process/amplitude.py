"""Amplitude: the factor on the kernel's variance, estimated from values at the points of a rule.

Small pure functions of a factor of the Gram matrix K (`Rule.factor`) and values f of shape (n,) or (n, m), one column
per integrand. With an unknown constant mean, K^-1 is replaced throughout by

    P = K^-1 - K^-1 1 1'K^-1 / (1'K^-1 1),

the limit of a flat prior on the constant; f'P f is the generalised residual sum of squares, with n - 1 degrees of
freedom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._linalg import Factor

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


def degrees_of_freedom(factor: Factor, constant: bool) -> int:
    """Return the number of values that inform the amplitude: n, or n - 1 with an unknown constant."""
    return factor.size - int(constant)


def residuals(factor: Factor, values: FloatArray, constant: bool) -> FloatArray:
    """Return f, or f less its generalised least-squares constant 1'K^-1 f / 1'K^-1 1."""
    if not constant:
        return values
    # Taking out one value first makes a constant f exactly zero and leaves less to cancel.
    f = values - values[0]
    v = factor.solve(np.ones(factor.size))
    return np.asarray(f - (v @ f) / v.sum())


def quadratic(factor: Factor, values: FloatArray, constant: bool = False) -> FloatArray:
    """Return f'K^-1 f, or f'P f with an unknown constant: a number per column, never negative.

    Where K is singular to working precision its factor holds a jitter, so that values which no function of the kernel's
    space explains count as |f|^2 / jitter: large, as the misfit is, but finite.
    """
    return factor.quadratic(residuals(factor, values, constant))


def maximum_likelihood(factor: Factor, values: FloatArray, constant: bool = False) -> FloatArray:
    """Return the amplitude of greatest likelihood: f'K^-1 f / n, or f'P f / (n - 1) with the constant integrated out.

    Infinite for one value and an unknown constant: nothing is then known of the amplitude. Where K is singular to
    working precision, n is its numerical rank: points that the kernel cannot tell apart do not count twice.

    Examples
    --------
    >>> import numpy as np
    >>> from fwbq._linalg import CholeskyFactor
    >>> float(maximum_likelihood(CholeskyFactor.of(np.eye(2)), np.array([3.0, 1.0])))
    5.0
    """
    if degrees_of_freedom(factor, constant) == 0:
        return np.full(values.shape[1:], np.inf)
    return factor.mean_square(residuals(factor, values, constant), int(constant))


def leave_one_out_residuals(
    factor: Factor, values: FloatArray, constant: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return the errors of predicting each value from the others, and their variances at amplitude one.

    e_i = [P f]_i / P_ii with variance 1 / P_ii (Dubrule, Mathematical Geology 15, 1983), P = K^-1 for a zero mean.

    Parameters
    ----------
    factor : Factor
        Of the (n, n) Gram matrix, n >= 2 with an unknown constant.
    values : (n,) or (n, m) array
        Values.
    constant : bool
        Whether the mean is an unknown constant.

    Returns
    -------
    errors : (n,) or (n, m) array
    variances : (n,) array
    """
    solved = factor.solve(residuals(factor, values, constant))
    diagonal = factor.inverse_diagonal()
    if constant:
        v = factor.solve(np.ones(factor.size))
        # P_ii is the inverse of a conditional variance: positive, but the difference may round to nothing.
        diagonal = np.maximum(diagonal - v * v / v.sum(), np.finfo(float).eps * diagonal)
    return (solved.T / diagonal).T, 1.0 / diagonal


def leave_one_out(factor: Factor, values: FloatArray, constant: bool = False) -> FloatArray:
    """Return the amplitude at which the leave-one-out errors, in standard deviations, have mean square one.

    Infinite for one value and an unknown constant. Compare it with `maximum_likelihood`: far apart, they say that the
    kernel does not fit the values. Where K is singular to working precision every point is determined by the others to
    below rounding, which says nothing; the same is then computed for a largest set of independent points too, and the
    larger of the two amplitudes returned.

    Examples
    --------
    >>> import numpy as np
    >>> from fwbq._linalg import CholeskyFactor
    >>> float(leave_one_out(CholeskyFactor.of(np.eye(2)), np.array([3.0, 1.0])))
    5.0
    """
    if degrees_of_freedom(factor, constant) == 0:
        return np.full(values.shape[1:], np.inf)
    errors, variances = leave_one_out_residuals(factor, values, constant)
    amplitude = np.asarray(np.mean((errors.T**2 / variances).T, axis=0))
    if factor.independent is not None:
        rows, part = factor.independent
        if len(rows) > int(constant):
            amplitude = np.maximum(amplitude, leave_one_out(part, values[rows], constant))
    return amplitude
