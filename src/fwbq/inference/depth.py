"""Values far below the top: they hardly matter to the evidence, and must not decide how the surrogate looks near it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .tuning import TUNING

Array = NDArray[np.float64]

#: Largest standard deviation of the noise: its square stays finite.
_MOST = 1e30


def free_depth(dim: int) -> float:
    """Return the depth below the top from which on values carry a noise, in natural logarithms."""
    return TUNING.depth.free + TUNING.depth.per_dimension * dim


def depth_noise(values: Array, dim: int, offset: Array | None = None) -> Array:
    """Return the variance (n,), relative to the amplitude, of values (n,) far below the largest.

    Where a known part of the mean, `offset` (n,), is deeper still, the noise is larger in proportion: a Gaussian mean
    fits the mass, and may be off by any factor where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> depth_noise(np.array([0.0, -12.0, -22.0]), 1)
    array([0., 0., 4.])
    """
    depth = values.max() - values
    size = np.maximum(depth - free_depth(dim), 0.0) / TUNING.depth.noise_scale
    if offset is not None:
        size = size * np.maximum(1.0, -offset / np.maximum(depth, free_depth(dim)))
    return np.asarray(np.minimum(size, _MOST) ** 2)


def nearness(values: Array) -> Array:
    """Return weights (n,) of values by how near the top they are: one at the top, e^-1 four logarithms below."""
    return np.asarray(np.exp(-np.minimum(TUNING.depth.near * (values.max() - values), 100.0)))
