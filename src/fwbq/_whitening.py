"""Affine coordinates: the one map between points and their standardised or whitened coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._linalg import triangular_solve
from ._validate import Array


@dataclass(frozen=True, eq=False)
class Whitening:
    """Coordinates s of points x = centre + root s.

    Attributes
    ----------
    centre : (d,) array
    root : (d, d) or (d,) array
        A lower triangular matrix, or the diagonal of one; no zero on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> whitening = Whitening(np.array([1.0, 0.0]), np.array([[2.0, 0.0], [1.0, 1.0]]))
    >>> whitening.back(np.array([[1.0, 0.0]]))
    array([[3., 1.]])
    >>> whitening.forward(np.array([[3.0, 1.0]]))
    array([[1., 0.]])
    """

    centre: Array
    root: Array

    def forward(self, x: Array) -> Array:
        """Map points x (n, d) to s."""
        if self.root.ndim == 1:
            return np.asarray((x - self.centre) / self.root)
        return triangular_solve(self.root, (x - self.centre).T).T

    def back(self, s: Array) -> Array:
        """Map points s (n, d) to x."""
        return np.asarray(self.centre + (s * self.root if self.root.ndim == 1 else s @ self.root.T))

    @property
    def log_volume(self) -> float:
        """Log of the determinant of the root: what the density of s exceeds that of x by, in logarithms."""
        return float(np.sum(np.log(self.root if self.root.ndim == 1 else np.diagonal(self.root))))

    def unit(self, x: Array) -> Array:
        """Return -|s|^2 / 2 at points x (n, d): the log density of the Gaussian it whitens, but for a constant."""
        return np.asarray(-0.5 * np.sum(self.forward(x) ** 2, axis=1))
