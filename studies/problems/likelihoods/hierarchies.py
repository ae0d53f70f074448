"""Hierarchies: effects with a common scale, centred and not, and funnels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import integrate as quadrature

from fwbq.measures import Gaussian

from .densities import LogDensity
from .likelihood import Array, Likelihood
from .truths import LOG_2PI, line_log_evidence, standard


def _funnel_log(x: Array, values: Array) -> Array:
    scale = np.exp(x[:, :1])
    sums = -0.5 * ((x[:, 1:] / scale) ** 2) - x[:, :1]
    noise = -0.5 * ((values - x[:, 1:]) / 0.5) ** 2
    return np.asarray(np.sum(sums + noise, axis=1))


def funnel(rng: Any = None) -> Likelihood:
    """Return a hierarchy of a log scale and two effects: x_i ~ N(0, e^{2 t}), observed with noise 0.5."""
    g = np.random.default_rng(rng)
    values = g.standard_normal(2)
    prior = Gaussian(np.zeros(3), np.diag([1.0, 9.0, 9.0]))

    def inner(t: float) -> float:
        # Each effect in closed form: product of N(0, s^2), N(y, 0.25) and N(0, 9), the first two not normalised.
        s2 = np.exp(2.0 * t)
        precision = 1.0 / s2 + 4.0 + 1.0 / 9.0
        mean = 4.0 * values / precision
        logs = -t - 0.5 * np.log(9.0 * precision) - 2.0 * values**2 + 0.5 * precision * mean**2
        return float(np.exp(np.sum(logs) - 0.5 * t * t) / np.sqrt(2.0 * np.pi))

    z, _ = quadrature.quad(inner, -12.0, 12.0, epsabs=0.0, epsrel=1e-11, limit=500)
    return Likelihood("funnel", partial(_funnel_log, values=values), prior, float(np.log(z)))


@dataclass(frozen=True, eq=False)
class Standardised(LogDensity):
    """Values y_i ~ N(exp(t) z_i, sd^2), with x = (t, z_1, ...): effects in units of their scale."""

    values: Array
    sd: float

    def __call__(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            r = (self.values - np.exp(x[:, :1]) * x[:, 1:]) / self.sd
            return np.asarray(-0.5 * np.sum(r * r, axis=1))

    def gradient(self, x: Array) -> Array:
        scale = np.exp(x[:, :1])
        r = (self.values - scale * x[:, 1:]) / self.sd**2
        return np.column_stack([np.sum(r * scale * x[:, 1:], axis=1), r * scale])


def standardised_effects(d: int, rng: Any = None) -> Likelihood:
    """Return a log scale and d - 1 effects divided by it, observed with noise: a hierarchy that is not centred."""
    g = np.random.default_rng(rng)
    sd, size = 0.5, d - 1
    values = float(np.exp(0.5 * g.standard_normal())) * g.standard_normal(size) + sd * g.standard_normal(size)

    def inner(t: Array) -> Array:
        total = np.exp(2.0 * t) + sd**2  # the variance of a value, given the scale
        own = size * np.log(sd) - 0.5 * size * np.log(total) - 0.5 * np.sum(values**2) / total
        return np.asarray(own - 0.5 * t * t - 0.5 * LOG_2PI)

    log = Standardised(values, sd)
    return Likelihood(f"standardised effects d={d}", log, standard(d), line_log_evidence(inner, -14.0, 14.0))


@dataclass(frozen=True, eq=False)
class Schools(LogDensity):
    """Values y_i ~ N(x_i, sd_i^2), x_i ~ N(m, e^{2 t}), m ~ N(0, 2^2), t ~ N(0, 1), as a joint density of (m, t, x)."""

    values: Array
    sd: Array

    def __call__(self, x: Array) -> Array:
        m, t, effects = x[:, 0], x[:, 1], x[:, 2:]
        size = len(self.values)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.exp(-2.0 * t) * np.sum((effects - m[:, None]) ** 2, axis=1)
            data = np.sum(((self.values - effects) / self.sd) ** 2, axis=1) + 2.0 * np.sum(np.log(self.sd))
            prior = 0.25 * m * m + t * t + 2.0 * np.log(2.0)
            values = -0.5 * (spread + 2.0 * size * t + data + prior + (2 * size + 2) * LOG_2PI)
        return np.asarray(np.where(np.isnan(values), -np.inf, values))

    def gradient(self, x: Array) -> Array:
        m, t, effects = x[:, :1], x[:, 1:2], x[:, 2:]
        precision = np.exp(-2.0 * t)
        r = effects - m
        of_mean = precision * np.sum(r, axis=1, keepdims=True) - 0.25 * m
        of_scale = precision * np.sum(r * r, axis=1, keepdims=True) - len(self.values) - t
        return np.hstack([of_mean, of_scale, (self.values - effects) / self.sd**2 - precision * r])


def schools(size: int = 4, rng: Any = None) -> Likelihood:
    """Return a hierarchy of `size` effects with unknown mean and log scale, centred, as a joint density."""
    g = np.random.default_rng(rng)
    sd = g.uniform(0.3, 0.8, size)
    values = g.standard_normal() + 1.2 * g.standard_normal(size) + sd * g.standard_normal(size)

    def inner(t: Array) -> Array:
        # Given the scale the values are Gaussian: variances sd_i^2 + e^{2 t}, and 4 in common for the mean.
        own = 1.0 / (np.exp(2.0 * t)[:, None] + sd**2)
        inner_product, total = np.sum(own * values, axis=1), np.sum(own, axis=1)
        squares = np.sum(own * values**2, axis=1) - 4.0 * inner_product**2 / (1.0 + 4.0 * total)
        logs = -np.sum(np.log(own), axis=1) + np.log1p(4.0 * total) + size * LOG_2PI
        return np.asarray(-0.5 * (squares + logs) - 0.5 * t * t - 0.5 * LOG_2PI)

    value = line_log_evidence(inner, -14.0, 14.0)
    start = np.concatenate([[values.mean(), 0.0], values])
    return Likelihood(f"schools d={size + 2}", Schools(values, sd), None, value, start, np.ones(size + 2))


@dataclass(frozen=True, eq=False)
class Funnel(LogDensity):
    """N(t; 0, sd^2) prod_i N(x_i; 0, e^{2 t}), with x = (t, x_1, ...), plus a constant."""

    sd: float
    constant: float

    def __call__(self, x: Array) -> Array:
        t, size = x[:, 0], x.shape[1] - 1
        with np.errstate(over="ignore", invalid="ignore"):
            squares = (t / self.sd) ** 2 + np.sum(x[:, 1:] ** 2, axis=1) * np.exp(-2.0 * t)
        values = -0.5 * squares - size * t - np.log(self.sd) - 0.5 * (size + 1) * LOG_2PI + self.constant
        return np.asarray(np.where(np.isnan(values), -np.inf, values))

    def gradient(self, x: Array) -> Array:
        t, size = x[:, :1], x.shape[1] - 1
        precision = np.exp(-2.0 * t)
        first = -t / self.sd**2 + precision * np.sum(x[:, 1:] ** 2, axis=1, keepdims=True) - size
        return np.hstack([first, -precision * x[:, 1:]])


def free_funnel(d: int, rng: Any = None) -> Likelihood:
    """Return Neal's funnel as a joint density: a log scale with a standard deviation of 0.5 to 1, and d - 1 effects."""
    g = np.random.default_rng(rng)
    constant = float(10.0 * g.standard_normal())
    log = Funnel(float(g.uniform(0.5, 1.0)), constant)
    start = np.concatenate([[0.0], 0.5 * g.standard_normal(d - 1)])
    return Likelihood(f"funnel without a prior d={d}", log, None, constant, start, np.ones(d))
