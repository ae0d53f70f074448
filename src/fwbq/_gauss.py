"""Gauss-Legendre rules and tensor grids: the one place where they are made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

FloatArray = NDArray[np.float64]


@cache
def _standard(order: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = (np.asarray(a, dtype=np.float64) for a in roots_legendre(order))
    for array in (nodes, weights):
        array.setflags(write=False)
    return nodes, weights


def gauss_legendre(order: int, low: float = -1.0, high: float = 1.0) -> tuple[FloatArray, FloatArray]:
    r"""Return nodes and weights, (order,) each, of the Gauss-Legendre rule on [low, high].

    .. math:: \int_a^b f(x)\,dx \approx \sum_i w_i f(x_i), \qquad \text{exact for polynomials of degree} < 2\,order.

    Examples
    --------
    >>> x, w = gauss_legendre(3, 0.0, 2.0)
    >>> bool(abs(w @ x**5 - 64 / 6) < 1e-13)
    True
    """
    nodes, weights = _standard(order)
    if (low, high) == (-1.0, 1.0):
        return nodes, weights
    half = 0.5 * (high - low)
    return low + half * (nodes + 1.0), half * weights


def tensor_grid(axes: Sequence[FloatArray]) -> FloatArray:
    """Return the points of the product of `axes`, (q_1 ... q_d, d), the last coordinate running fastest.

    Examples
    --------
    >>> tensor_grid([np.array([0.0, 1.0]), np.array([5.0, 6.0])]).tolist()
    [[0.0, 5.0], [0.0, 6.0], [1.0, 5.0], [1.0, 6.0]]
    """
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
