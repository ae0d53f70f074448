"""Log densities with their gradients, of which the families are made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, log_ndtr, softmax

from .likelihood import Array


class LogDensity(ABC):
    """A log density, up to a constant, that knows its gradient: points (n, d) to values (n,) and gradients (n, d)."""

    @abstractmethod
    def __call__(self, x: Array) -> Array:
        """Return the values (n,) at points (n, d)."""

    @abstractmethod
    def gradient(self, x: Array) -> Array:
        """Return the gradients (n, d) at points (n, d)."""


def _quadratic_form(x: Array, centre: Array, precision: Array) -> Array:
    r = x - centre
    return np.asarray(np.einsum("ni,ij,nj->n", r, precision, r))


@dataclass(frozen=True, eq=False)
class Normal(LogDensity):
    """-r' P r / 2 + constant, with r = x - centre and P = precision."""

    centre: Array
    precision: Array
    constant: float = 0.0

    def __call__(self, x: Array) -> Array:
        return -0.5 * _quadratic_form(x, self.centre, self.precision) + self.constant

    def gradient(self, x: Array) -> Array:
        return -(x - self.centre) @ self.precision


@dataclass(frozen=True, eq=False)
class Independent(LogDensity):
    """-sum_i ((x_i - centre_i) / sd_i)^2 / 2."""

    centre: Array
    sd: Array

    def __call__(self, x: Array) -> Array:
        return np.asarray(-0.5 * np.sum(((x - self.centre) / self.sd) ** 2, axis=1))

    def gradient(self, x: Array) -> Array:
        return -(x - self.centre) / self.sd**2


@dataclass(frozen=True, eq=False)
class StudentT(LogDensity):
    """-(df + d) / 2 log(1 + r' P r / df) + constant."""

    centre: Array
    precision: Array
    df: float
    constant: float = 0.0

    def __call__(self, x: Array) -> Array:
        form = _quadratic_form(x, self.centre, self.precision)
        return np.asarray(-0.5 * (self.df + x.shape[1]) * np.log1p(form / self.df)) + self.constant

    def gradient(self, x: Array) -> Array:
        form = _quadratic_form(x, self.centre, self.precision)
        factor = -(self.df + x.shape[1]) / (self.df + form)
        return np.asarray(factor[:, None] * ((x - self.centre) @ self.precision))


@dataclass(frozen=True, eq=False)
class Mixture(LogDensity):
    """log sum_k shares_k exp(parts_k)."""

    shares: Array
    parts: tuple[LogDensity, ...]

    def _terms(self, x: Array) -> Array:
        return np.array([np.log(s) + part(x) for s, part in zip(self.shares, self.parts, strict=True)])

    def __call__(self, x: Array) -> Array:
        return np.asarray(np.logaddexp.reduce(self._terms(x), axis=0))

    def gradient(self, x: Array) -> Array:
        shares = softmax(self._terms(x), axis=0)
        return np.asarray(np.einsum("kn,knd->nd", shares, [part.gradient(x) for part in self.parts]))


