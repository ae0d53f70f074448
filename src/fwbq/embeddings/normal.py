"""The density of a Gaussian on an interval.

It is kept relative to its largest value, so that a truncation fifty standard deviations out in the tail, an interval of
width 1e-12 or a point a thousand length-scales away loses no digits and never gives ``nan``.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from .._validate import Array
from ..measures.standard_normal import scaled_mass
from .density import Density, Side
from .line import Line

_SQRT_2PI = sqrt(2.0 * np.pi)
# Edges of the panels of a Gaussian: how far the logarithm of the density has fallen from the peak. Between neighbours
# 20 Gauss-Legendre nodes resolve it to rounding; at the last one it is 1e-300 of the peak.
_FALL = np.array([0.02, 0.1, 0.3, 0.75, 1.5, 3.0, 6.0, 11.0, 18.0, 30.0, 50.0, 80.0, 130.0, 250.0, 450.0, 690.0])


@dataclass(frozen=True, eq=False)
class _Fall:
    """The Gaussian density in standard deviations t from its peak: exp(-rate t - t^2 / 2) / factor."""

    rate: float
    factor: float

    def __call__(self, t: Array) -> Array:
        return np.asarray(np.exp(-t * (self.rate + 0.5 * t)) / self.factor)


@dataclass(frozen=True, eq=False)
class NormalOnInterval(Density):
    """The Gaussian N(mean, sd^2) conditioned on [lower, upper], either of which may be infinite."""

    mean: float
    sd: float
    lower: float = -inf
    upper: float = inf

    @property
    def truncated(self) -> bool:
        """Whether either bound is finite."""
        return self.lower > -inf or self.upper < inf

    @cached_property
    def peak(self) -> float:
        """The point of the interval where the density is largest."""
        return min(max(self.mean, self.lower), self.upper)

    @cached_property
    def mass(self) -> float:
        """Probability of the interval under N(mean, sd^2), divided by exp(-(peak - mean)^2 / (2 sd^2))."""
        bounds = np.array([self.lower - self.mean, self.upper - self.mean, self.upper - self.lower]) / self.sd
        return float(scaled_mass(bounds[:1], bounds[1:2], bounds[2:])[0])

    def exponent(self, y: Array) -> Array:
        """Return log(density(y) / density(peak)) = -((y - mean)^2 - (peak - mean)^2) / (2 sd^2)."""
        with np.errstate(over="ignore"):
            step = (y - self.peak) / self.sd
            return -0.5 * step * (step + 2.0 * ((self.peak - self.mean) / self.sd))

    def density(self, y: Array) -> Array:
        """Return the normalised density at points of the interval."""
        return np.exp(self.exponent(y)) / (_SQRT_2PI * self.sd * self.mass)

    def sides(self) -> tuple[Side, ...]:
        """Return the parts below and above the peak, in standard deviations, as far as the density exceeds 1e-300."""
        slope = (self.peak - self.mean) / self.sd
        parts = []
        for sign, bound in ((-1.0, self.lower), (1.0, self.upper)):
            length = sign * (bound - self.peak) / self.sd
            if length > 0.0:
                # The density falls to exp(-e) of its peak at distance sqrt(slope^2 + 2 e) - |slope|.
                ends = 2.0 * _FALL / (np.sqrt(slope * slope + 2.0 * _FALL) + abs(slope))
                edges = np.unique(np.clip(np.concatenate([[0.0], ends]), 0.0, length))
                density = _Fall(sign * slope, _SQRT_2PI * self.mass)
                parts.append(Side(self.peak, sign * self.sd, density, edges))
        return tuple(parts)

    def characteristic(self, frequencies: Array) -> tuple[NDArray[np.complex128], str]:
        """Return E exp(i w Y): exp(i w m - w^2 s^2 / 2) without bounds, by quadrature with them."""
        if self.truncated:
            return super().characteristic(frequencies)
        return np.exp(1j * frequencies * self.mean - 0.5 * (frequencies * self.sd) ** 2), "closed form"


class NormalLine(Line):
    """A closed form under a Gaussian on an interval: with bounds the double integral is by quadrature of mu."""

    @property
    def method(self) -> str:
        """How mean and variance are computed."""
        return "closed form, variance by 1-d quadrature of it" if self.p.truncated else "closed form"

    @property
    def accuracy(self) -> float:
        """Relative error of the double integral where it is by quadrature."""
        return self._double_accuracy if self.p.truncated else 0.0
