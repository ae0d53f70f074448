"""How evidences are computed that have no closed form, and the one of Gaussians that has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp, ndtri

from fwbq._gauss import gauss_legendre, tensor_grid
from fwbq.designs.qmc import scrambled_engine
from fwbq.measures import Gaussian

from .likelihood import Array

LOG_2PI = float(np.log(2.0 * np.pi))


def standard(d: int) -> Gaussian:
    """Return the prior N(0, I)."""
    return Gaussian(np.zeros(d), np.eye(d))


def inverse(a: Array) -> Array:
    """Return the inverse of a matrix."""
    return np.asarray(np.linalg.inv(a), dtype=float)


def random_cov(d: int, width: float, rng: np.random.Generator, spread: float = 2.0) -> Array:
    """Return a covariance with random axes and standard deviations within a factor `spread` of `width`."""
    q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    sd = width * spread ** rng.uniform(-1.0, 1.0, d)
    return np.asarray(q @ np.diag(sd**2) @ q.T)


def gaussian_evidence(centre: Array, cov: Array, prior: Gaussian | None = None) -> float:
    """Return the log evidence of exp(-r'S^-1 r / 2), r = x - `centre`, S = `cov`, under `prior`, N(0, I) by default."""
    d = len(centre)
    total = (np.eye(d) if prior is None else prior.cov) + cov
    r = centre if prior is None else centre - prior.mean
    half_logs = np.linalg.slogdet(cov)[1] - np.linalg.slogdet(total)[1]
    return float(0.5 * half_logs - 0.5 * r @ np.linalg.solve(total, r))


def line_log_evidence(log_joint: Callable[[Array], Array], low: float, high: float, panels: int = 1500) -> float:
    r"""Return :math:`\log \int_a^b e^{g(t)}\,dt` by Gauss-Legendre rules with 20 nodes on equal panels.

    `log_joint` takes nodes (n,). Half of the panels must give the same to 1e-9, else a ValueError says so.

    Examples
    --------
    >>> value = line_log_evidence(lambda t: -0.5 * (t / 0.01) ** 2, -10.0, 10.0)
    >>> bool(abs(value - np.log(0.01 * np.sqrt(2 * np.pi))) < 1e-12)
    True
    """

    def value(count: int) -> float:
        edges = np.linspace(low, high, count + 1)
        nodes, weights = gauss_legendre(20, 0.0, float(edges[1] - edges[0]))
        logs = log_joint((edges[:-1, None] + nodes).ravel())
        return float(logsumexp(logs + np.tile(np.log(weights), count)))

    fine, coarse = value(panels), value(panels // 2)
    if not abs(fine - coarse) < 1e-9 * max(1.0, abs(fine)):
        raise ValueError(f"the rule on the line has not converged: {coarse} with half of the panels, {fine} with all")
    return fine


def quasi_random_log_evidence(
    log_joint: Callable[[Array], Array], mode: Array, cov: Array, accuracy: float, largest: int = 17
) -> float:
    r"""Return :math:`\log \int e^{g}` of a posterior with one mode by importance sampling from a Student-t around it.

    The Student-t has 20 degrees of freedom and 1.2 times the widths of `cov`: of seven choices the one with the least
    error on nine logistic and Poisson regressions. Eight scrambled Sobol nets of 2^13 points are weighed, and larger
    ones until the standard error of their mean is within a third of `accuracy`; if nets of ``2**largest`` points are
    not enough, a ValueError says so.
    """
    d, df = len(mode), 20.0
    root = 1.2 * np.linalg.cholesky(cov)
    constant = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(df * np.pi)
    constant -= np.sum(np.log(np.diagonal(root)))

    def value(seed: int, log_size: int) -> float:
        u = scrambled_engine("sobol", d + 1, np.random.default_rng(seed)).random(2**log_size)
        z = ndtri(u[:, :d]) * np.sqrt(df / stats.chi2(df).ppf(u[:, d:]))
        logs = constant - 0.5 * (df + d) * np.log1p(np.sum(z * z, axis=1) / df)
        return float(logsumexp(log_joint(mode + z @ root.T) - logs) - log_size * np.log(2.0))

    error = np.inf
    for log_size in range(13, largest + 1):
        values = [value(seed, log_size) for seed in range(8)]
        error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
        if error < accuracy / 3.0:
            return float(np.mean(values))
    raise ValueError(f"importance sampling has a standard error of {error:.2g}, more than a third of {accuracy:g}")


def newton(slope: Callable[[Array], Array], curvature: Callable[[Array], Array], start: Array) -> tuple[Array, Array]:
    """Return the top of a concave function and minus the inverse of its curvature there, by Newton's method."""
    x = start
    for _ in range(60):
        x = x + np.linalg.solve(-curvature(x), slope(x))
    return x, inverse(-curvature(x))


def tensor_log_evidence(log_joint: Callable[[Array], Array], start: Array, size: int, reach: float = 7.0) -> float:
    r"""Return :math:`\log \int e^{g}` by the trapezoidal rule around the mode, for up to four parameters.

    Coordinates are whitened by the curvature at the mode, where the rule with `size` nodes per axis covers `reach`
    standard deviations each way; for a smooth integrand that falls off like a Gaussian its error is exponentially
    small. The result of `size` and of two thirds of it must agree to 1e-6, else a ValueError says so.
    """
    d = len(start)

    def negative(x: Any) -> float:
        return -float(log_joint(np.asarray(x)[None])[0])

    mode = np.asarray(minimize(negative, start, method="BFGS", tol=1e-9).x, dtype=float)
    step = 1e-4 * np.maximum(1.0, np.abs(mode))
    H = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            a, b = step * (np.arange(d) == i), step * (np.arange(d) == j)
            corners = np.array([mode + a + b, mode + a - b, mode - a + b, mode - a - b])
            H[i, j] = np.array([1.0, -1.0, -1.0, 1.0]) @ log_joint(corners) / (4.0 * step[i] * step[j])
    root = np.linalg.cholesky(np.linalg.inv(-0.5 * (H + H.T)))

    def value(nodes: int) -> float:
        axis = np.linspace(-reach, reach, nodes)
        grid = tensor_grid([axis] * d)
        logs = np.concatenate(
            [log_joint(mode + part @ root.T) for part in np.array_split(grid, 1 + len(grid) // 50_000)]
        )
        spacing = d * np.log(axis[1] - axis[0]) + np.sum(np.log(np.diagonal(root)))
        return float(logsumexp(logs) + spacing)

    fine, coarse = value(size), value(2 * size // 3)
    if not abs(fine - coarse) < 1e-6:
        raise ValueError(f"the tensor rule has not converged: {coarse} with 2/3 of the nodes, {fine} with all")
    return fine
