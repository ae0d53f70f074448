"""Likelihoods with heavy tails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from .densities import LogDensity, StudentT
from .likelihood import Array, Likelihood
from .truths import LOG_2PI, inverse, line_log_evidence, random_cov, standard


def student(d: int = 4, df: float = 4.0, narrower: float = 5.0, rng: Any = None) -> Likelihood:
    """Return a multivariate Student likelihood, a mixture over u ~ Gamma(df/2, df/2) of Gaussians with S / u."""
    g = np.random.default_rng(rng)
    cov = random_cov(d, 1.0 / narrower, g)
    centre = g.standard_normal(d)
    # Along the eigenvectors of S the evidences of the Gaussians are products.
    variances, axes = np.linalg.eigh(cov)
    squares = (axes.T @ centre) ** 2

    def inner(t: Array) -> Array:
        u = np.exp(t)
        totals = 1.0 + variances / u[:, None]
        own = -0.5 * np.sum(np.log(totals) + squares / totals, axis=1) + 0.5 * np.sum(np.log(variances))
        prior = 0.5 * df * np.log(0.5 * df) - gammaln(0.5 * df) + 0.5 * df * t - 0.5 * df * u
        return np.asarray(own + prior)

    # The mixture gives the density divided by |2 pi S|^(-1/2); the kernel has value one at its centre.
    at_centre = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(0.5 * df)
    value = line_log_evidence(inner, -80.0 / df, 6.0) - at_centre
    return Likelihood(f"student df={df:g} d={d}", StudentT(centre, inverse(cov), df), standard(d), float(value))


@dataclass(frozen=True, eq=False)
class CauchyData(LogDensity):
    """Values with Cauchy noise around one location: -sum_i log(1 + ((y_i - x) / scale)^2)."""

    values: Array
    scale: float

    def __call__(self, x: Array) -> Array:
        return np.asarray(-np.sum(np.log1p(((self.values - x) / self.scale) ** 2), axis=1))

    def gradient(self, x: Array) -> Array:
        r = self.values - x
        return np.asarray(np.sum(2.0 * r / (self.scale**2 + r * r), axis=1, keepdims=True))


def cauchy_data(size: int = 4, rng: Any = None) -> Likelihood:
    """Return the location of `size` values with Cauchy noise: a mode near each value that lies apart."""
    g = np.random.default_rng(rng)
    scale = float(g.uniform(0.1, 0.3))
    values = 0.5 * g.standard_normal() + scale * g.standard_cauchy(size)
    log = CauchyData(values, scale)
    value = line_log_evidence(lambda t: log(t[:, None]) - 0.5 * t * t - 0.5 * LOG_2PI, -12.0, 12.0)
    return Likelihood("Cauchy data d=1", log, standard(1), value)
