"""Weights on the simplex that minimise a convex quadratic: w'K w - 2 w'z over w >= 0, sum w = 1.

Writing G_ij = <k(., x_i) - mu, k(., x_j) - mu> = K_ij - z_i - z_j + k_PP, the objective is w'G w up to a constant on
the simplex: the point of least norm in a polytope. That is a non-negative least-squares problem without the equality
(Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23): minimise x'G x + (1 - sum x)^2 over x >= 0 and
take w = x / sum x. For x = t w the best t gives w'G w / (1 + w'G w), increasing in w'G w.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Added to the diagonal of a block that is singular to working precision, before refinement on the block itself.
_JITTER = 1e-14
#: Optimality: reduced gradients below this, relative to the diagonal of K, count as zero; a few roundings.
_TOLERANCE = 4e-15


def simplex_weights(
    K: FloatArray,
    z: FloatArray,
    variance: float,
    start: FloatArray | None = None,
    tolerance: float = _TOLERANCE,
) -> tuple[FloatArray, float]:
    """Return argmin w'K w - 2 w'z over the simplex, and how far from optimal it is.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix; may be singular.
    z : (n,) array
        Mean element at the points.
    variance : float
        Double integral of the kernel. Any number gives the same weights; the true one loses least to rounding.
    start : (n,) array, optional
        Weights on the simplex to begin with; a few exchanges suffice from the optimum of the problem less one point.
    tolerance : float
        Reduced gradients below this, relative to the diagonal of K, count as zero.

    Returns
    -------
    w : (n,) array
        Non-negative, summing to one; entries off the support are exactly zero.
    violation : float
        Largest violation of the optimality conditions, relative to the largest diagonal entry of K: with the gradient
        g = K w - z and nu = w'g, no entry of g lies below nu - violation, and none above nu + violation on the support.

    Examples
    --------
    >>> import numpy as np
    >>> w, violation = simplex_weights(np.eye(3), np.array([0.5, 0.3, -2.0]), 1.0)
    >>> bool(np.allclose(w, [0.6, 0.4, 0.0])), violation < 1e-10
    (True, True)
    """
    n = len(z)
    unit = float(np.max(np.diagonal(K)))
    if unit <= 0.0:
        return np.full(n, 1.0 / n), 0.0
    G = (K - z[:, None] - z + variance) / unit
    # On the simplex the constraint may be scaled at will; near the size of G it keeps the problem balanced.
    A = G + 1.0
    if start is None:
        x = _nonnegative(A, tolerance)
    else:
        x = _lawson_hanson(A, start / float(start @ A @ start), tolerance)
    w = x / x.sum()
    gradient = (K @ w - z) / unit
    slack = gradient - w @ gradient
    violation = max(-float(slack.min()), float(np.max(np.abs(slack[w > 0]), initial=0.0)), 0.0)
    return w, violation


def _nonnegative(A: FloatArray, tolerance: float) -> FloatArray:
    """Minimise x'A x - 2 sum x over x >= 0 for positive semidefinite A.

    Block pivoting first (Portugal, Judice and Vicente, Mathematics of Computation 63, 1994): exchange every variable of
    the wrong sign at once, which comes close in a dozen factorisations but may cycle, or fail for a singular A. Then,
    from the point it has reached, the active set method of Lawson and Hanson, which lowers the objective at every step.
    """
    n = len(A)
    passive = np.ones(n, dtype=bool)
    fewest, patience = n + 1, 3
    for _ in range(50):
        x = _solve(A, passive)
        gradient = A @ x - 1.0
        wrong = np.where(passive, x < 0.0, gradient < -tolerance)
        count = int(wrong.sum())
        if count < fewest:
            fewest, patience = count, 3
        elif patience == 0:
            break
        else:
            patience -= 1
        if count == 0:
            break
        passive = passive ^ wrong
        if not passive.any():
            passive[np.argmin(np.diagonal(A))] = True
    return _lawson_hanson(A, np.maximum(x, 0.0), tolerance)


def _lawson_hanson(A: FloatArray, x: FloatArray, tolerance: float = _TOLERANCE) -> FloatArray:
    """Active set method: from a feasible x, every iterate is feasible and no higher."""
    passive = x > 0.0
    refused = np.zeros(len(A), dtype=bool)
    for _ in range(10 * len(A) + 100):
        while passive.any():
            target = _solve(A, passive)
            falling = passive & (target <= 0.0)
            if not falling.any():
                x = target
                break
            ratio = np.full(len(A), np.inf)
            ratio[falling] = x[falling] / (x[falling] - target[falling])
            leaving = int(np.argmin(ratio))
            x = np.maximum(x + ratio[leaving] * (target - x), 0.0)
            passive[leaving] = False
            x[~passive] = 0.0
            # A variable that leaves in the step in which it entered had a gradient of rounding size: not tried again.
            refused[leaving] |= ratio[leaving] == 0.0
        gradient = np.where(passive | refused, np.inf, A @ x - 1.0)
        entering = int(np.argmin(gradient))
        if gradient[entering] >= -tolerance:
            break
        passive[entering] = True
    return x


def _solve(A: FloatArray, passive: NDArray[np.bool_]) -> FloatArray:
    x = np.zeros(len(A))
    index = np.flatnonzero(passive)
    if index.size:
        block = A[np.ix_(index, index)]
        factor = _factor(block)
        part = np.zeros(index.size)
        for _ in range(3):  # refinement on the matrix without jitter
            part = part + scipy.linalg.cho_solve(factor, 1.0 - block @ part, check_finite=False)
        x[index] = part
    return x


def _factor(block: FloatArray) -> tuple[FloatArray, bool]:
    jitter = 0.0
    while True:
        lower, info = scipy.linalg.lapack.dpotrf(block + jitter * np.eye(len(block)), lower=1)
        if info == 0:
            return lower, True
        jitter = max(10.0 * jitter, _JITTER)
