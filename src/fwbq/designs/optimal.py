"""Optimal Bayesian quadrature: all the points moved at once, and the same for the points of any rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .._linalg import CholeskyFactor
from .._threads import one_blas_thread
from ..measures import Empirical
from ..rules import PriorMean, Rule, bayes_rule, simplex_rule, uniform_rule, weighted_rule
from .base import Design, FloatArray, Trace
from .pivoted import prior_mean_for
from .random_pivot import RandomPivot
from .sequential import SBQ

if TYPE_CHECKING:
    from ..embeddings import Embedding

Weigh = Callable[[FloatArray, FloatArray], FloatArray]

MAX_ITERATIONS = 500  # enough for four fifths of the gain in log error at n = 100, d = 2; 2,000 bring the rest
CORRECTIONS = 20  # pairs that L-BFGS keeps; the Hessian of log v couples neighbouring points
TOLERANCE = 1e-8  # of log v between two iterations, relative


@one_blas_thread
def refine(rule: Rule, *, max_iterations: int = MAX_ITERATIONS, max_abs_weights: float | None = None) -> Rule:
    r"""Move all the points of a rule together so that its worst-case error becomes as small as a local search makes it.

    The squared error of weights w is :math:`v = k_{PP} - 2 w'z + w'Kw`. With the weights fixed, or optimal for the
    points under the constraints of their kind (envelope theorem), its gradient in a point is

    .. math::
        \frac{\partial v}{\partial x_i}
            = 2 w_i \Big[ \sum_j w_j \nabla_1 k(x_i, x_j) - \nabla \mu(x_i) \Big],

    the term j = i carrying half the gradient of k(x, x). L-BFGS-B minimises log v within the bounds of the measure's
    support.

    Parameters
    ----------
    rule : Rule
        Any rule. Of a "bayes" rule the weights follow the points (same prior mean); those of "uniform" and "design"
        rules stay as they are; those of a "simplex" rule stay while the points move and are then solved for again.
    max_iterations : int
        Iterations of L-BFGS-B.
    max_abs_weights : float, optional
        Cap on sum |w| of the result of a "bayes" rule, as for `bayes_rule`; it does not steer the search.

    Returns
    -------
    Rule
        Of the same kind, with an error that is not larger: `rule` itself where nothing could be gained, such as at the
        float64 floor, where the gradient is rounding error.

    Raises
    ------
    ValueError
        Under an `Empirical` measure (its support is the sample, and points cannot move continuously), and for a rule
        loaded without its embedding.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]))
    >>> rule = fwbq.SBQ(embedding, candidates=1000, rng=0).rule(20)
    >>> better = fwbq.refine(rule)
    >>> better.kind, bool(better.mmd < rule.mmd / 2)
    ('bayes', True)
    """
    _validate.instance(rule, "rule", Rule, "pass e.g. fwbq.bayes_rule(embedding, points)")
    embedding = rule.embedding
    if embedding is None:
        raise _validate.no_embedding("rule")
    max_iterations = _validate.count(max_iterations, "max_iterations")
    if rule.kind == "bayes":
        weigh = _bayes_weights(rule.prior_mean)
    else:
        weigh = _fixed(rule.weights)
    points = _descend(embedding, rule.points, weigh, max_iterations).points
    if rule.kind == "bayes":
        moved = bayes_rule(embedding, points, prior_mean=rule.prior_mean, max_abs_weights=max_abs_weights)
    elif rule.kind == "simplex":
        moved = simplex_rule(embedding, points)
    elif rule.kind == "uniform" and np.ptp(rule.weights) == 0.0:
        moved = uniform_rule(embedding, points)
    else:
        moved = weighted_rule(embedding, points, rule.weights)
    return moved if moved.mmd2 < rule.mmd2 else rule


class OBQ(Design):
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
    Optimal points for n are not among those for n + 1. So ``take(n)`` optimises for that n, keeps the result, and
    returns the same points whenever it is asked again, whatever was asked in between; `len` is the largest n solved and
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
    >>> bool(design.rule(3).mmd < fwbq.SBQ(embedding, candidates=500, rng=0).rule(3).mmd)
    True
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
        _continuous(embedding)
        self._prior_mean = prior_mean_for(embedding, prior_mean)
        self._max_iterations = _validate.count(max_iterations, "max_iterations")
        starts = _validate.count(starts, "starts")
        rng = _validate.generator(rng)
        # SBQ draws its candidates from the first child of the seed: the first start is SBQ of the same seed.
        self._greedy = SBQ(embedding, candidates, rng, prior_mean=self._prior_mean)
        searched = self._greedy.candidates
        self._random = [RandomPivot(embedding, searched, rng, prior_mean=self._prior_mean) for _ in range(starts - 1)]
        self._solved: dict[int, _Descent] = {}

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
    @one_blas_thread
    def trace(self) -> Trace:
        """Squared worst-case error of each n solved so far; the other entries are NaN."""
        mmd2 = np.full(len(self), nan)
        for n, descent in self._solved.items():
            mmd2[n - 1] = descent.mmd2
        nothing, index = np.full(len(self), nan), np.full(len(self), -1, dtype=np.intp)
        for array in (mmd2, nothing, index):
            array.flags.writeable = False
        return Trace(nothing, mmd2, nothing, index)

    @one_blas_thread
    def take(self, n: int) -> FloatArray:
        """Return the `n` points optimised together (not the first n of a longer sequence).

        Parameters
        ----------
        n : int
            Number of points, at least 1.

        Returns
        -------
        (n, d) array
            A copy. Shorter when the numerical rank of the kernel on the candidates is below `n`.
        """
        return self._solve(n).points.copy()

    @one_blas_thread
    def rule(self, n: int) -> Rule:
        """Return the Bayesian quadrature rule on the `n` points optimised together.

        Parameters
        ----------
        n : int
            Number of points, at least 1.

        Returns
        -------
        Rule
            Its points are ``take(n)``.
        """
        return bayes_rule(self.embedding, self._solve(n).points, prior_mean=self._prior_mean)

    def _solve(self, n: int) -> _Descent:
        greedy = self._greedy.take(n)
        n = len(greedy)
        if n not in self._solved:
            weigh = _bayes_weights(self._prior_mean)
            starts = [greedy]
            for design in self._random:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a start that ends early is left out; SBQ has warned if it must
                    start = design.take(n)
                if len(start) == n:
                    starts.append(start)
            found = [_descend(self.embedding, start, weigh, self._max_iterations) for start in starts]
            self._solved[n] = min(found, key=lambda descent: descent.mmd2)
        return self._solved[n]

    def _extend(self, n: int) -> None:
        self._solve(n)

    def _weights(self, n: int) -> FloatArray:
        return self.rule(n).weights


@dataclass(frozen=True, eq=False)
class _Descent:
    """Where a descent ended: points (n, d), squared error, and in words how."""

    points: FloatArray
    mmd2: float
    message: str


def _continuous(embedding: Embedding) -> None:
    if isinstance(embedding.measure, Empirical):
        raise _validate.fixed_support()


def _fixed(weights: FloatArray) -> Weigh:
    return lambda K, z: weights


def _bayes_weights(prior_mean: str) -> Weigh:
    def weigh(K: FloatArray, z: FloatArray) -> FloatArray:
        factor = CholeskyFactor.of(K)
        w = factor.solve(z)
        w += factor.solve(z - K @ w)
        if prior_mean == "zero":
            return w
        u = factor.solve(np.ones_like(z))
        w += float((1.0 - w.sum()) / u.sum()) * u
        return w

    return weigh


def _descend(embedding: Embedding, start: FloatArray, weigh: Weigh, max_iterations: int) -> _Descent:
    """Minimise log v over all the points from `start`, the weights following as `weigh` says."""
    from scipy.optimize import minimize

    _continuous(embedding)
    kernel, measure = embedding.kernel, embedding.measure
    # Coordinates in units of the measure's scale, so that one step length suits them all.
    scale = np.where(measure.scale > 0.0, measure.scale, 1.0)
    lower, upper = np.asarray(measure.lower), np.asarray(measure.upper)
    eps = float(np.finfo(float).eps)

    def error(points: FloatArray) -> tuple[float, float, FloatArray]:
        K, z = kernel(points), embedding.mean(points)
        w = weigh(K, z)
        v = embedding.variance - 2.0 * (w @ z) + w @ (K @ w)
        size = np.abs(w)
        return float(v), eps * float(embedding.variance + 2.0 * (size @ np.abs(z)) + size @ (np.abs(K) @ size)), w

    def objective(y: FloatArray) -> tuple[float, FloatArray]:
        points = y.reshape(start.shape) * scale
        v, floor, w = error(points)
        if v <= floor:  # rounding error from here on: a flat floor ends the search
            return float(np.log(floor)), np.zeros_like(y)
        gradient = kernel.gradient_sum(points, points, w) - embedding.mean_gradient(points)
        gradient *= (2.0 / v) * w[:, None] * scale
        return float(np.log(v)), gradient.ravel()

    result = minimize(
        objective,
        (np.clip(start, lower, upper) / scale).ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(np.tile(lower / scale, len(start)), np.tile(upper / scale, len(start)), strict=True)),
        options={"maxiter": max_iterations, "maxfun": 4 * max_iterations, "maxcor": CORRECTIONS, "ftol": TOLERANCE},
    )
    points = np.clip(result.x.reshape(start.shape) * scale, lower, upper)
    v, floor, _ = error(points)
    reason = "at the float64 floor" if v <= floor else result.message.strip().lower()
    return _Descent(points, max(v, 0.0), f"{result.nit} iterations, {reason}")
