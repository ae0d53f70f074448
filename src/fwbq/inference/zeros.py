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
#: Expectation propagation: most sweeps, share of each update that is taken (all sites move at once, which may
#: oscillate when taken whole), and the change of the log likelihood of the signs at which it has converged.
_SWEEPS, _SHARE, _CONVERGED = 60, 0.7, 1e-4


@dataclass(frozen=True, eq=False)
class SignProcess:
    r"""The probability that the likelihood is positive, from points where it is and points where it is zero.

    A latent process :math:`u(s) = b_0 + b's + r(s)`, Gaussian with wide priors on the plane and a Matern-5/2
    remainder r, has the sign + where the likelihood is positive: :math:`P(+\,|\,u) = \Phi(u)`. Its posterior is
    approximated by expectation propagation (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
    Section 3.6), the length-scale of r is the one of greatest approximate likelihood. Laplace's method will not do
    here: with a wide prior the mode of u stands near zero while its variance stays that of the prior, and among twenty
    points of one sign the chance of the other one came out as 0.3 (0.002 by expectation propagation).

    Attributes
    ----------
    points : (n, d) array
        In whitened coordinates.
    length : float
        Length-scale of the remainder.
    weights : (n,) array
        The posterior mean of u is the sum of covariances with the points times these.
    root : (n,) array
        Square roots of the precisions that the signs contribute at their points.
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
        y = np.where(positive, 1.0, -1.0)
        best: tuple[float, SignProcess] | None = None
        for length in _LENGTHS:
            value, found = cls._propagate(points, y, length)
            if best is None or value > best[0]:
                best = value, found
        assert best is not None
        return best[1]

    @classmethod
    def _propagate(cls, x: Array, y: Array, length: float) -> tuple[float, SignProcess]:
        """Return the approximate log likelihood of the signs y (+1 or -1), and the process."""
        n = len(x)
        K = _covariance(x, x, length)
        prior = np.diagonal(K)
        tau, nu = np.zeros(n), np.zeros(n)  # precision and precision times mean of each site
        evidence = -np.inf
        new_tau, new_nu = tau, nu
        for _ in range(_SWEEPS):
            tau, nu = tau + _SHARE * (new_tau - tau), nu + _SHARE * (new_nu - nu)
            root = np.sqrt(tau)
            lower = np.linalg.cholesky(np.eye(n) + root[:, None] * K * root)
            V = scipy.linalg.solve_triangular(lower, root[:, None] * K, lower=True, check_finite=False)
            variance = np.maximum(prior - np.einsum("ij,ij->j", V, V), 1e-12 * prior)
            shift = K @ nu - V.T @ (V @ nu)
            # What the other signs say at each point, and its moments once the point's own sign is known.
            others = np.maximum(1.0 / variance - tau, 1e-12 / prior)
            mean = (shift / variance - nu) / others
            spread = np.sqrt(1.0 + 1.0 / others)
            t = y * mean / spread
            log_p = log_ndtr(t)
            ratio = np.exp(-0.5 * t * t - 0.5 * np.log(2.0 * np.pi) - log_p)
            new_mean = mean + y * ratio / (others * spread)
            new_variance = 1.0 / others - ratio * (ratio + t) / (others * spread) ** 2
            total = others + tau
            before = evidence
            evidence = float(
                np.sum(log_p)
                + 0.5 * np.sum(np.log1p(tau / others))
                - np.sum(np.log(np.diagonal(lower)))
                + 0.5 * (nu @ shift - np.sum(nu * nu / total))
                + 0.5 * np.sum(mean * others * (tau * mean - 2.0 * nu) / total)
            )
            if abs(evidence - before) < _CONVERGED:
                break
            new_tau = np.maximum(1.0 / new_variance - others, 0.0)
            new_nu = new_mean / new_variance - others * mean
        weights = nu - root * scipy.linalg.cho_solve((lower, True), root * (K @ nu))
        return evidence, cls(x, length, weights, root, np.asarray(lower, dtype=float))

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return mean and variance of u at points x (q, d)."""
        cross = _covariance(self.points, x, self.length)
        v = scipy.linalg.solve_triangular(self.lower, self.root[:, None] * cross, lower=True, check_finite=False)
        prior = _LINEAR * (1.0 + np.sum(x * x, axis=1)) + _VARIANCE
        return cross.T @ self.weights, np.maximum(prior - np.einsum("nq,nq->q", v, v), 0.0)

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
        return np.asarray(cross.T @ self.weights + e @ axes.T > 0.0)


def _covariance(x: Array, y: Array, length: float) -> Array:
    return _LINEAR * (1.0 + x @ y.T) + _VARIANCE * Matern52(length)(x, y)
