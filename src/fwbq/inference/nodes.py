"""Nodes: where the surrogate posterior has its mass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from .mixture import Mixture

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Points drawn from a mixture, with the surrogate's log joint density there.

    Attributes
    ----------
    points : (q, d) array
    log_joint : (q,) array
    log_ratio : (q,) array
        log joint density less the log density of the mixture: importance weights.
    proposal : Mixture
    replicates : int
        Independent randomisations, in equal consecutive blocks of the points.
    """

    points: Array
    log_joint: Array
    log_ratio: Array
    proposal: Mixture
    replicates: int

    @property
    def weights(self) -> Array:
        """Normalised importance weights."""
        w = np.exp(self.log_ratio - self.log_ratio.max())
        return np.asarray(w / w.sum())

    @property
    def effective(self) -> float:
        """Effective sample size, as a share of the nodes."""
        w = self.weights
        return float(1.0 / np.sum(w * w) / len(w))

    def log_integral(self) -> tuple[float, float]:
        """Return the log of the integral and its standard error, with the components as control variates."""
        top = float(self.log_ratio.max())
        w = np.exp(self.log_ratio - top)
        logs = self.proposal.log_densities(self.points)
        q = np.logaddexp.reduce(logs + np.log(self.proposal.weights), axis=1)
        controls = np.exp(logs[:, :6] - q[:, None]) - 1.0
        X = np.column_stack([np.ones(len(w)), controls])
        beta, *_ = np.linalg.lstsq(X, w, rcond=1e-8)
        residual = w - controls @ beta[1:]
        blocks = residual.reshape(self.replicates, -1).mean(axis=1)
        mean = float(blocks.mean())
        error = float(blocks.std(ddof=1)) / np.sqrt(self.replicates)
        if mean <= 0.0:
            mean, error = float(w.mean()), float(w.std()) / np.sqrt(len(w))
        return top + np.log(mean), error / mean


def draw(log_joint: Callable[[Array], Array], proposal: Mixture, size: int, replicates: int, seed: np.random.SeedSequence) -> Nodes:
    """Draw `replicates` scrambled Sobol sequences of `size` points each and evaluate the surrogate there."""
    u = np.concatenate(
        [
            qmc.Sobol(proposal.dim + 2, scramble=True, rng=np.random.default_rng(child)).random(size)
            for child in seed.spawn(replicates)
        ]
    )
    z = proposal.transform(u)
    g = log_joint(z)
    return Nodes(z, g, g - proposal.log_density(z), proposal, replicates)


def resample(nodes: Nodes, size: int, offset: float = 0.5, power: float = 1.0) -> NDArray[np.intp]:
    """Return rows of nodes in proportion to their weights to a power, by systematic resampling; repeats possible."""
    logs = power * nodes.log_ratio + (power - 1.0) * (nodes.log_joint - nodes.log_ratio)
    w = np.exp(logs - logs.max())
    edges = np.cumsum(w)
    return np.searchsorted(edges / edges[-1], (np.arange(size) + offset) / size, side="right").clip(0, len(w) - 1)


def around(nodes: Nodes, count: int) -> Mixture:
    """Return a mixture of Student-t densities around nodes that carry the mass."""
    rows = resample(nodes, count)
    w = nodes.weights
    centre = w @ nodes.points
    shifted = nodes.points - centre
    d = nodes.points.shape[1]
    cov = (shifted * w[:, None]).T @ shifted
    cov += 1e-10 * np.trace(cov) / d * np.eye(d)
    width = (4.0 / ((d + 2.0) * count)) ** (1.0 / (d + 4.0))
    root = np.linalg.cholesky(cov) * min(1.0, 1.2 * width)
    return Mixture(
        np.full(count, 1.0 / count), nodes.points[rows], np.repeat(root[None], count, axis=0), np.full(count, 8.0)
    )
