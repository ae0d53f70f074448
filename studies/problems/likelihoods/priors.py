"""Priors of other kinds than Gaussian: of unlike kinds together, heavy-tailed, mixtures, a sample, periodic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import betaln, gammaln, i0e, logsumexp, xlog1py, xlogy

from fwbq.measures import Empirical, GaussianMixture, Product, Uniform

from .densities import Independent, LogDensity, Normal
from .likelihood import Array, Likelihood
from .truths import LOG_2PI, inverse, line_log_evidence, random_cov


@dataclass(frozen=True, eq=False)
class Rate(LogDensity):
    """The sum of Poisson counts: total log x - size x."""

    total: float
    size: int

    def __call__(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(self.total * np.log(x[:, 0]) - self.size * x[:, 0])

    def gradient(self, x: Array) -> Array:
        return np.asarray(self.total / x - self.size)


def gamma_posterior(rng: Any = None) -> Likelihood:
    """Return the rate of Poisson counts under a Gamma(2, 1) prior: the posterior is a Gamma distribution."""
    g = np.random.default_rng(rng)
    size = 30
    total = float(g.poisson(g.uniform(0.5, 3.0), size).sum())
    value = float(gammaln(2.0 + total) - gammaln(2.0) - (2.0 + total) * np.log1p(size))
    return Likelihood("gamma posterior", Rate(total, size), Product([stats.gamma(2.0)]), value)


@dataclass(frozen=True, eq=False)
class LogScale(LogDensity):
    """-sum_i ((log x_i - centre_i) / sd_i)^2 / 2."""

    centre: Array
    sd: Array

    def __call__(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(-0.5 * np.sum(((np.log(x) - self.centre) / self.sd) ** 2, axis=1))

    def gradient(self, x: Array) -> Array:
        return np.asarray(-(np.log(x) - self.centre) / self.sd**2 / x)


def log_normal_posterior(rng: Any = None) -> Likelihood:
    """Return three positive parameters with a log-normal posterior, twenty times narrower than the log-normal prior."""
    g = np.random.default_rng(rng)
    centre, sd = g.standard_normal(3), 0.05 * 2.0 ** g.uniform(-1.0, 1.0, 3)
    total = 1.0 + sd**2
    value = float(np.sum(np.log(sd) - 0.5 * np.log(total) - 0.5 * centre**2 / total))
    return Likelihood("log-normal posterior", LogScale(centre, sd), Product([stats.lognorm(1.0)] * 3), value)


def heavy_tailed_prior(rng: Any = None) -> Likelihood:
    """Return two Gaussian likelihoods, one of them far out, under Student-t priors with two degrees of freedom."""
    g = np.random.default_rng(rng)
    centre = np.array([g.standard_normal(), g.uniform(4.0, 12.0)])
    law = stats.t(2.0)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    value = float(np.sum(np.log([law.pdf(c + 0.5 * nodes) @ weights * 0.5 for c in centre])))
    return Likelihood("heavy-tailed prior", Independent(centre, np.full(2, 0.5)), Product([law, law]), value)


@dataclass(frozen=True, eq=False)
class Scales(LogDensity):
    """Standard deviations x_i of Gaussian values with mean zero, of which `squares` are the sums of squares."""

    squares: Array
    size: int

    def __call__(self, x: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = np.sum(-0.5 * self.squares / x**2 - self.size * np.log(x), axis=1)
        return np.asarray(np.where(np.isnan(values), -np.inf, values))

    def gradient(self, x: Array) -> Array:
        return np.asarray(self.squares / x**3 - self.size / x)


def half_cauchy(d: int, rng: Any = None) -> Likelihood:
    """Return standard deviations, each of six values, from 0.1 to 10, under half-Cauchy priors."""
    g = np.random.default_rng(rng)
    size = 6
    squares = np.sum((10.0 ** g.uniform(-1.0, 1.0, (d, 1)) * g.standard_normal((d, size))) ** 2, axis=1)

    def inner(t: Array, total: float) -> Array:
        prior = np.log(2.0 / np.pi) - np.log1p(np.exp(2.0 * t))
        return np.asarray(-0.5 * total * np.exp(-2.0 * t) + (1 - size) * t + prior)

    value = sum(line_log_evidence(partial(inner, total=total), -12.0, 12.0) for total in squares.tolist())
    return Likelihood(f"half-Cauchy d={d}", Scales(squares, size), Product([stats.halfcauchy()] * d), float(value))


@dataclass(frozen=True, eq=False)
class UnlikeTerms:
    """A term for each of five parameters: on the logarithm, of trials, of counts, and two Gaussians."""

    centre: float
    successes: float
    total: float
    far: float
    near: float

    def __call__(self, x: Array) -> Array:
        a, b, c, d, e = x.T
        with np.errstate(divide="ignore"):
            first = -0.5 * ((np.log(a) - self.centre) / 0.2) ** 2
        trials = xlogy(self.successes, b) + xlog1py(20.0 - self.successes, -b)
        counts = xlogy(self.total, c) - 10.0 * c
        gaussians = -0.5 * ((d - self.far) / 0.5) ** 2 - 0.5 * ((e - self.near) / 0.1) ** 2
        return np.asarray(first + trials + counts + gaussians)


def unlike_priors(rng: Any = None) -> Likelihood:
    """Return five parameters under log-normal, uniform, gamma, half-Cauchy and normal priors."""
    g = np.random.default_rng(rng)
    log = UnlikeTerms(
        float(0.5 * g.standard_normal()), float(g.binomial(20, g.uniform())), float(g.poisson(10.0 * g.gamma(2.0))),
        float(g.uniform(1.0, 6.0)), float(g.standard_normal()),
    )  # fmt: skip
    first, last = 0.25 + 0.04, 1.0 + 0.01
    value = np.log(0.2) - 0.5 * np.log(first) - 0.5 * log.centre**2 / first
    value += betaln(1.0 + log.successes, 21.0 - log.successes)
    value += gammaln(2.0 + log.total) - (2.0 + log.total) * np.log(11.0)
    value += line_log_evidence(
        lambda t: -0.5 * ((t - log.far) / 0.5) ** 2 + np.log(2.0 / np.pi) - np.log1p(t * t), 0.0, 20.0
    )
    value += np.log(0.1) - 0.5 * np.log(last) - 0.5 * log.near**2 / last
    prior = Product([stats.lognorm(0.5), stats.uniform(), stats.gamma(2.0), stats.halfcauchy(), stats.norm()])
    return Likelihood("unlike priors d=5", log, prior, float(value))


def mixture_prior(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood between two components of a Gaussian mixture that is the prior."""
    g = np.random.default_rng(rng)
    means = 2.0 * g.standard_normal((2, d))
    covs = np.array([random_cov(d, 0.7, g) for _ in range(2)])
    weights = g.dirichlet([3.0, 3.0])
    centre, cov = means.mean(axis=0) + 0.3 * g.standard_normal(d), random_cov(d, 0.4, g)
    own = [stats.multivariate_normal(m, s + cov).logpdf(centre) for m, s in zip(means, covs, strict=True)]
    value = logsumexp(own, b=weights) + 0.5 * d * LOG_2PI + 0.5 * np.linalg.slogdet(cov)[1]
    prior = GaussianMixture(weights, means, covs)
    return Likelihood(f"mixture prior d={d}", Normal(centre, inverse(cov)), prior, float(value))


