"""What the values leave open that the surrogate does not know of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from ..process.basis import basis_size
from .belief import Belief
from .climb import NOT_ARRIVED
from .climbs import RACE_DIM, Climbs
from .known import Known
from .nodes import Nodes, subset
from .probes import Probes
from .space import Free

Array = NDArray[np.float64]

#: Nodes by which the share of the mass is judged where the function failed, and the most that is taken for failed.
_NEARER, _MOST_FAILED = 1024, 0.99
#: A rise of the top by more than this within the last fifth of the evaluations says that it is not found yet.
_RISING = 0.5
#: A climb that has not arrived is held to be at the top when the error of the surrogate is below this, and twice as
#: many points as a quadratic has coefficients have not risen by more than `_RISING`. Of 32 climbs on rotated products
#: in two and four dimensions that held for twelve, all with errors below 0.4, and for none with an error above one; of
#: 32 further problems 27 were then known, all within their intervals. From `RACE_DIM` dimensions on it says nothing:
#: one of twenty runs on the eight parameters of a Lotka-Volterra model settled in a false basin, off by 37.
_SETTLED = 1.0
#: Where the likelihood is zero somewhere, and there are fewer positive values than the second number times the
#: coefficients of a quadratic, the square of their ratio, times the first number, is open. Gaussians in balls of a
#: fiftieth to a thousandth of the prior, in three dimensions: off by 4.5 with 4 positive values, 2.6 and 1.2 with 10,
#: 0.8 with 16, 0.2 with 20, 0.1 with 30.
_ROUGHLY, _OUTLINED = 2.0, 3.0


def unseen(
    known: Known, lost: Array, climbs: Climbs, probes: Probes, belief: Belief, nodes: Nodes, surrogate_error: float
) -> float:
    """Return what a top that still rises, starts not followed, and failures may add to the log evidence.

    Where no climb has arrived, the top may be as far above as the best of them says, unless later rounds have settled
    the matter: enough points chosen under the surrogate posterior have not raised the top, and `surrogate_error`, what
    the surrogate itself leaves open, is small.
    """
    rising = _still_rising(known, climbs, surrogate_error)
    waiting = climbs.waiting(known, belief)
    missed = 0.5 * waiting / (waiting + 2.0 * max(climbs.finished, 1)) if waiting else 0.0
    if known.dim >= RACE_DIM and climbs.finished < 2 and waiting:
        missed = max(missed, 1.0)
    beyond = probes.beyond(known, belief.whitening, nodes.log_integral()[0])
    failed = _failed(known, lost, belief, nodes)
    return float(np.sqrt(rising**2 + missed**2 + beyond**2 + failed**2 + _outline(known) ** 2))


def _failed(known: Known, lost: Array, belief: Belief, nodes: Nodes) -> float:
    """Return what is open where the function failed: the mass that is nearer to such points than to any value."""
    if not len(lost):
        return 0.0
    z, w = subset(nodes, _NEARER)
    W = belief.whitening
    nearest = [cdist(W.forward(z), W.forward(points)).min(axis=1) for points in (lost, known.z)]
    share = float(w[nearest[0] < nearest[1]].sum())
    return float(-np.log1p(-min(share, _MOST_FAILED)))


def _outline(known: Known) -> float:
    """Return what few positive values leave open of the region where the likelihood is positive.

    The sign process is too sure of a region that a handful of points lie in.
    """
    if known.positive.all() or known.space.support is not None:
        return 0.0
    each = basis_size("quadratic", known.dim) / float(np.sum(known.positive))
    return _ROUGHLY * max(each**2 - _OUTLINED**-2, 0.0)


def _still_rising(known: Known, climbs: Climbs, surrogate_error: float) -> float:
    """Return how far the top may be above the highest value, about one standard deviation.

    It may be anywhere where the highest value was found at the end of what double precision can tell apart.
    """
    tops, joint = known.tops, known.joint[known.positive]
    recent = max(known.dim + 2, len(tops) // 5)
    before = float(tops[-recent - 1]) if len(tops) > recent else -np.inf
    rising = max(0.0, known.top - before - _RISING)
    if not climbs.each and known.space.support is None:
        # Nobody has looked for the top yet.
        rising = known.top - float(np.quantile(joint, 0.25))
    if climbs.each and not any(climb.arrived for climb in climbs.each):
        best, coefficients = climbs.highest, basis_size("quadratic", known.dim)
        since = len(tops) - int(np.argmax(tops >= known.top - _RISING))
        settled = known.dim < RACE_DIM and surrogate_error < _SETTLED and since >= 2 * coefficients
        rising = float(np.hypot(rising, NOT_ARRIVED * coefficients / since if settled else best.short()))
        if best.spent < coefficients:
            # No model is determined yet: the top may be as far above the best value as that is above the lower
            # quartile of all. The median was too near for one in fifty Gaussians five times narrower than the prior,
            # with fewer evaluations than a quadratic has coefficients.
            rising = max(rising, known.top - float(np.quantile(joint, 0.25)))
    if known.space.at_end(known.z[[int(np.argmax(known.joint))]])[0]:
        rising = np.inf
    # Slopes may be extrapolated to any height. The top is at most as far above the best value as that is above the
    # lower quartile of the spread points.
    return min(rising, known.top - float(np.quantile(joint[: climbs.first], 0.25)))


def bound(known: Known, climbs: Climbs) -> float:
    """Return a bound of what the surrogate may leave open: the log of the ratio of an upper to a lower bound of Z.

    Under a prior the evidence is at most the largest likelihood, and about at least the mass within the trust region of
    the highest climb, with a density within a factor e of the largest one seen. What is above the likelihoods seen is
    `unseen`. Infinite where nothing bounds the evidence: without a prior, or without climbs.
    """
    if isinstance(known.space, Free) or not climbs.each:
        return np.inf
    d = known.dim
    log_ball = 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1.0) + d * np.log(climbs.highest.radius)
    top = float(np.max(known.values))
    return max(top - (known.top - 1.0 + float(log_ball)), 1.0)
