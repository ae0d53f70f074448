"""A noise of the values: the tolerance of a solver, single precision."""

from __future__ import annotations

import numpy as np

from ..nodes import subset
from ..tuning import TUNING
from .case import Case


class Noise:
    """What a noise of the values adds to the error, where it explains them better than a process without one.

    A process that takes values for exact follows their noise, and states an error that is too small. One with a noise
    takes what it cannot follow for noise, and states an error that is too small where that is the shape of the density.
    So the process is the first, and the second may only add to its error.
    """

    name = "noise"
    sentence = "the values have a noise, such as that of a solver or of single precision"

    def doubt(self, case: Case) -> float:
        """Return by how much the error of the process grows when a noise of its values is looked for."""
        z, weights = subset(case.nodes, TUNING.sizes.rough)
        process = case.surrogate.process
        exact, noisy = (float(each.log_integral_error(z, weights).variance) for each in (process, process.with_noise()))
        return float(np.sqrt(noisy - exact)) if noisy > exact else 0.0
