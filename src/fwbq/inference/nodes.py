"""Nodes: where the surrogate posterior has its mass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._frozen import readonly
from ..designs.qmc import sobol_points
from .mixture import Mixture, lower_root
from .tuning import TUNING

Array = NDArray[np.float64]
LogJoint = Callable[[Array], Array]

#: Dimensions up to which cubic Hermite polynomials are control variates too, and up to which quadratic ones are: there
#: are then at most 83 and 152 of them.
_CUBIC_DIM = 6
_QUADRATIC_DIM = 16
#: Sobol sequences that are kept. A model needs about ten at a time, and the next model that is compared the same ones;
#: making them took a fifth of the time of a comparison of 100 models.
_SEQUENCES = 64


@dataclass(frozen=True, eq=False)
class Nodes:
    """Points drawn from a mixture, with the surrogate's log joint density there.

    Attributes
    ----------
    points : (q, d) array
    log_joint : (q,) array
    log_ratio : (q,) array
        Log joint density less the log density of the mixture: the logarithms of importance weights.
    proposal : Mixture or None
        None for the points of a sample, over which the sum is exact.
    replicates : int
        Independent randomisations, in equal consecutive blocks of the points.
    """

    points: Array
    log_joint: Array
    log_ratio: Array
    proposal: Mixture | None
    replicates: int

    @cached_property
    def weights(self) -> Array:
        """Normalised importance weights."""
        w = np.exp(self.log_ratio - self.log_ratio.max())
        return np.asarray(w / w.sum())

    @property
    def effective(self) -> float:
        """Effective sample size, as a share of the nodes."""
        return float(1.0 / np.sum(self.weights**2) / len(self.weights))

    def moments(self) -> tuple[Array, Array]:
        """Return mean and covariance of the surrogate posterior."""
        centre = self.weights @ self.points
        shifted = self.points - centre
        return centre, (shifted * self.weights[:, None]).T @ shifted

    def _controls(self) -> Array:
        """Functions whose mean under the proposal is zero, (q, c).

        Ratios of the components to the mixture, less one, and Hermite polynomials of the first component (a Gaussian)
        times its ratio: where the surrogate posterior is that Gaussian, or that Gaussian times a cubic, the sum over
        the nodes is then exact.
        """
        assert self.proposal is not None
        logs = self.proposal.log_densities(self.points)
        total = np.logaddexp.reduce(logs + np.log(self.proposal.weights), axis=1)
        ratios = np.exp(logs[:, : TUNING.nodes.controls] - total[:, None])
        d = self.points.shape[1]
        degree = 3 if d <= _CUBIC_DIM else 2 if d <= _QUADRATIC_DIM else 1
        s = self.proposal.whitening(0).forward(self.points)
        return np.column_stack([ratios - 1.0, ratios[:, :1] * hermite(s, degree)])

    def log_integral(self) -> tuple[float, float]:
        """Return the log of the integral and its standard error."""
        return self._log_integral

    @cached_property
    def _log_integral(self) -> tuple[float, float]:
        top = float(self.log_ratio.max())
        w = np.exp(self.log_ratio - top)
        if self.proposal is None:
            return top + float(np.log(w.sum())), 0.0
        controls = self._controls()
        # Over the nodes the means of the controls are not quite zero; with a constant in the fit, the variance about
        # the mean is minimised.
        beta = np.linalg.lstsq(np.column_stack([np.ones(len(w)), controls]), w, rcond=1e-10)[0]
        blocks = (w - controls @ beta[1:]).reshape(self.replicates, -1).mean(axis=1)
        mean, error = float(blocks.mean()), float(blocks.std(ddof=1)) * _few(self.replicates)
        if not mean > 0.0:
            mean, error = float(w.mean()), float(w.std()) / np.sqrt(len(w))
        return top + float(np.log(mean)), error / mean


def _few(replicates: int) -> float:
    """Return the factor from the standard deviation of a few means to the standard error of their mean.

    The error of a mean of k numbers follows Student's t with k - 1 degrees of freedom, in units of the estimated
    standard error; its standard deviation is larger by the root of (k - 1) / (k - 3).
    """
    return float(np.sqrt((replicates - 1.0) / max(replicates - 3.0, 1.0) / replicates))


def hermite(e: Array, degree: int) -> Array:
    """Return the products of Hermite polynomials of total degree 1 to `degree` at e (q, d), without the constant."""
    d = e.shape[1]
    powers = [np.ones_like(e), e, e * e - 1.0, e * (e * e - 3.0)]
    columns = []
    for total in range(1, degree + 1):
        for which in combinations_with_replacement(range(d), total):
            counts = [(i, which.count(i)) for i in sorted(set(which))]
            columns.append(np.prod([powers[c][:, i] for i, c in counts], axis=0))
    return np.column_stack(columns)


def _named(seed: np.random.SeedSequence) -> tuple[Any, tuple[int, ...]]:
    """Return what makes a seed this one, and can be looked up."""
    entropy: Any = seed.entropy
    return entropy if isinstance(entropy, int) else tuple(entropy), tuple(seed.spawn_key)


@lru_cache(maxsize=_SEQUENCES)
def _sobol(dim: int, size: int, entropy: Any, spawn_key: tuple[int, ...]) -> Array:
    """Return the first points of a scrambled Sobol sequence; models that are compared have the same seeds."""
    generator = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=spawn_key))
    return readonly(sobol_points(dim, size, generator))


def draw(log_joint: LogJoint, proposal: Mixture, size: int, replicates: int, seed: np.random.SeedSequence) -> Nodes:
    """Draw `replicates` scrambled Sobol sequences of `size` points each and evaluate the surrogate there."""
    u = np.concatenate([_sobol(proposal.dim + 2, size, *_named(child)) for child in seed.spawn(replicates)])
    z = proposal.transform(u)
    g = log_joint(z)
    return Nodes(z, g, g - proposal.log_density(z), proposal, replicates)


def adapted(log_joint: LogJoint, proposal: Mixture, size: int, replicates: int, seed: np.random.SeedSequence) -> Nodes:
    """Draw nodes, and while few of them are effective put further components where the mass is."""
    seeds = seed.spawn(TUNING.nodes.attempts + 1)
    nodes = draw(log_joint, proposal, size, replicates, seeds[0])
    for attempt in range(TUNING.nodes.attempts):
        if nodes.effective > TUNING.nodes.enough:
            break
        better = draw(
            log_joint, proposal.joined(around(nodes), TUNING.nodes.around_share), size, replicates, seeds[attempt + 1]
        )
        if attempt and better.effective < 1.05 * nodes.effective:
            break
        nodes = better
    return nodes


def joined(parts: list[Nodes]) -> Nodes:
    """Return nodes of densities on disjoint parts of the space, equally many of each, as those of their sum."""
    if len(parts) == 1:
        return parts[0]
    points, log_joint, log_ratio = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("points", "log_joint", "log_ratio")
    )
    return Nodes(points, log_joint, log_ratio, None, 1)


def resample(nodes: Nodes, size: int, power: float = 1.0) -> NDArray[np.intp]:
    """Return rows of nodes in proportion to posterior density to a `power`, by systematic resampling.

    Rows repeat where the weights are uneven.
    """
    logs = nodes.log_ratio
    if power != 1.0:
        finite = np.isfinite(nodes.log_joint)  # points of a sample may be known to be zero
        logs = np.where(finite, logs + (power - 1.0) * np.where(finite, nodes.log_joint, 0.0), -np.inf)
    edges = np.cumsum(np.exp(logs - logs.max()))
    rows = np.searchsorted(edges / edges[-1], (np.arange(size) + 0.5) / size, side="right")
    return np.asarray(rows.clip(0, len(edges) - 1), dtype=np.intp)


def subset(nodes: Nodes, size: int) -> tuple[Array, Array]:
    """Return up to `size` points and weights that stand for the surrogate posterior, for sums over pairs.

    The first points of a Sobol sequence, a power of two of them, are as balanced as all of it. What is summed over them
    is the variance of the integral, after sequential quadrature a small difference of large terms: with importance
    weights it is known to a few per cent, with points resampled by their weights only to a half. Where few nodes are
    effective, points are resampled all the same.
    """
    if len(nodes.points) <= size:
        return nodes.points, nodes.weights
    if nodes.proposal is not None:
        w = nodes.weights[:size]
        held = float(w.sum()) * len(nodes.points) / size > TUNING.nodes.enough
        if held and w.sum() ** 2 > TUNING.nodes.even * size * np.sum(w * w):
            return nodes.points[:size], w / w.sum()
    return nodes.points[resample(nodes, size)], np.full(size, 1.0 / size)


def around(nodes: Nodes) -> Mixture:
    """Return a mixture of Student-t densities around nodes that carry the mass.

    Their width is that of a kernel density estimate with as many points (Silverman, Density Estimation, 1986).
    """
    rows = resample(nodes, TUNING.nodes.around)
    d = nodes.points.shape[1]
    _, cov = nodes.moments()
    width = 1.2 * (4.0 / ((d + 2.0) * TUNING.nodes.around)) ** (1.0 / (d + 4.0))
    root = lower_root(cov) * min(1.0, width)
    return Mixture(
        np.full(TUNING.nodes.around, 1.0 / TUNING.nodes.around),
        nodes.points[rows],
        np.repeat(root[None], TUNING.nodes.around, axis=0),
        np.full(TUNING.nodes.around, TUNING.nodes.around_df),
    )
