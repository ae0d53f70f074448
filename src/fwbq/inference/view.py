"""A view: surrogate posterior and nodes, as all values there are have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._whitening import Whitening
from ..posterior import AnyAmplitude
from ..process import KernelFamily
from .belief import Belief
from .climbs import Climbs
from .exploration import SURPRISE
from .known import Known
from .local_process import peak_at
from .mixture import lower_root
from .nodes import Nodes
from .surrogate import DEPTH, PER_DIMENSION, Given, Surrogate, depth_noise, fit
from .zeros import SignProcess

Array = NDArray[np.float64]

#: Nodes (size of a Sobol sequence, number of sequences) for the choice of points.
_FEW = (256, 4)
#: Length-scales are searched for anew when the number of values has grown by this factor; in between they follow. On
#: the nine evidences of benchmarks/constants.py, with 1.5 widths were 1.3 times as large and one of nine intervals
#: missed; with 1.01 only the time grew, by 13 %.
_REFIT = 1.1
#: The surrogate sees mass where it is within this share of the depth beyond which values carry a noise.
_SEEN = 0.5
#: The steepest slope that whitens, in natural logarithms for a standard deviation of the prior: a millionth of that is
#: as narrow as a posterior can be told apart in double precision.
_STEEPEST = 1e6


@dataclass(frozen=True, eq=False)
class View:
    """Surrogate posterior and nodes, and where the next search for length-scales begins.

    Attributes
    ----------
    belief : Belief
    nodes : Nodes
    thetas : dict
        Log length-scales found for each mean and family.
    fitted_at : int
        Number of values when length-scales were last searched for.
    """

    belief: Belief
    nodes: Nodes
    thetas: dict[tuple[str, str], Array] = field(default_factory=dict)
    fitted_at: int = 0


def look(
    known: Known,
    climbs: Climbs,
    last: View | None,
    families: Sequence[KernelFamily | Given],
    amplitude: AnyAmplitude,
    seed: np.random.SeedSequence,
) -> View | None:
    """Return surrogate and nodes for all values there are; None while there are too few of them.

    A function of the values and of the view of the last round, so that a look at the result in between changes nothing.

    Parameters
    ----------
    known : Known
    climbs : Climbs
    last : View or None
        The one that the last round was planned on.
    families : sequence of KernelFamily or Given
        Kernels to choose from.
    amplitude : str or float
        How the amplitude is found.
    seed : SeedSequence
        Of the nodes.
    """
    near = known.positive & ~known.remote
    n = int(near.sum())
    if n < 3:
        return None
    z, g = known.z[near], known.bounded[near]
    whitening = _whitening(known, z, g, climbs, last)
    fitted_at = 0 if last is None else last.fitted_at
    again = n >= _REFIT * fitted_at
    fitted = fit(
        z, g, whitening, climbs.modes, {} if last is None else last.thetas, families=families, amplitude=amplitude,
        falls_off=known.space.support is None, iterations=20 if again else 3,
    )  # fmt: skip
    positive = known.positive & ~_sunken(known, fitted.best)
    sign = None if positive.all() else SignProcess.fit(whitening.forward(known.z), positive)
    sample = None if known.space.support is None else (known.z, known.values)
    top = float(known.values[known.positive].max())
    belief = Belief(known.space, fitted, sign, top, tuple(climbs.modes), sample)
    return View(belief, belief.nodes(*_FEW, seed), fitted.thetas, n if again else fitted_at)


def _sunken(known: Known, surrogate: Surrogate) -> NDArray[np.bool_]:
    """Return which values (n,) are far below the top where the surrogate sees mass: as good as zero.

    What is far below the top carries a noise, for it hardly matters to the evidence, and the surrogate need not follow
    it: a likelihood that falls off a cliff, such as one that is -1e10 for parameters that are not allowed, would leave
    no trace.
    """
    sunken = np.zeros(len(known), dtype=bool)
    if known.space.support is None:
        rows = np.flatnonzero(known.positive)
        rows = rows[depth_noise(known.bounded[rows], known.dim) > 0.0]
        if len(rows):
            z = known.z[rows]
            sd = np.sqrt(surrogate.amplitude * surrogate.predict(z).variance(surrogate.variance(z)))
            seen = surrogate.mean(z) > known.top - _SEEN * (DEPTH + PER_DIMENSION * known.dim)
            sunken[rows] = seen & (surrogate.mean(z) - known.bounded[rows] > SURPRISE * sd)
    return sunken


def _whitening(known: Known, z: Array, g: Array, climbs: Climbs, last: View | None) -> Whitening:
    """Return coordinates in which the posterior has unit width, as far as it is known."""
    d = known.dim
    if last is not None and last.nodes.effective * len(last.nodes.points) > 20 * d:
        centre, cov = last.nodes.moments()
        return Whitening(centre, lower_root(cov))
    if known.space.support is not None:
        return Whitening(np.zeros(d), np.eye(d))
    best = int(np.argmax(g))
    climb = next((c for c in climbs.each if np.array_equal(c.best, z[best])), None)
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
