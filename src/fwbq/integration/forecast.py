"""Predictions of values before they are known, to test whether the error that the process states is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from .._linalg import CholeskyFactor
from ..kernels import Kernel
from ..process import Regression, amplitude_of, normalise

FloatArray = NDArray[np.float64]

#: Probability with which values that come from the process itself fail the test.
LEVEL = 0.01


@dataclass(frozen=True, eq=False)
class Forecast:
    """Student-t predictions of values at q points, made from the values at others.

    Attributes
    ----------
    mean, scale : (q,) or (q, m) arrays
        Location and scale.
    df : int
        Degrees of freedom.
    """

    mean: FloatArray
    scale: FloatArray
    df: int

    def only(self, kept: NDArray[np.bool_]) -> Forecast:
        """Return the predictions at some of the points."""
        return Forecast(self.mean[kept], self.scale[kept], self.df)

    def surprise(self, values: FloatArray) -> float:
        """Return the mean square of the standardised errors, of the column where it is largest."""
        errors = values - self.mean
        with np.errstate(divide="ignore", invalid="ignore"):
            # Where the scale is zero and the prediction exact, the standardised error is zero, not 0 / 0.
            squares = np.where(errors == 0.0, 0.0, (errors / self.scale) ** 2)
        return float(np.max(np.mean(squares, axis=0)))

    def agrees(self, values: FloatArray) -> bool:
        """Return whether the values are as near to the predictions as these state: the mean square passes an F test.

        The errors at q points are taken as independent. They are correlated positively, which makes large mean squares
        a little more frequent than one in a hundred.
        """
        q = len(self.mean)
        return q == 0 or self.surprise(values) <= float(fdtri(q, max(self.df, 1), 1.0 - LEVEL))


def forecast(kernel: Kernel, x: FloatArray, values: FloatArray, new: FloatArray, *, constant: bool) -> Forecast:
    """Predict the values at `new` points (q, d) from those at x (n, d).

    The amplitude is the "calibrated" one: the larger of maximum likelihood and leave-one-out.
    """
    f, exponent = normalise(values)
    factor = CholeskyFactor.of(kernel(x))
    regression = Regression.of(factor, f, constant=constant)
    amplitude = amplitude_of(regression, "calibrated")
    ones = np.ones((len(new), 1)) if constant else None
    prediction = regression.predict(kernel(x, new), ones)
    # Values have the rounding error for which the factor allows by its jitter.
    prior = kernel.diag(new)
    variance = prediction.variance(prior) + factor.jitter * prior
    mean = prediction.mean + f[0] if constant else prediction.mean
    scale = np.sqrt(np.multiply.outer(variance, amplitude))
    return Forecast(np.ldexp(mean, exponent), np.ldexp(scale, exponent), max(regression.df, 1))
