"""Likelihoods that fall off within a step, have a floor, or are zero outside a region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, log_ndtr, ndtr

from fwbq.measures import Uniform

from .densities import LogDensity, Normal
from .likelihood import Array, Likelihood
from .truths import LOG_2PI, gaussian_evidence, inverse, line_log_evidence, random_cov, standard

#: What simulators return for parameters that are not allowed.
FLOOR = -1e10


@dataclass(frozen=True, eq=False)
class Half:
    """A Gaussian likelihood and a plane near its centre, under N(0, I).

    Attributes
    ----------
    gaussian : Normal
    normal : (d,) array
        Unit vector across the plane.
    mean, spread : float
        Of the posterior along `normal`.
    depth : float
        Standard deviations of the posterior from the plane to its mean.
    log_evidence : float
        Of the Gaussian alone.
    """

    gaussian: Normal
    normal: Array
    mean: float
    spread: float
    depth: float
    log_evidence: float

    @property
    def offset(self) -> float:
        """Where the plane is along `normal`."""
        return self.mean - self.depth * self.spread


def _half(d: int, narrower: float, g: np.random.Generator) -> Half:
    cov = random_cov(d, 1.0 / narrower, g)
    centre = 0.7 * g.standard_normal(d)
    precision = inverse(cov)
    after = np.linalg.inv(precision + np.eye(d))
    mean = after @ precision @ centre
    normal = g.standard_normal(d)
    normal /= np.linalg.norm(normal)
    spread = float(np.sqrt(normal @ after @ normal))
    depth = float(g.uniform(-0.5, 1.5))
    return Half(Normal(centre, precision), normal, float(normal @ mean), spread, depth, gaussian_evidence(centre, cov))


@dataclass(frozen=True, eq=False)
class Cut:
    """A Gaussian between two planes; beyond them it is lower by `drop`, or has the value `floor` where one is given."""

    gaussian: Normal
    normal: Array
    low: float
    high: float = np.inf
    drop: float = np.inf
    floor: float | None = None

    def __call__(self, x: Array) -> Array:
        along = x @ self.normal
        values = self.gaussian(x)
        beyond = values - self.drop if self.floor is None else np.full(len(x), self.floor)
        return np.asarray(np.where((along >= self.low) & (along <= self.high), values, beyond))


def cut(d: int = 2, narrower: float = 4.0, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood that is zero beyond a plane near its centre."""
    half = _half(d, narrower, np.random.default_rng(rng))
    value = half.log_evidence + float(log_ndtr(half.depth))
    return Likelihood(f"cut d={d}", Cut(half.gaussian, half.normal, half.offset), standard(d), value)


