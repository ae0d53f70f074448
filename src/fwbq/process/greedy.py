"""The greedy choice of points under a covariance: one after the other, each given those before it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemv

FloatArray = NDArray[np.float64]

#: Rows kept in one array. The factor grows block by block, so that nothing is ever copied; 64 rows make the extra pass
#: over the result of each block's product 1/64 of the traffic.
BLOCK_ROWS = 64


class RemainingCovariance:
    """What is left of a covariance over M candidates while one after the other becomes known.

    With the chosen candidates j_1, ..., j_i and the partial Cholesky factor L (i, M), c = L'L + c_i, where c_i is the
    covariance that is left. The next row is

        l = (c(., j) - L' L[:, j]) / sqrt(c_i(j, j)),

    one column of c and one product with the rows before it: O(i M) time. The (M, M) matrix is never formed.

    Parameters
    ----------
    column : callable
        ``column(j, out)`` returns c(., j), (M,), written to ``out`` or new; the result may be overwritten.
    variance : (M,) array
        Diagonal of c.
    threshold : (M,) array
        A candidate with this variance or less is as good as known, and can no longer be chosen: its remainder is
        rounding error.

    Attributes
    ----------
    variance : (M,) array
        Variance c_i(x, x) that is left of each candidate; infinite where it can no longer be chosen.

    Notes
    -----
    Memory is 8 n M bytes for n chosen candidates: 1.6 GB for n = 200 and M = 1,000,000.

    Examples
    --------
    >>> import numpy as np
    >>> c = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> left = RemainingCovariance.of_matrix(c, 1e-10)
    >>> left.add(0)
    ()
    >>> left.variance.tolist()
    [inf, 1.5]
    """

    def __init__(
        self, column: Callable[[int, FloatArray], FloatArray], variance: FloatArray, threshold: FloatArray
    ) -> None:
        self._column = column
        self.variance = np.array(variance, dtype=float)
        self._threshold = threshold
        self._blocks: list[FloatArray] = []
        self._size = 0
        self._work = np.empty(len(self.variance))
        self._spent = np.empty(len(self.variance), dtype=bool)
        self._retire()

    @classmethod
    def of_matrix(cls, covariance: FloatArray, relative: float) -> RemainingCovariance:
        """Return what is left of a covariance matrix (M, M).

        Candidates with this part of their variance or less left can no longer be chosen.
        """

        def column(j: int, out: FloatArray) -> FloatArray:
            out[...] = covariance[:, j]
            return out

        variance = np.diagonal(covariance)
        return cls(column, variance, np.maximum(relative * variance, 0.0))

    def __len__(self) -> int:
        """Return the number of candidates that were chosen."""
        return self._size

    def add(self, j: int, *functions: FloatArray) -> tuple[FloatArray, ...]:
        """Make candidate `j` known.

        Parameters
        ----------
        j : int
            A candidate whose remaining variance is finite.
        *functions : (M,) or (M, k) arrays
            Functions of the candidates, such as the covariance with an integral, given what was known before. They
            are changed in place to what is left of them.

        Returns
        -------
        tuple of arrays, () or (k,)
            The coefficient of each function on the new row: its square is by how much the squared norm of what is left
            of the function falls; for the covariance with an integral, by how much the variance of the integral falls.
        """
        row = self._column(j, self._work)
        for start, block in zip(range(0, self._size, BLOCK_ROWS), self._blocks, strict=False):
            filled = block[: self._size - start]
            # beta = 1 adds to the column in place where BLAS may; only the returned array is used.
            row = dgemv(-1.0, filled.T, filled[:, j], beta=1.0, y=row, overwrite_y=True)
        if self._size == BLOCK_ROWS * len(self._blocks):
            self._blocks.append(np.empty((BLOCK_ROWS, len(self.variance))))
        pivot = float(np.sqrt(self.variance[j]))
        stored = self._blocks[-1][self._size % BLOCK_ROWS]
        np.multiply(row, 1.0 / pivot, out=stored)
        self._size += 1
        np.multiply(stored, stored, out=self._work)
        self.variance -= self._work
        self.variance[j] = np.inf
        self._retire()
        return tuple(self._project(function, j, stored, pivot) for function in functions)

    def _project(self, function: FloatArray, j: int, row: FloatArray, pivot: float) -> FloatArray:
        coefficient = np.asarray(function[j] / pivot)
        if function.ndim == 1:
            np.multiply(row, coefficient, out=self._work)
            function -= self._work
        else:
            function -= np.multiply.outer(row, coefficient)
        return coefficient

    def _retire(self) -> None:
        """Take the candidates that are as good as known out of the choice."""
        np.less_equal(self.variance, self._threshold, out=self._spent)
        self.variance[self._spent] = np.inf


def choose(
    left: RemainingCovariance,
    gain: Callable[[FloatArray], FloatArray],
    count: int,
    *functions: FloatArray,
    above: float = 0.0,
) -> list[int]:
    """Choose candidates one after the other, each the one of greatest gain given those before it.

    Parameters
    ----------
    left : RemainingCovariance
        The covariance; what is chosen becomes known to it.
    gain : callable
        From the variances left, (M,), infinite where nothing can be chosen, to what each candidate would gain, (M,).
    count : int
        How many to choose. There are fewer when no candidate with a gain above `above` is left.
    *functions : arrays
        As for :meth:`RemainingCovariance.add`; `gain` may look at them.
    above : float
        Gains up to this are none; minus infinity for gains that are logarithms.

    Returns
    -------
    list of int
        The candidates in the order of the choice; of equal gains the first.

    Examples
    --------
    Sequential Bayesian quadrature: the mean of three correlated values is known best from the middle one.

    >>> import numpy as np
    >>> c = np.array([[1.0, 0.8, 0.5], [0.8, 1.0, 0.8], [0.5, 0.8, 1.0]])
    >>> with_mean = c.mean(axis=1)
    >>> choose(RemainingCovariance.of_matrix(c, 1e-10), lambda variance: with_mean**2 / variance, 1, with_mean)
    [1]
    """
    chosen: list[int] = []
    while len(chosen) < count:
        score = np.where(np.isinf(left.variance), -np.inf, gain(left.variance))
        j = int(np.argmax(score))
        if not score[j] > above:
            break
        left.add(j, *functions)
        chosen.append(j)
    return chosen
