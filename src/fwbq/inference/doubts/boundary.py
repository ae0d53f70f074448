"""What is not known of the boundary of the region where the likelihood is zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..nodes import Nodes, resample
from ..surrogate import Surrogate
from ..tuning import TUNING

Array = NDArray[np.float64]


def boundary(
    surrogate: Surrogate, nodes: Nodes, seed: np.random.SeedSequence, size: int = TUNING.error.expectation
) -> float:
    """Return the standard deviation of the log of the share of the mass where the likelihood is positive."""
    if surrogate.sign is None or "boundary" not in surrogate.parts:
        return 0.0
    # Nodes where the chance to be positive is neither nothing nor certain count most: they are drawn in proportion to
    # the root of it, and weighed by its inverse root.
    half = 0.5 * surrogate.log_positive(nodes.points)
    rows = resample(Nodes(nodes.points, nodes.log_joint, nodes.log_ratio - half, None, nodes.replicates), size)
    weights = np.exp(half[rows].max() - half[rows])
    z = nodes.points[rows]
    signs = surrogate.sign.draw(surrogate.whitening.forward(z), TUNING.sizes.draws, np.random.default_rng(seed))
    shares = signs @ (weights / weights.sum())
    return float(np.std(np.log(np.maximum(shares, 1.0 / size))))
