"""Stationary kernels that are products over coordinates: ExpQuad and Matern of smoothness 1/2, 3/2 and 5/2."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .._validate import Array
from .base import Column
from .differences import Differences
from .lengthscales import LengthscaleKernel

Pull = Callable[[Array], Array]
# exp(-800) is zero in float64: distances beyond this many decay lengths can be cut without changing any value, and
# keep polynomial factors from overflowing.
FAR = 800.0
# Gram matrices are filled by groups of rows of about this many entries, which stay in the cache from pass to pass.
CHUNK = 65_536


@dataclass(frozen=True, eq=False, init=False, repr=False)
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

    def factor(self, t: Array) -> Array:
        """Return g(t), elementwise, for differences in length-scales of at most `FAR` in magnitude; a new array."""
        return type(self)(1.0)._block(t.reshape(-1, 1), np.zeros((1, 1))).reshape(t.shape)

    def factors_at(self, pairs: Differences) -> tuple[Array, Callable[[], Array]]:
        """Return the factors g at pairs of points, (d, N), and a function that returns their stretches, (d, N).

        The stretch of a factor is the derivative of log g(r / l) in log l, -t g'(t) / g(t) at t = r / l.
        """
        t = pairs.absolute / self.lengthscales(len(pairs.absolute))[:, None]
        np.minimum(t, FAR, out=t)
        return self.factor(t), lambda: -t * self._ratio1(t)

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
        rows = max(1, CHUNK // max(1, y.shape[0]))
        if x.shape[0] <= rows:
            return self._block(x, y)
        k = np.empty((x.shape[0], y.shape[0]))
        for start in range(0, x.shape[0], rows):
            k[start : start + rows] = self._block(x[start : start + rows], y)
        return k

    def columns(self, x: ArrayLike) -> Column:
        """Prepare the columns k(x, y) over fixed points x, all coordinates at once; see `Kernel.columns`.

        In ten dimensions a column of 2048 points takes a third of the time that one by one takes; in one or two
        dimensions nothing is gained.
        """
        fixed = _validate.points(x, "x", self.dim)
        if fixed.shape[1] <= 2:
            return super().columns(fixed)
        differences = self.differences_from(fixed)

        def column(y: Array, out: Array | None = None) -> Array:
            k = np.multiply.reduce(self.factor(differences(y)), axis=0, out=out)
            k *= self.variance
            return np.asarray(k)

        return column

    def differences_from(self, x: Array) -> Callable[[Array], Array]:
        """Return a function of y (d,) that returns (x_i - y_i) / lengthscale_i at points x (n, d), shape (d, n)."""
        lengths = self.lengthscales(x.shape[1])[:, None]
        turned = np.ascontiguousarray(x.T)

        def differences(y: Array) -> Array:
            with np.errstate(over="ignore"):
                t = turned - np.asarray(y, dtype=np.float64).reshape(-1, 1)
                t /= lengths
            return np.clip(t, -FAR, FAR, out=t)

        return differences

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        k = self._gram(x, y)
        lengths = self.lengthscales(x.shape[1])
        for i in range(x.shape[1]):
            part = self._ratio1(self._scaled_difference(x, y, i))
            part *= k
            part /= lengths[i]
            yield part

    def _gradient_covariance(self, x: Array, y: Array) -> Array:
        # d/dy = -d/dx: -k a_i a_j for two coordinates, and -k b_i for one.
        slopes, bends = zip(*self._relative_derivatives(x, y), strict=True)
        return mixed_derivatives(self._gram(x, y), slopes, bends)

    def factors(self, dim: int) -> tuple["Stationary", ...]:
        """One-dimensional kernels of the same family; the variance goes on the first."""
        lengths = self.lengthscales(dim)
        variances = [self.variance] + [1.0] * (dim - 1)
        return tuple(type(self)(float(length), v) for length, v in zip(lengths, variances, strict=True))


def mixed_derivatives(k: Array, slopes: Sequence[Array], bends: Sequence[Array], cross: float = 1.0) -> Array:
    """Return d^2 k / dx_a dy_b, (n, d, m, d), of a kernel of x - y, given derivatives in x relative to the kernel.

    Parameters
    ----------
    k : (n, m) array
        The kernel.
    slopes, bends : sequences of d (n, m) arrays
        First and second derivatives in each coordinate, over k.
    cross : float
        The second derivative in coordinates a and b, over k, is this times the product of the two slopes.
    """
    n, m = k.shape
    d = len(slopes)
    out = np.empty((n, d, m, d))
    for a in range(d):
        np.multiply(bends[a], -k, out=out[:, a, :, a])
        for b in range(a):
            # The product of the slopes first: the order of a and b then changes no bit.
            block = slopes[a] * slopes[b]
            block *= -cross * k
            out[:, a, :, b] = out[:, b, :, a] = block
    return out
