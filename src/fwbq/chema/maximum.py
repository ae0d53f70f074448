"""The best fit of a kinetic model, and the criteria that count its parameters: for comparison with the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._quasi_random import quasi_random
from .kinetics import FloatArray, Increments, IntArray

__all__ = ["BestFit", "best_fit"]

# K is sought within these factors of the mean level: beyond, y / (y + K) is constant or proportional to y.
_RANGE = np.log(1e3)
# Points at which the search may begin: where no rate is positive the sum of squares is flat, and tells no direction.
_STARTS = 32
# Evaluations of the search: about 50 for each constant of the largest models.
_STEPS = 150


@dataclass(frozen=True)
class BestFit:
    """The parameters of highest likelihood, K >= 0 and V >= 0.

    Attributes
    ----------
    r2 : float
        1 - (residual sum of squares) / (sum of squared rates), by non-negative least squares.
    aic, bic : float
        Akaike's and the Bayesian (Schwarz) information criterion; the least is the best.
    """

    r2: float
    aic: float
    bic: float


def best_fit(parts: Sequence[Increments], columns: IntArray) -> BestFit:
    """Fit K by Nelder and Mead's method, and V given K by non-negative least squares.

    Parameters
    ----------
    parts : sequence of Increments
        The groups of conditions with rates V and noise of their own.
    columns : (size,) int array
        The enzymes of the model.
    """
    from scipy.optimize import minimize, nnls

    def squares(k: FloatArray) -> FloatArray:
        """Residual sum of squares of each group."""
        designs = (part.designs(columns[None], k[None])[0] for part in parts)
        return np.array([nnls(x, part.rates)[1] ** 2 for x, part in zip(designs, parts, strict=True)])

    counts = np.array([part.n for part in parts], dtype=np.float64)
    total = np.array([part.rates @ part.rates for part in parts])
    # Of a fit without any error, whose likelihood is infinite; every rate may be 0.
    floor = np.maximum(np.finfo(float).eps * total, np.finfo(float).tiny)

    def deviance(log_k: FloatArray) -> float:
        return float(np.sum(counts * np.log(np.maximum(squares(np.exp(log_k)), floor) / counts)))

    means = [
        np.concatenate(each).mean() or 1.0
        for each in zip(*((p.phospho[: p.means], p.substrate[: p.means]) for p in parts), strict=True)
    ]
    origin = np.log([means[0], *[means[1]] * len(columns)])
    d, n = len(origin), float(counts.sum())
    starts = origin + _RANGE * (2.0 * quasi_random(_STARTS, d) - 1.0)
    start = min((origin, *starts), key=deviance)
    bounds = [(c - _RANGE, c + _RANGE) for c in origin]
    found = minimize(deviance, start, method="Nelder-Mead", bounds=bounds, options={"maxfev": _STEPS})
    parameters = d + len(parts) * (d + 1)
    constant = found.fun + n * (1.0 + np.log(2 * np.pi))
    r2 = 1.0 - float(squares(np.exp(found.x)).sum() / total.sum()) if total.any() else 0.0
    return BestFit(r2, float(constant + 2 * parameters), float(constant + parameters * np.log(n)))
