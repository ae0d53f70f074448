"""Integrands and measures made of Gaussians."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp

import numpy as np

from fwbq.measures import Gaussian, GaussianMixture, Measure

from .problem import Array, Family


def normal_density(x: Array, mean: Array, cov: Array) -> Array:
    """N(x; mean, cov) for x (n, d)."""
    factor = np.linalg.cholesky(cov)
    z = np.linalg.solve(factor, (x - mean).T)
    return np.asarray(np.exp(-0.5 * (z**2).sum(axis=0)) / np.prod(np.sqrt(2.0 * np.pi) * np.diag(factor)))


@dataclass(frozen=True, eq=False)
class Bumps:
    """sum_j c_j N(x; m_j, s_j^2 I); under N(m, S) the integral is sum_j c_j N(m_j; m, S + s_j^2 I)."""

    c: Array
    m: Array
    s: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        eye = np.eye(x.shape[1])
        terms = zip(self.c, self.m, self.s, strict=True)
        return np.asarray(np.sum([c * normal_density(x, m, s * s * eye) for c, m, s in terms], axis=0))

    def integral(self, mean: Array, cov: Array) -> float:
        """Return the exact integral under N(mean, cov)."""
        eye = np.eye(len(mean))
        terms = zip(self.c, self.m, self.s, strict=True)
        return float(sum(c * normal_density(m[None, :], mean, cov + s * s * eye)[0] for c, m, s in terms))


@dataclass(frozen=True, eq=False)
class Cosine:
    """cos(w.x + b); under N(m, S) the integral is cos(w.m + b) exp(-w'S w / 2)."""

    w: Array
    b: float

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.cos(x @ self.w + self.b)

    def integral(self, mean: Array, cov: Array) -> float:
        """Return the exact integral under N(mean, cov)."""
        return float(np.cos(self.w @ mean + self.b)) * exp(-0.5 * float(self.w @ cov @ self.w))


def _correlated(dim: int, rng: np.random.Generator) -> tuple[Array, Array]:
    root = rng.standard_normal((dim, dim)) / np.sqrt(dim)
    return rng.standard_normal(dim), root @ root.T + 0.3 * np.eye(dim)


def _bumps(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    bumps = Bumps(rng.uniform(0.5, 1.5, 4), rng.standard_normal((4, dim)), rng.uniform(0.7, 1.5, 4))
    mean, cov = np.zeros(dim), np.eye(dim)
    return Gaussian(mean, cov), bumps, bumps.integral(mean, cov)


def _waves(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    mean, cov = rng.standard_normal(dim), np.eye(dim)
    direction = rng.standard_normal(dim)
    wave = Cosine(direction * (rng.uniform(0.5, 2.0) / np.linalg.norm(direction)), rng.uniform(0.0, 2.0 * np.pi))
    return Gaussian(mean, cov), wave, wave.integral(mean, cov)


def _correlated_waves(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    mean, cov = _correlated(dim, rng)
    direction = rng.standard_normal(dim)
    wave = Cosine(direction * (1.5 / np.linalg.norm(direction)), rng.uniform(0.0, 2.0 * np.pi))
    return Gaussian(mean, cov), wave, wave.integral(mean, cov)


def _mixture_waves(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    weights = rng.dirichlet(np.full(3, 3.0))
    means = rng.standard_normal((3, dim)) * 1.5
    covs = np.array([np.diag(rng.uniform(0.2, 1.0, dim)) for _ in range(3)])
    direction = rng.standard_normal(dim)
    wave = Cosine(direction / np.linalg.norm(direction), rng.uniform(0.0, 2.0 * np.pi))
    value = sum(c * wave.integral(m, s) for c, m, s in zip(weights, means, covs, strict=True))
    return GaussianMixture(weights, means, covs), wave, value


FAMILIES = (
    Family("gaussian-bumps", (1, 2, 3, 5), ("smooth", "analytic", "bumps"), _bumps),
    Family("gaussian-wave", (1, 2, 3, 5), ("smooth", "analytic", "oscillatory"), _waves),
    Family("correlated-wave", (2, 3), ("smooth", "analytic", "oscillatory", "correlated"), _correlated_waves),
    Family("mixture-wave", (1, 2, 3), ("smooth", "analytic", "oscillatory", "mixture"), _mixture_waves),
)
