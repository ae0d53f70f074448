"""A support that few positive values outline."""

from __future__ import annotations

import numpy as np

from ...process.basis import basis_size
from ..tuning import TUNING
from .case import Case


class Outline:
    """What few positive values leave open of the region where the likelihood is positive."""

    name = "outline"
    sentence = "few values are positive, so that the region where the likelihood is not zero is known roughly"

    def doubt(self, case: Case) -> float:
        """Return what is open: the sign process is too sure of a region that a handful of points lie in."""
        data = case.data.evaluated
        if data.positive.all() or data.chart.discrete:
            return 0.0
        each = basis_size("quadratic", data.dim) / float(np.sum(data.positive))
        return TUNING.doubts.roughly * max(each**2 - TUNING.doubts.outlined**-2, 0.0)
