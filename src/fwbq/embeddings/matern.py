"""Closed forms of the Matern kernels of smoothness 1/2, 3/2 and 5/2 on the line.

With rate a = sqrt(2 nu) / l every kernel is P(a r) exp(-a r), r = |x - y|, with P of degree 0, 1, 2, and its derivative
in r is -a Q(a r) exp(-a r). To the left and to the right of x the integrals are moments of an exponential times the
density, sums of positive terms.
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import comb, factorial, pi, sqrt

import numpy as np
from scipy.special import gammainc

from .._validate import Array
from ..kernels import Matern, Matern12, Matern32, Matern52
from ..measures.standard_normal import central_moments, decaying_moments, half_line_moments
from .base import register
from .density import UniformOnInterval
from .exp_quad import layers
from .line import Line
from .normal import NormalLine, NormalOnInterval

# Within this number of standard deviations of the mean the exponents stay below 50: their rounding costs two digits at
# most.
_MODERATE = 10.0
# Coefficients of P and Q in powers of a r, by 2 nu.
_POLYNOMIAL = {1: (1.0,), 3: (1.0, 1.0), 5: (1.0, 1.0, 1.0 / 3.0)}
_DERIVATIVE = {1: (1.0,), 3: (0.0, 1.0), 5: (0.0, 1.0 / 3.0, 1.0 / 3.0)}


@dataclass(frozen=True, eq=False)
class _MaternLine(Line):
    """What the Matern kernels share."""

    kernel: Matern

    @property
    def order(self) -> int:
        """Twice the smoothness, 2 nu."""
        return round(2.0 * self.kernel.smoothness)

    @property
    def lengthscale(self) -> float:
        """The length-scale l."""
        return float(self.kernel.lengthscales(1)[0])

    @property
    def rate(self) -> float:
        """The rate sqrt(2 nu) / l."""
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

    @abstractmethod
    def _halves(self, x: Array, coefficients: tuple[float, ...]) -> tuple[Array, Array]:
        """Return the integrals of sum_k c_k (rate r)^k exp(-rate r) under p over y < x and over y > x."""


@register([Matern12, Matern32, Matern52], [NormalOnInterval], "closed form")
@dataclass(frozen=True, eq=False)
class MaternNormal(_MaternLine, NormalLine):
    r"""Matern-1/2, 3/2 and 5/2 under N(m, s^2), or under N(m, s^2) restricted to [a, b].

    With v the kernel's variance, kappa = sqrt(2 nu) s / l, z = (x - m) / s, and phi, Phi the standard Gaussian density
    and distribution function, without bounds

    mu(x) = v exp(kappa^2 / 2) [exp(-kappa z) h(z - kappa) + exp(kappa z) h(-z - kappa)],
    double integral 2 v exp(c^2 / 2) h_c(-c),  c = sqrt(2) kappa, h_c being h with c in place of kappa,

    - Matern-1/2: h(u) = Phi(u);
    - Matern-3/2: h(u) = (1 + kappa u) Phi(u) + kappa phi(u);
    - Matern-5/2: h(u) = [1 + kappa u + kappa^2 (u^2 + 1) / 3] Phi(u) + [kappa + kappa^2 u / 3] phi(u).

    With bounds the two terms are the same integrals over [a, x] and [x, b], divided by the mass of [a, b]:

    mu(x) = v / (sqrt(2 pi) mass) [int P(kappa t) exp(-kappa t - (z - t)^2 / 2) dt + the same with z for -z],

    t = |x - y| / s, P(u) = 1, 1 + u, 1 + u + u^2 / 3; the double integral is the one-dimensional integral of mu.

    Notes
    -----
    The products of a large exponential and a small Phi would cancel and overflow. Instead each half, an exponential of
    a quadratic in t, is anchored at its largest value, and its moments come from erfcx, a continued fraction and, on
    short intervals, a Gauss rule that is exact to rounding (`fwbq.measures.standard_normal`).
    """

    p: NormalOnInterval

    def variance(self) -> float:
        """Return the double integral of the kernel; without bounds X - Y is Gaussian, and it is mu(m) for s sqrt(2)."""
        if self.p.truncated:
            return self._double.value
        difference = NormalOnInterval(0.0, sqrt(2.0) * self.p.sd)
        return float(MaternNormal(self.kernel, difference).mean(np.zeros(1))[0])

    def _halves(self, x: Array, coefficients: tuple[float, ...]) -> tuple[Array, Array]:
        p = self.p
        z = (x - p.mean) / p.sd
        if not p.truncated and np.all(np.abs(z) < _MODERATE):
            both = _whole(np.concatenate([z, -z]), self.rate * p.sd, coefficients)
            return both[: len(z)], both[len(z) :]
        mirrored = NormalOnInterval(-p.mean, p.sd, -p.upper, -p.lower)
        return _left(x, p, self.rate, coefficients), _left(-x, mirrored, self.rate, coefficients)


def _whole(z: Array, kappa: float, coefficients: tuple[float, ...]) -> Array:
    """Return the integral of sum_k c_k (kappa t)^k exp(-kappa t), t = z - y, over y < z under N(0, 1)."""
    moments = half_line_moments(kappa - z, len(coefficients) - 1)
    total = sum(c * kappa**k * moment for k, (c, moment) in enumerate(zip(coefficients, moments, strict=True)) if c)
    return np.asarray(np.exp(-0.5 * z * z) / sqrt(2.0 * pi) * total)


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


@register([Matern12, Matern32, Matern52], [UniformOnInterval], "closed form")
@dataclass(frozen=True, eq=False)
class MaternUniform(_MaternLine):
    r"""Matern-1/2, 3/2 and 5/2 under the uniform distribution on [a, b].

    With v the kernel's variance, rate alpha = sqrt(2 nu) / l and W = alpha (b - a),

    mu(x) = (v / W) [G(alpha (x - a)) + G(alpha (b - x))],  G(-t) = -G(t),
    double integral (2 v / W^2) H(W),

    - Matern-1/2: G(t) = 1 - exp(-t), H(W) = W - 1 + exp(-W);
    - Matern-3/2: G(t) = 2 - (2 + t) exp(-t), H(W) = 2 W - 3 + (3 + W) exp(-W);
    - Matern-5/2: G(t) = [8 - (8 + 5 t + t^2) exp(-t)] / 3, H(W) = [8 W - 15 + (15 + 7 W + W^2) exp(-W)] / 3.

    Notes
    -----
    Both cancel for short intervals; they are summed from incomplete gamma functions, which do not.
    """

    p: UniformOnInterval

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
