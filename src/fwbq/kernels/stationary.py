"""Stationary kernels that are products over coordinates: ExpQuad and Matern of smoothness 1/2, 3/2 and 5/2."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .._validate import Array
from .base import Column, Kernel
from .differences import Differences
from .lengthscales import LengthscaleKernel

Pull = Callable[[Array], Array]

# exp(-800) is zero in float64: distances beyond this many decay lengths can be cut without changing any value, and
# keep polynomial factors from overflowing.
_FAR = 800.0
# The product of this many polynomial factors of distances up to _FAR stays far below the largest float64.
_BLOCK = 32
# Gram matrices are filled by groups of rows of about this many entries, which stay in the cache from pass to pass.
_CHUNK = 65_536


@dataclass(frozen=True, eq=False, init=False)
class Stationary(LengthscaleKernel):
    """Product over coordinates of g((x_i - y_i) / lengthscale_i), times a variance, with g(0) = 1.

    Subclasses give g through blocks of the Gram matrix and through the ratios g'/g, g''/g and g'''/g, which stay
    finite where g itself underflows.
    """

    @abstractmethod
    def _block(self, x: Array, y: Array) -> Array:
        """Return k(x_i, y_j), shape (n, m), for so few points that all fits the cache."""

    @abstractmethod
    def _ratio1(self, t: Array) -> Array:
        """g'(t) / g(t)."""

    @abstractmethod
    def _ratio2(self, t: Array) -> Array:
        """g''(t) / g(t), the right-hand limit at a kink."""

    @abstractmethod
    def _ratio3(self, t: Array) -> Array:
        """g'''(t) / g(t), zero at a kink."""

    @abstractmethod
    def pullback(self, pairs: Differences) -> tuple[Array, Pull]:
        r"""Return the kernel at pairs of points, and its contraction with weights, differentiated.

        Parameters
        ----------
        pairs : Differences
            Of a set of points in d dimensions, N pairs.

        Returns
        -------
        k : (N,) array
            The kernel.
        pull : callable
            Weights u (N,) to :math:`\sum_j u_j\, \partial k_j / \partial \log l_i`, shape (d,): what the gradient of
            any function of the Gram matrix needs, at the cost of one more evaluation and without d more matrices.
        """

    def _scaled_difference(self, x: Array, y: Array, i: int) -> Array:
        """(x_i - y_i) / lengthscale_i, shape (n, m), cut where the kernel is zero so that products stay finite."""
        length = self.lengthscale if isinstance(self.lengthscale, float) else self.lengthscale[i]
        with np.errstate(over="ignore"):
            t = np.subtract.outer(x[:, i], y[:, i])
            t /= length
        return np.clip(t, -_FAR, _FAR, out=t)

    def _relative_derivatives(self, x: Array, y: Array) -> Iterator[tuple[Array, Array]]:
        """Yield per coordinate a_i = (dk/dx_i) / k and b_i = (d^2 k/dx_i^2) / k."""
        for i, length in enumerate(self.lengthscales(x.shape[1])):
            t = self._scaled_difference(x, y, i)
            yield self._ratio1(t) / length, self._ratio2(t) / length**2

    def _relative_third(self, x: Array, y: Array, u: list[Array], j: int) -> Array:
        """Return sum_i (u_i da_i/dx_j + db_i/dx_j), with a and b those of `_relative_derivatives`."""
        length = self.lengthscales(x.shape[1])[j]
        t = self._scaled_difference(x, y, j)
        a, b = self._ratio1(t) / length, self._ratio2(t) / length**2
        return np.asarray(u[j] * (b - a * a) + self._ratio3(t) / length**3 - a * b)

    def _gram(self, x: Array, y: Array) -> Array:
        rows = max(1, _CHUNK // max(1, y.shape[0]))
        if x.shape[0] <= rows:
            return self._block(x, y)
        k = np.empty((x.shape[0], y.shape[0]))
        for start in range(0, x.shape[0], rows):
            k[start : start + rows] = self._block(x[start : start + rows], y)
        return k

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        k = self._gram(x, y)
        lengths = self.lengthscales(x.shape[1])
        for i in range(x.shape[1]):
            part = self._ratio1(self._scaled_difference(x, y, i))
            part *= k
            part /= lengths[i]
            yield part

    def _lengthscale_gradient(self, x: Array, y: Array, i: int) -> Array:
        t = self._scaled_difference(x, y, i)
        part = self._ratio1(t)
        part *= t
        part *= self._gram(x, y)
        return np.negative(part, out=part)

    def factors(self, dim: int) -> tuple[Kernel, ...]:
        """One-dimensional kernels of the same family; the variance goes on the first."""
        lengths = self.lengthscales(dim)
        variances = [self.variance] + [1.0] * (dim - 1)
        return tuple(type(self)(float(length), v) for length, v in zip(lengths, variances, strict=True))


@dataclass(frozen=True, eq=False, init=False)
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
    >>> bool(np.isclose(k([[0.0]], [[1.0]])[0, 0], np.exp(-2.0)))
    True
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


@dataclass(frozen=True, eq=False, init=False)
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
        np.minimum(s, _FAR * self._rate, out=s)
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


@dataclass(frozen=True, eq=False, init=False)
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
    >>> bool(np.isclose(k([[0.0, 0.0]], [[1.0, 3.0]])[0, 0], np.exp(-2.0)))
    True
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


@dataclass(frozen=True, eq=False, init=False)
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
    >>> bool(np.isclose(k([[0.0]], [[3.0**0.5]])[0, 0], 2.0 * 4.0 * np.exp(-3.0)))
    True
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


@dataclass(frozen=True, eq=False, init=False)
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
    >>> bool(np.isclose(k([[0.0]], [[5.0**0.5]])[0, 0], (1 + 5 + 25 / 3) * np.exp(-5.0)))
    True
    """

    @property
    def smoothness(self) -> float:
        """The parameter nu = 5/2."""
        return 2.5

    def _polynomial(self, r: Array) -> Array:
        return 1.0 + r * (self._rate + (5.0 / 3.0) * r)

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
