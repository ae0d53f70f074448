"""Closed forms of the exponentiated quadratic kernel on the line: ExpQuad under a Gaussian, under a uniform density."""

from dataclasses import dataclass
from math import erf, expm1, hypot, inf, pi, sqrt

import numpy as np

from .._validate import Array
from ..kernels import ExpQuad
from ..measures.standard_normal import scaled_mass
from .base import register
from .density import UniformOnInterval
from .line import Line
from .normal import NormalLine, NormalOnInterval


@register([ExpQuad], [NormalOnInterval], "closed form")
@dataclass(frozen=True, eq=False)
class ExpQuadNormal(NormalLine):
    r"""ExpQuad, v exp(-(x - y)^2 / (2 l^2)), under N(m, s^2), or under N(m, s^2) restricted to [a, b].

    Without bounds, with S^2 = l^2 + s^2,

    mu(x) = v (l / S) exp(-(x - m)^2 / (2 S^2)),  double integral v l / sqrt(l^2 + 2 s^2).

    With bounds, and with m* = (x s^2 + m l^2) / S^2, s* = l s / S and M(m, s) = Phi((b - m)/s) - Phi((a - m)/s),

    mu(x) = v (l / S) exp(-(x - m)^2 / (2 S^2)) M(m*, s*) / M(m, s);

    the double integral is then the bivariate normal probability of a square, taken here as the one-dimensional integral
    of mu because its closed form by Owen's T function cancels in the tails.

    Notes
    -----
    The exponentials are anchored at the largest value of the integrand on [a, b], so that neither numerator nor
    denominator underflows before their quotient does.
    """

    kernel: ExpQuad
    p: NormalOnInterval

    @property
    def lengthscale(self) -> float:
        """The length-scale l."""
        return float(self.kernel.lengthscales(1)[0])

    def mean(self, x: Array) -> Array:
        """Return mu(x) for points x of shape (n,)."""
        p, length = self.p, self.lengthscale
        total = hypot(length, p.sd)
        to_x, to_m = (p.sd / total) ** 2, (length / total) ** 2
        sd = p.sd * (length / total)
        with np.errstate(over="ignore"):
            # m* - a and b - m* from differences, which stay exact where m* itself has lost them.
            above = to_x * (x - p.lower) + to_m * (p.mean - p.lower) if p.lower > -inf else np.full_like(x, inf)
            below = to_x * (p.upper - x) + to_m * (p.upper - p.mean) if p.upper < inf else np.full_like(x, inf)
            at_lower, at_upper = above < 0.0, below < 0.0
            from_x = np.where(at_lower, p.lower - x, np.where(at_upper, p.upper - x, to_m * (p.mean - x)))
            if p.peak == p.mean:
                inside = to_x * (x - p.mean)
            else:
                inside = above if p.peak == p.lower else -below
            from_peak = np.where(at_lower, p.lower - p.peak, np.where(at_upper, p.upper - p.peak, inside))
            fall = 0.5 * (from_peak / p.sd) * ((from_peak + 2.0 * (p.peak - p.mean)) / p.sd)
            exponent = -0.5 * (from_x / length) ** 2 - fall
            mass = scaled_mass(-above / sd, below / sd, np.full_like(x, (p.upper - p.lower) / sd))
        return self.amplitude * (length / total) * np.exp(exponent) * (mass / p.mass)

    def gradient(self, x: Array) -> Array:
        """Return mu'(x) = -(s/S)^2 [k(x, y) p(y)]_a^b - (x - m) mu(x) / S^2."""
        p, length = self.p, self.lengthscale
        total = hypot(length, p.sd)
        with np.errstate(over="ignore"):
            slope = -((x - p.mean) / total) * (self.mean(x) / total)
            if p.truncated:
                slope -= self.amplitude * (p.sd / total) ** 2 * jump(x, length, p)
        return slope

    def breaks(self) -> Array:
        """Return edges for the layers at finite bounds."""
        return layers(self.p, self.lengthscale)

    def variance(self) -> float:
        """Return the double integral of the kernel."""
        if not self.p.truncated:
            return self.amplitude * self.lengthscale / hypot(self.lengthscale, sqrt(2.0) * self.p.sd)
        return self._double.value


