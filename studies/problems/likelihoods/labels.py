"""Likelihoods that stay the same when parameters are exchanged, or change their signs together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, logsumexp

from fwbq._gauss import gauss_legendre
from fwbq.measures import Gaussian, Product

from .densities import LogDensity, Mixture, Normal
from .likelihood import Array, Likelihood
from .truths import LOG_2PI, gaussian_evidence, inverse, line_log_evidence, random_cov, standard

#: Standard deviation of the prior of a component's mean; the values of a component scatter by one.
_WIDE = 3.0


def _two_clusters(g: np.random.Generator, size: int = 12) -> Array:
    """Draw values from two components, two to four standard deviations apart."""
    apart = g.uniform(2.0, 4.0)
    return np.asarray(np.where(g.uniform(size=size) < g.uniform(0.3, 0.7), 0.5, -0.5) * apart + g.standard_normal(size))


def _cluster_evidence(values: Array, weights: Array) -> Array:
    """Return, for each weight of the first component, the log evidence over both means under N(0, 3^2) priors.

    The trapezoidal rule with steps of 0.06 on both means: the integrand is entire and falls off like a Gaussian that is
    five steps wide or more, so that the rule's error is below rounding.
    """
    axis = np.linspace(-8.0 * _WIDE, 8.0 * _WIDE, 801)
    density = np.exp(-0.5 * (axis[:, None] - values) ** 2 - 0.5 * LOG_2PI)
    prior = np.exp(-0.5 * (axis / _WIDE) ** 2) * (axis[1] - axis[0]) / (_WIDE * np.sqrt(2.0 * np.pi))
    found = []
    for w in weights:
        product = np.ones((len(axis), len(axis)))
        for column in density.T:
            product *= w * column[:, None] + (1.0 - w) * column
        found.append(float(np.log(prior @ product @ prior)))
    return np.array(found)


@dataclass(frozen=True, eq=False)
class EqualComponents(LogDensity):
    """Values from two components of equal weight: x holds their means."""

    values: Array

    def _terms(self, x: Array) -> Array:
        return np.asarray(-0.5 * (self.values[:, None] - x[:, None, :]) ** 2)  # (n, values, 2)

    def __call__(self, x: Array) -> Array:
        constant = len(self.values) * (np.log(2.0) + 0.5 * LOG_2PI)
        return np.asarray(np.sum(np.logaddexp(*np.moveaxis(self._terms(x), 2, 0)), axis=1) - constant)

    def gradient(self, x: Array) -> Array:
        a, b = np.moveaxis(self._terms(x), 2, 0)
        share = expit(a - b)
        first, second = ((self.values - x[:, i : i + 1]) for i in (0, 1))
        return np.column_stack([np.sum(share * first, axis=1), np.sum((1.0 - share) * second, axis=1)])


def two_labels(rng: Any = None) -> Likelihood:
    """Return the means of two components of equal weight, under the same prior: exchanging them changes nothing."""
    values = _two_clusters(np.random.default_rng(rng))
    value = float(_cluster_evidence(values, np.array([0.5]))[0])
    prior = Gaussian(np.zeros(2), _WIDE**2 * np.eye(2))
    return Likelihood("two labels d=2", EqualComponents(values), prior, value)


@dataclass(frozen=True, eq=False)
class WeightedComponents:
    """Values from two components: x holds the weight of the first, and both means."""

    values: Array

    def __call__(self, x: Array) -> Array:
        w, means = x[:, :1], x[:, 1:]
        with np.errstate(divide="ignore"):
            first = np.log(w) - 0.5 * (self.values - means[:, :1]) ** 2
            second = np.log1p(-w) - 0.5 * (self.values - means[:, 1:]) ** 2
        return np.asarray(np.sum(np.logaddexp(first, second), axis=1) - 0.5 * len(self.values) * LOG_2PI)


def weighted_labels(rng: Any = None) -> Likelihood:
    """Return a mixture of two components with its weight: w, a, b and 1 - w, b, a are the same."""
    values = _two_clusters(np.random.default_rng(rng))
    # The likelihood is a polynomial of the weight, for which the rule is exact.
    nodes, weights = gauss_legendre(len(values) // 2 + 1, 0.0, 1.0)
    value = float(logsumexp(_cluster_evidence(values, nodes), b=weights))
    prior = Product([stats.uniform(), stats.norm(0.0, _WIDE), stats.norm(0.0, _WIDE)])
    return Likelihood("labels with a weight d=3", WeightedComponents(values), prior, value)


def three_labels(rng: Any = None) -> Likelihood:
    """Return six Gaussians in three dimensions: one, and what exchanging its parameters makes of it."""
    g = np.random.default_rng(rng)
    cov = random_cov(3, 0.15, g, 1.5)
    centre = g.permutation([-1.0, 0.0, 1.0]) + 0.2 * g.standard_normal(3)
    orders = [list(order) for order in permutations(range(3))]
    log = Mixture(np.ones(6), tuple(Normal(centre[o], inverse(cov[np.ix_(o, o)])) for o in orders))
    return Likelihood("three labels d=3", log, standard(3), gaussian_evidence(centre, cov) + float(np.log(6.0)))


@dataclass(frozen=True, eq=False)
class ProductOfTwo(LogDensity):
    """-((value - x_1 x_2) / sd)^2 / 2."""

    value: float
    sd: float

    def __call__(self, x: Array) -> Array:
        return np.asarray(-0.5 * ((self.value - x[:, 0] * x[:, 1]) / self.sd) ** 2)

    def gradient(self, x: Array) -> Array:
        r = (self.value - x[:, 0] * x[:, 1]) / self.sd**2
        return np.column_stack([r * x[:, 1], r * x[:, 0]])


def product_of_two(rng: Any = None) -> Likelihood:
    """Return two parameters of which the product is observed: a ridge along both branches of a hyperbola."""
    g = np.random.default_rng(rng)
    value, sd = float(g.uniform(0.5, 1.5)), float(g.uniform(0.1, 0.25))

    def inner(t: Array) -> Array:
        total = sd**2 + t * t  # the variance of the observed product, given the first parameter
        return np.asarray(np.log(sd) - 0.5 * np.log(total) - 0.5 * value**2 / total - 0.5 * t * t - 0.5 * LOG_2PI)

    return Likelihood("product of two d=2", ProductOfTwo(value, sd), standard(2), line_log_evidence(inner, -12.0, 12.0))
