"""From data to the surrogate posterior: processes, sign of the likelihood, modes, and nodes where the mass is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from .._whitening import Whitening
from ..posterior import AnyAmplitude
from ..process import KernelFamily
from .chart import Chart
from .data import Data
from .depth import depth_noise, free_depth
from .joint_process import FittedProcesses, Given, JointProcess, fit_processes
from .local_process import peak_at
from .mixture import Mixture, lower_root
from .modes import Mode
from .nodes import LogJoint, Nodes, draw
from .parts import ALL, Parts
from .proposers.climb import Climb
from .sign_process import SignProcess
from .tuning import TUNING

Array = NDArray[np.float64]

#: The steepest slope that whitens, for a standard deviation of the prior: a posterior narrower than a millionth of that
#: cannot be told apart in double precision.
_STEEPEST = 1e6


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The surrogate posterior: density proportional to exp of the surrogate's mean, times the chance to be positive.

    Attributes
    ----------
    chart : Chart
    fitted : FittedProcesses
        Surrogates of the log joint density.
    sign : SignProcess or None
        None when no likelihood of zero was met.
    top : float
        Largest log likelihood seen.
    modes : tuple of Mode
    evaluated : tuple of (n, d), (n,) arrays
        All points and log likelihoods.
    seed : SeedSequence
        Of the nodes.
    fitted_at : int
        Number of values when length-scales were last searched for.
    parts : Parts
    """

    chart: Chart
    fitted: FittedProcesses
    sign: SignProcess | None
    top: float
    modes: tuple[Mode, ...]
    evaluated: tuple[Array, Array]
    seed: np.random.SeedSequence
    fitted_at: int = 0
    parts: Parts = ALL

    @cached_property
    def highest(self) -> float:
        """Largest log joint density seen: beyond the boundary of the support nothing higher is believed."""
        return float(self.process.values.max())

    @property
    def process(self) -> JointProcess:
        """The most probable surrogate."""
        return self.fitted.best

    @property
    def whitening(self) -> Whitening:
        """The coordinates of the surrogate."""
        return self.process.whitening

    def log_positive(self, z: Array) -> Array:
        """Return the log probability that the likelihood is positive at points z (n, d); small ones are discounted.

        A probability p far below q = `SurrogateNumbers.faint` counts as p^2 / q.
        """
        if self.sign is None:
            return np.zeros(len(z))
        p = self.sign.probability(self.whitening.forward(z))
        if "faint" not in self.parts:
            return np.log(np.maximum(p, 1e-300))
        return np.log(np.maximum(p * p * (1.0 + TUNING.surrogate.faint) / (p + TUNING.surrogate.faint), 1e-300))

    def surprising(self, z: Array) -> Array:
        """Return the values (k,) from which on a log joint density at points z (k, d) is not what was expected."""
        return np.asarray(self.process.mean(z) + TUNING.modes.within * self.process.sd(z) + TUNING.modes.above)

    def log_joint(self, z: Array, process: JointProcess | None = None) -> Array:
        """Return the expected log joint density at points z (n, d), capped above the largest likelihood seen.

        Beyond the boundary of the support, where the likelihood is more likely zero than positive, it is capped at the
        largest value seen. Far out, where the process does not know the density to some natural logarithms, its mean is
        lowered by what the standard deviation exceeds them: a process of long length-scales extrapolates like a
        polynomial, and would put the mass where it knows nothing. Where it `strays` all the same, the density falls as
        a Gaussian does beyond some distance from every point that was evaluated.
        """
        return self._expected(z, process or self.process, contained=self.strays)

    def _expected(self, z: Array, process: JointProcess, *, contained: bool) -> Array:
        prior = self.chart.log_prior(z)
        g = np.minimum(process.mean(z) - prior, self.top + TUNING.modes.above) + prior
        positive = self.log_positive(z)
        if self.sign is not None:
            g = np.where(positive < np.log(0.5), np.minimum(g, self.highest), g)
        s = self.whitening.forward(z)
        far = self.chart.far(s, TUNING.surrogate.far + np.sqrt(self.chart.dim))
        if len(far) and "far" in self.parts:
            g[far] -= np.maximum(process.sd(z[far]) - TUNING.surrogate.far_sd, 0.0)
        if contained:
            g -= 0.5 * self._excess(s) ** 2
        return np.asarray(g + positive)

    @cached_property
    def _first_nodes(self) -> Nodes:
        """Nodes of the surrogate posterior as the process has it."""
        return self._drawn(lambda z: self._expected(z, self.process, contained=False), *TUNING.sizes.few, self.seed)

    @cached_property
    def strays(self) -> bool:
        """Whether the process has much of its mass far from every point evaluated: it is not believed there."""
        if self.chart.discrete or "strays" not in self.parts:
            return False
        away = self._excess(self.whitening.forward(self._first_nodes.points)) > 0.0
        return float(np.sum(self._first_nodes.weights[away])) > TUNING.surrogate.stray

    def _excess(self, s: Array) -> Array:
        """Return by how much whitened points s (k, d) are too far from the nearest point that was evaluated, (k,)."""
        reach = TUNING.surrogate.reach + np.sqrt(self.chart.dim)
        return np.asarray(np.maximum(self._tree.query(s)[0] - reach, 0.0))

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.whitening.forward(self.evaluated[0]))

    @cached_property
    def proposal(self) -> Mixture:
        """Gaussian and wider Student-t at the surrogate's own peak, at every mode, and over the prior."""
        W = self.whitening
        gaussian = self.process.gaussian or (W.centre, W.root)
        wide = self.chart.wide
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

    @cached_property
    def nodes(self) -> Nodes:
        """Nodes for the choice of points."""
        return self.draw_nodes(*TUNING.sizes.few, self.seed) if self.strays else self._first_nodes

    def draw_nodes(self, size: int, replicates: int, seed: np.random.SeedSequence) -> Nodes:
        """Return nodes of the surrogate posterior, from a proposal that is adapted to it."""
        return self._drawn(self.log_joint, size, replicates, seed)

    def _drawn(self, log_joint: LogJoint, size: int, replicates: int, seed: np.random.SeedSequence) -> Nodes:
        return self.chart.nodes(log_joint, self.proposal, self.evaluated, size, replicates, seed)

    def final_nodes(self, size: int, replicates: int, seed: np.random.SeedSequence) -> Nodes:
        """Return many nodes from the proposal of `nodes`, independent of those that shaped it."""
        if self.nodes.proposal is None:
            return self.nodes
        return draw(self.log_joint, self.nodes.proposal, size, replicates, seed)


