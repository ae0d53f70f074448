"""Optimal Bayesian quadrature: n points that minimise the posterior variance of the integral together."""

from __future__ import annotations

import warnings
from math import nan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .._threads import one_blas_thread
from ..rules import PriorMean, Rule, bayes_rule
from .base import FloatArray, Trace
from .pivoted import prior_mean_for
from .point_set import PointSet
from .random_pivot import RandomPivot
from .refinement import MAX_ITERATIONS, Descent, bayes_weights, descend, movable
from .sequential import SBQ

if TYPE_CHECKING:
    from ..embeddings import Embedding


class OBQ(PointSet):
    r"""Optimal Bayesian quadrature: the n points that minimise the posterior variance together.

    Minimises :math:`v(x_1, \dots, x_n) = k_{PP} - z' K^{-1} z` by L-BFGS-B with analytic gradients (see
    :func:`refine`) from several starts: the points of `SBQ`, and those of `RandomPivot` with independent draws. The
    problem is not convex: the result is the best local minimum found.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure; the measure may not be `Empirical`.
    candidates : int or (M, d) array, optional
        Candidates of the starting designs; 10,000 draws by default.
    rng : numpy.random.Generator or int, optional
        Where the candidates and the pivots of the starts come from.
    starts : int
        Number of starts; the first is SBQ.
    max_iterations : int
        Iterations of L-BFGS-B for each start.
    prior_mean : {"zero", "constant"}, optional
        As for `SBQ`.

    Notes
    -----
    Optimal points for n are not among those for n + 1, so this is a :class:`~fwbq.designs.PointSet` and not a nested
    design. ``take(n)`` optimises for that n, keeps the result, and returns the same points whenever it is asked again,
    whatever was asked before; `len` is the largest n solved and
    `trace.mmd2` holds the error of each n solved (NaN for the others). Where SBQ ends before n at the numerical rank,
    as many points as it has are optimised, with its warning.

    References
    ----------
    .. [1] Briol, Oates, Girolami and Osborne, "Frank-Wolfe Bayesian quadrature", NIPS 2015, Section 2.2.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    >>> design = fwbq.OBQ(embedding, candidates=500, rng=0)
    >>> greedy = fwbq.SBQ(embedding, candidates=500, rng=0)
    >>> print(f"worst-case error {design.rule(3).mmd:.1g}, of SBQ {greedy.rule(3).mmd:.1g}")
    worst-case error 0.03, of SBQ 0.05
    """

    @one_blas_thread
    def __init__(
        self,
        embedding: Embedding,
        candidates: int | ArrayLike | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        starts: int = 3,
        max_iterations: int = MAX_ITERATIONS,
        prior_mean: str | None = None,
    ) -> None:
        super().__init__(embedding)
        movable(embedding)
        self._prior_mean = prior_mean_for(embedding, prior_mean)
        self._max_iterations = _validate.count(max_iterations, "max_iterations")
        starts = _validate.count(starts, "starts")
        rng = _validate.generator(rng)
        # SBQ draws its candidates from the first child of the seed: the first start is SBQ of the same seed.
        self._greedy = SBQ(embedding, candidates, rng, prior_mean=self._prior_mean)
        searched = self._greedy.candidates
        self._random = [RandomPivot(embedding, searched, rng, prior_mean=self._prior_mean) for _ in range(starts - 1)]
        self._solved: dict[int, Descent] = {}

    @property
    def prior_mean(self) -> PriorMean:
        """The prior mean that the error and the rule refer to."""
        return self._prior_mean

    def __len__(self) -> int:
        """Return the largest n solved so far."""
        return max(self._solved, default=0)

    @property
    def status(self) -> str:
        """One line: the n solved so far, and how the largest ended."""
        if not self._solved:
            return "nothing solved yet"
        solved, last = ", ".join(map(str, sorted(self._solved))), self._solved[len(self)]
        return f"solved n = {solved}; n = {len(self)}: {last.message}"

    @property
    def trace(self) -> Trace:
        """Squared worst-case error of each n solved so far; the other entries are NaN."""
        with self._lock:
            mmd2 = np.full(len(self), nan)
            for n, descent in self._solved.items():
                mmd2[n - 1] = descent.mmd2
        nothing, index = np.full(len(mmd2), nan), np.full(len(mmd2), -1, dtype=np.intp)
        for array in (mmd2, nothing, index):
            array.flags.writeable = False
        return Trace(nothing, mmd2, nothing, index)

    def _points(self, n: int) -> FloatArray:
        return self._solve(n).points

    def _rule(self, points: FloatArray) -> Rule:
        return bayes_rule(self.embedding, points, prior_mean=self._prior_mean)

    def _solve(self, n: int) -> Descent:
        with self._lock:
            return self._solve_once(n)

    def _solve_once(self, n: int) -> Descent:
        greedy = self._greedy.take(n)
        n = len(greedy)
        if n not in self._solved:
            weigh = bayes_weights(self._prior_mean)
            starts = [greedy]
            for design in self._random:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a start that ends early is left out; SBQ has warned if it must
                    start = design.take(n)
                if len(start) == n:
                    starts.append(start)
            found = [descend(self.embedding, start, weigh, self._max_iterations) for start in starts]
            self._solved[n] = min(found, key=lambda descent: descent.mmd2)
        return self._solved[n]
