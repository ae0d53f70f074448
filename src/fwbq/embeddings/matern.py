"""Closed forms of the Matern kernels of smoothness 1/2, 3/2 and 5/2 on the line.

With rate a = sqrt(2 nu) / l every kernel is P(a r) exp(-a r), r = |x - y|, with P of degree 0, 1, 2, and its derivative
in r is -a Q(a r) exp(-a r). To the left and to the right of x the integrals are moments of an exponential times the
density, sums of positive terms.
"""

from dataclasses import dataclass
from math import comb, factorial, pi, sqrt

import numpy as np
from scipy.special import gammainc

from .._validate import Array
from ..measures.standard_normal import central_moments, decaying_moments
from .exp_quad import layers
from .line import Line, UniformOnInterval
from .normal import NormalOnInterval

# Coefficients of P and Q in powers of a r, by 2 nu.
_POLYNOMIAL = {1: (1.0,), 3: (1.0, 1.0), 5: (1.0, 1.0, 1.0 / 3.0)}
_DERIVATIVE = {1: (1.0,), 3: (0.0, 1.0), 5: (0.0, 1.0 / 3.0, 1.0 / 3.0)}


@dataclass(frozen=True, eq=False)
class MaternNormal(Line):
    """A Matern kernel under N(m, s^2) on [a, b], bounds possibly infinite.

    With t = r / s, kappa = rate s and z = (x - m) / s the left half of mu(x) is

    (1 / (sqrt(2 pi) mass)) int P(kappa t) exp(-kappa t - (z - t)^2 / 2) dt,

    an exponential of a quadratic in t: each half is anchored at its largest value, and its moments are given by
    erfcx, a continued fraction and, on short intervals, a Gauss rule that is exact to rounding.

    Without bounds X - Y is Gaussian, so the double integral is mu(m) with s^2 doubled; with bounds it is the
    one-dimensional integral of mu.
    """

    order: int
    lengthscale: float
    amplitude: float
    p: NormalOnInterval

    @property
    def method(self) -> str:  # type: ignore[override]
        """How mean and variance are computed."""
        return "closed form, variance by 1-d quadrature of it" if self.p.truncated else "closed form"

    @property
    def rate(self) -> float:
        """The rate sqrt(2 nu) / lengthscale."""
        return sqrt(self.order) / self.lengthscale

    def mean(self, x: Array) -> Array:
        """Return mu(x) for points x of shape (n,)."""
        left, right = self._halves(x, _POLYNOMIAL[self.order])
        return self.amplitude * (left + right)

    def gradient(self, x: Array) -> Array:
        """Return mu'(x): the left half falls with r, the right half grows."""
        left, right = self._halves(x, _DERIVATIVE[self.order])
        return self.amplitude * self.rate * (right - left)

    def breaks(self) -> Array:
        """Return edges for the layers at finite bounds."""
        return layers(self.p, self.lengthscale)

    def variance(self) -> float:
        """Return the double integral of the kernel."""
        if self.p.truncated:
            return self.p.expectation(self, self.breaks())
        difference = NormalOnInterval(0.0, sqrt(2.0) * self.p.sd)
        return float(MaternNormal(self.order, self.lengthscale, self.amplitude, difference).mean(np.zeros(1))[0])

    def _halves(self, x: Array, coefficients: tuple[float, ...]) -> tuple[Array, Array]:
        p = self.p
        mirrored = NormalOnInterval(-p.mean, p.sd, -p.upper, -p.lower)
        return _left(x, p, self.rate, coefficients), _left(-x, mirrored, self.rate, coefficients)