def fit_surrogate(
    data: Data,
    modes: Sequence[Mode],
    climbs: Sequence[Climb],
    last: Surrogate | None,
    families: Sequence[KernelFamily | Given],
    amplitude: AnyAmplitude,
    seed: np.random.SeedSequence,
    parts: Parts = ALL,
) -> Surrogate | None:
    """Return the surrogate posterior for all values there are; None while there are too few of them.

    A function of the values and of the surrogate of the last round, so that a result in between changes nothing.

    Parameters
    ----------
    data : Data
        Points that have values.
    modes : sequence of Mode
    climbs : sequence of Climb
    last : Surrogate or None
        The one that the last round was planned on.
    families : sequence of KernelFamily or Given
        Kernels to choose from.
    amplitude : str or float
        How the amplitude is found.
    seed : SeedSequence
        Of the nodes.
    parts : Parts
    """
    n = int(data.positive.sum())
    if n < 3:
        return None
    z, g = data.z[data.positive], data.bounded[data.positive]
    whitening = _whitening(data, z, g, climbs, last)
    fitted_at = 0 if last is None else last.fitted_at
    again = n >= TUNING.process.refit * fitted_at
    fitted = fit_processes(
        z,
        g,
        whitening,
        modes,
        {} if last is None else last.fitted.thetas,
        families=families,
        amplitude=amplitude,
        falls_off=not data.chart.discrete,
        iterations=TUNING.process.iterations if again else TUNING.process.following,
        several="sum of modes" in parts,
    )
    return surrogate_of(data, modes, fitted, seed, n if again else fitted_at, parts)


def surrogate_of(
    data: Data,
    modes: Sequence[Mode],
    fitted: FittedProcesses,
    seed: np.random.SeedSequence,
    fitted_at: int,
    parts: Parts,
) -> Surrogate:
    """Return the surrogate posterior of processes that were fitted."""
    positive = data.positive
    if "sunken" in parts:
        positive = positive & ~_sunken(data, fitted.best)
    sign = None
    if not positive.all() and "sign process" in parts:
        sign = SignProcess.fit(fitted.best.whitening.forward(data.z), positive)
    top = float(data.values[data.positive].max())
    return Surrogate(data.chart, fitted, sign, top, tuple(modes), (data.z, data.values), seed, fitted_at, parts)


def _sunken(data: Data, process: JointProcess) -> NDArray[np.bool_]:
    """Return which values (n,) are far below the top where the surrogate sees mass: as good as zero.

    What is far below the top carries a noise, for it hardly matters to the evidence, and the surrogate need not follow
    it: a likelihood that falls off a cliff, such as one that is -1e10 for parameters that are not allowed, would leave
    no trace.
    """
    sunken = np.zeros(len(data), dtype=bool)
    if data.chart.discrete:
        return sunken
    rows = np.flatnonzero(data.positive)
    rows = rows[depth_noise(data.bounded[rows], data.dim) > 0.0]
    if len(rows):
        z = data.z[rows]
        mean = process.mean(z)
        seen = mean > data.top - TUNING.surrogate.seen * free_depth(data.dim)
        sunken[rows] = seen & (mean - data.bounded[rows] > TUNING.modes.within * process.sd(z))
    return sunken


def _whitening(data: Data, z: Array, g: Array, climbs: Sequence[Climb], last: Surrogate | None) -> Whitening:
    """Return coordinates in which the posterior has unit width, as far as it is known."""
    d = data.dim
    if last is not None and last.nodes.effective * len(last.nodes.points) > TUNING.surrogate.effective * d:
        centre, cov = last.nodes.moments()
        return Whitening(centre, lower_root(cov))
    rough = data.chart.rough_whitening()
    if rough is not None:
        return rough
    best = int(np.argmax(g))
    climb = next((c for c in climbs if np.array_equal(c.best, z[best])), None)
    radius, shape, model = (1.0, None, None) if climb is None else (climb.radius, climb.shape, climb.model)
    peak = peak_at(z, g, best, radius, shape, model)
    values, axes = np.linalg.eigh(-peak.curvature)
    values = np.where(values > 1e-3, values, 1.0)
    step = peak.step(radius) if peak.concave else np.zeros(d)
    # At a boundary of the support the density falls with a slope: that of an exponential distribution is the inverse of
    # its standard deviation.
    slope = peak.slope + peak.curvature @ step
    slope = slope * min(1.0, _STEEPEST / max(float(np.linalg.norm(slope)), 1.0))
    cov = np.linalg.inv((axes * values) @ axes.T + np.outer(slope, slope))
    return Whitening(z[best] + step, lower_root(cov))
