"""Distributions of an integral: given one kernel, averaged over kernels, a column of values at a time."""

from .averaged import AveragedPosterior
from .calibrated import AnyAmplitude, amplitudes, calibrated, checked_amplitude, influences
from .columns import ColumnPosteriors
from .estimate import Estimate
from .shown import stated, written
from .single import Amplitude, IntegralPosterior, condition

__all__ = [
    "Amplitude",
    "AnyAmplitude",
    "AveragedPosterior",
    "ColumnPosteriors",
    "Estimate",
    "IntegralPosterior",
    "amplitudes",
    "calibrated",
    "checked_amplitude",
    "condition",
    "influences",
    "stated",
    "written",
]
