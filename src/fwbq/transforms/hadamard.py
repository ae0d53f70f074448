"""The fast Walsh-Hadamard transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def walsh_hadamard(values: FloatArray) -> FloatArray:
    r"""Return the Walsh-Hadamard transform along the first axis, not normalised.

    .. math:: y_k = \sum_i (-1)^{i \cdot k} v_i,

    with i.k the number of binary digits that are one in both. n log2(n) additions; applied twice it gives n v.

    Parameters
    ----------
    values : (n,) or (n, m) array
        n a power of two.

    Examples
    --------
    >>> walsh_hadamard(np.array([1.0, 2.0, 3.0, 5.0]))
    array([11., -3., -5.,  1.])
    """
    result = np.array(values, dtype=np.float64)
    n = len(result)
    if n & (n - 1) or not n:
        raise ValueError(f"`values` must have a power of two of rows, got {n}")
    half = 1
    while half < n:
        pairs = result.reshape(n // (2 * half), 2, half, *result.shape[1:])
        total = pairs[:, 0] + pairs[:, 1]
        np.subtract(pairs[:, 0], pairs[:, 1], out=pairs[:, 1])
        pairs[:, 0] = total
        half *= 2
    return result
