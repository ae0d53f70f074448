"""Truncated and bounded posteriors, and mass on the boundary of the prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import betaln, log_ndtr, xlog1py, xlogy

from fwbq.measures import Product, TruncatedGaussian, Uniform

from .densities import Independent, LogDensity
from .likelihood import Array, Likelihood


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """Successes of independent trials: sum_i s_i log x_i + (trials - s_i) log(1 - x_i)."""

    successes: Array
    trials: int

    def __call__(self, x: Array) -> Array:
        return np.asarray(np.sum(xlogy(self.successes, x) + xlog1py(self.trials - self.successes, -x), axis=1))


def beta_posterior(rng: Any = None) -> Likelihood:
    """Return three chances, each of 40 trials, under Beta(1, 3) priors: the posterior is a product of Betas."""
    g = np.random.default_rng(rng)
    successes = g.binomial(40, g.uniform(0.02, 0.6, 3)).astype(float)
    value = float(np.sum(betaln(1.0 + successes, 43.0 - successes) - betaln(1.0, 3.0)))
    return Likelihood("beta posterior", Bernoulli(successes, 40), Product([stats.beta(1.0, 3.0)] * 3), value)


def rare_events(d: int, rng: Any = None) -> Likelihood:
    """Return chances of events that happened in none or few of ten trials, under priors Beta(1/2, 1/2)."""
    g = np.random.default_rng(rng)
    successes = g.binomial(10, g.uniform(0.0, 0.15, d)).astype(float)
    value = float(np.sum(betaln(0.5 + successes, 10.5 - successes) - betaln(0.5, 0.5)))
    return Likelihood(f"rare events d={d}", Bernoulli(successes, 10), Product([stats.beta(0.5, 0.5)] * d), value)


def _half_line_evidence(mean: Array, variance: Array, centre: Array, sd: Array) -> float:
    """Return the log evidence of a Gaussian likelihood under Gaussian priors that are cut at zero."""
    total = variance + sd**2
    product = variance * sd**2 / total
    inside = log_ndtr((mean / variance + centre / sd**2) * np.sqrt(product)) - log_ndtr(mean / np.sqrt(variance))
    return float(np.sum(np.log(sd) - 0.5 * np.log(total) - 0.5 * (centre - mean) ** 2 / total + inside))


def truncated(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood near zero, under the Gaussian prior of the paper that is cut at zero."""
    g = np.random.default_rng(rng)
    mean, variance = np.ones(d), np.full(d, 0.5)
    centre, sd = g.uniform(-0.3, 0.5, d), g.uniform(0.1, 0.4, d)
    value = _half_line_evidence(mean, variance, centre, sd)
    return Likelihood(f"truncated d={d}", Independent(centre, sd), TruncatedGaussian(mean, variance), value)


def beyond_the_end(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood with its top two to five sd below zero, under half-normal priors."""
    g = np.random.default_rng(rng)
    sd = g.uniform(0.1, 0.4, d)
    centre = -sd * g.uniform(2.0, 5.0, d)
    value = _half_line_evidence(np.zeros(d), np.ones(d), centre, sd)
    return Likelihood(f"beyond the end d={d}", Independent(centre, sd), Product([stats.halfnorm()] * d), value)


@dataclass(frozen=True, eq=False)
class Exponential(LogDensity):
    """-sum_i rates_i x_i."""

    rates: Array

    def __call__(self, x: Array) -> Array:
        return -x @ self.rates

    def gradient(self, x: Array) -> Array:
        return np.broadcast_to(-self.rates, x.shape).copy()


def on_the_boundary(d: int, rng: Any = None) -> Likelihood:
    """Return a likelihood that falls off exponentially from faces of the unit cube, 5 to 200 times in its width."""
    g = np.random.default_rng(rng)
    rates = 5.0 * 40.0 ** g.uniform(size=d) * g.choice([-1.0, 1.0], d)
    value = float(np.sum(np.log(np.expm1(-rates) / -rates)))
    return Likelihood(f"on the boundary d={d}", Exponential(rates), Uniform(np.zeros(d), np.ones(d)), value)
