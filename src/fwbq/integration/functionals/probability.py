"""The probability that f exceeds a threshold, or stays below it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ..._validate.scalars import single
from ...measures import Measure
from ...posterior import Estimate
from ..fitted import FittedProcess
from .nodes import Nodes
from .sampled import ANCHORS, Sampled
from .statistics import frequency_above, frequency_below, variance
from .tail import has_tail, tail_nodes

FloatArray = NDArray[np.float64]

#: Below this probability, or above one minus it, evenly spread nodes meet the event too rarely.
RARE = 0.05
#: Factor on the spread of functions in a tail, where few values are and the process goes back to its mean.
TAIL_WIDENING = 2.0
#: Of n independent points none meets an event of probability -log(0.025) / n with probability 0.025.
NONE_MET = -math.log(0.025)
#: A probability below this part of what the evaluations may have missed is as good as zero.
NEGLIGIBLE = 1e-3
_UPPER = float(ndtri(0.975))


def threshold_of(above: float | None, below: float | None) -> tuple[float, float]:
    """Return the threshold, and 1 for above or -1 for below; exactly one of the two must be given."""
    if (above is None) == (below is None):
        raise ValueError(
            "`above` and `below`: exactly one threshold must be given, got "
            f"{'none' if above is None else 'both'}: pass e.g. above=3.0"
        )
    name, given, sign = ("below", below, -1.0) if above is None else ("above", above, 1.0)
    threshold = single(given, name, "a finite number")
    if not math.isfinite(threshold):
        raise ValueError(
            f"`{name}` must be a finite number, got {threshold}: pass the value of f that counts as an event"
        )
    return threshold, sign


def probability_of(sampled: Sampled, measure: Measure, threshold: float, sign: float) -> Estimate:
    """Return the probability that f is above (sign 1) or below (sign -1) a threshold.

    A probability below `RARE` is computed on nodes that are moved into the tail.
    """
    beneath, beyond = unseen(sampled, threshold)
    estimate = sampled.estimate(frequency_above(threshold), lower=0.0, upper=1.0, counted=True)
    rare = 1.0 if estimate.mean < RARE else -1.0 if estimate.mean > 1.0 - RARE else 0.0
    if rare and has_tail(measure):
        least = NEGLIGIBLE * (beyond if rare > 0.0 else beneath)
        moved = tail_nodes(sampled.process, measure, threshold, rare, least)
        if moved is None:
            estimate = Estimate(0.0, 0.0, 0.0, lower=0.0, upper=1.0)
        else:
            estimate = in_tail(sampled.process, moved, threshold, rare)
        estimate = estimate if rare > 0.0 else complement(estimate)
    if sign < 0.0:
        return reaching(complement(estimate), beneath, beyond)
    return reaching(estimate, beyond, beneath)


def in_tail(process: FittedProcess, nodes: Nodes, threshold: float, sign: float) -> Estimate:
    """Return the probability that f is above (sign 1) or below (sign -1) a threshold, by nodes of that tail."""
    step = max(len(nodes.points) // ANCHORS, 1)
    sampled = Sampled(process, nodes, nodes, nodes.points[::step], TAIL_WIDENING)
    statistic = frequency_above(threshold) if sign > 0.0 else frequency_below(threshold)
    return sampled.estimate(statistic, lower=0.0, upper=1.0, counted=True)


def complement(estimate: Estimate) -> Estimate:
    """Return one minus a probability."""
    return replace(estimate, mean=1.0 - estimate.mean, below=estimate.above, above=estimate.below)


def unseen(sampled: Sampled, threshold: float) -> tuple[float, float]:
    r"""Return what n evaluations may have missed of the events below and above a threshold.

    The process may be wrong in a region that no point has met: with probability 0.975 its probability is less than
    3.7 / n. What f is there, nothing tells but the distribution of f elsewhere, taken as normal: there it is above t
    with probability :math:`\Phi((\bar f - t) / \sigma)`. The product of the two is what the interval reaches to at
    least. It falls with n, and with the distance of t from the values of f.
    """
    n = len(sampled.process.members[0].points)
    means = sampled.means[0]
    centre = float(sampled.nodes.weights @ means)
    spread = math.sqrt(float(variance(means[:, None], sampled.nodes.weights)[0]))
    part = min(NONE_MET / n, 1.0)
    if spread == 0.0:
        return part, part
    distance = (threshold - centre) / spread
    tiny = float(np.finfo(float).tiny)
    return max(part * float(ndtr(distance)), tiny), max(part * float(ndtr(-distance)), tiny)


def reaching(estimate: Estimate, own: float, other: float) -> Estimate:
    """Return the probability with a 95 % interval that reaches at least up to `own`, and down to one minus `other`."""
    up = max((own - estimate.mean) / _UPPER, estimate.above)
    down = max((other - (1.0 - estimate.mean)) / _UPPER, estimate.below)
    return replace(estimate, above=up, below=down)
