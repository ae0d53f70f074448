"""Likelihoods with several modes: of like and unlike width and mass, needles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .densities import Mixture, Normal
from .likelihood import Array, Likelihood
from .truths import gaussian_evidence, inverse, random_cov, standard


def _sum_of_gaussians(name: str, shares: NDArray[Any], centres: list[Array], covs: list[Array]) -> Likelihood:
    """Return a sum of Gaussians with given shares of the evidence, under N(0, I)."""
    own = np.array([gaussian_evidence(c, s) for c, s in zip(centres, covs, strict=True)])
    weights = shares * np.exp(own.max() - own)
    log = Mixture(weights, tuple(Normal(c, inverse(s)) for c, s in zip(centres, covs, strict=True)))
    value = float(np.logaddexp.reduce(np.log(weights) + own))
    return Likelihood(name, log, standard(len(centres[0])), value)


def two_modes(d: int = 3, narrower: float = 6.0, share: float = 0.7, rng: Any = None) -> Likelihood:
    """Return two Gaussians well apart, with shares `share` and 1 - `share` of the evidence."""
    g = np.random.default_rng(rng)
    direction = g.standard_normal(d)
    direction *= g.uniform(0.9, 1.4) / np.linalg.norm(direction)
    centres = np.array([direction, -direction]) + 0.2 * g.standard_normal((2, d))
    covs = [random_cov(d, 1.0 / narrower, g, 1.5) for _ in range(2)]
    return _sum_of_gaussians(f"two modes d={d}", np.array([share, 1.0 - share]), list(centres), covs)


def three_modes(rng: Any = None) -> Likelihood:
    """Return three Gaussians in two dimensions, apart, with shares of 0.5, 0.3 and 0.2 of the evidence."""
    g = np.random.default_rng(rng)
    angle = g.uniform(0.0, 2.0 * np.pi) + 2.0 * np.pi * np.arange(3) / 3.0
    centres = 1.6 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * g.standard_normal((3, 2))
    return _sum_of_gaussians("three modes d=2", np.array([0.5, 0.3, 0.2]), list(centres), [0.2**2 * np.eye(2)] * 3)


def spike_and_slab(d: int = 2, rng: Any = None) -> Likelihood:
    """Return a wide and a narrow Gaussian at one place, with half of the evidence each."""
    g = np.random.default_rng(rng)
    centre = 0.5 * g.standard_normal(d)
    covs = [random_cov(d, 0.6, g, 1.2), random_cov(d, 0.1, g, 1.2)]
    return _sum_of_gaussians(f"spike and slab d={d}", np.ones(2), [centre, centre], covs)


def unequal_modes(d: int, rng: Any = None) -> Likelihood:
    """Return a wide Gaussian and one three to six times narrower, with 10 to 50 % of the evidence, apart from it."""
    g = np.random.default_rng(rng)
    wide, ratio, share = g.uniform(0.3, 0.5), g.uniform(3.0, 6.0), g.uniform(0.1, 0.5)
    direction = g.standard_normal(d)
    direction /= np.linalg.norm(direction)
    middle = 0.3 * g.standard_normal(d)
    apart = g.uniform(3.0, 4.0) * wide
    centres = [middle + 0.5 * apart * direction, middle - 0.5 * apart * direction]
    covs = [random_cov(d, wide, g, 1.2), random_cov(d, wide / ratio, g, 1.2)]
    return _sum_of_gaussians(f"unequal modes d={d}", np.array([1.0 - share, share]), centres, covs)


def needle(d: int, rng: Any = None) -> Likelihood:
    """Return a likelihood about as wide as the prior and, off its top, a needle with 30 to 60 % of the evidence."""
    g = np.random.default_rng(rng)
    share, width = g.uniform(0.3, 0.6), g.uniform(0.03, 0.08)
    centres = [0.3 * g.standard_normal(d), 0.8 * g.standard_normal(d)]
    covs = [random_cov(d, 1.0, g, 1.2), random_cov(d, width, g, 1.2)]
    return _sum_of_gaussians(f"needle d={d}", np.array([1.0 - share, share]), centres, covs)
