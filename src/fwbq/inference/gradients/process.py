"""A process given values and gradients: the kernel with its derivatives, and the regression."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from .conjugate import Subset, conjugate_gradients, product

Array = NDArray[np.float64]

#: Points that are predicted at a time: the arrays of a block stay in the cache.
_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class GradientKernel:
    r"""Rational quadratic plus polynomial, with first and second derivatives.

    .. math:: k(x, y) = \frac{1}{1 + |x - y|^2 / (2 l^2)} + c\, (1 + x'y / e)^p

    The first part follows what is local, the second the cubic or quartic deviation of a log density from a Gaussian's.

    Attributes
    ----------
    length : float
        l.
    power : int
        p, 3 or 4.
    share : float
        c.
    scale : float
        e.
    """

    length: float
    power: int
    share: float
    scale: float

    def parts(self, x: Array, y: Array) -> tuple[Array, ...]:
        """Return both parts with first and second derivative, by |x - y|^2 / 2 and by x'y, each (n, m)."""
        inner = x @ y.T
        half = np.maximum(0.5 * np.sum(x * x, axis=1)[:, None] + 0.5 * np.sum(y * y, axis=1) - inner, 0.0)
        l2 = self.length**2
        k = 1.0 / (1.0 + half / l2)
        k1 = -(k * k) / l2
        k2 = -2.0 * k * k1 / l2
        base = 1.0 + inner / self.scale
        p, c, e = self.power, self.share, self.scale
        q2 = (c * p * (p - 1) / e**2) * base ** (p - 2)
        q1 = q2 * base * (e / (p - 1))
        q = q1 * base * (e / p)
        return k, k1, k2, q, q1, q2

    def gram(self, x: Array, y: Array | None = None) -> Array:
        """Return the covariance of values (n) and gradients (n d, point by point) at x (n, d) with those at y (m, d).

        Without y, with those at x.
        """
        y = x if y is None else y
        (n, d), m = x.shape, len(y)
        k, k1, k2, q, q1, q2 = self.parts(x, y)
        K = np.empty((n * (d + 1), m * (d + 1)))
        K[:n, :m] = k + q
        difference = x[:, None] - y[None]
        # Covariance of the value at x_i with the gradient at y_j, d k / d y_j, and the other way round.
        K[:n, m:] = (-k1[:, :, None] * difference + q1[:, :, None] * x[:, None]).reshape(n, m * d)
        K[n:, :m] = (k1[:, :, None] * difference + q1[:, :, None] * y[None]).transpose(0, 2, 1).reshape(n * d, m)
        H = K[n:, m:].reshape(n, d, m, d)
        # d^2 k / d x_i d y_j'; in blocks of rows, because the whole is the largest array there is.
        for a in range(d):
            H[:, a] = (-k2 * difference[:, :, a])[:, :, None] * difference
            H[:, a] += (q2 * y[:, a])[:, :, None] * x[:, None]
            H[:, a, :, a] += q1 - k1
        return K

    def values(self, x: Array) -> Array:
        """Return the covariance (n, n) of the values at points x (n, d)."""
        k, _, _, q, _, _ = self.parts(x, x)
        return np.asarray(k + q)

    def variances(self, x: Array) -> Array:
        """Return the mean variance of the values, and of the gradients, at points x (n, d): one entry a row, (N,)."""
        n, d = x.shape
        base = 1.0 + np.sum(x * x, axis=1) / self.scale
        p, c, e = self.power, self.share, self.scale
        values = 1.0 + np.mean(c * base**p)
        first = np.mean((c * p / e) * base ** (p - 1))
        second = np.mean((c * p * (p - 1) / e**2) * base ** (p - 2) * np.sum(x * x, axis=1))
        return np.repeat([values, 1.0 / self.length**2 + first + second / d], [n, n * d])

    def predict(self, z: Array, x: Array, weights: Array) -> Array:
        """Return the sums over values and gradients at x (n, d) with weights (n (d + 1), r) at points z, (m, r).

        With weights (n, r), the sums over values alone.
        """
        n, d = x.shape
        out = np.empty((len(z), weights.shape[1]))
        for start in range(0, len(z), _BLOCK):
            at = z[start : start + _BLOCK]
            k, k1, _, q, q1, _ = self.parts(at, x)
            both = k + q
            if len(weights) == n:
                out[start : start + _BLOCK] = both @ weights
                continue
            slope = q1 - k1
            for j in range(weights.shape[1]):
                a, b = weights[:n, j], weights[n:, j].reshape(n, d)
                out[start : start + _BLOCK, j] = (
                    both @ a + k1 @ np.sum(x * b, axis=1) + np.einsum("ij,ij->i", slope, at @ b.T)
                )
        return out


@dataclass(frozen=True, eq=False)
class GradientProcess:
    """A process of mean zero given values, and gradients where there are any.

    Attributes
    ----------
    kernel : GradientKernel
    places : (n, d) array
    known : (n (d + 1),) array, or (n,)
        Values, then gradients point by point.
    weights : array like `known`
        Of the kernel's values and derivatives at the places.
    log_likelihood : float
        With the amplitude at its maximum; NaN for a large process.
    noise : float
        Variance of the rounding, relative to the mean variances of values and of slopes.
    factor : (N, N) array or None
        Lower Cholesky factor of the covariance, in its lower triangle. A large process has none: its weights are found
        by conjugate gradients.
    """

    kernel: GradientKernel
    places: Array
    known: Array
    weights: Array
    log_likelihood: float
    noise: float
    factor: Array | None

    @classmethod
    def fit(
        cls,
        kernel: GradientKernel,
        places: Array,
        values: Array,
        gradients: Array | None,
        noise: float,
        most: int = 2**31,
    ) -> GradientProcess:
        """Condition on values (n,) and gradients (n, d) at places (n, d), or on values alone.

        `noise` is the variance of the rounding, relative to the mean variances of values and of slopes. With more than
        `most` rows the covariance is not factorised.

        Raises
        ------
        numpy.linalg.LinAlgError
            When the covariance is not positive definite in double precision.
        """
        known = values if gradients is None else np.concatenate([values, gradients.ravel()])
        if gradients is not None and len(known) > most:
            large = cls(kernel, places, known, known, np.nan, noise, None)
            return replace(large, weights=large._solve(Subset(kernel, places), np.arange(len(places))))
        K = kernel.values(places) if gradients is None else kernel.gram(places)
        K.flat[:: len(K) + 1] += noise * kernel.variances(places)[: len(K)]
        factor, info = lapack.dpotrf(K.T, lower=1, overwrite_a=1, clean=0)
        if info:
            raise np.linalg.LinAlgError("the covariance of values and gradients is not positive definite")
        weights = lapack.dpotrs(factor, known, lower=1)[0]
        amplitude = max(float(known @ weights) / len(known), 1e-300)
        likelihood = -0.5 * len(known) * np.log(amplitude) - float(np.sum(np.log(np.diagonal(factor))))
        return cls(kernel, places, known, weights, likelihood, noise, factor)

    @property
    def amplitude(self) -> float:
        """The amplitude of greatest likelihood."""
        return float(np.sqrt(max(float(self.known @ self.weights), 0.0) / len(self.known)))

    def _rows(self, points: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of the values and gradients at some of the points."""
        n, d = self.places.shape
        if len(self.known) == n:
            return points
        return np.concatenate([points, (n + points[:, None] * d + np.arange(d)).ravel()])

    def _solve(self, subset: Subset, points: NDArray[np.intp]) -> Array:
        """Return the weights (N,) by conjugate gradients, given some of the points alone; zero at the others."""
        rows = self._rows(points)
        places = self.places[points]
        multiply = product(self.kernel, places, self.noise * self.kernel.variances(self.places)[rows])
        out = np.zeros(len(self.known))
        out[rows] = conjugate_gradients(multiply, subset.solver(rows, self.noise), self.known[rows])
        return out

    def predict(self, z: Array, weights: Array | None = None) -> Array:
        """Return the mean at points z (m, d), (m,); for further sets of weights (N, r), (m, r)."""
        if weights is None:
            return self.kernel.predict(z, self.places, self.weights[:, None])[:, 0]
        return self.kernel.predict(z, self.places, weights)

    def without(self, folds: list[NDArray[np.intp]]) -> Array:
        r"""Return the weights of the processes that leave out each fold of points, (N, k).

        With :math:`P = K^{-1}` and I the rows of a fold, :math:`w_{-I} = w - P_{:I} P_{II}^{-1} w_I`.
        """
        if self.factor is None:
            # From zero: a search that began at the weights of all points would know of the fold.
            subset, every = Subset(self.kernel, self.places), np.arange(len(self.places))
            return np.column_stack([self._solve(subset, np.setdiff1d(every, fold)) for fold in folds])
        inverse = lapack.dpotri(self.factor, lower=1)[0]
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        out = np.repeat(self.weights[:, None], len(folds), axis=1)
        for j, fold in enumerate(folds):
            rows = self._rows(fold)
            out[:, j] -= inverse[:, rows] @ np.linalg.solve(inverse[np.ix_(rows, rows)], self.weights[rows])
            out[rows, j] = 0.0
        return out
