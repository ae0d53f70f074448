"""What the values say of the posterior: surrogate, sign of the likelihood, and nodes where the mass is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._whitening import Whitening
from .mixture import Mixture
from .modes import Mode
from .nodes import Nodes, adapted, draw
from .space import Sample, Space
from .surrogate import Fitted, Surrogate
from .zeros import SignProcess

Array = NDArray[np.float64]

#: The surrogate is capped at this much above the largest log likelihood seen: far from all points it may extrapolate a
#: slope to hundreds. The top itself is known to 0.05 after a climb.
RISE = 2.0
#: Beyond so many standard deviations of the posterior, and the root of the dimension more, the mean of the process is
#: lowered where its standard deviation is above the second number. Of eight linear regressions with unknown noise under
#: wide uniform priors, n = 200, six had their mass there, 10 to 40 standard deviations out.
_FAR, _DOUBT = 4.0, 3.0
#: Chances of a positive likelihood far below this are no chances: only the sign of the sign process is known, and its
#: Gaussian approximation never has the mean more than about four standard deviations away from zero, however far the
#: boundary is, while the surrogate may rise by tens of natural logarithms beyond it.
_FAINT = 1e-2
#: Most points of a sample that are nodes at once.
_MOST = 8192


@dataclass(frozen=True, eq=False)
class Belief:
    """The surrogate posterior: density proportional to exp of the surrogate's mean, times the chance to be positive.

    Attributes
    ----------
    space : Space
    fitted : Fitted
        Surrogates of the log joint density.
    sign : SignProcess or None
        None when no likelihood of zero was met.
    top : float
        Largest log likelihood seen.
    modes : tuple of Mode
    known : tuple of (n, d), (n,) arrays, or None
        For a prior that is a sample, points and log likelihoods that need no surrogate.
    """

    space: Space
    fitted: Fitted
    sign: SignProcess | None
    top: float
    modes: tuple[Mode, ...]
    known: tuple[Array, Array] | None = None

    @cached_property
    def highest(self) -> float:
        """Largest log joint density seen: beyond the boundary of the support nothing higher is believed."""
        return float(self.surrogate.values.max())

    @property
    def surrogate(self) -> Surrogate:
        """The most probable surrogate."""
        return self.fitted.best

    @property
    def whitening(self) -> Whitening:
        """The coordinates of the surrogate."""
        return self.surrogate.whitening

    def log_positive(self, z: Array) -> Array:
        """Return the log probability that the likelihood is positive at points z (n, d); small ones are discounted.

        A probability p far below `_FAINT` counts as p^2 / `_FAINT`.
        """
        if self.sign is None:
            return np.zeros(len(z))
        p = self.sign.probability(self.whitening.forward(z))
        return np.log(np.maximum(p * p * (1.0 + _FAINT) / (p + _FAINT), 1e-300))

    def log_joint(self, z: Array, surrogate: Surrogate | None = None) -> Array:
        """Return the expected log joint density at points z (n, d), capped `RISE` above the largest likelihood seen.

        Beyond the boundary of the support, where the likelihood is more likely zero than positive, it is capped at the
        largest value seen. Far out, where the process does not know the density to some natural logarithms, its mean is
        lowered by what the standard deviation exceeds them: a process of long length-scales extrapolates like a
        polynomial, and would put the mass where it knows nothing.
        """
        process = surrogate or self.surrogate
        prior = self.space.log_prior(z)
        g = np.minimum(process.mean(z) - prior, self.top + RISE) + prior
        positive = self.log_positive(z)
        if self.sign is not None:
            g = np.where(positive < np.log(0.5), np.minimum(g, self.highest), g)
        if self.space.support is None:
            far = np.flatnonzero(np.linalg.norm(self.whitening.forward(z), axis=1) > _FAR + np.sqrt(self.space.dim))
            if len(far):
                variance = process.amplitude * process.predict(z[far]).variance(process.variance(z[far]))
                g[far] -= np.maximum(np.sqrt(variance) - _DOUBT, 0.0)
        return np.asarray(g + positive)

    @cached_property
    def proposal(self) -> Mixture:
        """Gaussian and wider Student-t at the surrogate's own peak, at every mode, and over the prior."""
        W = self.whitening
        gaussian = self.surrogate.gaussian or (W.centre, W.root)
        wide = self.space.wide
        parts = [
            (0.4, *gaussian, np.inf),
            (0.2, W.centre, W.root, np.inf),
            (0.25, W.centre, 2.0 * W.root, 5.0),
            (0.05, *wide, np.inf),
        ]
        if len(self.modes) > 1:
            for mode in self.modes:
                parts += [
                    (0.3, mode.peak.centre, mode.root, np.inf),
                    (0.15, mode.peak.centre, 1.5 * mode.root, 5.0),
                ]
        weights, means, roots, dfs = (np.array(part) for part in zip(*parts, strict=True))
        return Mixture(weights / weights.sum(), means, roots, dfs)

    def nodes(self, size: int, replicates: int, seed: np.random.SeedSequence) -> Nodes:
        """Return nodes for the choice of points, the proposal adapted to the surrogate posterior."""
        if isinstance(self.space, Sample):
            return self._sample_nodes(seed)
        return adapted(self.log_joint, self.proposal, size, replicates, seed)

    def final_nodes(self, nodes: Nodes, size: int, replicates: int, seed: np.random.SeedSequence) -> Nodes:
        """Return many nodes from the proposal of `nodes`, independent of those that shaped it."""
        if nodes.proposal is None:
            return nodes
        return draw(self.log_joint, nodes.proposal, size, replicates, seed)

    def _sample_nodes(self, seed: np.random.SeedSequence) -> Nodes:
        assert isinstance(self.space, Sample)
        z, log_weights = self.space.support, self.space.log_weights
        if len(z) > _MOST:
            rows = np.random.default_rng(seed).choice(len(z), _MOST, replace=False)
            z, log_weights = z[rows], log_weights[rows]
            log_weights = log_weights - np.logaddexp.reduce(log_weights)
        g = self.log_joint(z)
        if self.known is not None:
            row = {point.tobytes(): i for i, point in enumerate(z)}
            for point, value in zip(*self.known, strict=True):
                if point.tobytes() in row:
                    g[row[point.tobytes()]] = value
        return Nodes(z, g, g + log_weights, None, 1)
