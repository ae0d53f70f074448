"""Mass where the function failed."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from ..nodes import subset
from ..tuning import TUNING
from .case import Case

#: The largest share of the mass that is taken for failed: the doubt stays finite.
_MOST = 0.99


class Failures:
    """What is open where the function failed."""

    name = "failures"
    sentence = "the function failed at points where some of the mass may be"

    def doubt(self, case: Case) -> float:
        """Return what the mass that is nearer to failed points than to any value may change."""
        lost, known = case.data.failures, case.data.evaluated.z
        if not len(lost):
            return 0.0
        z, w = subset(case.nodes, TUNING.sizes.pairs)
        W = case.surrogate.whitening
        nearest = [cdist(W.forward(z), W.forward(points)).min(axis=1) for points in (lost, known)]
        share = float(w[nearest[0] < nearest[1]].sum())
        return float(-np.log1p(-min(share, _MOST)))
