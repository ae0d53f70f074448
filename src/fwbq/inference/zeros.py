"""Where the likelihood is zero: a process known only by its sign."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from ..kernels import Matern52

Array = NDArray[np.float64]

#: Variances of the linear part and of the process beside it. The sign of u is what counts, so only their ratio to the
#: unit variance of the probit matters: large, because the boundary of a support is sharp.
_LINEAR = 100.0
_VARIANCE = 100.0
#: Length-scales of the process that are tried, in whitened coordinates.
_LENGTHS = (1.0, 2.0, 4.0, 8.0)
_STEPS = 40


@dataclass(frozen=True, eq=False)
class SignProcess:
    r"""The probability that the likelihood is positive, from points where it is and points where it is zero.

    A latent process :math:`u(s) = b_0 + b's + r(s)`, Gaussian with wide priors on the plane and a Matern-5/2
    remainder r, has the sign + where the likelihood is positive: :math:`P(+\,|\,u) = \Phi(u)`. Its posterior is
    approximated by Laplace's method (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, Section
    3.4), the length-scale of r is the one of greatest approximate likelihood.

    Attributes
    ----------
    points : (n, d) array
        In whitened coordinates.
    length : float
        Length-scale of the remainder.
    slope : (n,) array
        Gradient of the log likelihood of the signs at the mode of u.
    root : (n,) array
        Square roots of minus its second derivatives.
    lower : (n, n) array
        Cholesky factor of I + root K root.
    """

    points: Array
    length: float
    slope: Array
    root: Array
    lower: Array

    @classmethod
    def fit(cls, points: Array, positive: NDArray[np.bool_]) -> SignProcess:
        """Fit to points (n, d) and whether the likelihood is positive there."""
        y = np.where(positive, 1.0, -1.0)
        best: tuple[float, SignProcess] | None = None
        for length in _LENGTHS:
            value, found = cls._laplace(points, y, length)
            if best is None or value > best[0]:
                best = value, found
        assert best is not None
        return best[1]

    @classmethod
    def _laplace(cls, x: Array, y: Array, length: float) -> tuple[float, SignProcess]:
        n = len(x)
        K = _covariance(x, x, length)
        u = np.zeros(n)
        a = np.zeros(n)
        objective = -np.inf
        for _ in range(_STEPS):
            _, slope, curvature = _probit(y, u)
            root = np.sqrt(curvature)
            lower = np.linalg.cholesky(np.eye(n) + root[:, None] * K * root)
            b = curvature * u + slope
            step = b - root * scipy.linalg.cho_solve((lower, True), root * (K @ b)) - a
            # Newton's method on a concave function; halved while it overshoots.
            size = 1.0
            while size > 1e-4:
                tried = a + size * step
                value = float(-0.5 * tried @ (K @ tried) + np.sum(_probit(y, K @ tried)[0]))
                if value >= objective:
                    break
                size *= 0.5
            done = value - objective < 1e-6
            if value >= objective:
                a, objective = tried, value
                u = K @ a
            if done:
                break
        _, slope, curvature = _probit(y, u)
        root = np.sqrt(curvature)
        lower = np.linalg.cholesky(np.eye(n) + root[:, None] * K * root)
        evidence = objective - float(np.sum(np.log(np.diagonal(lower))))
        return evidence, cls(x, length, slope, root, np.asarray(lower, dtype=float))

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return mean and variance of u at points x (q, d)."""
        cross = _covariance(self.points, x, self.length)
        v = scipy.linalg.solve_triangular(self.lower, self.root[:, None] * cross, lower=True, check_finite=False)
        prior = _LINEAR * (1.0 + np.sum(x * x, axis=1)) + _VARIANCE
        return cross.T @ self.slope, np.maximum(prior - np.einsum("nq,nq->q", v, v), 0.0)

    def probability(self, x: Array) -> Array:
        """Return the probability of a positive likelihood at points x (q, d)."""
        mean, variance = self.predict(x)
        return np.asarray(ndtr(mean / np.sqrt(variance + 1e-300)))

    def draw(self, x: Array, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw whether the likelihood is positive at points x (q, d), jointly, (size, q)."""
        cross = _covariance(self.points, x, self.length)
        v = scipy.linalg.solve_triangular(self.lower, self.root[:, None] * cross, lower=True, check_finite=False)
        C = _covariance(x, x, self.length) - v.T @ v
        values, axes = np.linalg.eigh(C)
        e = rng.standard_normal((size, len(x))) * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(cross.T @ self.slope + e @ axes.T > 0.0)


def _covariance(x: Array, y: Array, length: float) -> Array:
    return _LINEAR * (1.0 + x @ y.T) + _VARIANCE * Matern52(length)(x, y)


def _probit(y: Array, u: Array) -> tuple[Array, Array, Array]:
    """Return log P(sign y | u) and minus its first and second derivatives' magnitudes at each value."""
    t = y * u
    log_p = log_ndtr(t)
    ratio = np.exp(-0.5 * t * t - 0.5 * np.log(2.0 * np.pi) - log_p)
    return log_p, y * ratio, np.maximum(ratio * (ratio + t), 1e-12)
