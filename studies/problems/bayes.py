"""Likelihoods under conjugate priors: peaked positive integrands whose integral is an evidence."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln

from fwbq.measures import Gaussian, Measure, Product, Uniform

from .mixtures import normal_density
from .problem import Array, Family


@dataclass(frozen=True, eq=False)
class NormalLikelihood:
    """scale * exp(-|x - y|^2 / (2 s^2)): the likelihood of a location x, up to a constant."""

    y: Array
    s: float
    scale: float = 1.0

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(self.scale * np.exp(-((x - self.y) ** 2).sum(axis=1) / (2.0 * self.s**2)))

    def evidence(self) -> float:
        """Return the integral under the standard normal prior."""
        dim = len(self.y)
        density = normal_density(self.y[None, :], np.zeros(dim), (1.0 + self.s**2) * np.eye(dim))[0]
        return self.scale * float((np.sqrt(2.0 * np.pi) * self.s) ** dim * density)


@dataclass(frozen=True, eq=False)
class BinomialLikelihood:
    """x^k (1 - x)^(n - k) over its maximum; under the uniform prior the integral is B(k + 1, n - k + 1) over it."""

    k: int
    n: int

    def _log(self, x: Array) -> Array:
        return np.asarray(self.k * np.log(x) + (self.n - self.k) * np.log1p(-x))

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        with np.errstate(divide="ignore"):  # log 0 = -inf is the right limit: the likelihood vanishes there
            return np.exp(self._log(x[:, 0]) - self._log(np.array(self.k / self.n)))

    def evidence(self) -> float:
        """Return the integral under the uniform prior."""
        return float(np.exp(betaln(self.k + 1, self.n - self.k + 1) - self._log(np.array(self.k / self.n))))


@dataclass(frozen=True, eq=False)
class PoissonLikelihood:
    """prod_i x_i^(k_i) e^(-x_i) / k_i!; under Gamma(shape, scale) priors the integral is negative binomial."""

    k: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(np.exp((self.k * np.log(x) - x - gammaln(self.k + 1.0)).sum(axis=1)))

    def evidence(self, shape: float, scale: float) -> float:
        """Return the integral under independent Gamma(shape, scale) priors."""
        k = self.k
        terms = gammaln(k + shape) - gammaln(shape) - gammaln(k + 1.0)
        terms = terms + k * np.log(scale) - (k + shape) * np.log1p(scale)
        return float(np.exp(terms.sum()))


def _normal(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    likelihood = NormalLikelihood(0.7 * rng.standard_normal(dim), rng.uniform(0.4, 0.8))
    return Gaussian(np.zeros(dim), np.eye(dim)), likelihood, likelihood.evidence()


def _sharp(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    likelihood = NormalLikelihood(1.5 * rng.uniform(-1.0, 1.0, dim), 0.15)
    return Gaussian(np.zeros(dim), np.eye(dim)), likelihood, likelihood.evidence()


def _tiny(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    likelihood = NormalLikelihood(0.7 * rng.standard_normal(dim), 1.0, scale=1e-290)
    return Gaussian(np.zeros(dim), np.eye(dim)), likelihood, likelihood.evidence()


def _binomial(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    likelihood = BinomialLikelihood(int(rng.integers(2, 19)), 20)
    return Uniform(np.zeros(1), np.ones(1)), likelihood, likelihood.evidence()


def _poisson(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    from scipy import stats

    likelihood = PoissonLikelihood(rng.integers(1, 6, dim).astype(float))
    prior = Product([stats.gamma(3.0, scale=1.0) for _ in range(dim)])
    return prior, likelihood, likelihood.evidence(3.0, 1.0)


FAMILIES = (
    Family("normal-evidence", (1, 2, 3, 5), ("smooth", "analytic", "peak", "evidence"), _normal),
    Family("sharp-evidence", (1, 2), ("analytic", "peak", "sharp", "evidence"), _sharp),
    Family("tiny-evidence", (1, 2), ("smooth", "analytic", "peak", "tiny", "evidence"), _tiny),
    Family("binomial-evidence", (1,), ("smooth", "analytic", "peak", "evidence"), _binomial),
    Family("poisson-evidence", (1, 2), ("smooth", "analytic", "peak", "evidence"), _poisson),
)
