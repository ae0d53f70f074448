"""The Gram matrix of a Walsh kernel on a net: one row of it says all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.walsh import Walsh, shared_digits
from .hadamard import walsh_hadamard
from .net import IntArray, differences

FloatArray = NDArray[np.float64]

#: Points handled at a time: the arrays of a block stay in the cache of a core.
BLOCK = 2**15


def digit_table(generators: IntArray) -> NDArray[np.uint8]:
    """Return how many leading digits x_i and x_0 share in each coordinate, shape (2^m, d)."""
    n = 1 << len(generators)
    return np.stack([shared_digits(differences(g, 0, n)).astype(np.uint8) for g in generators.T], axis=1)


def block_sums(kernel: Walsh, generators: IntArray, blocks: int) -> tuple[FloatArray, float]:
    """Return the sums of k(x_i, x_0) - 1 over consecutive blocks of the net, and the sum of the magnitudes.

    Parameters
    ----------
    kernel : Walsh
    generators : (m, d) array
    blocks : int
        A power of two, at most 2^m.

    Returns
    -------
    sums : (blocks,) array
    magnitude : float
    """
    n = 1 << len(generators)
    size = min(BLOCK, n // blocks)
    omega = kernel.omega()
    sums = np.zeros(n // size)
    magnitude = 0.0
    for piece in range(n // size):
        row = np.zeros(size)
        for scale, g in zip(kernel.scales, generators.T, strict=True):
            part = (scale * omega)[shared_digits(differences(g, piece * size, (piece + 1) * size))]
            # prod (1 + a_j) - 1 without forming the one, which would cost the digits of small products.
            row += part * (1.0 + row)
        sums[piece] = row.sum()
        magnitude += float(np.abs(row).sum())
    return sums.reshape(blocks, -1).sum(axis=1), magnitude


def contrast_variances(kernel: Walsh, generators: IntArray, levels: int) -> tuple[float, FloatArray]:
    r"""Return the variance of the mean over the net under the kernel, and those of contrasts between its sub-nets.

    The mean over the net minus the integral has the variance :math:`V_0 = \lambda_0 / n`, with :math:`\lambda_0 =
    \sum_i (k(x_i, x_0) - 1)` the eigenvalue of the constant. At level l the net is cut into 2^l consecutive sub-nets;
    half the difference between the means of two neighbours has the variance :math:`V_l = 2^{l-1}` times the mean of
    :math:`\lambda_k / n` over those 2^(l-1) Walsh functions k that change sign between neighbours at this level and
    not below.

    Returns
    -------
    float, (levels,) array
        Not below what rounding leaves uncertain in them.
    """
    n = 1 << len(generators)
    sums, magnitude = block_sums(kernel, generators, 1 << levels)
    eigenvalues = walsh_hadamard(sums) / n
    floor = np.finfo(np.float64).eps * magnitude / n
    variances = np.array([
        2.0 ** (level - 1) * np.mean(eigenvalues[1 << (levels - level) :: 1 << (levels - level + 1)])
        for level in range(1, levels + 1)
    ])  # fmt: skip
    return max(float(eigenvalues[0]), floor), np.maximum(variances, floor)
