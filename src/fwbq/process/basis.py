"""Bases for the unknown mean of a process: constant and quadratic."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Basis = Literal["constant", "quadratic"]

BASES: tuple[str, ...] = get_args(Basis)


def basis_size(kind: Basis, dim: int) -> int:
    """Return the number p of functions in the basis.

    Examples
    --------
    >>> [basis_size(kind, 3) for kind in ("constant", "quadratic")]
    [1, 10]
    """
    return 1 if kind == "constant" else 1 + dim + dim * (dim + 1) // 2


@lru_cache(maxsize=64)
def _pairs(dim: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs i < j of coordinates; finding them anew took longer than the products of a few points."""
    i, j = np.triu_indices(dim, 1)
    return i, j


def basis_functions(kind: Basis, x: FloatArray) -> FloatArray:
    """Return the functions at points x (n, d), shape (n, p).

    The order is 1; x_1, ..., x_d; x_1^2, ..., x_d^2; x_i x_j for i < j.

    Examples
    --------
    >>> import numpy as np
    >>> basis_functions("quadratic", np.array([[2.0, 3.0]]))
    array([[1., 2., 3., 4., 9., 6.]])
    """
    n, d = x.shape
    out = np.empty((n, basis_size(kind, d)))
    out[:, :1] = 1.0
    if kind == "quadratic":
        out[:, 1 : 1 + d] = x
        np.multiply(x, x, out=out[:, 1 + d : 1 + 2 * d])
        i, j = _pairs(d)
        np.multiply(x[:, i], x[:, j], out=out[:, 1 + 2 * d :])
    return out


def basis_gradients(kind: Basis, x: FloatArray) -> FloatArray:
    """Return the gradients of the functions at points x (n, d), shape (n, d, p).

    Examples
    --------
    >>> import numpy as np
    >>> basis_gradients("quadratic", np.array([[2.0, 3.0]]))[0]
    array([[0., 1., 0., 4., 0., 3.],
           [0., 0., 1., 0., 6., 2.]])
    """
    n, d = x.shape
    out = np.zeros((n, d, basis_size(kind, d)))
    if kind == "quadratic":
        axis = np.arange(d)
        out[:, axis, 1 + axis] = 1.0
        out[:, axis, 1 + d + axis] = 2.0 * x
        i, j = _pairs(d)
        place = 1 + 2 * d + np.arange(len(i))
        out[:, i, place] = x[:, j]
        out[:, j, place] = x[:, i]
    return out