def sample_prior(d: int, size: int = 1000, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood under a prior that is a sample of `size` points."""
    g = np.random.default_rng(rng)
    points = g.standard_normal((size, d))
    log = Normal(0.5 * g.standard_normal(d), inverse(random_cov(d, 0.4, g)))
    value = float(logsumexp(log(points)) - np.log(size))
    return Likelihood(f"sample as prior d={d}", log, Empirical(points), value)


@dataclass(frozen=True, eq=False)
class VonMises(LogDensity):
    """sum_i concentration_i (cos(x_i - centre_i) - 1)."""

    centre: Array
    concentration: Array

    def __call__(self, x: Array) -> Array:
        return np.asarray((np.cos(x - self.centre) - 1.0) @ self.concentration)

    def gradient(self, x: Array) -> Array:
        return np.asarray(-np.sin(x - self.centre) * self.concentration)


def periodic(d: int, rng: Any = None) -> Likelihood:
    """Return angles on [0, 2 pi] with their mass near zero, half of it at the other end of the interval."""
    g = np.random.default_rng(rng)
    centre, concentration = 0.3 * g.standard_normal(d), 2.0 * 20.0 ** g.uniform(size=d)
    value = float(np.sum(np.log(i0e(concentration))))
    prior = Uniform(np.zeros(d), np.full(d, 2.0 * np.pi))
    return Likelihood(f"periodic d={d}", VonMises(centre, concentration), prior, value)
