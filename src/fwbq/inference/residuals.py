"""How far predictions were off, made before their points were evaluated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .surrogate import Surrogate, depth_noise

Array = NDArray[np.float64]

#: While no prediction has been tested the variance is multiplied by one plus this; with every tested prediction the
#: addition falls, like one over their number.
_UNTESTED = 3.0
#: How far the process can be trusted is judged by the errors of the last so many predictions.
_REMEMBERED = 40
#: Errors above this count as this, in natural logarithms: their squares stay finite.
_LARGEST = 1e100


class Residuals:
    """Squares of the standardised errors of predictions, with weights: near the top they count most."""

    def __init__(self) -> None:
        self._squares: list[tuple[float, float]] = []

    def compare(self, surrogate: Surrogate, z: Array, g: Array) -> None:
        """Compare log joint densities g (k,) at points z (k, d) with what the surrogate predicted without them."""
        if not len(z):
            return
        there = surrogate.predict(z)
        offset = 0.0 if surrogate.offset is None else surrogate.offset(z)
        variance = surrogate.amplitude * there.variance(surrogate.variance(z))
        top = max(float(surrogate.values.max()), float(np.max(g)))
        for error, v, value in zip(g - surrogate.level - there.mean - offset, variance, g, strict=True):
            if np.isfinite(value):
                noise = depth_noise(np.array([top, value]), surrogate.dim)[1]
                weight = float(np.exp(-0.3 * min(top - value, 200.0)) / (1.0 + noise))
                self._squares.append((float(min(abs(error), _LARGEST) ** 2 / max(v, 1e-16)), weight))

    @property
    def inflation(self) -> float:
        """Mean square of the standardised errors of predictions, with two errors of one as a prior; at least one."""
        squares, weights = np.array([(1.0, 2.0), *self._squares[-_REMEMBERED:]]).T
        total = float(np.sum(weights))
        # Few predictions say little: while there are none the standard deviation is doubled.
        return max(1.0, float(np.sum(squares * weights)) / total) * (1.0 + _UNTESTED / (total - 1.0))
