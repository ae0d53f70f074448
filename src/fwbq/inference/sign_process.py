"""Where the likelihood is zero: a process known only by its sign."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from .._linalg import jittered_cholesky
from ..kernels import Matern52
from .tuning import TUNING

Array = NDArray[np.float64]

#: Relative to the variances, for the Cholesky factor.
_JITTER = 1e-8
#: Variances below this share of the prior's, or of the largest, are rounding.
_LEAST = 1e-14
#: Most sweeps of expectation propagation, and the change of the log likelihood at which it ends.
_SWEEPS = 12
_CONVERGED = 1e-3


@dataclass(frozen=True, eq=False)
class SignProcess:
    r"""The probability that the likelihood is positive, from points where it is and points where it is zero.

    A latent process :math:`u(s) = b_0 + b's + r(s)`, Gaussian with wide priors on the plane and a Matern-5/2
    remainder r, has the sign + where the likelihood is positive: :math:`P(+\,|\,u) = \Phi(u)`. Its posterior is
    approximated by expectation propagation (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
    Section 3.6; Laplace's method fails for a prior as wide as a sharp boundary needs), and the length-scale of r is the
    one of greatest approximate likelihood.

    Attributes
    ----------
    points : (n, d) array
        In whitened coordinates.
    length : float
        Length-scale of the remainder.
    weights : (n,) array
        K^-1 times the posterior mean of u at the points.
    root : (n,) array
        Square roots of the precisions of the approximate likelihoods.
    lower : (n, n) array
        Cholesky factor of I + root K root.
    """

    points: Array
    length: float
    weights: Array
    root: Array
    lower: Array

    @classmethod
    def fit(cls, points: Array, positive: NDArray[np.bool_]) -> SignProcess:
        """Fit to points (n, d) and whether the likelihood is positive there."""
        near = _telling(points, positive)
        points, y = points[near], np.where(positive[near], 1.0, -1.0)
        fits = [cls._propagate(points, y, length) for length in TUNING.sign.lengths]
        return max(fits, key=lambda found: found[0])[1]

    @classmethod
    def _propagate(cls, x: Array, y: Array, length: float) -> tuple[float, SignProcess]:
        """Return the approximate log likelihood of the signs, and the process."""
        n = len(x)
        K = _covariance(x, x, length)
        K.flat[:: n + 1] *= 1.0 + _JITTER
        tau, nu = np.zeros(n), np.zeros(n)
        S, mean = K.copy(order="F"), np.zeros(n)  # in the order that the update in place needs
        value = -np.inf
        for _ in range(_SWEEPS):
            for i in range(n):
                # The marginal without its own factor, and the moments of that times the probit. Where the points are so
                # far apart that rounding leaves no variance, the factor stays as it is.
                if S[i, i] < _LEAST * K[i, i]:
                    continue
                t = 1.0 / S[i, i] - tau[i]
                v = mean[i] / S[i, i] - nu[i]
                if t <= 0.0:
                    continue
                spread = np.sqrt(1.0 + 1.0 / t)
                z = y[i] * (v / t) / spread
                ratio = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z))
                m = v / t + y[i] * ratio / (t * spread)
                variance = 1.0 / t - ratio * (z + ratio) / (t * t * (1.0 + 1.0 / t))
                change = max(1.0 / max(variance, 1e-12) - t - tau[i], -tau[i] + 1e-12)
                tau[i] += change
                nu[i] = m / max(variance, 1e-12) - v
                column = S[:, i].copy()
                factor = -change / (1.0 + change * column[i])
                S = scipy.linalg.blas.dger(factor, column, column, a=S, overwrite_a=1)
                mean = S @ nu
            root = np.sqrt(tau)
            lower = np.asarray(np.linalg.cholesky(np.eye(n) + root[:, None] * K * root), dtype=float)
            B = scipy.linalg.solve_triangular(lower, root[:, None] * K, lower=True, check_finite=False)
            S = np.asfortranarray(K - B.T @ B)
            mean = S @ nu
            before, value = value, cls._log_likelihood(y, S, mean, tau, nu, lower)
            if abs(value - before) < _CONVERGED:
                break
        weights = nu - root * scipy.linalg.cho_solve((lower, True), root * (K @ nu))
        return value, cls(x, length, np.asarray(weights), root, lower)

    @staticmethod
    def _log_likelihood(y: Array, S: Array, mean: Array, tau: Array, nu: Array, lower: Array) -> float:
        """Return the approximate log likelihood (Rasmussen and Williams 2006, equations 3.73 and 3.74)."""
        variance = np.maximum(np.diagonal(S), _LEAST * float(np.max(np.diagonal(S))) + np.finfo(float).tiny)
        t = np.maximum(1.0 / variance - tau, 1e-12)
        cavity = (mean / variance - nu) / t
        signs = np.sum(log_ndtr(y * cavity / np.sqrt(1.0 + 1.0 / t)))
        determinants = 0.5 * np.sum(np.log1p(tau / t)) - np.sum(np.log(np.diagonal(lower)))
        squares = 0.5 * (nu @ S @ nu - np.sum(nu * nu / (t + tau)))
        rest = 0.5 * np.sum(cavity * t / (tau + t) * (tau * cavity - 2.0 * nu))
        return float(signs + determinants + squares + rest)

    def _gain(self, cross: Array) -> Array:
        scaled = self.root[:, None] * cross
        return np.asarray(scipy.linalg.solve_triangular(self.lower, scaled, lower=True, check_finite=False))

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return mean and variance of u at points x (q, d)."""
        cross = _covariance(self.points, x, self.length)
        v = self._gain(cross)
        prior = TUNING.sign.variance * (2.0 + np.sum(x * x, axis=1))
        return cross.T @ self.weights, np.maximum(prior - np.einsum("nq,nq->q", v, v), 0.0)

    def probability(self, x: Array) -> Array:
        """Return the probability of a positive likelihood at points x (q, d)."""
        mean, variance = self.predict(x)
        return np.asarray(ndtr(mean / np.sqrt(variance + 1e-12)))

    def draw(self, x: Array, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw whether the likelihood is positive at points x (q, d), jointly, (size, q)."""
        cross = _covariance(self.points, x, self.length)
        v = self._gain(cross)
        C = _covariance(x, x, self.length)
        scale = float(np.max(np.diagonal(C)))
        lower, _ = jittered_cholesky((C - v.T @ v) / scale, _JITTER)
        e = np.sqrt(scale) * rng.standard_normal((size, len(x)))
        return np.asarray(cross.T @ self.weights + e @ lower.T > 0.0)


def _telling(x: Array, positive: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the points that tell most of the boundary.

    On either side those nearest to a point of the other sign, and some as far from these and from each other as can be:
    around a bounded support zeros are zeros far away, too.
    """
    squares = np.sum(x * x, axis=1)
    distance = np.maximum(squares[:, None] + squares - 2.0 * x @ x.T, 0.0)
    nearest = np.where(positive[:, None] != positive, distance, np.inf).min(axis=1)
    sides = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    chosen = []
    for side, other in (sides, sides[::-1]):
        room = max(TUNING.sign.most // 2, TUNING.sign.most - len(other))
        order = side[np.argsort(nearest[side], kind="stable")]
        kept = order[:room] if len(order) <= room else order[: room - int(TUNING.sign.spread * room)]
        left = order[len(kept) :]
        while len(kept) < min(room, len(order)):
            farthest = int(np.argmax(distance[np.ix_(left, kept)].min(axis=1)))
            kept, left = np.append(kept, left[farthest]), np.delete(left, farthest)
        chosen.append(kept)
    return np.sort(np.concatenate(chosen))


def _covariance(x: Array, y: Array, length: float) -> Array:
    return np.asarray(TUNING.sign.variance * (1.0 + x @ y.T + Matern52(length)(x, y)))
