"""Where mass may still hide: further modes that no value contradicts, and the points that would tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._whitening import Whitening
from .belief import Belief
from .modes import ABOVE
from .space import Free

Array = NDArray[np.float64]

#: Exploring points are a share of all, which begins when what is known leaves this much of the log evidence open, grows
#: with every digit, and ends at the last number. Before that, the stated error itself is as large as a mode of a
#: hundredth of the mass. Of 72 problems with a second mode of 1 to 10 % of the mass, in two and three dimensions, 28
#: were off by more than five standard deviations after 100 evaluations without exploration, and 5 with it, where it
#: ended at 0.65.
_OPEN, _PER_DIGIT, _MOST = 0.005, 0.25, 0.85
#: Modes supposed, and how many of their centres are candidates for the next points.
_SUPPOSED, _CANDIDATES = 1024, 256
#: Share of the evidence that a supposed mode holds: what is smaller is not looked for.
_SHARE = 0.01
#: Their centres are spread so many times as wide as the prior: a likelihood may have its mode in the prior's tails.
_BEYOND = 1.4
#: Range of their widths, in standard deviations of the prior.
_NARROWEST, _WIDEST = 0.05, 0.7
#: A supposed mode is a Gaussian as far as so many of its standard deviations, and positive as far as the second number:
#: farther away its tails may be of any shape, or cut off, and a value says nothing of it.
_REACH, _POSITIVE = 10.0, 3.0
#: A value so many standard deviations above its prediction, and `ABOVE` natural logarithms more, is a surprise.
SURPRISE = 3.0


def exploring_share(error: float) -> float:
    """Return which share of the evaluations looks for modes nobody has seen, once the known ones leave `error` open.

    Examples
    --------
    >>> exploring_share(0.01), round(exploring_share(5e-4), 2), exploring_share(1e-9)
    (0.0, 0.25, 0.85)
    """
    return float(np.clip(_PER_DIGIT * np.log10(_OPEN / max(error, 1e-12)), 0.0, _MOST))


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
    def under(cls, belief: Belief, log_evidence: float, rng: np.random.Generator) -> Supposed:
        """Return modes with centres spread under the prior, or around the posterior where there is no prior."""
        d = belief.space.dim
        coordinates = Whitening(np.zeros(d), np.ones(d))
        if isinstance(belief.space, Free):
            coordinates = Whitening(belief.whitening.centre, 3.0 * belief.whitening.root)
            centres = rng.standard_normal((_SUPPOSED, d))
        else:
            centres = _BEYOND * belief.space.first(_SUPPOSED, rng)
        widths = _NARROWEST * (_WIDEST / _NARROWEST) ** rng.uniform(size=_SUPPOSED)
        volume = d * np.log(np.sqrt(2.0 * np.pi) * widths) + coordinates.log_volume
        return cls(coordinates, centres, widths, log_evidence + np.log(_SHARE) - volume)

    def contradicted(self, z: Array, values: Array) -> NDArray[np.bool_]:
        """Return which modes (columns) each of the values (k,) at points z (k, d) would contradict, (k, m)."""
        s = self.coordinates.forward(z)
        squares = np.sum(s * s, axis=1)[:, None] + np.sum(self.centres**2, axis=1) - 2.0 * s @ self.centres.T
        fallen = 0.5 * squares / self.widths**2
        reach = np.where(np.isfinite(values), 0.5 * _REACH**2, 0.5 * _POSITIVE**2)
        return np.asarray((fallen < reach[:, None]) & (self.heights - fallen > values[:, None]))


def telling_points(
    belief: Belief, known: tuple[Array, Array], log_evidence: float, batch: int, seed: np.random.SeedSequence
) -> Array:
    """Return up to `batch` points (k, d) that decide on the most modes that may still be there.

    Parameters
    ----------
    belief : Belief
    known : tuple of (n, d), (n,) arrays
        All points, and log joint densities there, minus infinity included.
    log_evidence : float
        As far as it is known.
    batch : int
    seed : SeedSequence
    """
    rng = np.random.default_rng(seed)
    supposed = Supposed.under(belief, log_evidence, rng)
    left = ~supposed.contradicted(*known).any(axis=0)
    candidates = supposed.coordinates.back(supposed.centres[rng.permutation(_SUPPOSED)[:_CANDIDATES]])
    # A value as high as a supposed mode would make it must be a surprise.
    decided = supposed.contradicted(candidates, surprising(belief, candidates))
    chosen: list[int] = []
    for _ in range(batch):
        counts = decided[:, left].sum(axis=1)
        best = int(np.argmax(counts))
        if not counts[best]:
            break
        chosen.append(best)
        left &= ~decided[best]
    return np.asarray(candidates[chosen])


def surprising(belief: Belief, z: Array) -> Array:
    """Return the values (k,) from which on a log joint density at points z (k, d) is not what was expected there."""
    surrogate = belief.surrogate
    variance = surrogate.amplitude * surrogate.predict(z).variance(surrogate.variance(z))
    return np.asarray(surrogate.mean(z) + SURPRISE * np.sqrt(variance) + ABOVE)
