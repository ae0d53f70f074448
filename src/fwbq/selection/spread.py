"""The design of a comparison: points spread over the prior, the corners too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from .._quasi_random import quasi_random
from ..designs.partial_cholesky import PartialCholesky
from ..kernels import Matern52
from ..measures import Empirical, Measure
from .coordinates import Coordinates

Array = NDArray[np.float64]

_CANDIDATES = 4096
#: Power of the prior density by which remaining variance is weighed. 0 would fill the bounding box, 1 would leave out
#: the corners where a likelihood may well have its peak.
_TEMPER = 0.25


class Spread:
    r"""A nested design that takes, again and again, the point of greatest tempered uncertainty.

    .. math:: x_{i+1} = \arg\max_x\; k_i(x, x)\, p(x)^{1/4},

    with the remaining variance k_i of a Matern-5/2 process with unit length-scale in the model's coordinates. Unlike
    designs that aim at the integral under the prior, it visits regions of low prior density, where likelihoods often
    peak.

    Parameters
    ----------
    measure : Measure
        The prior.
    coordinates : Coordinates
        Where distances are taken.
    """

    def __init__(self, measure: Measure, coordinates: Coordinates) -> None:
        if isinstance(measure, Empirical):
            self._candidates = np.unique(measure.points, axis=0)
            log_density = np.zeros(len(self._candidates))
        else:
            self._candidates = measure.from_uniform(quasi_random(_CANDIDATES, measure.uniform_dim))
            log_density = measure.log_density(self._candidates)
        places = _validate.mapped(coordinates.forward(self._candidates), "coordinates")
        # A density may be infinite at a bound; its points are then no better than the best of the others.
        finite = np.isfinite(log_density)
        top = log_density[finite].max() if finite.any() else 0.0
        self._tilt = np.exp(_TEMPER * np.minimum(log_density - top, 0.0))
        self._factor = PartialCholesky(Matern52(1.0), np.ascontiguousarray(places))
        self._order: list[int] = []

    def take(self, n: int) -> Array:
        """Return the first `n` points, fewer when the candidates are used up."""
        while len(self._order) < n:
            variance = self._factor.variance
            score = np.where(np.isfinite(variance), variance, -1.0) * self._tilt
            best = int(np.argmax(score))
            if score[best] <= 0.0:
                break
            self._factor.add(best)
            self._order.append(best)
        return np.array(self._candidates[self._order[:n]])
