"""Bent ridges, rings and shells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from .densities import Banana, LogDensity, Shell
from .likelihood import Array, Likelihood
from .truths import LOG_2PI, line_log_evidence, standard


def _banana(g: np.random.Generator, bends: tuple[float, float], widths: tuple[float, float]) -> tuple[Banana, float]:
    """Draw a bent ridge and return it with its log evidence under N(0, I)."""
    bend, shift, width = g.uniform(*bends), g.uniform(0.5, 1.5), g.uniform(*widths)
    at, along = g.uniform(-0.3, 0.3), g.uniform(0.6, 1.0)

    def inner(t: Array) -> Array:
        # The second coordinate in closed form: a Gaussian under N(0, 1).
        bent = (bend * (t * t - shift)) ** 2 / (1.0 + width**2)
        return np.asarray(-0.5 * bent - 0.5 * ((t - at) / along) ** 2 - 0.5 * t * t)

    value = line_log_evidence(inner, -12.0, 12.0) - 0.5 * LOG_2PI + np.log(width / np.sqrt(1.0 + width**2))
    return Banana(bend, shift, width, at, along), float(value)


def banana(
    rng: Any = None, *, bends: tuple[float, float] = (0.5, 1.2), widths: tuple[float, float] = (0.08, 0.25)
) -> Likelihood:
    """Return a bent ridge in two dimensions, with a bend and a width drawn from these ranges."""
    log, value = _banana(np.random.default_rng(rng), bends, widths)
    return Likelihood("banana", log, standard(2), value)


@dataclass(frozen=True, eq=False)
class Pair(LogDensity):
    """A density of the first two parameters times one of the next two."""

    first: LogDensity
    second: LogDensity

    def __call__(self, x: Array) -> Array:
        return self.first(x[:, :2]) + self.second(x[:, 2:])

    def gradient(self, x: Array) -> Array:
        return np.hstack([self.first.gradient(x[:, :2]), self.second.gradient(x[:, 2:])])


def two_bananas(rng: Any = None) -> Likelihood:
    """Return two bent ridges, each in two of four dimensions."""
    g = np.random.default_rng(rng)
    (first, a), (second, b) = (_banana(g, (0.5, 1.2), (0.2, 0.4)) for _ in range(2))
    return Likelihood("two bananas d=4", Pair(first, second), standard(4), a + b)


@dataclass(frozen=True, eq=False)
class Wave(LogDensity):
    """-((x_2 - height sin(frequency x_1)) / width)^2 / 2."""

    height: float
    frequency: float
    width: float

    def __call__(self, x: Array) -> Array:
        ridge = x[:, 1] - self.height * np.sin(self.frequency * x[:, 0])
        return np.asarray(-0.5 * (ridge / self.width) ** 2)

    def gradient(self, x: Array) -> Array:
        ridge = (x[:, 1] - self.height * np.sin(self.frequency * x[:, 0])) / self.width**2
        return np.column_stack([ridge * self.height * self.frequency * np.cos(self.frequency * x[:, 0]), -ridge])


def wave(rng: Any = None) -> Likelihood:
    """Return a ridge along a sine wave in two dimensions."""
    g = np.random.default_rng(rng)
    height, frequency, width = g.uniform(0.5, 1.0), g.uniform(1.5, 3.0), g.uniform(0.15, 0.3)
    total = 1.0 + width**2
    value = line_log_evidence(
        lambda t: -0.5 * (height * np.sin(frequency * t)) ** 2 / total - 0.5 * t * t - 0.5 * LOG_2PI, -12.0, 12.0
    )
    log = Wave(height, frequency, width)
    return Likelihood("wave d=2", log, standard(2), float(value + np.log(width / np.sqrt(total))))


def shell(d: int, radii: tuple[float, float], widths: tuple[float, float], rng: Any = None) -> Likelihood:
    """Return a shell around the origin, a ring in two dimensions, of a radius and a width drawn from these ranges."""
    g = np.random.default_rng(rng)
    radius, width = g.uniform(*radii), g.uniform(*widths)

    def inner(r: Array) -> Array:
        return np.asarray((d - 1) * np.log(r) - 0.5 * ((r - radius) / width) ** 2 - 0.5 * r * r)

    value = line_log_evidence(inner, 0.0, 12.0) - (0.5 * d - 1.0) * np.log(2.0) - gammaln(0.5 * d)
    return Likelihood("ring" if d == 2 else f"shell d={d}", Shell(radius, width), standard(d), float(value))