def step(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood that is lower by 5 to 600 beyond a plane near its centre."""
    g = np.random.default_rng(rng)
    half = _half(d, 4.0, g)
    drop = float(5.0 * 120.0 ** g.uniform())
    value = half.log_evidence + float(np.logaddexp(log_ndtr(half.depth), log_ndtr(-half.depth) - drop))
    return Likelihood(f"step d={d}", Cut(half.gaussian, half.normal, half.offset, drop=drop), standard(d), value)


def floor(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood with the value -1e10 beyond a plane near its centre."""
    half = _half(d, 4.0, np.random.default_rng(rng))
    value = half.log_evidence + float(log_ndtr(half.depth))
    log = Cut(half.gaussian, half.normal, half.offset, floor=FLOOR)
    return Likelihood(f"floor of -1e10 d={d}", log, standard(d), value)


def strip(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood that is zero outside a strip, 0.5 to 1.5 standard deviations of it wide."""
    g = np.random.default_rng(rng)
    half = _half(d, 4.0, g)
    wide = float(g.uniform(0.5, 1.5))
    value = half.log_evidence + float(np.log(ndtr(half.depth) - ndtr(half.depth - wide)))
    log = Cut(half.gaussian, half.normal, half.offset, half.offset + wide * half.spread)
    return Likelihood(f"strip d={d}", log, standard(d), value)


@dataclass(frozen=True, eq=False)
class SoftStep(LogDensity):
    """A Gaussian minus drop * logistic((offset - normal' x) / width)."""

    gaussian: Normal
    normal: Array
    offset: float
    drop: float
    width: float

    def __call__(self, x: Array) -> Array:
        return np.asarray(self.gaussian(x) - self.drop * expit((self.offset - x @ self.normal) / self.width))

    def gradient(self, x: Array) -> Array:
        p = expit((self.offset - x @ self.normal) / self.width)
        return np.asarray(self.gaussian.gradient(x) + np.outer(self.drop / self.width * p * (1.0 - p), self.normal))


def soft_step(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood that falls off smoothly by 100 to 600 within a tenth of its width."""
    g = np.random.default_rng(rng)
    half = _half(d, 4.0, g)
    drop, width = float(g.uniform(100.0, 600.0)), 0.03
    # Along the normal the posterior of the Gaussian alone is N(mean, spread^2), here in its standard deviations.
    share = line_log_evidence(
        lambda t: -0.5 * t * t - 0.5 * LOG_2PI - drop * expit((-half.depth - t) / width), -12.0, 12.0
    )
    log = SoftStep(half.gaussian, half.normal, half.offset, drop, width * half.spread)
    return Likelihood(f"soft step d={d}", log, standard(d), half.log_evidence + share)


@dataclass(frozen=True, eq=False)
class Ball:
    """-|x - centre|^2 / (2 sd^2) within a ball, zero likelihood outside."""

    centre: Array
    sd: float
    radius: float

    def __call__(self, x: Array) -> Array:
        squares = np.sum((x - self.centre) ** 2, axis=1)
        return np.asarray(np.where(squares <= self.radius**2, -0.5 * squares / self.sd**2, -np.inf))


def ball(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood that is zero outside a ball, under a uniform prior on [-1, 1]^d."""
    g = np.random.default_rng(rng)
    centre, radius = g.uniform(-0.4, 0.4, d), float(g.uniform(0.3, 0.5))
    sd = radius * float(g.uniform(0.4, 1.0))
    inside = stats.chi2(d).cdf((radius / sd) ** 2)
    value = 0.5 * d * LOG_2PI + d * np.log(0.5 * sd) + np.log(inside)
    return Likelihood(f"ball d={d}", Ball(centre, sd, radius), Uniform(-np.ones(d), np.ones(d)), float(value))


@dataclass(frozen=True, eq=False)
class Ordered:
    """-|x - centre|^2 / (2 sd^2) where the parameters rise, zero likelihood elsewhere."""

    centre: float
    sd: float

    def __call__(self, x: Array) -> Array:
        rising = np.all(np.diff(x, axis=1) > 0.0, axis=1)
        return np.asarray(np.where(rising, -0.5 * np.sum((x - self.centre) ** 2, axis=1) / self.sd**2, -np.inf))


def ordered(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood of parameters that must rise: one part in d! of that without the order."""
    g = np.random.default_rng(rng)
    centre, sd = float(g.standard_normal()), float(g.uniform(0.2, 0.5))
    whole = gaussian_evidence(np.full(d, centre), sd**2 * np.eye(d))
    value = whole - float(np.sum(np.log(np.arange(1, d + 1))))
    return Likelihood(f"ordered d={d}", Ordered(centre, sd), standard(d), value)


@dataclass(frozen=True, eq=False)
class Plateau:
    """Likelihood one within a box, zero outside."""

    lower: Array
    upper: Array

    def __call__(self, x: Array) -> Array:
        return np.where(np.all((x >= self.lower) & (x <= self.upper), axis=1), 0.0, -np.inf)


def plateau(d: int, rng: Any = None) -> Likelihood:
    """Return a likelihood that is one within a box and zero outside, under a uniform prior on a box of side ten."""
    g = np.random.default_rng(rng)
    sides = g.uniform(2.0, 5.0, d)
    lower = g.uniform(-5.0, 5.0 - sides)
    prior = Uniform(np.full(d, -5.0), np.full(d, 5.0))
    return Likelihood(f"plateau d={d}", Plateau(lower, lower + sides), prior, float(np.sum(np.log(sides / 10.0))))
