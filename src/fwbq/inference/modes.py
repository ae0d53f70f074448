"""Modes: where climbs ended, and whether a point belongs to one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .mixture import lower_root
from .quadratic import Quadratic
from .tuning import TUNING

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mode:
    """A maximum of the log joint density.

    Attributes
    ----------
    peak : Quadratic
        The local model, centred at the maximum.
    climbs : int
        How many climbs ended there.
    """

    peak: Quadratic
    climbs: int = 1

    @property
    def root(self) -> Array:
        """Lower root of the covariance of the local Gaussian."""
        return lower_root(np.asarray(np.linalg.inv(-self.peak.curvature), dtype=float))

    def holds(self, z: Array) -> bool:
        """Whether the point z (d,) lies within three standard deviations of the local Gaussian."""
        s = z - self.peak.centre
        return bool(-s @ self.peak.curvature @ s < TUNING.modes.within**2)


def explains(modes: list[Mode], z: Array, value: float) -> bool:
    """Whether a value at z (d,) is no higher than the Gaussians of the modes allow."""
    return any(value < float(mode.peak(z[None])[0]) + TUNING.modes.above for mode in modes)
