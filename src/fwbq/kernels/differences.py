"""Differences between the points of a set, computed once for many length-scales."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._validate import Array


@dataclass(frozen=True, eq=False)
class Differences:
    """Coordinate differences |x_i - y_i| of the N = n (n - 1) / 2 pairs of n points.

    A stationary kernel is an even function of them. A search over length-scales evaluates it again and again on the
    same points; the differences, and the half of the Gram matrix that symmetry leaves, are all it needs.

    Attributes
    ----------
    size : int
        Number n of points.
    absolute : (d, N) array
        Differences; pairs in the order of the rows of a lower triangle.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = Differences.of(np.array([[0.0], [1.0], [3.0]]))
    >>> pairs.absolute
    array([[1., 3., 2.]])
    >>> pairs.matrix(np.array([0.1, 0.2, 0.3]), 1.0)
    array([[1. , 0.1, 0.2],
           [0.1, 1. , 0.3],
           [0.2, 0.3, 1. ]])
    """

    size: int
    absolute: Array

    @classmethod
    def of(cls, points: Array) -> Differences:
        """Take the differences of points (n, d)."""
        i, j = np.tril_indices(len(points), -1)
        return cls(len(points), np.abs(points[i] - points[j]).T.copy())

    @cached_property
    def squares(self) -> Array:
        """Squared differences, (d, N)."""
        return np.square(self.absolute)

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Places of the pairs in a flattened (n, n) matrix: below the diagonal, and above."""
        i, j = np.tril_indices(self.size, -1)
        return i * self.size + j, j * self.size + i

    def matrix(self, k: Array, diagonal: float) -> Array:
        """Return the symmetric (n, n) matrix with entries `k` (N,) and a constant diagonal."""
        full = np.empty(self.size * self.size)
        below, above = self._places
        full[below] = k
        full[above] = k
        full[:: self.size + 1] = diagonal
        return full.reshape(self.size, self.size)

    def pairs(self, matrix: Array) -> Array:
        """Return the entries of a symmetric (n, n) matrix below its diagonal, (N,)."""
        return np.asarray(matrix.ravel()[self._places[0]])
