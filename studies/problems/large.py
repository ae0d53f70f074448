"""Problems for many evaluations, up to fifty dimensions: Keister's, options on an average, kinks and steps.

They are no part of the fixed table of `problems.all`, whose problems are for some tens of evaluations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, lgamma, log

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from fwbq.measures import Gaussian, Measure

from .problem import Array, Family


@dataclass(frozen=True, eq=False)
class Keister:
    """cos(frequency |x|) under N(0, I / 2), an integral over the radius (Keister, Computers in Physics 1996)."""

    frequency: float

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(np.cos(self.frequency * np.sqrt((x**2).sum(axis=1))))

    def integral(self, dim: int) -> float:
        """Return the integral, int_0^inf cos(frequency r) 2 r^(d-1) exp(-r^2) dr / Gamma(d / 2), by quadrature."""

        def radial(r: float) -> float:
            density = exp(log(2.0) - lgamma(0.5 * dim) + (dim - 1) * log(r) - r * r) if r > 0.0 else 0.0
            return float(np.cos(self.frequency * r)) * density

        return float(quad(radial, 0.0, inf, epsabs=1e-13, epsrel=1e-12, limit=500)[0])


@dataclass(frozen=True, eq=False)
class AsianCall:
    """Discounted payoff of a call on the geometric mean of a geometric Brownian motion, as a function of N(0, I).

    The integral is that of Black and Scholes, for the logarithm of the mean is Gaussian.

    Attributes
    ----------
    root : (d, d) array
        L with L L' the covariance of the Brownian motion at d equally spaced times in (0, 1].
    strike, volatility : float
        The price begins at 100 and the rate is 5 %.
    """

    root: Array
    strike: float
    volatility: float

    @property
    def _drift(self) -> Array:
        times = np.arange(1, len(self.root) + 1) / len(self.root)
        return np.asarray(log(100.0) + (0.05 - 0.5 * self.volatility**2) * times)

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        logarithm = float(self._drift.mean()) + self.volatility * (x @ self.root.mean(axis=0))
        return np.asarray(exp(-0.05) * np.maximum(np.exp(logarithm) - self.strike, 0.0))

    def integral(self) -> float:
        """Return the exact price."""
        mean = float(self._drift.mean())
        sd = self.volatility * float(np.linalg.norm(self.root.mean(axis=0)))
        above = (mean - log(self.strike) + sd * sd) / sd
        return float(exp(-0.05) * (exp(mean + 0.5 * sd * sd) * ndtr(above) - self.strike * ndtr(above - sd)))


@dataclass(frozen=True, eq=False)
class Kink:
    """max(a.x - c, 0) under N(0, I) with |a| = 1; integral phi(c) - c Phi(-c)."""

    a: Array
    c: float

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(np.maximum(x @ self.a - self.c, 0.0))

    def integral(self) -> float:
        """Return the exact integral."""
        return float(np.exp(-0.5 * self.c**2) / np.sqrt(2.0 * np.pi) - self.c * ndtr(-self.c))


@dataclass(frozen=True, eq=False)
class Step:
    """1 where a.x > c under N(0, I) with |a| = 1, else 0; integral Phi(-c)."""

    a: Array
    c: float

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray((x @ self.a > self.c).astype(np.float64))

    def integral(self) -> float:
        """Return the exact integral."""
        return float(ndtr(-self.c))


Made = tuple[Measure, Callable[[Array], Array], float]


def _keister(dim: int, rng: np.random.Generator) -> Made:
    f = Keister(float(np.exp(rng.uniform(np.log(0.6), np.log(1.6)))))
    return Gaussian(np.zeros(dim), 0.5 * np.eye(dim)), f, f.integral(dim)


def _asian(dim: int, rng: np.random.Generator) -> Made:
    times = np.arange(1, dim + 1) / dim
    cov = np.minimum(times[:, None], times)
    if rng.uniform() < 0.5:
        root = np.linalg.cholesky(cov)
    else:  # principal components, the direction of largest variance first
        variances, directions = np.linalg.eigh(cov)
        root = directions[:, ::-1] * np.sqrt(variances[::-1])
    f = AsianCall(root, float(rng.uniform(80.0, 125.0)), float(rng.uniform(0.15, 0.6)))
    return Gaussian(np.zeros(dim), np.eye(dim)), f, f.integral()


def _plane(dim: int, rng: np.random.Generator) -> tuple[Array, float]:
    """Return a direction whose coordinates matter less and less, and an offset."""
    a = rng.normal(size=dim) * np.exp(-rng.uniform(0.0, 0.5) * np.arange(dim))
    return a / np.linalg.norm(a), float(rng.uniform(-1.0, 1.0))


def _kink(dim: int, rng: np.random.Generator) -> Made:
    f = Kink(*_plane(dim, rng))
    return Gaussian(np.zeros(dim), np.eye(dim)), f, f.integral()


def _step(dim: int, rng: np.random.Generator) -> Made:
    f = Step(*_plane(dim, rng))
    return Gaussian(np.zeros(dim), np.eye(dim)), f, f.integral()


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("keister", tuple(range(2, 11)), ("smooth", "large"), _keister),
        Family("asian", (12, 50), ("kink", "large"), _asian),
        Family("kink", tuple(range(2, 11)), ("kink", "large"), _kink),
        Family("step", tuple(range(2, 11)), ("step", "large"), _step),
    )
}
"""The families by name."""