@register([ExpQuad], [UniformOnInterval], "closed form")
@dataclass(frozen=True, eq=False)
class ExpQuadUniform(Line):
    """ExpQuad, v exp(-(x - y)^2 / (2 l^2)), under the uniform distribution on [a, b].

    With width w = b - a and r = w / l,

    mu(x) = v (l / w) sqrt(2 pi) [Phi((b - x)/l) - Phi((a - x)/l)],
    double integral v (2 / r^2) [r sqrt(pi/2) erf(r / sqrt 2) + exp(-r^2/2) - 1].
    """

    kernel: ExpQuad
    p: UniformOnInterval

    @property
    def lengthscale(self) -> float:
        """The length-scale l."""
        return float(self.kernel.lengthscales(1)[0])

    def mean(self, x: Array) -> Array:
        """Return mu(x) for points x of shape (n,)."""
        p, length = self.p, self.lengthscale
        with np.errstate(over="ignore"):
            alpha, beta = (p.lower - x) / length, (p.upper - x) / length
            mass = scaled_mass(alpha, beta, np.full_like(x, p.width / length))
            exponent = -0.5 * np.clip(0.0, alpha, beta) ** 2
        value: Array = self.amplitude * sqrt(2.0 * pi) * (length / p.width) * np.exp(exponent) * mass
        return value

    def gradient(self, x: Array) -> Array:
        """Return mu'(x) = -[k(x, b) - k(x, a)] / w."""
        return -self.amplitude * jump(x, self.lengthscale, self.p)

    def breaks(self) -> Array:
        """Return edges for the layers at finite bounds."""
        return layers(self.p, self.lengthscale)

    def variance(self) -> float:
        """Return the double integral of the kernel."""
        r = self.p.width / self.lengthscale
        if r < 1e-4:  # the next term of the series is r^4 / 120
            return self.amplitude * (1.0 - r * r / 12.0)
        # With expm1 the two terms are r^2 and -r^2 / 2 for small r: no cancellation is left.
        return self.amplitude * 2.0 / r * (sqrt(pi / 2.0) * erf(r / sqrt(2.0)) + expm1(-0.5 * r * r) / r)


def jump(x: Array, lengthscale: float, p: NormalOnInterval | UniformOnInterval) -> Array:
    """Return k(x, b) p(b) - k(x, a) p(a) with infinite bounds left out, exact also when the two nearly agree."""

    def at(bound: float) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(-0.5 * ((x - bound) / lengthscale) ** 2) * p.density(np.array([bound]))

    if p.upper == inf:
        return -at(p.lower)
    if p.lower == -inf:
        return at(p.upper)
    width = p.upper - p.lower
    with np.errstate(over="ignore"):
        ratio = -(width / lengthscale) * (0.5 * ((p.lower - x) + (p.upper - x)) / lengthscale)
        if isinstance(p, NormalOnInterval):
            ratio -= (width / p.sd) * (0.5 * ((p.lower - p.mean) + (p.upper - p.mean)) / p.sd)
    # ratio = log(k(x, b) p(b) / (k(x, a) p(a))); the larger of the two is taken out.
    falling = at(p.lower) * np.expm1(np.minimum(ratio, 0.0))
    rising = -at(p.upper) * np.expm1(np.minimum(-ratio, 0.0))
    return np.where(ratio < 0.0, falling, rising)


def layers(p: NormalOnInterval | UniformOnInterval, lengthscale: float) -> Array:
    """Return edges for the boundary layers that a kernel makes of a jump of the density at finite bounds."""
    steps = lengthscale * np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    bounds = [bound for bound in (p.lower, p.upper) if np.isfinite(bound)]
    return np.concatenate([bound + sign * steps for bound in bounds for sign in (-1.0, 1.0)] or [np.empty(0)])
