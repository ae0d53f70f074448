"""Equal weights on points that do not look at each other; Monte Carlo."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from .. import _validate
from .._threads import one_blas_thread
from ..rules import Rule, weighted_rule
from .base import Design, FloatArray, Trace

if TYPE_CHECKING:
    from ..embeddings import Embedding

BLOCK = 1024  # points are made in blocks of this size, so that they do not depend on how they are asked for


class EqualWeightDesign(Design):
    """Points from a stream, weights 1/n; the worst-case errors are computed when the trace is asked for."""

    def __init__(self, embedding: Embedding) -> None:
        super().__init__(embedding)
        self._block = np.empty((0, embedding.dim))
        self._blocks = 0
        self._gram_sum = 0.0
        self._mean_sum = 0.0
        self._traced = 0

    @abstractmethod
    def _next_block(self) -> FloatArray:
        """Return the next BLOCK points (BLOCK, d) of the stream."""

    def _extend(self, n: int) -> None:
        for i in range(len(self), n):
            if i >= self._blocks * BLOCK:
                self._block, self._blocks = self._next_block(), self._blocks + 1
            self._record(self._block[i % BLOCK], step=1.0 / (i + 1))

    def _rule(self, n: int) -> Rule:
        return weighted_rule(self._embedding, self._points[:n], np.full(n, 1.0 / n))

    @property
    @one_blas_thread
    def trace(self) -> Trace:
        """Step and squared worst-case error; the errors of new points cost O(n) kernel evaluations each."""
        with self._lock:
            self._trace_new_points()
            return super().trace

    def _trace_new_points(self) -> None:
        kernel, embedding = self._embedding.kernel, self._embedding
        rows = 256
        for start in range(self._traced, len(self), rows):
            stop = min(start + rows, len(self))
            new = self._points[start:stop]
            K = kernel(new, new)
            # Sum of the Gram matrix of the first n points, grown by 2 sum_{j < n} k(x_n, x_j) + k(x_n, x_n).
            growth = 2.0 * np.tril(K, -1).sum(axis=1) + kernel.diag(new)
            for a in range(0, start, 4096):
                growth += 2.0 * kernel(new, self._points[a : min(a + 4096, start)]).sum(axis=1)
            n = np.arange(start + 1, stop + 1)
            gram = self._gram_sum + np.cumsum(growth)
            mean = self._mean_sum + np.cumsum(embedding.mean(new))
            mmd2 = embedding.variance - 2.0 * mean / n + gram / n**2
            self._mmd2[start:stop] = np.maximum(mmd2, 0.0).tolist()
            self._gram_sum, self._mean_sum, self._traced = float(gram[-1]), float(mean[-1]), stop


class MonteCarlo(EqualWeightDesign):
    r"""Independent draws from the measure, weights 1/n: an error of order :math:`n^{-1/2}`, the baseline.

    .. math:: \hat p_n[f] = \frac1n \sum_{i=1}^n f(x_i), \qquad
        \mathrm{E}\,\mathrm{MMD}^2 = \frac1n \Bigl(\int k(x, x)\,p(x)\,dx - p[\mu_p]\Bigr).

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    rng : numpy.random.Generator or int, optional
        Seed. The same seed gives the same points, in whatever portions they are taken.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    >>> design = fwbq.MonteCarlo(embedding, rng=0)
    >>> first = design.take(5)
    >>> bool((design.take(12)[:5] == first).all())
    True
    >>> float(design.rule(4).weights.sum())
    1.0
    """

    def __init__(self, embedding: Embedding, *, rng: np.random.Generator | int | None = None) -> None:
        super().__init__(embedding)
        self._rng = _validate.generator(rng).spawn(1)[0]

    def _next_block(self) -> FloatArray:
        return self._embedding.measure.sample(BLOCK, self._rng.spawn(1)[0])
