r"""The marginal likelihood when the rates V are truncated to V >= 0, as the paper's prior declares."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from .gauss import gauss_rule
from .kinetics import RANK_TOLERANCE, FloatArray
from .orthant import decay, log_orthant

__all__ = ["log_truncation_ratio"]

# Columns of X, phosphatase included, for which orthant probabilities are available.
MOST_COLUMNS = 3
# Nodes of the Gauss rule: right to about 1e-10, far below the error of any evidence made from the values.
_NODES = 16


def log_truncation_ratio(x: FloatArray, y: FloatArray, *, nodes: int = _NODES) -> FloatArray:
    r"""Log of (likelihood with V >= 0) / (likelihood with V unrestricted).

    .. math::
        \frac{L_+}{L} = E_u \frac{P(V \ge 0 \mid \sigma^2 = b_N/u, Y)}{P(V \ge 0 \mid \sigma^2 = b_N/u)},
        \qquad u \sim \mathrm{Gamma}(N/2)

    The posterior of V given sigma is N(V_N, sigma^2 N/(N+1) (X'X)^-1) and the prior N(1, N sigma^2 (X'X)^-1), so
    both probabilities are those of orthants with the same correlations, along rays in w = sqrt(u). If the
    numerator falls like exp(-kappa w^2), then w = v / sqrt(1 + kappa) leaves a function that varies slowly under
    the weight v^(N-1) exp(-v^2), for which a Gauss rule is constructed: 16 nodes are right to about 1e-10.

    Where columns of X depend on each other, (X'X)^-1 is the pseudo-inverse: the combination of rates that the data
    cannot see stays at its prior mean 1.

    Parameters
    ----------
    x : (m, N, d) array
        Design matrices, d <= 3.
    y : (N,) array
        Rates of change.
    nodes : int
        Of the Gauss rule over sigma.

    Returns
    -------
    (m,) array

    Notes
    -----
    The ratio is not in closed form because the prior's orthant probability depends on sigma; the documentation's page
    of errata says what this means for the paper's formula.
    """
    n = len(y)
    slope_prior, slope_posterior, correlation = _orthants(x, y)
    kappa, _ = decay(slope_posterior, correlation)
    v, weight = _rule(n, nodes)
    w = v / np.sqrt(1 + kappa)[:, None]
    log_ratio = log_orthant(slope_posterior, correlation, w) - log_orthant(slope_prior, correlation, w)
    log_ratio += kappa[:, None] * w**2 + np.log(weight)
    peak = log_ratio.max(axis=1, keepdims=True)
    total = peak[:, 0] + np.log(np.exp(log_ratio - peak).sum(axis=1))
    return np.asarray(total - n / 2 * np.log1p(kappa))


@cache
def _rule(n: int, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Gauss rule for the density 2 v^(n-1) exp(-v^2) / Gamma(n/2) on v > 0, without nodes of weight below 1e-14.

    The weight is sampled by the trapezoidal rule in log v, which converges exponentially for it.
    """
    t = np.linspace(np.log(n / 2) - 80 / n - 8, np.log(n / 2 + 10) + 3, 6000)
    log_mass = n * t / 2 - np.exp(t)
    points, weight = gauss_rule(np.exp(t / 2), np.exp(log_mass - log_mass.max()), nodes)
    kept = weight > 1e-14
    return points[kept], weight[kept]


def least_squares(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Regress y (n,) on design matrices x (m, n, d).

    Returns
    -------
    factor : (m, d, d) array
        ``factor @ z`` with z standard normal has covariance (X'X)^-1, or its pseudo-inverse.
    estimate : (m, d) array
        Least-squares rates; combinations of rates that X does not determine stay at 1.
    b : (m,) array
        b_N, as in the module `fwbq.chema.kinetics`.
    """
    m, n, d = x.shape
    scale = np.sqrt(np.einsum("mtj,mtj->mj", x, x))
    scale[scale == 0] = 1.0
    left, singular, right = np.linalg.svd(x / scale[:, None, :], full_matrices=False)
    full = np.zeros(m, dtype=bool) if n < d else singular[:, -1] > RANK_TOLERANCE * singular[:, 0]
    factor = np.zeros((m, d, d))
    estimate = np.zeros((m, d))
    rest = np.empty(m)
    if full.any():
        factor[full] = right[full].transpose(0, 2, 1) / singular[full][:, None, :] / scale[full][:, :, None]
        coordinates = np.einsum("mtr,t->mr", left[full], y)
        estimate[full] = np.einsum("mjr,mr->mj", factor[full], coordinates)
        residual = y - np.einsum("mtr,mr->mt", left[full], coordinates)
        rest[full] = np.einsum("mt,mt->m", residual, residual)
    for i in np.flatnonzero(~full):
        factor[i], estimate[i], rest[i] = _deficient(x[i], y, scale[i])
    fitted = np.einsum("mtj,mj->mt", x, estimate - 1.0)
    b = ((n + 1) * rest + np.einsum("mt,mt->m", fitted, fitted)) / (2 * (n + 1))
    return factor, estimate, b


def prior_orthants(x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
    """Log prior probability that V >= 0 when sigma^2 = b_N / u, (m, q) for design matrices (m, n, d) and u (m, q)."""
    slope, _, correlation = _orthants(x, y)
    return log_orthant(slope, correlation, np.sqrt(u))


def _orthants(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Slopes of the prior's and the posterior's orthant in w = sqrt(u), (m, d) each, and correlations (m, d, d)."""
    n, d = x.shape[1:]
    factor, estimate, b = least_squares(x, y)
    covariance = factor @ factor.transpose(0, 2, 1)
    sd = np.sqrt(np.einsum("mjj->mj", covariance))
    fixed = sd == 0  # stays at 1 > 0: no constraint
    sd[fixed] = 1.0
    mean = (1.0 + n * estimate) / (n + 1)
    correlation = covariance / (sd[:, :, None] * sd[:, None, :])
    row, column = np.nonzero(fixed)
    correlation[row, column, :] = correlation[row, :, column] = 0.0
    index = np.arange(d)
    correlation[:, index, index] = 1.0
    root = np.sqrt(b)[:, None]
    slope_prior = 1.0 / (np.sqrt(n) * root * sd)
    slope_posterior = mean / (np.sqrt(n / (n + 1)) * root * sd)
    # A rate that is fixed at 1 is never negative: its bound is so large that its probability is one in both.
    slope_prior[fixed] = slope_posterior[fixed] = 1e30
    return slope_prior, slope_posterior, correlation


def _deficient(x: FloatArray, y: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Covariance factor, least squares and residual when V - 1 is confined to the row space of X."""
    d = x.shape[1]
    _, singular, right = np.linalg.svd(x / scale, full_matrices=True)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[:1])) if singular.size else 0
    null = right[rank:].T / scale[:, None]
    # Orthonormal directions in which V may differ from 1: orthogonal to the null space of X.
    basis: NDArray[np.float64] = np.linalg.qr(null, mode="complete")[0][:, d - rank :]
    u, s, vt = np.linalg.svd(x @ basis, full_matrices=False)
    shift = basis @ (vt.T @ ((u.T @ (y - x.sum(axis=1))) / s)) if rank else np.zeros(d)
    factor = np.zeros((d, d))
    factor[:, :rank] = basis @ (vt.T / s)
    factor[np.abs(factor) < 1e-12 * np.abs(factor).max(initial=0.0)] = 0.0
    residual = y - x @ (1.0 + shift)
    return factor, 1.0 + shift, float(residual @ residual)
