"""How far predictions were off, made before their points were evaluated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..depth import depth_noise, nearness
from ..joint_process import JointProcess
from ..tuning import TUNING

Array = NDArray[np.float64]

#: Errors above this count as this, in natural logarithms: their squares stay finite.
_LARGEST = 1e100


class Predictions:
    """Squares of the standardised errors of predictions, with weights: near the top they count most."""

    def __init__(self) -> None:
        self.squares: list[tuple[float, float]] = []

    def compare(self, process: JointProcess, z: Array, g: Array) -> None:
        """Compare log joint densities g (k,) at points z (k, d) with what the surrogate predicted without them."""
        if not len(z):
            return
        there = process.predict(z)
        offset = 0.0 if process.offset is None else process.offset(z)
        variance = process.amplitude * there.variance(process.variance(z))
        top = max(float(process.values.max()), float(np.max(g)))
        for error, v, value in zip(g - process.level - there.mean - offset, variance, g, strict=True):
            if np.isfinite(value):
                pair = np.array([top, value])
                near = nearness(pair)[1]
                weight = float(near / (1.0 + depth_noise(pair, process.dim)[1]))
                self.squares.append((float(min(abs(error), _LARGEST) ** 2 / max(v, 1e-16)), weight))

    @property
    def inflation(self) -> float:
        """Mean square of the standardised errors of predictions, with two errors of one as a prior; at least one."""
        squares, weights = np.array([(1.0, 2.0), *self.squares[-TUNING.doubts.remembered :]]).T
        total = float(np.sum(weights))
        # Few predictions say little: while there are none the standard deviation is doubled.
        return max(1.0, float(np.sum(squares * weights)) / total) * (1.0 + TUNING.doubts.untested / (total - 1.0))
