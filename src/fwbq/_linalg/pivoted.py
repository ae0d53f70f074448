"""The numerical rank of a Gram matrix, by a pivoted Cholesky factorisation."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from .factors import FloatArray, equilibration

#: A pivot of the scaled matrix below this adds nothing but rounding: it marks the numerical rank.
RANK_TOLERANCE = 1e-15


def pivoted_cholesky(a: FloatArray, tolerance: float = RANK_TOLERANCE) -> tuple[FloatArray, NDArray[np.intp], int]:
    """Return the lower factor of the rows taken in the order of largest pivots, that order, and the rank.

    Pivots at most `tolerance` times the largest diagonal entry count as zero.
    """
    absolute = tolerance * float(np.max(np.diagonal(a), initial=0.0))
    factor, order, rank, _ = scipy.linalg.lapack.dpstrf(a, lower=1, tol=absolute)
    return factor, np.asarray(order, dtype=np.intp) - 1, int(rank)


def numerical_rank(K: FloatArray) -> int:
    """Return the number of pivots of a diagonally pivoted Cholesky factorisation above `RANK_TOLERANCE`.

    Parameters
    ----------
    K : (n, n) array
        Symmetric positive semidefinite; pivots are relative to its diagonal.
    """
    scale = equilibration(np.diagonal(K))
    scaled = (scale[:, None] * K) * scale
    return pivoted_cholesky(scaled)[2]
