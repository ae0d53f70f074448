"""Rules from points: with the weights of least error, equal ones, given ones, or the best on the simplex."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate, _warnings
from .._linalg import CholeskyFactor
from .._threads import one_blas_thread
from ..embeddings import Embedding
from .gram_worst_case import GramWorstCase
from .simplex import simplex_weights
from .worst_case import Evaluation, WorstCase, best_weights

if TYPE_CHECKING:
    pass

from .error import evaluate, gram_problem, has_features, points_of, problem_of
from .merging import merge_indistinct, merge_repeats
from .rule import PRIOR_MEANS, Kind, PriorMean, Rule

FloatArray = NDArray[np.float64]


@one_blas_thread
def bayes_rule(
    embedding: Embedding,
    points: ArrayLike,
    *,
    prior_mean: PriorMean = "zero",
    max_abs_weights: float | None = None,
    thorough: bool = True,
) -> Rule:
    """Return the Bayesian quadrature rule on `points`: the weights of least worst-case error.

    For f ~ GP(0, k) the integral has posterior mean w'f with w = K^-1 z and variance k_PP - z'K^-1 z, which is the
    squared worst-case error of these weights and the least of any. With an unknown constant mean the weights are those
    of least error among weights that sum to one,

        w = K^-1 z + K^-1 1 (1 - 1'K^-1 z) / (1'K^-1 1),

    so that adding a constant to f adds it to the answer.

    Gram matrices of smooth kernels are singular to working precision by a few dozen points. The system is solved with a
    relative jitter of 1e-15 or the next power of ten that works, and three steps of refinement on the matrix without it
    (residuals in twice the working precision); where rounding still limits the result, larger jitters are tried too,
    and the weights whose error *with its floor* is least are returned. `Rule.mmd2` is the error of those weights, not
    of the ideal ones.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    points : array_like, shape (m, d)
        Repeats are merged, and so are points that the kernel cannot tell apart: |k(., x) - k(., y)|^2 below 1e-14 of
        k(x, x). The first of them stays. `Rule.index` says which.
    prior_mean : {"zero", "constant"}
        Mean of the process: zero, or an unknown constant with a flat prior.
    max_abs_weights : float, optional
        Cap on sum |w|, at least 1 with an unknown constant. When the best weights exceed it, the smallest ridge
        |w|^2 that keeps the cap is added to the objective, and the status says so.
    thorough : bool
        False for one step of refinement and no larger jitters: five to ten times as fast where rounding limits the
        result, with weights that may then have a larger error (the one stated). For averages over many kernels, in
        which no single rule matters much.

    Returns
    -------
    Rule

    Warns
    -----
    RuntimeWarning
        When the mean element is zero (a Stein kernel) and the prior mean too: all weights are then zero.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    >>> rule = fwbq.bayes_rule(embedding, np.linspace(-4.0, 4.0, 15)[:, None])
    >>> bool(abs(rule.mmd - 1.86e-6) < 0.01e-6), len(rule), rule.rank
    (True, 15, 15)
    """
    x = points_of(embedding, points)
    _validate.choice(prior_mean, "prior_mean", PRIOR_MEANS)
    constant = prior_mean == "constant"
    if max_abs_weights is not None:
        max_abs_weights = _validate.positive(max_abs_weights, "max_abs_weights")
        if constant and max_abs_weights < 1.0:
            raise ValueError(
                f"`max_abs_weights` must be at least 1, got {max_abs_weights}: with an unknown constant the weights "
                "sum to one, so sum |w| cannot be less"
            )
    x, index = merge_repeats(x)
    problem: WorstCase
    if has_features(embedding):
        problem = problem_of(embedding, x)
    else:
        _validate.fits_in_memory(len(x), 4 * len(x), "points", "points with their Gram matrix and its factors")
        K = embedding.kernel(x)
        keep, merged = merge_indistinct(K)
        x, index = x[keep], merged[index]
        K = K if len(keep) == len(K) else K[np.ix_(keep, keep)]
        problem = gram_problem(embedding, x, K)
    notes: list[str] = []
    if not constant and embedding.variance == 0.0 and not np.any(embedding.mean(x)):
        remedy = (
            "the mean element of this embedding is zero, so every weight is zero and the rule says nothing: "
            'pass prior_mean="constant", for weights that sum to one'
        )
        _warnings.warn(remedy)
        return Rule(x, np.zeros(len(x)), 0.0, 0.0, "bayes", "zero", remedy, embedding, index)
    if not thorough and max_abs_weights is None and isinstance(problem, GramWorstCase):
        w, error = problem.quick_weights(constant)
        status = _status(index, x, error, notes)
        factor = CholeskyFactor.of(K)  # conditioning on values, which follows a quick rule, needs it too
        return Rule(x, w, error.stated, error.floor, "bayes", prior_mean, status, embedding, index, _factor=factor)
    w = best_weights(problem, constant)
    if max_abs_weights is not None and np.abs(w).sum() > max_abs_weights:
        w, ridge = problem.ridge_path(constant).capped(max_abs_weights)
        notes.append(f"sum |w| capped at {max_abs_weights:g} by a ridge of {ridge:.2g}")
    # Evaluated as for any other weights, so that equal weights have equal errors to the bit.
    error = evaluate(embedding, x, w)
    rank = problem.rank()
    if rank < len(x):
        notes.append(f"numerical rank {rank} of {len(x)}")
    status = _status(index, x, error, notes)
    return Rule(x, w, error.stated, error.floor, "bayes", prior_mean, status, embedding, index, _rank=rank)


@one_blas_thread
def uniform_rule(embedding: Embedding, points: ArrayLike) -> Rule:
    """Return the rule with equal weights 1/m on the m `points`; the weights of exact repeats add up.

    Examples
    --------
    >>> import fwbq
    >>> fwbq.uniform_rule(fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0], [1.0])), [[0.2], [0.8], [0.2]]).weights
    array([0.66666667, 0.33333333])
    """
    x = points_of(embedding, points)
    return _weighted(embedding, x, np.full(len(x), 1.0 / len(x)), "uniform")


@one_blas_thread
def weighted_rule(embedding: Embedding, points: ArrayLike, weights: ArrayLike) -> Rule:
    """Return the rule with any given `weights` on `points`; the weights of exact repeats add up.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    points, weights : array_like, shapes (m, d), (m,)
        Points, and weights of either sign that need not sum to one.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0], [1.0]))
    >>> rule = fwbq.weighted_rule(embedding, [[0.2], [0.8]], [0.5, 0.5])
    >>> rule.kind, rule.mmd2 == fwbq.mmd2(embedding, [[0.2], [0.8]], [0.5, 0.5])
    ('design', True)
    """
    x = points_of(embedding, points)
    return _weighted(embedding, x, _validate.vector(weights, "weights", len(x)), "design")


@one_blas_thread
def simplex_rule(embedding: Embedding, points: ArrayLike) -> Rule:
    """Return the rule of least worst-case error among non-negative weights that sum to one.

    A convex quadratic programme, solved to an optimality of 1e-10; most weights are often exactly zero. The estimate
    lies between the least and the greatest value, and errors in the values are never amplified.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(0.5), fwbq.Gaussian([0.0], [[1.0]]))
    >>> x = np.linspace(-3.0, 3.0, 10)[:, None]
    >>> rule = fwbq.simplex_rule(embedding, x)
    >>> bool(rule.weights.min() >= 0.0), bool(abs(rule.weights.sum() - 1.0) < 1e-14)
    (True, True)
    >>> fwbq.bayes_rule(embedding, x).mmd2 <= rule.mmd2 <= fwbq.uniform_rule(embedding, x).mmd2
    True
    """
    x, index = merge_repeats(points_of(embedding, points))
    w, violation = simplex_weights(embedding.kernel(x), embedding.mean(x), embedding.variance)
    error = evaluate(embedding, x, w)
    notes = [f"optimal only to {violation:.1g} of the kernel's variance"] if violation > 1e-10 else []
    status = _status(index, x, error, notes)
    return Rule(x, w, error.stated, error.floor, "simplex", status=status, embedding=embedding, index=index)


def _weighted(embedding: Embedding, x: FloatArray, w: FloatArray, kind: Kind) -> Rule:
    x, index = merge_repeats(x)
    if len(x) < len(index):
        w = np.asarray(np.bincount(index, weights=w, minlength=len(x)), dtype=np.float64)
    error = evaluate(embedding, x, w)
    if not math.isfinite(error.stated):
        raise ValueError(
            f"`weights` as large as {float(np.max(np.abs(w))):.3g} have a squared worst-case error beyond 1.8e308, the "
            "largest number of float64: divide them by their sum, or choose a kernel of smaller variance"
        )
    status = _status(index, x, error, [])
    return Rule(x, w, error.stated, error.floor, kind, status=status, embedding=embedding, index=index)


def _status(index: NDArray[np.intp], x: FloatArray, error: Evaluation, notes: list[str]) -> str:
    merged = [f"{len(index) - len(x)} repeated points merged"] if len(x) < len(index) else []
    limited = ["worst-case error limited by rounding"] if error.stated > error.value else []
    return "; ".join(merged + notes + limited) or "ok"


def mmd2(embedding: Embedding, points: ArrayLike, weights: ArrayLike) -> float:
    """Return the squared worst-case error k_PP - 2 w'z + w'K w of any `weights` on `points`, as `Rule.mmd2` states it.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    points, weights : array_like, shapes (n, d), (n,)
        Points and weights.

    Examples
    --------
    One point at the mean of N(0, 1), weight one, length-scale 1: 1/sqrt(3) - 2/sqrt(2) + 1.

    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    >>> print(f"{fwbq.mmd2(embedding, [[0.0]], [1.0]):.6f}, exact {3**-0.5 - 2**0.5 + 1.0:.6f}")
    0.163137, exact 0.163137
    """
    return weighted_rule(embedding, points, weights).mmd2
