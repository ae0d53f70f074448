"""Regressions: linear, logistic, Poisson, of processes and of decays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, gammaln, logsumexp

from fwbq._gauss import tensor_grid
from fwbq.measures import Gaussian, Product

from .densities import Linear, LogDensity, Logistic, NoisyLinear, Poisson
from .likelihood import Array, Likelihood
from .truths import LOG_2PI, line_log_evidence, newton, quasi_random_log_evidence, tensor_log_evidence

#: To what evidences are known that are computed by importance sampling.
IMPORTANCE_ACCURACY = 3e-3


def logistic(d: int = 3, size: int = 60, rng: Any = None) -> Likelihood:
    """Return a logistic regression on simulated data under N(0, 5^2 I)."""
    g = np.random.default_rng(rng)
    features = np.column_stack([np.ones(size), g.standard_normal((size, d - 1))])
    truth = g.standard_normal(d)
    labels = np.where(g.uniform(size=size) < 1.0 / (1.0 + np.exp(-features @ truth)), 1.0, -1.0)
    log = Logistic(labels[:, None] * features)
    prior = Gaussian(np.zeros(d), 25.0 * np.eye(d))

    def joint(x: Array) -> Array:
        return log(x) + prior.log_density(x)

    value = tensor_log_evidence(joint, np.zeros(d), {1: 200, 2: 120, 3: 84, 4: 48}[d], 9.0)
    return Likelihood(f"logistic d={d}", log, prior, value)


def _by_importance(name: str, log: Logistic | Poisson, variance: float) -> Likelihood:
    """Return a regression under N(0, variance I) whose evidence is found by importance sampling around its mode."""
    d = log.features.shape[1]
    prior = Gaussian(np.zeros(d), variance * np.eye(d))
    mode, cov = newton(
        lambda x: log.gradient(x[None])[0] - x / variance, lambda x: log.curvature(x) - np.eye(d) / variance,
        np.zeros(d),
    )  # fmt: skip

    def joint(x: Array) -> Array:
        return log(x) + prior.log_density(x)

    value = quasi_random_log_evidence(joint, mode, cov, IMPORTANCE_ACCURACY)
    return Likelihood(name, log, prior, value, accuracy=IMPORTANCE_ACCURACY)


def logistic_many(d: int = 6, size: int = 80, rng: Any = None) -> Likelihood:
    """Return a logistic regression with many coefficients under N(0, 3^2 I)."""
    g = np.random.default_rng(rng)
    features = np.column_stack([np.ones(size), g.standard_normal((size, d - 1))])
    labels = np.where(g.uniform(size=size) < expit(features @ g.standard_normal(d)), 1.0, -1.0)
    return _by_importance(f"logistic d={d}", Logistic(labels[:, None] * features), 9.0)


def poisson_many(d: int = 6, size: int = 60, rng: Any = None) -> Likelihood:
    """Return a Poisson regression with many coefficients under N(0, I)."""
    g = np.random.default_rng(rng)
    features = np.column_stack([np.ones(size), 0.5 * g.standard_normal((size, d - 1))])
    truth = np.concatenate([[1.0], 0.5 * g.standard_normal(d - 1)])
    log = Poisson(features, g.poisson(np.exp(features @ truth)).astype(float))
    return _by_importance(f"poisson d={d}", log, 1.0)


def poisson(d: int = 4, size: int = 40, rng: Any = None) -> Likelihood:
    """Return a Poisson regression on simulated counts under N(0, 2^2 I)."""
    g = np.random.default_rng(rng)
    features = np.column_stack([np.ones(size), 0.7 * g.standard_normal((size, d - 1))])
    truth = 0.6 * g.standard_normal(d) + np.where(np.arange(d) == 0, 1.0, 0.0)
    counts = g.poisson(np.exp(features @ truth)).astype(float)
    log = Poisson(features, counts)
    prior = Gaussian(np.zeros(d), 4.0 * np.eye(d))

    def joint(x: Array) -> Array:
        return log(x) + prior.log_density(x)

    value = tensor_log_evidence(joint, 0.5 * truth, {1: 200, 2: 100, 3: 60, 4: 30}[d], 7.5)
    return Likelihood(f"poisson d={d}", log, prior, value)


def _linear_evidence(log: Linear, prior: Gaussian) -> float:
    """Return the log evidence: the values are Gaussian under the model; the likelihood leaves out its constant."""
    size = len(log.values)
    cov = log.features @ prior.cov @ log.features.T + log.sd**2 * np.eye(size)
    law = stats.multivariate_normal(log.features @ prior.mean, cov)
    return float(law.logpdf(log.values) + size * np.log(log.sd * np.sqrt(2.0 * np.pi)))


def correlated_prior(rng: Any = None) -> Likelihood:
    """Return a linear regression with four coefficients, under a Gaussian prior with correlations of 0.9."""
    g = np.random.default_rng(rng)
    cov = 4.0 * (0.1 * np.eye(4) + 0.9)
    mean = np.array([1.0, 0.0, -1.0, 3.0])
    features = g.standard_normal((12, 4))
    values = features @ g.multivariate_normal(mean, cov) + 0.3 * g.standard_normal(12)
    log, prior = Linear(features, values, 0.3), Gaussian(mean, cov)
    return Likelihood("correlated prior d=4", log, prior, _linear_evidence(log, prior))


def not_centred(rng: Any = None) -> Likelihood:
    """Return intercept and slope of a line over the years 1990 to 2020: correlated to 0.99999 and more."""
    g = np.random.default_rng(rng)
    years = np.sort(g.uniform(1990.0, 2020.0, 15))
    features = np.column_stack([np.ones(15), years])
    slope = 0.05 * g.standard_normal()
    values = slope * (years - 2005.0) + 0.3 * g.standard_normal(15)
    log, prior = Linear(features, values, 0.3), Gaussian(np.zeros(2), np.diag([200.0**2, 0.1**2]))
    return Likelihood("not centred d=2", log, prior, _linear_evidence(log, prior))


def unknown_noise(d: int, rng: Any = None) -> Likelihood:
    """Return a linear regression: d - 1 coefficients under N(0, 2^2), the logarithm of the noise under N(-1, 1)."""
    g = np.random.default_rng(rng)
    size = 3 * d + 3
    features = np.column_stack([np.ones(size), g.standard_normal((size, d - 2))])
    values = features @ g.standard_normal(d - 1) + float(np.exp(-1.0 + 0.5 * g.standard_normal())) * g.standard_normal(
        size
    )
    # Along the left singular vectors of the features the values are independent, given the noise.
    left, singular, _ = np.linalg.svd(features)
    squares = (left.T @ values) ** 2
    explained = np.zeros(size)
    explained[: len(singular)] = 4.0 * singular**2

    def inner(t: Array) -> Array:
        total = explained + np.exp(2.0 * t)[:, None]
        own = -0.5 * np.sum(np.log(total) + squares / total, axis=1) - 0.5 * size * LOG_2PI
        return np.asarray(own - 0.5 * (t + 1.0) ** 2 - 0.5 * LOG_2PI)

    prior = Gaussian(np.append(np.zeros(d - 1), -1.0), np.diag(np.append(np.full(d - 1, 4.0), 1.0)))
    value = line_log_evidence(inner, -13.0, 11.0)
    return Likelihood(f"unknown noise d={d}", NoisyLinear(features, values), prior, value)


class ConjugateRegression(LogDensity):
    r"""A linear regression with its conjugate prior, as a joint density of coefficients and the noise's logarithm.

    .. math:: y \sim N(A b, s^2 I), \quad b \sim N(0, s^2 I), \quad s^2 \sim \text{inverse gamma}(2, 1), \quad
       x = (b, \log s).
    """

    def __init__(self, features: Array, values: Array) -> None:
        self._data = NoisyLinear(features, values)
        # The prior of the coefficients is that of d - 1 values of zero with the same noise.
        self._prior = NoisyLinear(np.eye(features.shape[1]), np.zeros(features.shape[1]))

    def __call__(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            noise = np.log(2.0) - 4.0 * x[:, -1] - np.exp(-2.0 * x[:, -1])
        return np.asarray(self._data(x) + self._prior(x) + noise)

    def gradient(self, x: Array) -> Array:
        slopes = self._data.gradient(x) + self._prior.gradient(x)
        slopes[:, -1] += -4.0 + 2.0 * np.exp(-2.0 * x[:, -1])
        return slopes

    @property
    def log_evidence(self) -> float:
        """In closed form: the values are Student-t distributed."""
        features, values = self._data.features, self._data.values
        size = len(values)
        cov = np.eye(size) + features @ features.T
        scale = 1.0 + 0.5 * values @ np.linalg.solve(cov, values)
        logs = gammaln(2.0 + 0.5 * size) - 0.5 * size * LOG_2PI - 0.5 * np.linalg.slogdet(cov)[1]
        return float(logs - (2.0 + 0.5 * size) * np.log(scale))


def conjugate_regression(d: int, rng: Any = None) -> Likelihood:
    """Return a linear regression with unknown noise and its conjugate prior, as a joint density."""
    g = np.random.default_rng(rng)
    size = 3 * d
    features = np.column_stack([np.ones(size), g.standard_normal((size, d - 2))])
    values = features @ g.standard_normal(d - 1) + 0.5 * g.standard_normal(size)
    log = ConjugateRegression(features, values)
    name = f"conjugate regression d={d}"
    return Likelihood(name, log, None, log.log_evidence, 0.5 * g.standard_normal(d), np.ones(d))


def _process_log(x: Array, times: Array, values: Array) -> Array:
    lengths, scales, noises = np.exp(x).T
    squares = np.subtract.outer(times, times) ** 2
    K = scales[:, None, None] ** 2 * np.exp(-0.5 * squares / lengths[:, None, None] ** 2)
    K = K + (noises[:, None, None] ** 2 + 1e-10 * scales[:, None, None] ** 2) * np.eye(len(times))
    lower = np.linalg.cholesky(K)
    solved = np.linalg.solve(lower, values[:, None])[:, :, 0]
    logs = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return np.asarray(-0.5 * np.sum(solved**2, axis=1) - logs - 0.5 * len(times) * np.log(2.0 * np.pi))


def process_regression(size: int = 15, rng: Any = None) -> Likelihood:
    """Return the length-scale, amplitude and noise (logarithms) of a regression with a Gaussian process."""
    g = np.random.default_rng(rng)
    times = np.sort(g.uniform(0.0, 5.0, size))
    K = np.exp(-0.5 * np.subtract.outer(times, times) ** 2) + 1e-9 * np.eye(size)
    values = np.linalg.cholesky(K) @ g.standard_normal(size) + 0.2 * g.standard_normal(size)
    log = partial(_process_log, times=times, values=values)
    prior = Gaussian(np.array([0.0, 0.0, -1.5]), np.eye(3))

    def joint(x: Array) -> Array:
        return log(x) + prior.log_density(x)

    # The tails are not Gaussian here: a wide box of the prior instead of the mode's neighbourhood.
    axis = np.linspace(-6.5, 6.5, 66)
    grid = tensor_grid([axis, axis, axis - 1.5])
    logs = np.concatenate([joint(part) for part in np.array_split(grid, 200)])
    return Likelihood("process regression", log, prior, float(logsumexp(logs) + 3.0 * np.log(axis[1] - axis[0])))


def _decay_log(x: Array, times: Array, values: Array) -> Array:
    with np.errstate(over="ignore"):
        predicted = x[:, :1] * np.exp(-x[:, 1:2] * times)
        return np.asarray(-0.5 * np.sum(((values - predicted) / 0.1) ** 2, axis=1))


def decay(size: int = 8, rng: Any = None) -> Likelihood:
    """Return amplitude and rate of an exponential decay under log-normal priors."""
    g = np.random.default_rng(rng)
    times = np.linspace(0.2, 3.0, size)
    truth = np.exp(0.3 * g.standard_normal(2))
    values = truth[0] * np.exp(-truth[1] * times) + 0.1 * g.standard_normal(size)
    log = partial(_decay_log, times=times, values=values)
    prior = Product([stats.lognorm(1.0), stats.lognorm(1.0)])

    def joint(logs: Array) -> Array:
        return np.asarray(log(np.exp(logs)) - 0.5 * np.sum(logs**2, axis=1) - np.log(2.0 * np.pi))

    return Likelihood("decay", log, prior, tensor_log_evidence(joint, np.log(truth), 300, 9.0))
