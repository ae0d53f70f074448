"""Gauss rules for any one-dimensional weight that can be sampled finely."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

FloatArray = NDArray[np.float64]


def gauss_rule(x: FloatArray, mass: FloatArray, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of the Gauss rule for the discrete measure `mass` at the points `x`.

    By the Stieltjes procedure (Gautschi, Orthogonal Polynomials, 2004, section 2.2.3): the recurrence of the
    orthogonal polynomials, whose Jacobi matrix has the nodes as eigenvalues. The weights sum to 1.

    Examples
    --------
    >>> t = np.linspace(-1, 1, 20001)
    >>> x, w = gauss_rule(t, np.ones_like(t), 2)
    >>> bool(np.allclose(x, [-3**-0.5, 3**-0.5], atol=1e-4)), bool(np.allclose(w, 0.5))
    (True, True)
    """
    mass = mass / mass.sum()
    diagonal, off = np.empty(nodes), np.empty(nodes)
    before, now = np.zeros_like(x), np.ones_like(x)
    for k in range(nodes):
        diagonal[k] = np.sum(mass * x * now**2)
        following = (x - diagonal[k]) * now - (off[k - 1] * before if k else 0.0)
        off[k] = np.sqrt(np.sum(mass * following**2))
        before, now = now, following / off[k]
    points, vectors = eigh_tridiagonal(diagonal, off[:-1])
    return np.asarray(points, dtype=np.float64), np.asarray(vectors[0] ** 2, dtype=np.float64)
