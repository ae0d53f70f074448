"""Weights of a large process given values and gradients, by conjugate gradients: its covariance is never formed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from ..tuning import TUNING

if TYPE_CHECKING:
    from .process import GradientKernel

Array = NDArray[np.float64]
#: A linear map of vectors (N,).
Map = Callable[[Array], Array]


def product(kernel: GradientKernel, x: Array, noise: Array) -> Map:
    r"""Return the product with the covariance of values and gradients at points x (n, d), in :math:`O(n^2 d)`.

    With :math:`k_1, k_2` the derivatives of the first part of the kernel by :math:`|x - y|^2 / 2`, :math:`q_1, q_2`
    those of the second by :math:`x'y`, and weights a of the values and B of the gradients,

    .. math:: P = k_1 \circ a' - k_2 \circ S, \quad S_{ij} = (x_i - x_j)' B_j, \quad T_{ij} = x_i' B_j,

    the values are :math:`(k + q) a - (k_1 \circ S) 1 + (q_1 \circ T) 1` and the gradients
    :math:`\mathrm{diag}(P 1) X + (q_1 \circ a' + q_2 \circ T - P) X + (q_1 - k_1) B`.
    """
    n, d = x.shape
    k, k1, k2, q, q1, q2 = kernel.parts(x, x)
    both, slope = k + q, q1 - k1

    def multiply(v: Array) -> Array:
        a, B = v[:n], v[n:].reshape(n, d)
        T = x @ B.T
        S = T - np.diagonal(T)
        P = k1 * a - k2 * S
        values = both @ a - np.einsum("ij,ij->i", k1, S) + np.einsum("ij,ij->i", q1, T)
        gradients = x * P.sum(axis=1)[:, None] + (q1 * a + q2 * T - P) @ x + slope @ B
        return np.concatenate([values, gradients.ravel()]) + noise * v

    return multiply


class Subset:
    """An approximation of the covariance by that with some of the points, in whose metric few steps are needed.

    Parameters
    ----------
    kernel : GradientKernel
    x : (n, d) array
        Points, of which some, evenly apart in their order, are the subset.
    """

    def __init__(self, kernel: GradientKernel, x: Array) -> None:
        n, d = x.shape
        size = min(n, max(4, TUNING.judge.subset_rows // (d + 1)))
        some = np.unique(np.linspace(0, n - 1, size).astype(np.intp))
        rows = np.concatenate([some, (n + some[:, None] * d + np.arange(d)).ravel()])
        self._scales = 1.0 / np.sqrt(kernel.variances(x))
        C = kernel.gram(x, x[some]) * self._scales[:, None] * self._scales[rows]
        block = C[rows]
        L = np.linalg.cholesky(0.5 * (block + block.T) + 1e-7 * np.eye(len(rows)))
        self._F = solve_triangular(L, C.T, lower=True).T

    def solver(self, rows: NDArray[np.intp], noise: float) -> Map:
        """Return the inverse of the approximation F F' + delta for some rows of the covariance."""
        F, scales = self._F[rows], self._scales[rows]
        delta = max(1.0 - float(np.sum(F * F)) / len(F), noise)
        factor = cho_factor(F.T @ F + delta * np.eye(F.shape[1]))

        def solve(v: Array) -> Array:
            u = scales * v
            return np.asarray(scales * (u - F @ cho_solve(factor, F.T @ u)) / delta)

        return solve


def conjugate_gradients(multiply: Map, precondition: Map, y: Array) -> Array:
    """Return the solution of a positive definite system, from zero, to a relative error that the surrogate allows."""
    numbers = TUNING.judge
    x = np.zeros_like(y)
    left = y.copy()
    z = precondition(left)
    step = z.copy()
    size = float(left @ z)
    stop = numbers.solved**2 * size
    for _ in range(numbers.solve_steps):
        if size <= stop:
            break
        image = multiply(step)
        length = size / float(step @ image)
        x += length * step
        left -= length * image
        z = precondition(left)
        before, size = size, float(left @ z)
        step = z + (size / before) * step
    return x