def _skewed(t: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(-t - np.exp(-t))


def _skewed_slope(t: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(-1.0 + np.exp(-t))


def _skew_normal_slope(t: Array) -> Array:
    return np.asarray(-t + 3.0 * np.exp(-4.5 * t * t - 0.5 * np.log(2.0 * np.pi) - log_ndtr(3.0 * t)))


def _gamma(t: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(2.0 * t - 2.0 * np.exp(t))


def _gamma_slope(t: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(2.0 - 2.0 * np.exp(t))


@dataclass(frozen=True, eq=False)
class Shape:
    """A log density of one coordinate: its values, its slope, and the log of its integral over the line."""

    log: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    log_integral: float


#: Shapes of one coordinate by name. The first six are those that `rotated_product` draws.
SHAPES: dict[str, Shape] = {
    "gumbel": Shape(_skewed, _skewed_slope, 0.0),
    "skew normal": Shape(
        lambda t: -0.5 * t * t + log_ndtr(3.0 * t), _skew_normal_slope, float(0.5 * np.log(2.0 * np.pi) - np.log(2.0))
    ),
    "quartic": Shape(lambda t: -(t**4), lambda t: -4.0 * t**3, float(np.log(2.0) + gammaln(1.25))),
    "logistic": Shape(lambda t: -np.logaddexp(t, -t), lambda t: -np.tanh(t), float(np.log(0.5 * np.pi))),
    "student": Shape(
        lambda t: -2.5 * np.log1p(t * t / 4.0), lambda t: -5.0 * t / (4.0 + t * t),
        float(0.5 * np.log(4.0 * np.pi) - gammaln(2.5)),
    ),
    "laplace": Shape(lambda t: -np.abs(t), lambda t: -np.sign(t), float(np.log(2.0))),
    "flat top": Shape(lambda t: -(t**8), lambda t: -8.0 * t**7, float(np.log(2.0) + gammaln(1.125))),
    "log gamma": Shape(_gamma, _gamma_slope, float(-2.0 * np.log(2.0))),
    "cauchy": Shape(lambda t: -np.log1p(t * t), lambda t: -2.0 * t / (1.0 + t * t), float(np.log(np.pi))),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class AxisProduct(LogDensity):
    """sum_i shape_i(t_i) with t = (x axes - centre) / widths, for orthogonal `axes`; `shapes` are names in `SHAPES`."""

    axes: Array
    centre: Array
    widths: Array
    shapes: tuple[str, ...]

    def _coordinates(self, x: Array) -> Array:
        return np.asarray((x @ self.axes - self.centre) / self.widths)

    def __call__(self, x: Array) -> Array:
        t = self._coordinates(x)
        return np.asarray(np.sum([SHAPES[name].log(t[:, i]) for i, name in enumerate(self.shapes)], axis=0))

    def gradient(self, x: Array) -> Array:
        t = self._coordinates(x)
        slopes = np.column_stack([SHAPES[name].slope(t[:, i]) for i, name in enumerate(self.shapes)])
        return np.asarray((slopes / self.widths) @ self.axes.T)


@dataclass(frozen=True, eq=False)
class Banana(LogDensity):
    """-((x_2 - bend (x_1^2 - shift)) / width)^2 / 2 - ((x_1 - at) / along)^2 / 2."""

    bend: float
    shift: float
    width: float
    at: float
    along: float

    def __call__(self, x: Array) -> Array:
        ridge = x[:, 1] - self.bend * (x[:, 0] ** 2 - self.shift)
        return np.asarray(-0.5 * (ridge / self.width) ** 2 - 0.5 * ((x[:, 0] - self.at) / self.along) ** 2)

    def gradient(self, x: Array) -> Array:
        ridge = (x[:, 1] - self.bend * (x[:, 0] ** 2 - self.shift)) / self.width**2
        first = 2.0 * self.bend * x[:, 0] * ridge - (x[:, 0] - self.at) / self.along**2
        return np.column_stack([first, -ridge])


@dataclass(frozen=True, eq=False)
class Shell(LogDensity):
    """-((|x| - radius) / width)^2 / 2."""

    radius: float
    width: float

    def __call__(self, x: Array) -> Array:
        return np.asarray(-0.5 * ((np.linalg.norm(x, axis=1) - self.radius) / self.width) ** 2)

    def gradient(self, x: Array) -> Array:
        r = np.linalg.norm(x, axis=1, keepdims=True)
        return np.asarray(-(r - self.radius) / self.width**2 * x / r)


@dataclass(frozen=True, eq=False)
class Logistic(LogDensity):
    """sum_i log logistic(a_i' x), with the rows a_i of `features` times the labels -1 and 1."""

    features: Array

    def __call__(self, x: Array) -> Array:
        return np.asarray(-np.sum(np.logaddexp(0.0, -x @ self.features.T), axis=1))

    def gradient(self, x: Array) -> Array:
        return np.asarray(expit(-x @ self.features.T) @ self.features)

    def curvature(self, x: Array) -> Array:
        """Return the second derivatives (d, d) at one point (d,)."""
        p = expit(self.features @ x)
        return np.asarray(-(self.features * (p * (1.0 - p))[:, None]).T @ self.features)


@dataclass(frozen=True, eq=False)
class Poisson(LogDensity):
    """Counts with rates exp(features x)."""

    features: Array
    counts: Array

    def __call__(self, x: Array) -> Array:
        rates = x @ self.features.T
        with np.errstate(over="ignore"):
            totals = rates @ self.counts - np.sum(np.exp(rates), axis=1)
        return np.asarray(totals - np.sum(gammaln(self.counts + 1.0)))

    def gradient(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray((self.counts - np.exp(x @ self.features.T)) @ self.features)

    def curvature(self, x: Array) -> Array:
        """Return the second derivatives (d, d) at one point (d,)."""
        return np.asarray(-(self.features * np.exp(self.features @ x)[:, None]).T @ self.features)


@dataclass(frozen=True, eq=False)
class Linear(LogDensity):
    """-|features x - values|^2 / (2 sd^2)."""

    features: Array
    values: Array
    sd: float

    def __call__(self, x: Array) -> Array:
        return np.asarray(-0.5 * np.sum(((x @ self.features.T - self.values) / self.sd) ** 2, axis=1))

    def gradient(self, x: Array) -> Array:
        return np.asarray((self.values - x @ self.features.T) @ self.features / self.sd**2)


@dataclass(frozen=True, eq=False)
class NoisyLinear(LogDensity):
    """A linear regression with an unknown noise: x holds the coefficients and, last, the logarithm of the noise."""

    features: Array
    values: Array

    def __call__(self, x: Array) -> Array:
        size = len(self.values)
        squares = np.sum((x[:, :-1] @ self.features.T - self.values) ** 2, axis=1)
        with np.errstate(over="ignore"):
            return np.asarray(-0.5 * squares * np.exp(-2.0 * x[:, -1]) - size * x[:, -1] - 0.5 * size * _LOG_2PI)

    def gradient(self, x: Array) -> Array:
        residuals = self.values - x[:, :-1] @ self.features.T
        with np.errstate(over="ignore"):
            precision = np.exp(-2.0 * x[:, -1:])
        last = np.sum(residuals**2, axis=1, keepdims=True) * precision - len(self.values)
        return np.column_stack([precision * (residuals @ self.features), last])


_LOG_2PI = float(np.log(2.0 * np.pi))
