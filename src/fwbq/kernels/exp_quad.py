"""The exponentiated quadratic kernel."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .._validate import Array
from .base import Column
from .differences import Differences
from .registry import register
from .stationary import Pull, Stationary


@register("expquad")
@dataclass(frozen=True, eq=False, init=False, repr=False)
class ExpQuad(Stationary):
    """Exponentiated quadratic (Gaussian, squared-exponential) kernel.

    k(x, y) = variance * exp(-sum_i (x_i - y_i)^2 / (2 lengthscale_i^2)); note the 2 in front of the squared
    length-scale.

    Parameters
    ----------
    lengthscale : float or array_like, shape (d,)
        Positive. A scalar serves all coordinates and every dimension.
    variance : float
        k(x, x), positive.

    Examples
    --------
    >>> import numpy as np
    >>> k = ExpQuad(0.5)
    >>> k([[0.0]], [[0.0], [0.5], [1.0]]).round(4)  # exp(0), exp(-1/2), exp(-2)
    array([[1.    , 0.6065, 0.1353]])
    """

    def _block(self, x: Array, y: Array) -> Array:
        # Differences of coordinates, not |x|^2 + |y|^2 - 2 x.y: the latter loses the exponent far from the origin.
        k = np.zeros((x.shape[0], y.shape[0]))
        with np.errstate(over="ignore"):
            for i in range(x.shape[1]):
                t = np.subtract.outer(x[:, i], y[:, i])
                t /= self.lengthscale if isinstance(self.lengthscale, float) else self.lengthscale[i]
                np.multiply(t, t, out=t)
                k += t
        k *= -0.5
        np.exp(k, out=k)
        if self.variance != 1.0:
            k *= self.variance
        return k

    def factor(self, t: Array) -> Array:
        """Return exp(-t^2 / 2), elementwise."""
        g = t * t
        g *= -0.5
        return np.asarray(np.exp(g, out=g))

    def factors_at(self, pairs: Differences) -> tuple[Array, Callable[[], Array]]:
        """Return exp(-r^2 / 2 l^2), (d, N), and a function that returns r^2 / l^2; see `Stationary.factors_at`."""
        precision = self.lengthscales(len(pairs.absolute))[:, None] ** -2.0
        g = pairs.squares * (-0.5 * precision)
        return np.exp(g, out=g), lambda: pairs.squares * precision

    def _ratio1(self, t: Array) -> Array:
        return -t

    def _ratio2(self, t: Array) -> Array:
        return t * t - 1.0

    def _ratio3(self, t: Array) -> Array:
        return t * (3.0 - t * t)

    def pullback(self, pairs: Differences) -> tuple[Array, Pull]:
        """Return k at the pairs, and u -> sum_j u_j k_j r_ij^2 / l_i^2; see `Stationary.pullback`."""
        precision = self.lengthscales(len(pairs.absolute)) ** -2.0
        k = (-0.5 * precision) @ pairs.squares
        np.exp(k, out=k)
        k *= self.variance
        return k, lambda u: precision * (pairs.squares @ (u * k))

    def columns(self, x: ArrayLike) -> Column:
        """Prepare the columns k(x, y) over fixed points x: each is one matrix-vector product and one exponential.

        With u = (x - c)/lengthscale and v = (y - c)/lengthscale about the centre c of x, the exponent is
        [u, -|u|^2/2, 1] . [v, 1, log variance - |v|^2/2].

        Parameters
        ----------
        x : array_like, shape (M, d)

        Returns
        -------
        callable
            ``column(y, out=None)`` with y of shape (d,) returns k(x_i, y), shape (M,), written to ``out`` if given.
        """
        fixed = _validate.points(x, "x", self.dim)
        lengths = self.lengthscales(fixed.shape[1])
        centre = 0.5 * fixed.min(axis=0) + 0.5 * fixed.max(axis=0) if fixed.shape[0] else np.zeros(fixed.shape[1])
        with np.errstate(over="ignore"):
            scaled = (fixed - centre) / lengths
            half = 0.5 * np.einsum("ij,ij->i", scaled, scaled)
        # The exponent is off by about half * 2^-52 from cancellation; beyond 1e4 that would pass 1e-12.
        if fixed.shape[0] == 0 or not half.max() < 1e4:
            return super().columns(x)
        augmented = np.asfortranarray(np.column_stack([scaled, -half, np.ones_like(half)]))
        log_variance = math.log(self.variance)
        row = np.ones(fixed.shape[1] + 2)
        v = row[:-2]

        def column(y: Array, out: Array | None = None) -> Array:
            np.subtract(y, centre, out=v)
            np.divide(v, lengths, out=v)
            row[-1] = log_variance - 0.5 * float(v @ v)
            exponent = np.dot(augmented, row, out=out)
            return np.exp(exponent, out=exponent)

        return column
