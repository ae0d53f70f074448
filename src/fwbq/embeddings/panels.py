"""Gauss-Legendre panels on the line, halved until they resolve an integrand."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import eval_legendre

from .._gauss import gauss_legendre
from .._validate import Array

# Nodes of a panel. With 20 a panel over which an analytic integrand falls by a factor of about 1000 is exact to
# rounding, and the arrays of a thousand panels still fit a cache.
ORDER = 20
NODES, WEIGHTS = gauss_legendre(ORDER)
DEGREES = np.arange(ORDER)
# Values at the nodes -> coefficients of the Legendre series.
TO_SERIES = (DEGREES[:, None] + 0.5) * eval_legendre(DEGREES[:, None], NODES) * WEIGHTS
# A panel of unit length halved 60 times is as narrow as the spacing of the floats; 2000 unresolved panels at once mean
# that the integrand is not smooth anywhere.
_LEVELS = 60
_MOST = 2000


class Estimate(NamedTuple):
    """An integral and the error that its rule found in it, both absolute."""

    value: float
    error: float


def integrate_panels(
    integrand: Callable[[Array], Array], left: Array, right: Array, tolerance: float, beside: float = 0.0
) -> Estimate:
    """Return the integral over panels [left_i, right_i] by Gauss-Legendre rules of 20 nodes and bisection.

    A panel is split until it agrees with its two halves to ``tolerance`` times the whole integral and what stands
    ``beside`` it; all active panels are evaluated in one call. The error is the sum of the differences that were left.

    Raises
    ------
    ArithmeticError
        If 60 bisections, or 2000 panels at once, do not reach the tolerance.
    """
    coarse = _panel_values(integrand, left, right)
    done = error = 0.0
    for _ in range(_LEVELS):
        middle = 0.5 * (left + right)
        halves = np.stack([_panel_values(integrand, left, middle), _panel_values(integrand, middle, right)])
        fine = halves.sum(axis=0)
        scale = beside + abs(done) + float(np.abs(fine).sum())
        # Panels as narrow as the spacing of the floats cannot be split further.
        unresolved = (np.abs(fine - coarse) > tolerance * scale) & (middle > left) & (middle < right)
        done += float(fine[~unresolved].sum())
        error += float(np.abs(fine - coarse)[~unresolved].sum())
        if not np.any(unresolved):
            return Estimate(done, error)
        if np.count_nonzero(unresolved) > _MOST:
            break
        coarse = halves[:, unresolved].reshape(-1)
        left, right = (
            np.concatenate([left[unresolved], middle[unresolved]]),
            np.concatenate([middle[unresolved], right[unresolved]]),
        )
    raise not_converged("the integral under the measure", tolerance)


def panel_nodes(left: Array, right: Array) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights on panels of any shape (...), shape (..., 20)."""
    half = 0.5 * (right - left)
    t = (0.5 * (left + right))[..., None] + half[..., None] * NODES
    # Rounding may carry a node past the ends of a very narrow panel.
    return np.clip(t, left[..., None], right[..., None]), half[..., None] * WEIGHTS


def _panel_values(integrand: Callable[[Array], Array], left: Array, right: Array) -> Array:
    t, weights = panel_nodes(left, right)
    return np.asarray(np.sum(integrand(t.ravel()).reshape(t.shape) * weights, axis=1))


def not_converged(what: str, tolerance: float) -> ArithmeticError:
    """Return the error for an integral that bisection does not bring to its tolerance."""
    return ArithmeticError(
        f"{what} did not converge to {tolerance:g} of its value: the integrand changes faster than float64 resolves; "
        "check the measure's parameters and the lengthscale, or use Empirical with a sample"
    )
