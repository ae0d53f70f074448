"""Points that are one point: repeats, and points that the kernel cannot tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
if TYPE_CHECKING:
    pass


#: Points are one point to the kernel when |k(., x) - k(., y)|^2 is below this part of k(x, x): the difference is then
#: within a few dozen roundings of zero. For a Gaussian kernel that is a distance of 1e-7 length-scales.
MERGE_TOLERANCE = 1e-14


def merge_repeats(x: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Keep the first of every set of equal rows, in the order given; O(n log n)."""
    _, first, inverse = np.unique(x + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return x[first[order]], position[inverse.reshape(-1)]


def merge_indistinct(K: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to keep and, for every row, the position of the kept row that stands for it."""
    n = len(K)
    diagonal = np.diagonal(K)
    stands = np.arange(n)
    rows = max(1, (1 << 20) // n)
    pairs = []
    for start in range(0, n, rows):
        block = K[start : start + rows]
        both = diagonal[start : start + rows, None] + diagonal
        i, j = np.nonzero(both - 2.0 * block <= (0.5 * MERGE_TOLERANCE) * both)
        later = j > i + start
        pairs.append(np.stack([i[later] + start, j[later]], axis=1))
    # In order of the first index, so that when (i, j) is met it is settled whether i stays.
    for i, j in np.concatenate(pairs):
        if stands[i] == i and stands[j] == j:
            stands[j] = i
    keep = np.flatnonzero(stands == np.arange(n))
    return keep, np.searchsorted(keep, stands)
