"""Constants, polynomials, kinks and steps: the cases where a rule is exact, or a smooth model is wrong."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from fwbq.measures import Empirical, Gaussian, Measure, TruncatedGaussian, Uniform

from .problem import Array, Family


@dataclass(frozen=True, eq=False)
class Constant:
    """The same value everywhere, which is also its integral."""

    value: float

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.full(len(x), self.value)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """c + b.x + x'A x; under N(m, S) the integral is c + b.m + m'A m + trace(A S)."""

    c: float
    b: Array
    A: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(self.c + x @ self.b + np.einsum("ni,ij,nj->n", x, self.A, x))

    def integral(self, mean: Array, cov: Array) -> float:
        """Return the exact integral under any measure with this mean and covariance."""
        return float(self.c + self.b @ mean + mean @ self.A @ mean + np.trace(self.A @ cov))


@dataclass(frozen=True, eq=False)
class Hinge:
    """|a.x - c|; under N(0, I) with |a| = 1 the integral is c (2 Phi(c) - 1) + 2 phi(c)."""

    a: Array
    c: float

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.abs(x @ self.a - self.c)

    def integral(self) -> float:
        """Return the exact integral under the standard normal measure."""
        c = self.c
        return float(c * (2.0 * ndtr(c) - 1.0) + 2.0 * np.exp(-0.5 * c * c) / np.sqrt(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Halfspace:
    """1 where a.x <= c, else 0; under N(0, I) with |a| = 1 the integral is Phi(c)."""

    a: Array
    c: float

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return (x @ self.a <= self.c).astype(float)


@dataclass(frozen=True, eq=False)
class Decay:
    """exp(-b.x) under N(m, s^2) truncated to [0, inf).

    The integral is prod e^(-b_i m_i + b_i^2 s_i^2 / 2) Phi(m_i/s_i - b_i s_i) / Phi(m_i/s_i).
    """

    b: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.exp(-x @ self.b)

    def integral(self, mean: Array, variance: Array) -> float:
        """Return the exact integral under the truncated Gaussian measure."""
        s = np.sqrt(variance)
        logs = -self.b * mean + 0.5 * self.b**2 * variance + log_ndtr(mean / s - self.b * s) - log_ndtr(mean / s)
        return float(np.exp(logs.sum()))


def _unit(dim: int, rng: np.random.Generator) -> Array:
    direction = rng.standard_normal(dim)
    return np.asarray(direction / np.linalg.norm(direction))


def _standard(dim: int) -> Gaussian:
    return Gaussian(np.zeros(dim), np.eye(dim))


def _zero(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    return _standard(dim), Constant(0.0), 0.0


def _constant(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    value = rng.uniform(-3.0, 3.0)
    return Uniform(-np.ones(dim), 2.0 * np.ones(dim)), Constant(value), value


def _quadratic(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    half = rng.standard_normal((dim, dim)) / dim
    f = Quadratic(rng.standard_normal(), rng.standard_normal(dim), half + half.T)
    return _standard(dim), f, f.integral(np.zeros(dim), np.eye(dim))


def _hinge(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    hinge = Hinge(_unit(dim, rng), rng.uniform(-1.0, 1.0))
    return _standard(dim), hinge, hinge.integral()


def _halfspace(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    step = Halfspace(_unit(dim, rng), rng.uniform(-1.0, 1.0))
    return _standard(dim), step, float(ndtr(step.c))


def _decay(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    decay = Decay(rng.uniform(0.3, 1.5, dim))
    mean, variance = np.ones(dim), np.full(dim, 0.5)
    return TruncatedGaussian(mean, variance), decay, decay.integral(mean, variance)


def _cloud(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
    points, weights = rng.standard_normal((500, dim)), rng.dirichlet(np.ones(500))
    f = Quadratic(rng.standard_normal(), rng.standard_normal(dim), np.eye(dim) / dim)
    return Empirical(points, weights), f, float(weights @ f(points))


FAMILIES = (
    Family("zero", (1, 2), ("analytic", "constant"), _zero),
    Family("constant", (1, 3), ("analytic", "constant"), _constant),
    Family("quadratic", (1, 2, 3, 5), ("smooth", "analytic", "polynomial"), _quadratic),
    Family("hinge", (1, 2, 3), ("kink",), _hinge),
    Family("halfspace", (1, 2, 3), ("step",), _halfspace),
    Family("decay", (1, 2, 3), ("smooth", "analytic", "truncated"), _decay),
    Family("cloud", (1, 2), ("smooth", "analytic", "polynomial", "empirical"), _cloud),
)
