"""Mixtures of Gaussian and Student-t densities, from which nodes are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, gammaln, ndtri

from .._whitening import Whitening

Array = NDArray[np.float64]


def lower_root(cov: Array) -> Array:
    """Return L lower triangular with L L' = cov, where rounding may have left the covariance without full rank.

    Eigenvalues of the correlation below 1e-12 of the largest are raised to that, so that no unit of a coordinate hides
    another; a covariance that is not finite becomes the identity.

    Examples
    --------
    >>> lower_root(np.diag([1e-12, 1e12])).diagonal().tolist()
    [1e-06, 1000000.0]
    """
    if not np.isfinite(cov).all():
        return np.eye(len(cov))
    variances = np.diagonal(cov)
    sizes = np.sqrt(np.maximum(variances, max(1e-30 * float(variances.max()), np.finfo(float).tiny)))
    values, axes = np.linalg.eigh(0.5 * (cov + cov.T) / np.outer(sizes, sizes))
    least = 1e-12 * max(float(values[-1]), 1.0)  # of a correlation the largest is at least one
    # R of the triangular factorisation of a square root is the transposed Cholesky factor, but for signs.
    r = np.linalg.qr((axes * np.sqrt(np.maximum(values, least))).T)[1]
    return np.asarray(sizes[:, None] * (r * np.where(np.diagonal(r) < 0.0, -1.0, 1.0)[:, None]).T)


@dataclass(frozen=True, eq=False)
class Mixture:
    r"""The density :math:`\sum_k w_k\, t_{\nu_k}(z; m_k, L_k L_k')`, with :math:`\nu_k = \infty` for a Gaussian.

    Attributes
    ----------
    weights : (k,) array
        They sum to one.
    means : (k, d) array
    roots : (k, d, d) array
        Lower triangular L.
    dfs : (k,) array
        Degrees of freedom.
    """

    weights: Array
    means: Array
    roots: Array
    dfs: Array

    @property
    def dim(self) -> int:
        """Dimension d."""
        return int(self.means.shape[1])

    def transform(self, u: Array) -> Array:
        """Return draws for points u (n, d + 2) of the unit cube: one coordinate picks the component, one its width."""
        d = self.dim
        edges = np.cumsum(self.weights)
        which = np.searchsorted(edges[:-1] / edges[-1], u[:, 0], side="right")
        e = ndtri(np.clip(u[:, 2:], 1e-16, 1.0 - 1e-16))
        df = self.dfs[which]
        heavy = np.isfinite(df)
        if heavy.any():
            half = 0.5 * df[heavy]
            e[heavy] *= np.sqrt(half / gammaincinv(half, np.clip(u[heavy, 1], 1e-16, 1.0)))[:, None]
        z = np.empty((len(u), d))
        for k in range(len(self.weights)):
            rows = which == k
            z[rows] = self.whitening(k).back(e[rows])
        return z

    def whitening(self, k: int) -> Whitening:
        """Return the coordinates in which component k is standard."""
        return Whitening(self.means[k], self.roots[k])

    def log_densities(self, z: Array) -> Array:
        """Return the log density of each component, (n, k)."""
        d = self.dim
        out = np.empty((len(z), len(self.weights)))
        for k, df in enumerate(self.dfs):
            whitening = self.whitening(k)
            with np.errstate(over="ignore"):  # so many standard deviations away that the density is zero
                r2, log_root = -2.0 * whitening.unit(z), whitening.log_volume
            if np.isfinite(df):
                constant = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(df * np.pi)
                out[:, k] = constant - log_root - 0.5 * (df + d) * np.log1p(r2 / df)
            else:
                out[:, k] = -0.5 * r2 - log_root - 0.5 * d * np.log(2.0 * np.pi)
        return out

    def log_density(self, z: Array) -> Array:
        """Return the log density of the mixture, (n,)."""
        return np.asarray(np.logaddexp.reduce(self.log_densities(z) + np.log(self.weights), axis=1))

    def joined(self, other: Mixture, share: float) -> Mixture:
        """Return the mixture of this one and, with weight `share`, another."""
        return Mixture(
            np.concatenate([(1.0 - share) * self.weights, share * other.weights]),
            np.concatenate([self.means, other.means]),
            np.concatenate([self.roots, other.roots]),
            np.concatenate([self.dfs, other.dfs]),
        )
