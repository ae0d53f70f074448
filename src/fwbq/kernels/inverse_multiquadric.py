"""The inverse multiquadric kernel, whose tails are heavy enough for Stein discrepancies to control convergence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._validate import Array
from .lengthscales import LengthscaleKernel
from .registry import register
from .stationary import mixed_derivatives


@register()
@dataclass(frozen=True, eq=False, init=False, repr=False)
class InverseMultiquadric(LengthscaleKernel):
    """Radial kernel with polynomial tails.

    k(x, y) = variance / sqrt(1 + sum_i (x_i - y_i)^2 / lengthscale_i^2).

    Parameters
    ----------
    lengthscale : float or array_like, shape (d,)
        Positive. A scalar serves all coordinates and every dimension.
    variance : float
        k(x, x), positive.

    Notes
    -----
    As the base of `Stein` it makes a discrepancy that goes to zero only if the points converge to the target (Gorham &
    Mackey, "Measuring sample quality with kernels", ICML 2017), which fails for ExpQuad and Matern kernels from three
    dimensions on. It is not a product over coordinates: it is embedded under `Empirical` measures and through `Stein`.

    Examples
    --------
    >>> import numpy as np
    >>> k = InverseMultiquadric([1.0, 2.0])
    >>> k([[0.0, 0.0]], [[0.0, 0.0], [1.0, 4.0]]).round(4)  # 1, 1 / sqrt(6)
    array([[1.    , 0.4082]])
    """

    def _differences(self, x: Array, y: Array) -> tuple[list[Array], Array]:
        """Return (x_i - y_i) / lengthscale_i^2 for each coordinate, and q = 1 + |(x - y) / lengthscale|^2."""
        slopes = []
        q = np.ones((len(x), len(y)))
        with np.errstate(over="ignore"):  # so far apart that the kernel is zero
            for i, length in enumerate(self.lengthscales(x.shape[1])):
                t = np.subtract.outer(x[:, i], y[:, i]) / length
                q += t * t
                slopes.append(t / length)
        return slopes, q

    def _gram(self, x: Array, y: Array) -> Array:
        return np.asarray(self.variance / np.sqrt(self._differences(x, y)[1]))

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        slopes, q = self._differences(x, y)
        k = -self.variance * q**-1.5
        for slope in slopes:
            yield k * slope

    def _relative_derivatives(self, x: Array, y: Array) -> Iterator[tuple[Array, Array]]:
        """Yield per coordinate a_i = (dk/dx_i) / k and b_i = (d^2 k/dx_i^2) / k."""
        slopes, q = self._differences(x, y)
        for slope, length in zip(slopes, self.lengthscales(x.shape[1]), strict=True):
            a = slope / q
            yield -a, 3.0 * a * a - 1.0 / (length**2 * q)

    def _relative_third(self, x: Array, y: Array, u: list[Array], j: int) -> Array:
        """Return sum_i (u_i da_i/dx_j + db_i/dx_j), with a and b those of `_relative_derivatives`."""
        slopes, q = self._differences(x, y)
        lengths = self.lengthscales(x.shape[1])
        along = sum(weight * slope for weight, slope in zip(u, slopes, strict=True))
        squared = sum(slope * slope for slope in slopes)
        curvature = float(np.sum(lengths**-2.0))
        slope = slopes[j]
        result = 2.0 * along * slope / q**2 - u[j] / (lengths[j] ** 2 * q)
        result += slope * ((6.0 / lengths[j] ** 2 + 2.0 * curvature) / q**2 - 12.0 * squared / q**3)
        return np.asarray(result)

    def _gradient_covariance(self, x: Array, y: Array) -> Array:
        slopes, bends = zip(*self._relative_derivatives(x, y), strict=True)
        # k = variance q^-1/2: the second derivative in two coordinates is 3 times the product of the slopes.
        return mixed_derivatives(self._gram(x, y), slopes, bends, cross=3.0)