def _left(x: Array, p: NormalOnInterval, rate: float, coefficients: tuple[float, ...]) -> Array:
    """Return the integral of sum_k c_k (rate r)^k exp(-rate r), r = x - y, over y < x under p."""
    out = np.zeros_like(x)
    some = x > p.lower
    x = x[some]
    kappa = rate * p.sd
    order = len(coefficients) - 1
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.minimum(x, p.upper)
        start = (x - near) / p.sd
        length = np.broadcast_to((near - p.lower) / p.sd, x.shape)
        # Minus the slope of the exponent at the near and at the far end: at the first the integrand falls if positive.
        slope_near = kappa - (near - p.mean) / p.sd
        slope_far = np.full_like(x, kappa - (p.lower - p.mean) / p.sd)
        peak = (p.peak - p.mean) / p.sd

        def value(anchor: Array, step: Array, moments: list[Array], sign: float) -> Array:
            # t = anchor + sign tau, and log(p / p(peak)) at the anchor is -step (step + 2 peak) / 2.
            total = np.zeros_like(anchor)
            for k, c in enumerate(coefficients):
                if c:
                    power = sum(comb(k, j) * sign**j * anchor ** (k - j) * moments[j] for j in range(k + 1))
                    total += c * kappa**k * power
            exponent = -kappa * anchor - 0.5 * step * (step + 2.0 * peak)
            return np.where(exponent < -745.0, 0.0, total * np.exp(np.maximum(exponent, -745.0)))

        result = np.empty_like(x)
        falls = slope_near >= 0.0
        rises = slope_far <= 0.0
        if np.any(falls):
            s, n = slope_near[falls], near[falls]
            moments = decaying_moments(s, length[falls], order)
            result[falls] = value(start[falls], (n - p.peak) / p.sd, moments, 1.0)
        if np.any(rises):
            moments = decaying_moments(-slope_far[rises], length[rises], order)
            step = np.full(moments[0].shape, (p.lower - p.peak) / p.sd)
            result[rises] = value(start[rises] + length[rises], step, moments, -1.0)
        turns = ~(falls | rises)
        if np.any(turns):
            # The largest value lies inside, at y = m + kappa s.
            anchor = start[turns] - slope_near[turns]
            step = np.full_like(anchor, kappa - peak)
            after = central_moments(slope_far[turns], order)
            before = central_moments(-slope_near[turns], order)
            result[turns] = value(anchor, step, after, 1.0) + value(anchor, step, before, -1.0)
    out[some] = result / (sqrt(2.0 * pi) * p.mass)
    return out


@dataclass(frozen=True, eq=False)
class MaternUniform(Line):
    """A Matern kernel under the uniform distribution on [a, b].

    mu(x) and the double integral are sums of incomplete gamma functions of rate (x - a), rate (b - x), rate (b - a).
    """

    order: int
    lengthscale: float
    amplitude: float
    p: UniformOnInterval
    method: str = "closed form"

    @property
    def rate(self) -> float:
        """The rate sqrt(2 nu) / lengthscale."""
        return sqrt(self.order) / self.lengthscale

    def mean(self, x: Array) -> Array:
        """Return mu(x) for points x of shape (n,)."""
        left, right = self._halves(x, _POLYNOMIAL[self.order])
        return self.amplitude * (left + right)

    def gradient(self, x: Array) -> Array:
        """Return mu'(x)."""
        left, right = self._halves(x, _DERIVATIVE[self.order])
        return self.amplitude * self.rate * (right - left)

    def breaks(self) -> Array:
        """Return edges for the layers at finite bounds."""
        return layers(self.p, self.lengthscale)

    def variance(self) -> float:
        """Return the double integral: (2 / W^2) int_0^W (W - t) P(t) exp(-t) dt, W = rate (b - a)."""
        width = self.rate * self.p.width
        if width < 1e-9:  # 1 - width / 3 for smoothness 1/2, 1 - O(width^2) otherwise
            return self.amplitude * (1.0 - (width / 3.0 if self.order == 1 else 0.0))
        total = 0.0
        for k, c in enumerate(_POLYNOMIAL[self.order]):
            # W int t^k exp(-t) - int t^(k+1) exp(-t), both over W^(k+2) for small W: their quotient is (k+1)/(k+2).
            total += c * float(_partial_gamma(k, width) - _partial_gamma(k + 1, width) / width)
        return self.amplitude * 2.0 * total / width

    def _halves(self, x: Array, coefficients: tuple[float, ...]) -> tuple[Array, Array]:
        p = self.p
        mirrored = UniformOnInterval(-p.upper, -p.lower)
        return _left_uniform(x, p, self.rate, coefficients), _left_uniform(-x, mirrored, self.rate, coefficients)


def _partial_gamma(k: int, t: Array | float) -> Array:
    """Return the integral of u^k exp(-u) over [0, t]."""
    return np.asarray(factorial(k) * gammainc(k + 1.0, t))


def _left_uniform(x: Array, p: UniformOnInterval, rate: float, coefficients: tuple[float, ...]) -> Array:
    """Return the integral of sum_k c_k (rate r)^k exp(-rate r), r = x - y, over y < x under p."""
    near = np.clip(x, p.lower, p.upper)
    with np.errstate(over="ignore"):
        # exp(-746) is zero: farther points are moved there so that powers of the distance stay finite.
        start = np.clip(rate * (x - near), 0.0, 746.0)
        length = rate * (near - p.lower)
    moments = [_partial_gamma(k, length) for k in range(len(coefficients))]
    total = np.zeros_like(x)
    for k, c in enumerate(coefficients):
        if c:
            total += c * sum(comb(k, j) * start ** (k - j) * moments[j] for j in range(k + 1))
    return total * np.exp(-start) / (rate * p.width)
