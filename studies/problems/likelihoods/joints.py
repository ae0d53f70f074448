"""Log joint densities without a prior; hierarchies and the conjugate regression have theirs beside their kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from .densities import SHAPES, AxisProduct, Banana, LogDensity, Mixture, Normal, StudentT
from .likelihood import Array, Likelihood
from .truths import LOG_2PI, inverse, line_log_evidence, random_cov


def _log_volume(cov: Array) -> float:
    """Return the log integral of exp(-r'S^-1 r / 2)."""
    return float(0.5 * len(cov) * LOG_2PI + 0.5 * np.linalg.slogdet(cov)[1])


def gaussian_joint(d: int, rng: Any = None) -> Likelihood:
    """Return a correlated Gaussian of widths 0.05 to 5, its start three of them off, with a constant of a million."""
    g = np.random.default_rng(rng)
    cov = random_cov(d, 0.5, g, 10.0)
    centre, constant = 3.0 * g.standard_normal(d), 1e6
    start = centre + 3.0 * np.sqrt(np.diagonal(cov)) * g.choice([-1.0, 1.0], d)
    log = Normal(centre, inverse(cov), constant)
    return Likelihood(f"gaussian joint d={d}", log, None, _log_volume(cov) + constant, start, np.ones(d))


def scaled_joint(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian whose parameters have widths from 1e-4 to 1e4, guessed within a factor of four."""
    g = np.random.default_rng(rng)
    scales = 10.0 ** np.linspace(-4.0, 4.0, d)[g.permutation(d)]
    cov = random_cov(d, 1.0, g) * np.outer(scales, scales)
    centre = 10.0 * scales * g.standard_normal(d)
    guess = scales * 4.0 ** g.uniform(-1.0, 1.0, d)
    start = centre + 2.0 * scales * g.standard_normal(d)
    return Likelihood(f"scaled joint d={d}", Normal(centre, inverse(cov)), None, _log_volume(cov), start, guess)


def student_joint(d: int, df: float, rng: Any = None) -> Likelihood:
    """Return a multivariate Student-t."""
    g = np.random.default_rng(rng)
    cov = random_cov(d, 0.7, g)
    centre = g.standard_normal(d)
    value = gammaln(0.5 * df) - gammaln(0.5 * (df + d)) + 0.5 * d * np.log(df * np.pi) + 0.5 * np.linalg.slogdet(cov)[1]
    log = StudentT(centre, inverse(cov), df)
    start = centre + 0.5 * g.standard_normal(d)
    return Likelihood(f"student joint df={df:g} d={d}", log, None, float(value), start, np.ones(d))


def two_modes_joint(d: int, rng: Any = None) -> Likelihood:
    """Return two Gaussians five to seven of their widths apart, with 60 and 40 % of the mass."""
    g = np.random.default_rng(rng)
    covs = [random_cov(d, 0.5, g, 1.3) for _ in range(2)]
    direction = g.standard_normal(d)
    direction *= 0.5 * g.uniform(5.0, 7.0) / np.linalg.norm(direction)
    middle = g.standard_normal(d)
    own = np.array([_log_volume(cov) for cov in covs])
    shares = np.array([0.6, 0.4]) * np.exp(own.max() - own)
    log = Mixture(
        shares, (Normal(middle + 0.5 * direction, inverse(covs[0])), Normal(middle - 0.5 * direction, inverse(covs[1])))
    )
    start = middle + 0.3 * g.standard_normal(d)
    return Likelihood(f"two modes joint d={d}", log, None, float(own.max()), start, np.ones(d))


def banana_joint(rng: Any = None) -> Likelihood:
    """Return a bent ridge in two dimensions."""
    g = np.random.default_rng(rng)
    log = Banana(
        g.uniform(0.3, 1.0), g.uniform(0.5, 1.5), g.uniform(0.2, 0.5), g.uniform(-0.3, 0.3), g.uniform(0.8, 1.5)
    )
    value = LOG_2PI + np.log(log.width * log.along)  # it becomes a Gaussian by a shift, which changes no volume
    return Likelihood("banana joint d=2", log, None, float(value), 0.5 * g.standard_normal(2), np.ones(2))


def shapes_joint(d: int, rng: Any = None) -> Likelihood:
    """Return a product of shapes along random axes, among them Gumbel, Laplace, log-gamma and flat tops."""
    g = np.random.default_rng(rng)
    names = tuple(SHAPES)
    shapes = tuple(names[k] for k in g.integers(len(names) - 1, size=d))  # all but the last, the Cauchy
    axes, _ = np.linalg.qr(g.standard_normal((d, d)))
    widths, centre = g.uniform(0.3, 1.5, d), g.standard_normal(d)
    value = float(sum(SHAPES[k].log_integral for k in shapes) + np.sum(np.log(widths)))
    log = AxisProduct(axes, centre, widths, shapes)
    start = axes @ (centre + 0.5 * widths * g.standard_normal(d))
    return Likelihood(f"shapes joint d={d}", log, None, value, start, np.ones(d))


@dataclass(frozen=True, eq=False)
class DoubleWell(LogDensity):
    """-height (x^2 / half^2 - 1)^2 + tilt x."""

    height: float
    half: float
    tilt: float

    def __call__(self, x: Array) -> Array:
        t = x[:, 0]
        return np.asarray(-self.height * ((t / self.half) ** 2 - 1.0) ** 2 + self.tilt * t)

    def gradient(self, x: Array) -> Array:
        return np.asarray(-4.0 * self.height * ((x / self.half) ** 2 - 1.0) * x / self.half**2 + self.tilt)


def double_well(rng: Any = None) -> Likelihood:
    """Return a double well on the line: two modes, one somewhat heavier."""
    g = np.random.default_rng(rng)
    log = DoubleWell(float(g.uniform(2.0, 8.0)), float(g.uniform(1.0, 2.0)), float(g.uniform(-0.5, 0.5)))
    value = line_log_evidence(lambda t: log(t[:, None]), -12.0, 12.0)
    return Likelihood("double well d=1", log, None, value, 0.3 * g.standard_normal(1), np.ones(1))
