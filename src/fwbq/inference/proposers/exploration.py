"""Where mass may still hide: further modes that no value contradicts, and the points that would tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._whitening import Whitening
from ..surrogate import Surrogate
from ..tuning import TUNING

Array = NDArray[np.float64]


def exploring_share(error: float) -> float:
    """Return which share of the evaluations looks for modes nobody has seen, once the known ones leave `error` open.

    Examples
    --------
    >>> exploring_share(0.01), round(exploring_share(5e-4), 2), exploring_share(1e-9)
    (0.0, 0.25, 0.85)
    """
    digits = np.log10(0.5 * TUNING.exploration.share / max(error, 1e-12))
    return float(np.clip(TUNING.exploration.per_digit * digits, 0.0, TUNING.exploration.most))


@dataclass(frozen=True, eq=False)
class Supposed:
    r"""Modes that nobody has seen: Gaussians that would hold a hundredth of the evidence each.

    At a point z within reach, such a mode of centre c and width w says that the log joint density is at least
    :math:`\log(0.01\, Z) - d \log(w \sqrt{2\pi}) - |z - c|^2 / (2 w^2)`. A value below that contradicts it.

    Attributes
    ----------
    coordinates : Whitening
        In which centres and widths are given: those of the prior.
    centres : (m, d) array
    widths : (m,) array
    heights : (m,) array
        Log joint densities at the centres.
    """

    coordinates: Whitening
    centres: Array
    widths: Array
    heights: Array

    @classmethod
    def under(cls, surrogate: Surrogate, log_evidence: float, rng: np.random.Generator) -> Supposed:
        """Return modes with centres spread under the prior, or around the posterior where there is no prior."""
        d = surrogate.chart.dim
        coordinates, centres = surrogate.chart.supposed_centres(TUNING.sizes.pairs, surrogate.whitening, rng)
        widths = TUNING.exploration.narrowest * (
            TUNING.exploration.widest / TUNING.exploration.narrowest
        ) ** rng.uniform(size=TUNING.sizes.pairs)
        volume = d * np.log(np.sqrt(2.0 * np.pi) * widths) + coordinates.log_volume
        return cls(coordinates, centres, widths, log_evidence + np.log(TUNING.exploration.share) - volume)

    def contradicted(self, z: Array, values: Array) -> NDArray[np.bool_]:
        """Return which modes (columns) each of the values (k,) at points z (k, d) would contradict, (k, m)."""
        s = self.coordinates.forward(z)
        fallen = (-2.0 * s) @ self.centres.T
        fallen += np.sum(self.centres**2, axis=1)
        fallen += np.sum(s * s, axis=1)[:, None]
        fallen *= 0.5 / self.widths**2
        reach = np.where(np.isfinite(values), 0.5 * TUNING.exploration.reach**2, 0.5 * TUNING.modes.within**2)
        above = self.heights - values[:, None]
        return np.asarray(fallen < np.minimum(above, reach[:, None], out=above))

    def rows(self, which: NDArray[np.bool_]) -> Supposed:
        """Return some of the modes."""
        return Supposed(self.coordinates, self.centres[which], self.widths[which], self.heights[which])


def deciding_points(
    surrogate: Surrogate, known: tuple[Array, Array], log_evidence: float, batch: int, seed: np.random.SeedSequence
) -> Array:
    """Return up to `batch` points (k, d) that decide on the most modes that may still be there.

    Parameters
    ----------
    surrogate : Surrogate
    known : tuple of (n, d), (n,) arrays
        All points, and log joint densities there, minus infinity included.
    log_evidence : float
        As far as it is known.
    batch : int
    seed : SeedSequence
    """
    rng = np.random.default_rng(seed)
    supposed = Supposed.under(surrogate, log_evidence, rng)
    candidates = supposed.coordinates.back(supposed.centres[rng.permutation(TUNING.sizes.pairs)[: TUNING.sizes.rough]])
    left = supposed.rows(np.asarray(~supposed.contradicted(*known).any(axis=0)))
    # A value as high as a supposed mode would make it must be a surprise.
    decided = left.contradicted(candidates, surrogate.surprising(candidates))
    chosen: list[int] = []
    for _ in range(batch):
        counts = np.count_nonzero(decided, axis=1)
        best = int(np.argmax(counts))
        if not counts[best]:
            break
        chosen.append(best)
        decided = decided[:, ~decided[best]]
    return np.asarray(candidates[chosen])
