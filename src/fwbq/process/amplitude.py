"""Amplitude: the factor on the kernel's variance, and the one meaning of each name of an estimate of it.

"ml" and "marginal"
    That of greatest restricted likelihood (`Regression.amplitude`). "marginal" allows for its own uncertainty: the
    distribution is then Student-t in place of Gaussian.
"loo"
    That at which leave-one-out errors, in standard deviations, have mean square one. Errors count by how much their
    values matter to the result: equally by default, by the likelihood in an evidence.
"calibrated"
    That of greatest likelihood, raised where "loo" is larger. Leave-one-out errors are those over the distance between
    neighbours, where the error of an integral comes from; "ml" averages those over all distances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from .regression import Regression

FloatArray = NDArray[np.float64]

#: Errors of predicted values, relative to their range, that are not told apart.
UNSEEN = 1e-9
#: The names of estimates by one formula each; "calibrated" is made of two of them.
ESTIMATES = ("marginal", "ml", "loo")


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


def log_density_left_out(regression: Regression) -> float:
    """Return the log density of values, each predicted from the others, summed; up to a constant for each value.

    Errors below `UNSEEN` of the range of the values count as that. Those of m columns are added.
    """
    errors, variances = regression.leave_one_out()
    least = (UNSEEN * np.ptp(regression.values, axis=0)) ** 2
    variance = np.multiply.outer(variances, regression.amplitude) + np.where(least > 0.0, least, 1.0)
    return float(-0.5 * np.sum(np.log(variance) + errors**2 / variance))


def weighted_squares(regression: Regression, weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the standardised squares of the leave-one-out errors, () or (m,).

    Parameters
    ----------
    regression : Regression
        Of values (n,) or (n, m).
    weights : (n,) array, or (n, m) for values (n, m)
        Not negative: how much each value matters.
    """
    squares = standardised_squares(regression)
    if weights.ndim < squares.ndim:
        return np.asarray(weights @ squares / np.sum(weights))
    return np.asarray(np.sum(weights * squares, axis=0) / np.sum(weights, axis=0))


def leave_one_out(regression: Regression, weights: FloatArray | None = None) -> FloatArray:
    """Return the amplitude at which the leave-one-out errors, in standard deviations, have mean square one.

    Infinite when no degree of freedom is left. Compare it with `Regression.amplitude`, the one of greatest likelihood:
    far apart, they say that the kernel does not fit the values. Where the Gram matrix is singular to working precision
    every point is determined by the others to below rounding, which says nothing; the same is then computed for a
    largest set of independent points too, and the larger of the two amplitudes returned.

    Parameters
    ----------
    regression : Regression
    weights : (n,) or (n, m) array, optional
        As for `weighted_squares`; equal by default.

    Examples
    --------
    >>> import numpy as np
    >>> from fwbq._linalg import CholeskyFactor
    >>> regression = Regression(CholeskyFactor.of(np.eye(2)), np.array([3.0, 1.0]))
    >>> float(leave_one_out(regression)), float(leave_one_out(regression, np.array([1.0, 3.0])))
    (5.0, 3.0)
    """
    if regression.df <= 0:
        return np.full(regression.values.shape[1:], np.inf)
    if weights is None:
        amplitude = np.asarray(np.mean(standardised_squares(regression), axis=0))
    else:
        amplitude = weighted_squares(regression, weights)
    if regression.factor.independent is not None:
        rows, part = regression.factor.independent
        if len(rows) > regression.rank:
            of_these = None if weights is None else weights[rows]
            amplitude = np.maximum(amplitude, leave_one_out(regression.only(rows, part), of_these))
    return amplitude


def calibrated(
    likely: FloatArray, left_out: FloatArray, *, power: float = 1.0, ratio: FloatArray | float | None = None
) -> FloatArray:
    r"""Return the amplitude of greatest likelihood, raised where that of leave-one-out errors is larger.

    .. math:: \hat a\, \max(1, \tilde a / \hat a)^{k}

    Parameters
    ----------
    likely : () or (m,) array
        :math:`\hat a`, of greatest likelihood.
    left_out : () or (m,) array
        :math:`\tilde a`, of leave-one-out errors.
    power : float
        k. With 1 the result is the larger of the two. A larger power carries the trend on: leave-one-out errors are
        those over the distance between neighbours, and the error of an integral is that over distances shorter still.
    ratio : float or (m,) array, optional
        In place of the ratio of each column, such as :func:`common_ratio` of all of them.

    Examples
    --------
    >>> calibrated(np.array([1.0, 2.0]), np.array([3.0, 1.0])).tolist()
    [3.0, 2.0]
    >>> calibrated(np.array([1.0, 2.0]), np.array([3.0, 1.0]), power=2.0).tolist()
    [9.0, 2.0]
    """
    if ratio is None:
        largest = np.maximum(likely, left_out)
        if power == 1.0:
            return largest
        ratio = largest / np.where(likely > 0.0, likely, 1.0)
    return np.asarray(ratio**power * likely)


def common_ratio(likely: FloatArray, left_out: FloatArray) -> float:
    """Return the mean over m columns of the ratio of two amplitudes, or one where it is less.

    Parameters
    ----------
    likely : (m,) array
        Amplitudes of greatest likelihood; columns where they are zero do not count.
    left_out : (m,) array
        Those of leave-one-out errors.

    Examples
    --------
    >>> common_ratio(np.array([1.0, 2.0]), np.array([2.0, 12.0])), common_ratio(np.array([1.0]), np.array([0.3]))
    (4.0, 1.0)
    """
    varied = likely > 0.0
    return max(1.0, float(np.mean(left_out[varied] / likely[varied]))) if varied.any() else 1.0


def amplitude_of(regression: Regression, estimate: str | float, weights: FloatArray | None = None) -> FloatArray:
    """Return the amplitude of each column by the name of its estimate; see the names at the top of this file.

    Parameters
    ----------
    regression : Regression
        Of values (n,) or (n, m).
    estimate : {"calibrated", "marginal", "ml", "loo"} or float
        A number is returned for every column.
    weights : (n,) or (n, m) array, optional
        How much each value matters, for leave-one-out errors; equal by default.

    Returns
    -------
    () or (m,) array

    Examples
    --------
    >>> from fwbq._linalg import CholeskyFactor
    >>> regression = Regression(CholeskyFactor.of(np.eye(2)), np.array([3.0, 1.0]))
    >>> [float(amplitude_of(regression, name, np.array([3.0, 1.0]))) for name in ("ml", "loo", "calibrated")]
    [5.0, 7.0, 7.0]
    """
    if not isinstance(estimate, str):
        return np.full(regression.values.shape[1:], float(estimate))
    if _validate.choice(estimate, "estimate", ("calibrated", *ESTIMATES)) in ("marginal", "ml"):
        return regression.amplitude
    left_out = leave_one_out(regression, weights)
    return left_out if estimate == "loo" else calibrated(regression.amplitude, left_out)
