"""A few values with their probabilities: kernels are summed over them, exactly."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._validate import Array
from ..kernels import Kernel
from .base import register
from .density import Density, Side
from .line import Line
from .panels import Estimate


@dataclass(frozen=True, eq=False)
class PointMasses(Density):
    """Values (K,) with their probabilities (K,)."""

    values: Array
    probabilities: Array

    def sides(self) -> tuple[Side, ...]:
        """Return none: there is no density between the values."""
        return ()

    def nodes(self) -> tuple[Array, Array]:
        """Return the values and their probabilities."""
        return self.values, self.probabilities

    def expectation(self, function: Line, edges: Array) -> Estimate:
        """Return the sum of ``function.mean`` over the values; its error is rounding."""
        return Estimate(float(self.probabilities @ function.mean(self.values)), 0.0)

    def characteristic(self, frequencies: Array) -> tuple[NDArray[np.complex128], str]:
        """Return sum_j p_j exp(i w v_j)."""
        waves = np.exp(1j * np.multiply.outer(frequencies, self.values))
        return np.sum(waves * self.probabilities, axis=1), "exact sum"


@register([Kernel], [PointMasses], "exact sum")
@dataclass(frozen=True, eq=False)
class SumLine(Line):
    """Any kernel under sum_j p_j delta(v_j).

    mu(x) = sum_j p_j k(x, v_j),  double integral sum_ij p_i p_j k(v_i, v_j).
    """

    p: PointMasses

    @property
    def method(self) -> str:
        """A sum."""
        return "exact sum"

    def breaks(self) -> Array:
        """Return none: the mean element is as smooth as the kernel."""
        return np.empty(0)

    def mean(self, x: Array) -> Array:
        """Return mu(x) for points x of shape (n,)."""
        return np.asarray(self.kernel(x[:, None], self.p.values[:, None]) @ self.p.probabilities)

    def gradient(self, x: Array) -> Array:
        """Return the derivative of mu at points x of shape (n,)."""
        return np.asarray(self.kernel.gradient_sum(x[:, None], self.p.values[:, None], self.p.probabilities)[:, 0])

    def variance(self) -> float:
        """Return the double sum of the kernel."""
        return float(self.p.probabilities @ self.mean(self.p.values))
