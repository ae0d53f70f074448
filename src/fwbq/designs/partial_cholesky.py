"""The partial Cholesky factor of a kernel matrix over fixed points, one pivot at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dgemv

from .._linalg import pivoted_cholesky
from .base import FloatArray

if TYPE_CHECKING:
    from ..kernels import Kernel

# A candidate with less than this share of its prior variance left is numerically in the span of the chosen ones:
# its residual is rounding error, and dividing by it would let greedy selection claim a negative error.
RELATIVE_VARIANCE = 1e-10
# Rows kept in one array. The factor grows block by block, so that nothing is ever copied; 64 rows make the extra pass
# over the result of each block's product 1/64 of the traffic.
BLOCK_ROWS = 64


class PartialCholesky:
    """Rows of the pivoted Cholesky factor of k(X, X), never forming the matrix.

    With chosen rows j_1..j_i of the points X (M, d) and the factor L (i, M), k(X, X) = L'L + the residual kernel
    k_i(X, X). The next row is

        l = (k(X, x_j) - L' L[:, j]) / sqrt(k_i(x_j, x_j)),

    one kernel column and one product with the rows before it: O(i M) time, one pass over the factor.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    points : (M, d) array
        The points the pivots are chosen from.
    known : (N, d) array, optional
        Pivots that come before all others and need not be among the points. They are factorised at once, in order of
        the variance that remains at each, and those with less than 1e-10 of their prior variance left are passed over.

    Attributes
    ----------
    variance : (M,) array
        Remaining variance k_i(x, x) of each point; infinite where it fell to 1e-10 of the prior's or below, so that
        the point can no longer be a pivot.

    Notes
    -----
    Memory is 8 n M bytes for n pivots: 1.6 GB for n = 200 and M = 1,000,000.
    """

    def __init__(self, kernel: Kernel, points: FloatArray, known: FloatArray | None = None) -> None:
        self._points = points
        self._column = kernel.columns(points)
        self.variance = np.array(kernel.diag(points), dtype=float)
        self._threshold = RELATIVE_VARIANCE * self.variance
        self._pivots: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._lower: FloatArray = np.empty((0, 0))
        self._known_rows: FloatArray = np.empty((0, len(points)))
        if known is not None and len(known):
            self._pivots, self._lower = _pivoted(kernel(known))
            cross = kernel(known[self._pivots], points)
            self._known_rows = _forward(self._lower, cross, overwrite=True)
            self.variance -= np.einsum("ij,ij->j", self._known_rows, self._known_rows)
        self._blocks: list[FloatArray] = []
        self._size = 0
        self._work = np.empty(len(points))
        self._spent = np.empty(len(points), dtype=bool)
        self._retire()

    def __len__(self) -> int:
        """Return the number of pivots, the known ones apart."""
        return self._size

    def residual(self, at_known: FloatArray, at_points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Project a function on the known pivots.

        Parameters
        ----------
        at_known, at_points : (N,), (M,) arrays
            Its values g.

        Returns
        -------
        coefficients : (r,) array
            a = L^-1 g(known pivots): the squared norm of the projection is a'a.
        rest : (M,) array
            g minus its projection, at the points.
        """
        a = _forward(self._lower, at_known[self._pivots])
        return a, at_points - a @ self._known_rows

    def add(self, j: int) -> tuple[FloatArray, float]:
        """Make row `j` of the points the next pivot.

        Parameters
        ----------
        j : int
            A row whose remaining variance is finite.

        Returns
        -------
        row : (M,) array
            The new row of the factor, to be read only.
        pivot : float
            The square root of the variance that remained at the pivot.
        """
        row = self._column(self._points[j], out=self._work)
        if len(self._known_rows):
            row -= self._known_rows[:, j] @ self._known_rows
        for start, block in zip(range(0, self._size, BLOCK_ROWS), self._blocks, strict=False):
            filled = block[: self._size - start]
            # beta = 1 adds to the column in place where BLAS may; only the returned array is used.
            row = dgemv(-1.0, filled.T, filled[:, j], beta=1.0, y=row, overwrite_y=True)
        if self._size == BLOCK_ROWS * len(self._blocks):
            self._blocks.append(np.empty((BLOCK_ROWS, len(self._points))))
        pivot = float(np.sqrt(self.variance[j]))
        stored = self._blocks[-1][self._size % BLOCK_ROWS]
        np.multiply(row, 1.0 / pivot, out=stored)
        self._size += 1
        np.multiply(stored, stored, out=self._work)
        self.variance -= self._work
        self.variance[j] = np.inf
        self._retire()
        return stored, pivot

    def _retire(self) -> None:
        """Take the points that are numerically in the span of the pivots out of the choice."""
        np.less_equal(self.variance, self._threshold, out=self._spent)
        self.variance[self._spent] = np.inf


def _pivoted(K: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the rows of K (n, n) that are pivots, r of them, and the Cholesky factor (r, r) of K on these.

    A pivot is a row that has more than 1e-10 of its diagonal entry left after the pivots before it; K is scaled to a
    unit diagonal, so that "largest remaining" means relative to the prior for kernels that are not stationary too.
    """
    scale = np.sqrt(np.diagonal(K))
    unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    factor, order, rank = pivoted_cholesky(unit[:, None] * K * unit, RELATIVE_VARIANCE)
    pivots = order[:rank]
    return pivots, np.tril(factor[:rank, :rank]) * scale[pivots, None]


def _forward(lower: FloatArray, b: FloatArray, *, overwrite: bool = False) -> FloatArray:
    """Return L^-1 b; SciPy before 1.14 refuses an L without rows."""
    if not len(lower):
        return b
    return np.asarray(solve_triangular(lower, b, lower=True, overwrite_b=overwrite, check_finite=False))
