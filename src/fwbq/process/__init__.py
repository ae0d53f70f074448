"""The Gaussian-process core: least squares with a mean, amplitude, likelihood, prior and search of the kernel.

>>> import numpy as np
>>> from fwbq import process
>>> x = np.linspace(0.0, 1.0, 12)[:, None]
>>> found = process.fit(x, np.sin(9.0 * x[:, 0]), scale=np.array([0.3]))
>>> bool(np.isclose(sum(member.weight for member in found.members), 1.0))
True
"""

from .amplitude import leave_one_out, normalise, standardised_squares
from .families import FAMILIES, SCALE_MIXTURES, KernelFamily
from .likelihood import log_likelihood, regress
from .objective import Objective
from .prior import LengthscalePrior
from .regression import Prediction, Regression
from .search import DRAWS, Fit, Member, Memory, fit

__all__ = [
    "DRAWS",
    "FAMILIES",
    "SCALE_MIXTURES",
    "Fit",
    "KernelFamily",
    "LengthscalePrior",
    "Member",
    "Memory",
    "Objective",
    "Prediction",
    "Regression",
    "fit",
    "leave_one_out",
    "log_likelihood",
    "normalise",
    "regress",
    "standardised_squares",
]
