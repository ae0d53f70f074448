"""The Gaussian process: observations, least squares with a mean, amplitude, likelihood, prior and search of the kernel.

Also what is made of it everywhere: the error of the logarithm of an integral, and the greedy choice of points.

>>> import numpy as np
>>> from fwbq import process
>>> x = np.linspace(0.0, 1.0, 12)[:, None]
>>> found = process.fit(x, np.sin(9.0 * x[:, 0]), scale=np.array([0.3]))
>>> bool(np.isclose(sum(member.weight for member in found.members), 1.0))
True
"""

from .amplitude import (
    ESTIMATES,
    amplitude_of,
    calibrated,
    common_ratio,
    leave_one_out,
    log_density_left_out,
    normalise,
    standardised_squares,
    weighted_squares,
)
from .families import ANOVA, ANOVA_DIM, FAMILIES, SCALE_MIXTURES, KernelFamily
from .greedy import RemainingCovariance, choose
from .likelihood import log_likelihood, regress
from .log_integral import EXPANDED, LogIntegralError, bounded_mean, largest_upper_end
from .objective import Objective
from .observations import Observations
from .prior import LengthscalePrior
from .regression import Prediction, Regression
from .search import DRAWS, Fit, Member, Memory, fit

__all__ = [
    "ANOVA",
    "ANOVA_DIM",
    "DRAWS",
    "ESTIMATES",
    "EXPANDED",
    "FAMILIES",
    "SCALE_MIXTURES",
    "Fit",
    "KernelFamily",
    "LengthscalePrior",
    "LogIntegralError",
    "Member",
    "Memory",
    "Objective",
    "Observations",
    "Prediction",
    "Regression",
    "RemainingCovariance",
    "amplitude_of",
    "bounded_mean",
    "calibrated",
    "choose",
    "common_ratio",
    "fit",
    "largest_upper_end",
    "leave_one_out",
    "log_density_left_out",
    "log_likelihood",
    "normalise",
    "regress",
    "standardised_squares",
    "weighted_squares",
]
