"""Measures on the whole of R^d."""

import math

import numpy as np

from .._validate import Array
from .base import Measure


class Unbounded(Measure):
    """A measure without bounds."""

    @property
    def lower(self) -> Array:
        """-inf, shape (d,)."""
        return np.full(self.dim, -math.inf)

    @property
    def upper(self) -> Array:
        """Infinity, shape (d,)."""
        return np.full(self.dim, math.inf)
