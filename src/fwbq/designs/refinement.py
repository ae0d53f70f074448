"""Moving all the points of a rule at once, by a local search with analytic gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import _validate
from .._linalg import SMALLEST_JITTER, CholeskyFactor
from .._threads import one_blas_thread
from ..measures import Empirical
from ..rules import Rule, bayes_rule, simplex_rule, uniform_rule, weighted_rule
from .base import FloatArray

if TYPE_CHECKING:
    from ..embeddings import Embedding

Weigh = Callable[[FloatArray, FloatArray], FloatArray]

MAX_ITERATIONS = 500  # enough for four fifths of the gain in log error at n = 100, d = 2; 2,000 bring the rest
CORRECTIONS = 20  # pairs that L-BFGS keeps; the Hessian of log v couples neighbouring points
TOLERANCE = (
    1e-8  # relative change of log v that ends the search: for log v = -10 an iteration that gains 5e-8 of the error
)


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
    embedding = rule.known_embedding
    max_iterations = _validate.count(max_iterations, "max_iterations")
    if rule.kind == "bayes":
        weigh = bayes_weights(rule.prior_mean)
    else:
        weigh = _fixed(rule.weights)
    points = descend(embedding, rule.points, weigh, max_iterations).points
    if rule.kind == "bayes":
        moved = bayes_rule(embedding, points, prior_mean=rule.prior_mean, max_abs_weights=max_abs_weights)
    elif rule.kind == "simplex":
        moved = simplex_rule(embedding, points)
    elif rule.kind == "uniform" and np.ptp(rule.weights) == 0.0:
        moved = uniform_rule(embedding, points)
    else:
        moved = weighted_rule(embedding, points, rule.weights)
    return moved if moved.mmd2 < rule.mmd2 else rule


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a descent ended: points (n, d), squared error, and in words how."""

    points: FloatArray
    mmd2: float
    message: str


def movable(embedding: Embedding) -> None:
    """Refuse a measure whose support is a sample."""
    if isinstance(embedding.measure, Empirical):
        raise ValueError(
            "points under an `Empirical` measure cannot be moved, because its support is the sample: choose among the "
            "sample points with SBQ, RandomPivot or BlendedPairwise"
        )


def _fixed(weights: FloatArray) -> Weigh:
    return lambda K, z: weights


def bayes_weights(prior_mean: str) -> Weigh:
    """Return the weights of Bayesian quadrature as a function of K and z."""

    def weigh(K: FloatArray, z: FloatArray) -> FloatArray:
        # One step of refinement makes up for the jitter, and one factorisation is enough for that.
        factor = CholeskyFactor.with_jitter(K, SMALLEST_JITTER)
        w = factor.solve(z)
        w += factor.solve(z - K @ w)
        if prior_mean == "zero":
            return w
        u = factor.solve(np.ones_like(z))
        w += float((1.0 - w.sum()) / u.sum()) * u
        return w

    return weigh


def descend(
    embedding: Embedding,
    start: FloatArray,
    weigh: Weigh,
    max_iterations: int,
    *,
    known: FloatArray | None = None,
    box: tuple[FloatArray, FloatArray] | None = None,
) -> Descent:
    """Minimise log v over the points from `start`, the weights following as `weigh` says.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    start : (n, d) array
        Where the points begin.
    weigh : callable
        (K, z) -> weights.
    max_iterations : int
        Iterations of L-BFGS-B.
    known : (N, d) array, optional
        Further points of the rule, which stay where they are.
    box : (lower, upper), optional
        Bounds (d,) that the points keep; those of the measure's support by default.
    """
    from scipy.optimize import minimize

    movable(embedding)
    kernel, measure = embedding.kernel, embedding.measure
    fixed = start[:0] if known is None else known
    # Coordinates in units of the measure's scale, so that one step length suits them all.
    scale = np.where(measure.scale > 0.0, measure.scale, 1.0)
    lower, upper = (np.asarray(measure.lower), np.asarray(measure.upper)) if box is None else box
    eps = float(np.finfo(float).eps)
    mean_of_fixed = embedding.mean(fixed)
    K = kernel(np.concatenate([fixed, start]))
    N = len(fixed)

    def error(moved: FloatArray) -> tuple[float, float, FloatArray]:
        K[N:] = kernel(moved, np.concatenate([fixed, moved]))
        K[:N, N:] = K[N:, :N].T
        z = np.concatenate([mean_of_fixed, embedding.mean(moved)])
        w = weigh(K, z)
        v = embedding.variance - 2.0 * (w @ z) + w @ (K @ w)
        size = np.abs(w)
        return float(v), eps * float(embedding.variance + 2.0 * (size @ np.abs(z)) + size @ (np.abs(K) @ size)), w

    def objective(y: FloatArray) -> tuple[float, FloatArray]:
        moved = y.reshape(start.shape) * scale
        v, floor, w = error(moved)
        if v <= floor:  # rounding error from here on: a flat floor ends the search
            return float(np.log(floor)), np.zeros_like(y)
        gradient = kernel.gradient_sum(moved, np.concatenate([fixed, moved]), w) - embedding.mean_gradient(moved)
        gradient *= (2.0 / v) * w[N:, None] * scale
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
    return Descent(points, max(v, 0.0), f"{result.nit} iterations, {reason}")
