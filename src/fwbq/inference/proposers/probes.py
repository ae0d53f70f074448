"""Probes: points far out that show whether a log joint density without a prior falls off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..._whitening import Whitening
from ..data import Data
from ..nodes import Nodes
from ..surrogate import Surrogate
from ..tuning import TUNING

Array = NDArray[np.float64]

#: Largest logarithm of a share: its exponential is finite.
_LARGEST = 50.0
#: Most times that probes are moved out.
_MOST = 12
#: Points nearer to the centre than this tell nothing of the power with which the density falls.
_LEAST_DISTANCE = 0.5


class Probes:
    """The probes of a run so far: each time the width of the surrogate posterior, and points far out on every axis."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, Array]] = []

    def propose(self, surrogate: Surrogate) -> Array | None:
        """Return points far out on every axis where a log joint density has no prior to bound it; None when known.

        They are asked for once, and again whenever the surrogate posterior has become half as wide again, or so wide on
        one axis that the last probes are no longer far: a density that does not fall off widens it each time.
        """
        if surrogate.chart.has_prior or len(self.asked) >= _MOST:
            return None
        W = surrogate.whitening
        width = float(np.sqrt(np.trace(W.root @ W.root.T)))
        if self.asked:
            nearest = float(np.min(np.linalg.norm(W.forward(self.asked[-1][1]), axis=1)))
            if (
                width < TUNING.probes.widened * self.asked[-1][0]
                and nearest > TUNING.probes.distance / TUNING.probes.widened
            ):
                return None
        axes = np.linalg.svd(W.root)[0] * np.linalg.svd(W.root)[1]
        z = W.centre + TUNING.probes.distance * np.concatenate([axes.T, -axes.T])
        self.asked.append((width, z))
        return z

    def _values(self, data: Data, whitening: Whitening) -> tuple[Array, Array]:
        """Return the log joint density at the last probes, relative to the largest, and where they are now.

        Places are (k, d), in standard deviations of the posterior from its centre.
        """
        far = {point.tobytes() for _, z in self.asked[-1:] for point in z + 0.0}
        at = np.array([point.tobytes() in far for point in data.z + 0.0], dtype=bool)
        return np.asarray(data.joint[at] - data.top), whitening.forward(data.z[at])

    def _powers(self, data: Data, whitening: Whitening) -> Array:
        """Return the powers of the distance with which the density falls at each of the last probes, (k,).

        From the farthest point in the same direction that is nearer by a quarter; infinite where there is none, and
        where the density falls about as fast as a Gaussian.
        """
        values, places = self._values(data, whitening)
        powers = np.full(len(values), np.inf)
        others = whitening.forward(data.z[data.positive])
        heights = data.joint[data.positive] - data.top
        r0 = np.linalg.norm(others, axis=1)
        others, heights, r0 = (
            others[r0 > _LEAST_DISTANCE],
            heights[r0 > _LEAST_DISTANCE],
            r0[r0 > _LEAST_DISTANCE],
        )
        for i, place in enumerate(places):
            r1 = float(np.linalg.norm(place))
            along = (others @ place > TUNING.probes.along * r0 * r1) & (r1 > TUNING.probes.farther * r0)
            if along.any() and np.isfinite(values[i]):
                nearer = int(np.argmax(np.where(along, r0, 0.0)))
                power = (heights[nearer] - values[i]) / np.log(r1 / r0[nearer])
                gaussian = 0.5 * (r1**2 - r0[nearer] ** 2) / np.log(r1 / r0[nearer])
                powers[i] = power if power < TUNING.probes.share_of_gaussian * gaussian else np.inf
        return powers

    def beyond(self, data: Data, whitening: Whitening, log_evidence: float) -> float:
        """Return the share of the evidence that may lie beyond the probes, where nothing is known.

        Where the probes tell the power k of the distance r with which the density f falls, the mass farther out is
        :math:`f r^d / (k - d)` times the surface of the unit ball. Elsewhere it may be that of a density that stays at
        their level for as far again, less what a Gaussian has at that distance.
        """
        if not self.asked:
            return 0.0
        values, places = self._values(data, whitening)
        d, distances = data.dim, np.linalg.norm(places, axis=1)
        tail = np.maximum(np.exp(values) - 2.0 * np.exp(-0.5 * distances**2), 0.0)
        level = float(np.sum(tail)) * TUNING.probes.distance / float(np.sqrt(2.0 * np.pi))
        powers = self._powers(data, whitening)
        told = np.isfinite(powers)
        if not told.any():
            return level
        log_surface = np.log(2.0) + 0.5 * d * np.log(np.pi) - gammaln(0.5 * d)
        log_size = data.top + whitening.log_volume - log_evidence + float(log_surface)
        shares = np.exp(values[told]) * distances[told] ** d / np.maximum(powers[told] - d, TUNING.probes.least_excess)
        return float(np.hypot(level, np.mean(shares) * np.exp(min(log_size, _LARGEST))))

    def outside(self, surrogate: Surrogate, nodes: Nodes) -> bool:
        """Whether the surrogate of a log joint density without a prior has its mass far beyond every point evaluated.

        It then does not fall off, or no mode is known that would give it a shape.
        """
        if surrogate.chart.has_prior:
            return False
        s = surrogate.whitening.forward(nodes.points)
        seen = float(np.max(np.abs(surrogate.process.whitened)))
        outside = float(np.sum(nodes.weights[np.max(np.abs(s), axis=1) > 2.0 * seen]))
        return outside > TUNING.probes.outside or (surrogate.fitted.kind == "gaussian" and not surrogate.modes)

    def improper(self, data: Data, surrogate: Surrogate) -> bool:
        """Whether values of a log joint density without a prior say that it does not fall off.

        No value is far below the top; or those at the probes, which are still far out, are too high; or they fall no
        faster than the volume grows.
        """
        if surrogate.chart.has_prior:
            return False
        flat = data.top - float(np.min(data.joint[data.positive])) < TUNING.probes.fallen
        values, places = self._values(data, surrogate.whitening)
        distances = np.linalg.norm(places, axis=1)
        # A density that falls no faster than the volume grows has no integral.
        powers = self._powers(data, surrogate.whitening)
        slow = len(self.asked) >= TUNING.probes.slow and bool(np.any(powers < data.dim + TUNING.probes.least_excess))
        # At these distances a Gaussian has fallen by half their squares.
        far = distances > TUNING.probes.distance / TUNING.probes.widened
        most = -np.minimum(TUNING.probes.fallen, TUNING.probes.fallen_share * distances**2)
        return flat or slow or bool(np.any(far & (values > most)))
