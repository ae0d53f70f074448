"""Products of one-dimensional Matern kernels."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from .._validate import Array
from .differences import Differences
from .registry import register
from .stationary import FAR, Pull, Stationary

# The product of this many polynomial factors of distances up to FAR stays far below the largest float64.
_BLOCK = 32


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Matern(Stationary):
    """Matern kernels of half-integer smoothness: g(r) = polynomial(r) exp(-rate r), r = |t|."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """The parameter nu: functions of the space have about nu derivatives."""

    @property
    def _rate(self) -> float:
        return math.sqrt(2.0 * self.smoothness)

    @abstractmethod
    def _polynomial(self, r: Array) -> Array:
        """Return the polynomial factor of g, in r >= 0; a new array."""

    @abstractmethod
    def _slope(self, s: Array) -> Array:
        """Return s times the derivative of the polynomial factor, over the polynomial itself, in s = rate r."""

    def factor(self, t: Array) -> Array:
        """Return the one-dimensional kernel of unit length-scale and variance, elementwise."""
        r = np.abs(t)
        return np.asarray(self._polynomial(r) * np.exp(-self._rate * r))

    def pullback(self, pairs: Differences) -> tuple[Array, Pull]:
        """Return k at the pairs, and u -> sum_j u_j k_j (s - s p'(s) / p(s)), s = rate r_ij / l_i, p the polynomial.

        See `Stationary.pullback`.
        """
        d = len(pairs.absolute)
        rates = self._rate / self.lengthscales(d)
        if self.smoothness == 0.5:
            k = self.variance * np.exp(-(rates @ pairs.absolute))
            return k, lambda u: rates * (pairs.absolute @ (u * k))
        s = pairs.absolute * rates[:, None]
        np.minimum(s, FAR * self._rate, out=s)
        k = np.full(s.shape[1], self.variance)
        for start in range(0, d, _BLOCK):
            part = s[start : start + _BLOCK]
            k *= np.prod(self._polynomial(part / self._rate), axis=0)
            k *= np.exp(-part.sum(axis=0))
        return k, lambda u: (s - self._slope(s)) @ (u * k)

    def _block(self, x: Array, y: Array) -> Array:
        d = x.shape[1]
        k = np.full((x.shape[0], y.shape[0]), self.variance)
        for start in range(0, d, _BLOCK):
            total = np.zeros_like(k)
            for i in range(start, min(start + _BLOCK, d)):
                r = self._scaled_difference(x, y, i)
                np.abs(r, out=r)
                total -= r
                if self.smoothness > 0.5:
                    k *= self._polynomial(r)
            total *= self._rate
            k *= np.exp(total, out=total)
        return k


@register("matern12")
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Matern12(Matern):
    """Product over coordinates of Matern kernels of smoothness 1/2 (exponential kernels).

    k(x, y) = variance * prod_i exp(-r_i), r_i = |x_i - y_i| / lengthscale_i.

    Parameters
    ----------
    lengthscale : float or array_like, shape (d,)
        Positive. A scalar serves all coordinates and every dimension.
    variance : float
        k(x, x), positive.

    Notes
    -----
    The product over coordinates, not the radial kernel exp(-|x - y|): its integrals split into one-dimensional ones.
    Rasmussen and Williams (2006), eq. 4.18.

    Examples
    --------
    >>> import numpy as np
    >>> k = Matern12(2.0)
    >>> k([[0.0, 0.0]], [[0.0, 0.0], [1.0, 3.0]]).round(4)  # 1, exp(-2)
    array([[1.    , 0.1353]])
    """

    @property
    def smoothness(self) -> float:
        """The parameter nu = 1/2."""
        return 0.5

    def _polynomial(self, r: Array) -> Array:
        return np.ones_like(r)

    def _slope(self, s: Array) -> Array:
        return np.zeros_like(s)

    def _ratio1(self, t: Array) -> Array:
        return -np.sign(t)

    def _ratio2(self, t: Array) -> Array:
        return np.ones_like(t)

    def _ratio3(self, t: Array) -> Array:
        return -np.sign(t)

    def _gradient_covariance(self, x: Array, y: Array) -> Array:
        raise TypeError(
            "`kernel` Matern12 has no covariance of derivatives: functions of this smoothness have none; use Matern32, "
            "Matern52 or ExpQuad"
        )


@register("matern32")
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Matern32(Matern):
    """Product over coordinates of Matern kernels of smoothness 3/2.

    k(x, y) = variance * prod_i (1 + sqrt(3) r_i) exp(-sqrt(3) r_i), r_i = |x_i - y_i| / lengthscale_i.

    Parameters
    ----------
    lengthscale : float or array_like, shape (d,)
        Positive. A scalar serves all coordinates and every dimension.
    variance : float
        k(x, x), positive.

    Notes
    -----
    The product over coordinates, not the radial kernel. Rasmussen and Williams (2006), eq. 4.17.

    Examples
    --------
    >>> import numpy as np
    >>> k = Matern32(1.0, variance=2.0)
    >>> k([[0.0]], [[0.0], [3.0**0.5]]).round(4)  # 2, 8 exp(-3)
    array([[2.    , 0.3983]])
    """

    @property
    def smoothness(self) -> float:
        """The parameter nu = 3/2."""
        return 1.5

    def _polynomial(self, r: Array) -> Array:
        return 1.0 + self._rate * r

    def _slope(self, s: Array) -> Array:
        return s / (1.0 + s)

    def _ratio1(self, t: Array) -> Array:
        return -3.0 * t / (1.0 + self._rate * np.abs(t))

    def _ratio2(self, t: Array) -> Array:
        s = self._rate * np.abs(t)
        return 3.0 * (s - 1.0) / (1.0 + s)

    def _ratio3(self, t: Array) -> Array:
        s = self._rate * np.abs(t)
        return 3.0 * self._rate * np.sign(t) * (2.0 - s) / (1.0 + s)


@register("matern52")
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Matern52(Matern):
    """Product over coordinates of Matern kernels of smoothness 5/2.

    k(x, y) = variance * prod_i (1 + sqrt(5) r_i + 5 r_i^2 / 3) exp(-sqrt(5) r_i), r_i = |x_i - y_i| / lengthscale_i.

    Parameters
    ----------
    lengthscale : float or array_like, shape (d,)
        Positive. A scalar serves all coordinates and every dimension.
    variance : float
        k(x, x), positive.

    Notes
    -----
    The product over coordinates, not the radial kernel. Rasmussen and Williams (2006), eq. 4.17.

    Examples
    --------
    >>> import numpy as np
    >>> k = Matern52(1.0)
    >>> k([[0.0]], [[0.0], [5.0**0.5]]).round(4)  # 1, (1 + 5 + 25 / 3) exp(-5)
    array([[1.    , 0.0966]])
    """

    @property
    def smoothness(self) -> float:
        """The parameter nu = 5/2."""
        return 2.5

    def _polynomial(self, r: Array) -> Array:
        p = (5.0 / 3.0) * r
        p += self._rate
        p *= r
        p += 1.0
        return p

    def _slope(self, s: Array) -> Array:
        return s * (1.0 + (2.0 / 3.0) * s) / (1.0 + s * (1.0 + s / 3.0))

    def _ratio1(self, t: Array) -> Array:
        r = np.abs(t)
        return -(5.0 / 3.0) * t * (1.0 + self._rate * r) / self._polynomial(r)

    def _ratio2(self, t: Array) -> Array:
        r = np.abs(t)
        return -(5.0 / 3.0) * (1.0 + r * (self._rate - 5.0 * r)) / self._polynomial(r)

    def _ratio3(self, t: Array) -> Array:
        r = np.abs(t)
        return 25.0 * t * (1.0 - (self._rate / 3.0) * r) / self._polynomial(r)
