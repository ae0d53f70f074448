"""Hyper-parameters from the data: length-scales, smoothness and amplitude, averaged over what the data leave open.

>>> import numpy as np
>>> from fwbq import hyperparameters
>>> x = np.linspace(0.0, 1.0, 12)[:, None]
>>> found = hyperparameters.fit(x, np.sin(9.0 * x[:, 0]), scale=np.array([0.3]))
>>> bool(np.isclose(sum(member.weight for member in found.members), 1.0))
True
"""

from .calibration import amplitudes, calibrated
from .columns import ColumnPosteriors
from .families import FAMILIES, SCALE_MIXTURES, KernelFamily
from .fitting import STARTS, Fit, Member, fit
from .likelihood import log_likelihood, log_likelihood_gradient
from .mixture import AveragedPosterior
from .prior import LengthscalePrior

__all__ = [
    "FAMILIES",
    "SCALE_MIXTURES",
    "STARTS",
    "AveragedPosterior",
    "ColumnPosteriors",
    "Fit",
    "KernelFamily",
    "LengthscalePrior",
    "Member",
    "amplitudes",
    "calibrated",
    "fit",
    "log_likelihood",
    "log_likelihood_gradient",
]
