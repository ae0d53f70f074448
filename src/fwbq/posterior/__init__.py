"""Distributions of an integral: given one kernel, averaged over kernels, a column of values at a time."""

from .averaged import AveragedPosterior
from .calibrated import amplitudes, calibrated, influences
from .columns import ColumnPosteriors
from .single import ESTIMATES, Amplitude, IntegralPosterior, condition

__all__ = [
    "ESTIMATES",
    "Amplitude",
    "AveragedPosterior",
    "ColumnPosteriors",
    "IntegralPosterior",
    "amplitudes",
    "calibrated",
    "condition",
    "influences",
]
