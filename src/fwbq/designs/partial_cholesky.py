"""The partial Cholesky factor of a kernel matrix over fixed points, one pivot at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .._linalg import pivoted_cholesky
from ..process.greedy import RemainingCovariance
from .base import FloatArray

if TYPE_CHECKING:
    from ..kernels import Kernel

# A candidate with less than this share of its prior variance left is numerically in the span of the chosen ones:
# its residual is rounding error, and dividing by it would let greedy selection claim a negative error.
RELATIVE_VARIANCE = 1e-10


class PartialCholesky(RemainingCovariance):
    """Rows of the pivoted Cholesky factor of k(X, X), never forming the matrix: what is left of a kernel over points.

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
    """

    def __init__(self, kernel: Kernel, points: FloatArray, known: FloatArray | None = None) -> None:
        variance = np.array(kernel.diag(points), dtype=float)
        threshold = RELATIVE_VARIANCE * variance
        self._pivots: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._lower: FloatArray = np.empty((0, 0))
        self._known_rows: FloatArray = np.empty((0, len(points)))
        if known is not None and len(known):
            self._pivots, self._lower = _pivoted(kernel(known))
            cross = kernel(known[self._pivots], points)
            self._known_rows = _forward(self._lower, cross, overwrite=True)
            variance -= np.einsum("ij,ij->j", self._known_rows, self._known_rows)
        # No reference to self: the rows are many, and a circle of references would keep them until it is looked for.
        column_at, known_rows = kernel.columns(points), self._known_rows

        def column(j: int, out: FloatArray) -> FloatArray:
            row = column_at(points[j], out=out)
            if len(known_rows):
                row -= known_rows[:, j] @ known_rows
            return row

        super().__init__(column, variance, threshold)

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
