"""Bases for the unknown mean of a process: constant, linear, quadratic."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Basis = Literal["none", "constant", "linear", "diagonal", "quadratic"]

BASES: tuple[str, ...] = get_args(Basis)


def basis_size(kind: Basis, dim: int) -> int:
    """Return the number p of functions in the basis.

    Examples
    --------
    >>> [basis_size(kind, 3) for kind in ("none", "constant", "linear", "diagonal", "quadratic")]
    [0, 1, 4, 7, 10]
    """
    sizes = {
        "none": 0,
        "constant": 1,
        "linear": 1 + dim,
        "diagonal": 1 + 2 * dim,
        "quadratic": 1 + dim + dim * (dim + 1) // 2,
    }
    return sizes[kind]


def basis_functions(kind: Basis, x: FloatArray) -> FloatArray:
    """Return the functions at points x (n, d), shape (n, p).

    The order is 1; x_1, ..., x_d; x_1^2, ..., x_d^2; x_i x_j for i < j. ``"diagonal"`` leaves out the last of these.

    Examples
    --------
    >>> import numpy as np
    >>> basis_functions("quadratic", np.array([[2.0, 3.0]]))
    array([[1., 2., 3., 4., 9., 6.]])
    """
    n, d = x.shape
    out = np.empty((n, basis_size(kind, d)))
    out[:, :1] = 1.0
    if kind in ("linear", "diagonal", "quadratic"):
        out[:, 1 : 1 + d] = x
    if kind in ("diagonal", "quadratic"):
        np.multiply(x, x, out=out[:, 1 + d : 1 + 2 * d])
    if kind == "quadratic":
        i, j = np.triu_indices(d, 1)
        np.multiply(x[:, i], x[:, j], out=out[:, 1 + 2 * d :])
    return out
