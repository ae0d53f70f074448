"""Any kernel under an empirical measure: weighted sums, taken block by block."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from .._validate import Array
from ..kernels import Kernel
from ..measures import Empirical
from .base import Embedding, register

# Entries of the largest Gram block: 8 MB, small enough for the cache's second level to be of use.
_BLOCK = 1 << 20
_ROWS = 256


@register([Kernel], [Empirical], "weighted sum")
class EmpiricalEmbedding(Embedding):
    """Any kernel under sum_i w_i delta(y_i).

    mean(x) = sum_i w_i k(x, y_i), O(n N) time for n points x and N points y, in blocks of at most 2^20 kernel values;
    variance = sum_ij w_i w_j k(y_i, y_j), O(N^2) time, computed only when asked for. The mean element at the sample
    itself, which designs over its points need, falls out of the same N^2 / 2 kernel values and is kept.
    """

    measure: Empirical

    def __init__(self, kernel: Kernel, measure: Empirical) -> None:
        super().__init__(kernel, measure, "weighted sum")

    def _mean(self, x: Array) -> Array:
        if x.shape == self.measure.points.shape and np.array_equal(x, self.measure.points):
            return self._mean_at_sample.copy()
        out = np.zeros(x.shape[0])
        for rows in _slices(x.shape[0], _ROWS):
            for columns in _slices(self.measure.weights.size, _BLOCK // _ROWS):
                out[rows] += self.kernel(x[rows], self.measure.points[columns]) @ self.measure.weights[columns]
        return out

    @cached_property
    def _mean_at_sample(self) -> Array:
        """The mean element at the points y of the sample, (N,), from the upper half of the symmetric Gram matrix."""
        y, w = self.measure.points, self.measure.weights
        out = np.zeros(w.size)
        for columns in _slices(w.size, 1024):
            out[columns] += self.kernel(y[columns]) @ w[columns]
            for rows in _slices(columns.start, 1024):
                block = self.kernel(y[rows], y[columns])
                out[rows] += block @ w[columns]
                out[columns] += w[rows] @ block
        return out

    def _gradient(self, x: Array) -> Array:
        out = np.zeros_like(x)
        for rows in _slices(x.shape[0], _ROWS):
            for columns in _slices(self.measure.weights.size, _BLOCK // _ROWS):
                weights = self.measure.weights[columns]
                out[rows] += self.kernel.gradient_sum(x[rows], self.measure.points[columns], weights)
        return out

    def _variance(self) -> float:
        return float(self.measure.weights @ self._mean_at_sample)


def _slices(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
