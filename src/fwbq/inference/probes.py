"""Probes: points far out that show whether a log joint density without a prior falls off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .._whitening import Whitening
from .belief import Belief
from .known import Known
from .nodes import Nodes
from .space import Free

Array = NDArray[np.float64]

#: Without a prior, points so many standard deviations out on every axis show whether the density falls off; they are
#: moved out when the surrogate posterior has widened by a factor, or so far that one of them is near in its standard
#: deviations, a dozen times at most. The density is said not to fall off when a value there is less than the last
#: number below the top, in natural logarithms (a Cauchy density has fallen by four).
_PROBE, _WIDENED, _NEAR, _MOST_PROBES, _FALLEN = 5.0, 1.5, 0.7, 12, 3.0
#: Points beyond so many standard deviations lie in one direction when the cosine of their angle is above the second
#: number, and tell a power of the distance when the one is this much farther than the other. The density has no
#: integral when, after so many probes, the power is not above the dimension by the last number: that of 1 / (1 + |x|)
#: is 1.0, of a Cauchy density 2.0. Powers beyond the dimension and `_HEAVY` are those of Gaussian tails (19 at five
#: standard deviations).
_OUT, _ALONG, _FARTHER, _SLOW, _LEAST_EXCESS, _HEAVY = 0.5, 0.9, 1.33, 3, 0.25, 8.0
#: Largest logarithm of a share: its exponential is finite.
_LARGEST = 50.0
#: A surrogate posterior with more than this share of its mass farther out than twice the farthest point evaluated does
#: not fall off.
_OUTSIDE = 0.2


class Probes:
    """The probes of a run so far: each time the width of the surrogate posterior, and points far out on every axis."""

    def __init__(self) -> None:
        self._asked: list[tuple[float, Array]] = []

    def next(self, belief: Belief) -> Array | None:
        """Return points far out on every axis where a log joint density has no prior to bound it; None when known.

        They are asked for once, and again whenever the surrogate posterior has become half as wide again, or so wide on
        one axis that the last probes are no longer far: a density that does not fall off widens it each time.
        """
        if not isinstance(belief.space, Free) or len(self._asked) >= _MOST_PROBES:
            return None
        W = belief.whitening
        width = float(np.sqrt(np.trace(W.root @ W.root.T)))
        if self._asked:
            nearest = float(np.min(np.linalg.norm(W.forward(self._asked[-1][1]), axis=1)))
            if width < _WIDENED * self._asked[-1][0] and nearest > _NEAR * _PROBE:
                return None
        axes = np.linalg.svd(W.root)[0] * np.linalg.svd(W.root)[1]
        z = W.centre + _PROBE * np.concatenate([axes.T, -axes.T])
        self._asked.append((width, z))
        return z

    def _values(self, known: Known, whitening: Whitening) -> tuple[Array, Array]:
        """Return the log joint density at the last probes, relative to the largest, and where they are now.

        Places are (k, d), in standard deviations of the posterior from its centre.
        """
        far = {point.tobytes() for _, z in self._asked[-1:] for point in z + 0.0}
        at = np.array([point.tobytes() in far for point in known.z + 0.0], dtype=bool)
        return np.asarray(known.joint[at] - known.top), whitening.forward(known.z[at])

    def _powers(self, known: Known, whitening: Whitening) -> Array:
        """Return the powers of the distance with which the density falls at each of the last probes, (k,).

        From the farthest point in the same direction that is nearer by a quarter; infinite where there is none.
        """
        values, places = self._values(known, whitening)
        powers = np.full(len(values), np.inf)
        others = whitening.forward(known.z[known.positive])
        heights = known.joint[known.positive] - known.top
        r0 = np.linalg.norm(others, axis=1)
        others, heights, r0 = others[r0 > _OUT], heights[r0 > _OUT], r0[r0 > _OUT]
        for i, place in enumerate(places):
            r1 = float(np.linalg.norm(place))
            along = (others @ place > _ALONG * r0 * r1) & (r1 > _FARTHER * r0)
            if along.any() and np.isfinite(values[i]):
                nearer = int(np.argmax(np.where(along, r0, 0.0)))
                powers[i] = (heights[nearer] - values[i]) / np.log(r1 / r0[nearer])
        return powers

    def beyond(self, known: Known, whitening: Whitening, log_evidence: float) -> float:
        """Return the share of the evidence that may lie beyond the probes, where nothing is known.

        Where the probes tell the power k of the distance r with which the density f falls, the mass farther out is
        :math:`f r^d / (k - d)` times the surface of the unit ball. Elsewhere it may be that of a density that stays at
        their level for as far again, less what a Gaussian has at that distance.
        """
        if not self._asked:
            return 0.0
        values, places = self._values(known, whitening)
        d, distances = known.dim, np.linalg.norm(places, axis=1)
        tail = np.maximum(np.exp(values) - 2.0 * np.exp(-0.5 * distances**2), 0.0)
        level = float(np.sum(tail)) * _PROBE / float(np.sqrt(2.0 * np.pi))
        powers = self._powers(known, whitening)
        told = powers < d + _HEAVY
        if not told.any():
            return level
        log_surface = np.log(2.0) + 0.5 * d * np.log(np.pi) - gammaln(0.5 * d)
        log_size = known.top + whitening.log_volume - log_evidence + float(log_surface)
        shares = np.exp(values[told]) * distances[told] ** d / np.maximum(powers[told] - d, _LEAST_EXCESS)
        return float(np.hypot(level, np.mean(shares) * np.exp(min(log_size, _LARGEST))))

    def improper(self, known: Known, belief: Belief, nodes: Nodes) -> bool:
        """Whether a log joint density without a prior does not fall off, as far as the probes and the surrogate say."""
        if not isinstance(belief.space, Free):
            return False
        # Mass far beyond every point evaluated: the surrogate does not fall off.
        s = belief.whitening.forward(nodes.points)
        seen = float(np.max(np.abs(belief.surrogate.whitened)))
        outside = float(np.sum(nodes.weights[np.max(np.abs(s), axis=1) > 2.0 * seen]))
        values, places = self._values(known, belief.whitening)
        distances = np.linalg.norm(places, axis=1)
        # A density that falls no faster than the volume grows has no integral.
        powers = self._powers(known, belief.whitening)
        slow = len(self._asked) >= _SLOW and bool(np.any(powers < known.dim + _LEAST_EXCESS))
        # At these distances a Gaussian has fallen by half their squares.
        high = bool(np.any(values > -np.minimum(_FALLEN, 0.3 * distances**2)))
        shapeless = belief.fitted.kind == "gaussian" and not belief.modes
        return high or slow or outside > _OUTSIDE or shapeless
