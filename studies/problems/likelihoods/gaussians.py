"""Gaussian likelihoods: narrow, badly scaled, correlated, in a corner, far in the tail of the prior."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from fwbq.measures import Gaussian, Uniform

from .densities import Independent, Normal
from .likelihood import Array, Likelihood
from .truths import gaussian_evidence, inverse, random_cov, standard


def gaussian(d: int, narrower: float, rng: Any = None) -> Likelihood:
    """Return a correlated Gaussian likelihood, `narrower` times narrower than its standard Gaussian prior."""
    g = np.random.default_rng(rng)
    cov = random_cov(d, 1.0 / narrower, g)
    centre = g.standard_normal(d)
    log = Normal(centre, inverse(cov))
    return Likelihood(f"gaussian d={d} x{narrower:g}", log, standard(d), gaussian_evidence(centre, cov))


def _box_evidence(centre: Array, sd: Array) -> float:
    """Return the log evidence of an uncorrelated Gaussian under the uniform prior on [-5, 5]^d."""
    inside = stats.norm.cdf((5.0 - centre) / sd) - stats.norm.cdf((-5.0 - centre) / sd)
    return float(np.sum(np.log(np.sqrt(2.0 * np.pi) * sd * inside / 10.0)))


def _box(d: int) -> Uniform:
    return Uniform(np.full(d, -5.0), np.full(d, 5.0))


def gaussian_in_box(d: int, narrower: float, rng: Any = None) -> Likelihood:
    """Return an uncorrelated Gaussian likelihood under a uniform prior on a box of side ten."""
    g = np.random.default_rng(rng)
    sd = 10.0 / np.sqrt(12.0) / narrower * 2.0 ** g.uniform(-1.0, 1.0, d)
    centre = g.uniform(-4.0, 4.0, d)
    log = Independent(centre, sd)
    return Likelihood(f"gaussian in a box d={d} x{narrower:g}", log, _box(d), _box_evidence(centre, sd))


def gaussian_in_corner(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood around a corner of the box that is the prior, within one sd of it."""
    g = np.random.default_rng(rng)
    sd = g.uniform(0.2, 0.8, d)
    centre = g.choice([-1.0, 1.0], d) * 5.0 + sd * g.uniform(-1.0, 1.0, d)
    log = Independent(centre, sd)
    return Likelihood(f"gaussian in a corner d={d}", log, _box(d), _box_evidence(centre, sd))


def badly_scaled(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood whose parameters have prior scales from 1e-4 to 1e4, ten times wider than it."""
    g = np.random.default_rng(rng)
    scales = 10.0 ** np.linspace(-4.0, 4.0, d)[g.permutation(d)]
    cov = random_cov(d, 0.1, g) * np.outer(scales, scales)
    prior = Gaussian(scales * g.standard_normal(d), np.diag(scales**2))
    centre = prior.mean + scales * g.standard_normal(d)
    value = gaussian_evidence(centre, cov, prior)
    return Likelihood(f"badly scaled d={d}", Normal(centre, inverse(cov)), prior, value)


def correlated(d: int, correlation: float, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood whose parameters all have the same correlation, up to their signs."""
    g = np.random.default_rng(rng)
    sd = g.uniform(0.3, 1.0, d) * g.choice([-1.0, 1.0], d)
    cov = ((1.0 - correlation) * np.eye(d) + correlation) * np.outer(sd, sd)
    # The inverse in closed form: that of the matrix of correlations is known.
    unit = (np.eye(d) - correlation / (1.0 + (d - 1) * correlation)) / (1.0 - correlation)
    centre = g.standard_normal(d)
    log = Normal(centre, unit / np.outer(sd, sd))
    return Likelihood(f"correlated {correlation:g} d={d}", log, standard(d), gaussian_evidence(centre, cov))


def in_the_tail(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood six to nine standard deviations from the centre of the prior, about 0.3 wide."""
    g = np.random.default_rng(rng)
    cov = random_cov(d, 0.3, g, 1.5)
    centre = g.standard_normal(d)
    centre *= g.uniform(6.0, 9.0) / np.linalg.norm(centre)
    log = Normal(centre, inverse(cov))
    return Likelihood(f"in the tail d={d}", log, standard(d), gaussian_evidence(centre, cov))


def shifted(d: int, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood with a constant of a million added or subtracted."""
    g = np.random.default_rng(rng)
    cov = random_cov(d, 0.2, g)
    centre, constant = g.standard_normal(d), float(g.choice([-1e6, 1e6]))
    value = gaussian_evidence(centre, cov) + constant
    return Likelihood(f"constant of 1e6 d={d}", Normal(centre, inverse(cov), constant), standard(d), value)
