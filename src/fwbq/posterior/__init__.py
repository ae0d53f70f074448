"""Distributions of an integral: given one kernel, averaged over kernels, a column of values at a time."""

from .averaged import AveragedPosterior
from .calibrated import AnyAmplitude, amplitudes, calibrated, checked_amplitude, influences
from .columns import ColumnPosteriors
from .single import ESTIMATES, Amplitude, IntegralPosterior, condition

__all__ = [
    "ESTIMATES",
    "Amplitude",
    "AnyAmplitude",
    "AveragedPosterior",
    "ColumnPosteriors",
    "IntegralPosterior",
    "amplitudes",
    "calibrated",
    "checked_amplitude",
    "condition",
    "influences",
]
