"""Stationary kernels that are products over coordinates: ExpQuad and Matern of smoothness 1/2, 3/2 and 5/2."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .._validate import Array
from .base import Kernel
from .differences import Differences
from .lengthscales import LengthscaleKernel

Pull = Callable[[Array], Array]
# exp(-800) is zero in float64: distances beyond this many decay lengths can be cut without changing any value, and
# keep polynomial factors from overflowing.
FAR = 800.0
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
        return np.clip(t, -FAR, FAR, out=t)

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
