"""How far from its points a process is believed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._whitening import Whitening
from ..tuning import TUNING

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reach:
    r"""By how much the mean of a process is lowered where its points say little.

    .. math:: \kappa\, a\, \max\{0, \sigma(x) - \sigma_0\}, \qquad
        \sigma^2(x) = 1 - k(x, X)\, K^{-1} k(X, x)

    with a the amplitude of the process, k the rational quadratic kernel, X its points, and sigma_0 a quantile of what
    sigma would be at each of the points, were this one not there. A thin and bent posterior has nothing off its ridge,
    where a process of few points returns to a wide Gaussian. Where all is equally far from the points, as in many
    dimensions that are alike, nothing is lowered.

    Attributes
    ----------
    whitening : Whitening
    axes : (d, d) array
        To the kernel's coordinates: whitened ones times this.
    places : (n, d) array
        The points in these.
    length : float
        Of the kernel.
    inverse : (n, n) array
        Of the covariance of values at the points.
    usual : float
        Sigma_0.
    amplitude : float
        a.
    lowered : float
        Kappa.
    """

    whitening: Whitening
    axes: Array
    places: Array
    length: float
    inverse: Array
    usual: float
    amplitude: float
    lowered: float = 0.0

    @classmethod
    def of(cls, whitening: Whitening, axes: Array, places: Array, length: float, amplitude: float) -> Reach:
        """Return the reach of a process of an amplitude with points at places (n, d) in the kernel's coordinates."""
        numbers = TUNING.judge
        K = _covariance(places, places, length)
        K.flat[:: len(K) + 1] += numbers.noise
        inverse = np.asarray(np.linalg.inv(K), dtype=float)
        without = np.sqrt(np.clip(1.0 / np.diagonal(inverse), 0.0, 1.0))
        usual = float(np.quantile(without, numbers.usual))
        return cls(whitening, axes, places, length, inverse, usual, amplitude)

    def fall(self, z: Array) -> Array:
        """Return by how much the mean is lowered at points z (m, d), (m,)."""
        if self.lowered == 0.0:
            return np.zeros(len(z))
        k = _covariance(self.whitening.forward(z) @ self.axes, self.places, self.length)
        variance = 1.0 - np.einsum("ij,ij->i", k @ self.inverse, k)
        return np.asarray(
            self.lowered * self.amplitude * np.maximum(np.sqrt(np.maximum(variance, 0.0)) - self.usual, 0.0)
        )


def _covariance(x: Array, y: Array, length: float) -> Array:
    """Return the rational quadratic kernel of points x (n, d) and y (m, d), (n, m)."""
    half = 0.5 * np.sum(x * x, axis=1)[:, None] + 0.5 * np.sum(y * y, axis=1) - x @ y.T
    return np.asarray(1.0 / (1.0 + np.maximum(half, 0.0) / length**2))
