"""Independent Gaussian coordinates, each truncated to an interval."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, erfcx, erfinv, log_ndtr, ndtri_exp

from .. import _frozen, _validate
from .._validate import Array
from .base import Measure, number
from .standard_normal import central_moments, decaying_moments, normal_score

# Newton converges from its starting point within 4 steps for bounds from 1e-12 to 1e12; the rest is margin.
_NEWTON_STEPS = 6
#: Beyond this number of standard deviations the tail is exponential, Q(h) = a h, to 1 / a^2: the last digit.
_FAR_TAIL = 1e8
_FARTHEST = 1e100


@dataclass(frozen=True, eq=False, init=False, repr=False)
class TruncatedGaussian(Measure):
    """Independent Gaussian coordinates N(mean_i, variance_i), each restricted to [lower_i, upper_i].

    p(x) = prod_i N(x_i; mean_i, variance_i) / P(lower_i <= X_i <= upper_i) on the box, zero outside.

    Parameters
    ----------
    mean, variance : float or array_like, shape (d,)
        Moments of the Gaussian before truncation (the mean after it is ``expectation``).
    lower, upper : float or array_like, shape (d,)
        Bounds, lower < upper; -inf and inf leave a side open. They may lie far in the tail.

    Notes
    -----
    Scalars are repeated for every coordinate; four scalars mean d = 1. Masses, quantiles and moments are formed
    relative to the largest density on the interval and in logarithms, so that N(0, 1) on [30, 31] is as accurate as on
    [-1, 1].

    Examples
    --------
    >>> p = TruncatedGaussian([0.0, 1.0], [1.0, 0.5])
    >>> p.expectation.round(4), p.lower  # sqrt(2 / pi) for the first
    (array([0.7979, 1.1126]), array([0., 0.]))
    """

    mean: Array
    variance: Array
    lower: Array
    upper: Array
    _moments: Array = field(repr=False)

    def __init__(
        self, mean: ArrayLike, variance: ArrayLike, lower: ArrayLike = 0.0, upper: ArrayLike = math.inf
    ) -> None:
        _validate.positive_scalar_or_vector(variance, "variance")
        checked = _validate.per_coordinate(("lower", "upper"), mean=mean, variance=variance, lower=lower, upper=upper)
        _validate.ordered(checked["lower"], checked["upper"])
        _validate.moderate(np.sqrt(checked["variance"]), "variance", "standard deviations")
        _within_reach(**checked)
        frozen = {name: _frozen.readonly(x) for name, x in checked.items()}
        moments = [_standard_moments(*map(float, row)) for row in zip(*_standardised(**frozen), strict=True)]
        _frozen.freeze(self, **frozen, _moments=_frozen.readonly(moments))

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.mean.size)

    @property
    def expectation(self) -> Array:
        """The mean of the truncated measure, shape (d,)."""
        sd = np.sqrt(self.variance)
        anchor = np.clip(self.mean, self.lower, self.upper)
        return np.clip(anchor + sd * self._moments[:, 1], self.lower, self.upper)

    @property
    def scale(self) -> Array:
        """The standard deviation of each coordinate after truncation, shape (d,)."""
        return np.sqrt(self.variance) * self._moments[:, 2]

    @property
    def uniform_dim(self) -> int:
        """The dimension d."""
        return self.dim

    @property
    def factors(self) -> tuple[Measure, ...]:
        """The coordinates."""
        rows = zip(self.mean, self.variance, self.lower, self.upper, strict=True)
        return tuple(TruncatedGaussian(*map(float, row)) for row in rows)

    @property
    def invertible(self) -> bool:
        """True: every coordinate has normal scores."""
        return True

    def _to_normal(self, x: Array) -> Array:
        sd = np.sqrt(self.variance)
        a, b, t = ((v - self.mean) / sd for v in (self.lower, self.upper, x))
        whole = _log_mass(a, b)
        return normal_score(np.exp(_log_mass(a, t) - whole), np.exp(_log_mass(t, b) - whole))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        u = np.clip(rng.random((n, self.dim)), 2.0**-54, None)
        return self._transform(u, 1.0 - u)

    def _transform(self, u: Array, v: Array) -> Array:
        sd = np.sqrt(self.variance)
        x = np.empty_like(u)
        bounds = _standardised(self.mean, self.variance, self.lower, self.upper)
        for i, (a, b, width) in enumerate(zip(*(each.tolist() for each in bounds), strict=True)):
            if a > 0.0:
                x[:, i] = self.lower[i] + sd[i] * _tail_quantile(u[:, i], v[:, i], a, width)
            elif b < 0.0:
                x[:, i] = self.upper[i] - sd[i] * _tail_quantile(v[:, i], u[:, i], -b, width)
            else:
                x[:, i] = self.mean[i] + sd[i] * _central_quantile(u[:, i], v[:, i], a, b)
                log_mass = self._moments[i, 0]
                above, below = _beside_bound(u[:, i], a, log_mass), _beside_bound(v[:, i], -b, log_mass)
                x[:, i] = np.where(np.isnan(above), x[:, i], self.lower[i] + sd[i] * above)
                x[:, i] = np.where(np.isnan(below), x[:, i], self.upper[i] - sd[i] * below)
        return np.clip(x, self.lower, self.upper)

    def _log_density(self, x: Array) -> Array:
        sd = np.sqrt(self.variance)
        anchor = np.clip(self.mean, self.lower, self.upper)
        # (t^2 - c^2)/2 as a product: no cancellation when both are large.
        with np.errstate(over="ignore"):
            exponent = 0.5 * ((x - anchor) / sd) * ((x - self.mean + (anchor - self.mean)) / sd)
        each = -exponent - np.log(sd) - self._moments[:, 0]
        inside = ((x >= self.lower) & (x <= self.upper)).all(axis=1)
        return np.where(inside, each.sum(axis=1), -math.inf)

    def _score(self, x: Array) -> Array:
        return (self.mean - x) / self.variance

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""
        return {
            "type": "TruncatedGaussian",
            "mean": self.mean.tolist(),
            "variance": self.variance.tolist(),
            "lower": [number(x) for x in self.lower],
            "upper": [number(x) for x in self.upper],
        }


def _within_reach(mean: Array, variance: Array, lower: Array, upper: Array) -> None:
    """Check that the interval begins within 1e100 standard deviations of the mean, so that squares do not overflow."""
    with np.errstate(over="ignore"):
        away = np.abs((np.clip(mean, lower, upper) - mean) / np.sqrt(variance))
    if (away > _FARTHEST).any():
        i = int(np.argmax(away > _FARTHEST))
        raise ValueError(
            f"`lower` and `upper` must leave something within {_FARTHEST:g} standard deviations of `mean`, got "
            f"[{lower[i]}, {upper[i]}] and {mean[i]} in coordinate {i}: check the bounds"
        )


def _standardised(mean: Array, variance: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
    """Return bounds and widths in standard deviations; a width is not the difference of its bounds far in the tail."""
    sd = np.sqrt(variance)
    with np.errstate(over="ignore"):  # a bound that is infinitely many standard deviations away is none
        return (lower - mean) / sd, (upper - mean) / sd, (upper - lower) / sd


def _central_quantile(u: Array, v: Array, a: float, b: float) -> Array:
    """Return the quantiles of N(0, 1) on [a, b], a <= 0 <= b, for levels u with v = 1 - u."""
    if max(-a, b) < 1.0:
        # Mass counted from zero keeps all its digits however narrow the interval is.
        half = math.sqrt(0.5)
        return np.asarray(erfinv(v * erf(half * a) + u * erf(half * b)) / half)
    log_u, log_v = np.log(u), np.log(v)
    # Both tails of the quantile are sums of positive terms; the smaller one carries all the digits.
    log_cdf = np.logaddexp(log_v + log_ndtr(a), log_u + log_ndtr(b))
    log_tail = np.logaddexp(log_v + log_ndtr(-a), log_u + log_ndtr(-b))
    return np.asarray(np.where(log_cdf <= log_tail, 1.0, -1.0) * ndtri_exp(np.minimum(log_cdf, log_tail)))


def _beside_bound(u: Array, a: float, log_mass: float) -> Array:
    """Return how far above a bound a <= 0 the quantiles of N(0, 1) at levels u lie; NaN where that is above 1e-6.

    So close to the bound their difference from it has lost its digits in the quantile itself. With r the mass below the
    quantile over the density at the bound, it is r + a r^2 / 2, to 1e-12; `log_mass` is the log of the whole mass over
    the density at zero.
    """
    r = np.exp(np.minimum(np.log(u) + log_mass + 0.5 * min(a * a, 1e4), 0.0))
    return np.where((r < 1e-6) & math.isfinite(a), r * (1.0 + 0.5 * max(a, -1e4) * r), np.nan)


def _tail_quantile(u: Array, v: Array, a: float, width: float) -> Array:
    """Return how far beyond a > 0 the quantiles of N(0, 1) on [a, a + width] lie, for levels u with v = 1 - u.

    The cumulative hazard Q(h), minus the log of the tail beyond a + h over the tail beyond a, is set to its value q at
    the quantile by Newton's method. Q is convex and at least h (a + h/2), so that from the root of h (a + h/2) = q the
    iterates fall monotonically to the solution.
    """

    def hazard_at_quantiles(whole: float) -> Array:
        # `whole` is the hazard of the whole interval. Whichever of u and v is small is the one that carries the digits.
        return -np.where(u < 0.5, np.log1p(np.minimum(u, 0.5) * math.expm1(-whole)), np.log(v + u * math.exp(-whole)))

    if a > _FAR_TAIL:
        return hazard_at_quantiles(a * width) / a
    rate = 1.0 / _mills(a)
    slope = rate * (rate - a)
    bend = slope * (rate - a) + rate * (slope - 1.0)

    def hazard(h: Array) -> Array:
        closed: Array = h * (a + 0.5 * h) + np.log(_mills(a) / _mills(a + h))
        # Near zero the logarithm keeps no digits; three terms of the series are then good to 1e-12.
        series = h * (rate + h * (0.5 * slope + h * bend / 6.0))
        return np.where(h * (1.0 + a) < 1e-4, series, closed)

    whole = math.inf if math.isinf(width) else float(hazard(np.asarray(width)))
    q = hazard_at_quantiles(whole)
    h = 2.0 * q / (a + np.sqrt(a * a + 2.0 * q))
    for _ in range(_NEWTON_STEPS):
        h = np.maximum(h - (hazard(h) - q) * _mills(a + h), 0.0)
    return h


def _log_mass(a: Array, b: Array) -> Array:
    """Return the log of the standard normal probability of [a, b]."""
    a, b = np.broadcast_arrays(a, b)
    flip = a + b > 0.0
    low, high = np.where(flip, -b, a), np.where(flip, -a, b)
    with np.errstate(divide="ignore"):
        return np.asarray(log_ndtr(high) + np.log1p(-np.exp(np.minimum(log_ndtr(low) - log_ndtr(high), 0.0))))


def _mills(t: Any) -> Any:
    """Return the Mills ratio of the standard Gaussian, its upper tail over its density."""
    return math.sqrt(0.5 * math.pi) * erfcx(t / math.sqrt(2.0))


def _standard_moments(a: float, b: float, width: float) -> tuple[float, float, float]:
    """Return log of int_a^b exp(-(t^2 - c^2)/2) dt, and the mean of t - c and sd of t, c the point nearest zero.

    With M_k = int |t - c|^k exp(-(t^2 - c^2)/2) dt the mean is M_1 / M_0 and the variance M_2 / M_0 less its square: at
    most a few digits cancel, however narrow the interval or far out in the tail it lies.
    """
    if a > 0.0 or b < 0.0:
        # (t^2 - c^2)/2 = h (|c| + h/2) with h = |t - c|.
        near = a if a > 0.0 else -b
        total, first, second = (float(m[0]) for m in decaying_moments(np.array([near]), np.array([width]), 2))
        mean, square = first / total, second / total
        return math.log(total), math.copysign(mean, a), math.sqrt(max(square - mean**2, 0.0))
    below, above = (central_moments(np.array([end]), 2) for end in (-a, b))
    total, second = (float(below[k][0] + above[k][0]) for k in (0, 2))
    mean = float(above[1][0] - below[1][0]) / total
    return math.log(total), mean, math.sqrt(second / total - mean**2)
