"""Points for the models that lead a race: where their likelihoods are large, and not known yet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel, Stationary
from ..posterior import AnyAmplitude
from ..process import RemainingCovariance, choose
from .log_process import LogProcess, cross_gram, exponentiated, gram_times, levelled, regression, thinned
from .map_probability import map_probabilities
from .nodes import Nodes

Array = NDArray[np.float64]

#: Models for which points are chosen: those likeliest to be the best. For 10 and 160 the intervals of the 20 leading
#: pairs were 1.13 and 0.94 times as wide, and errors 1.07 and 0.98 times as large (benchmarks/constants.py).
_LEADERS = 40
#: Variance, relative to the prior's, below which a node is not chosen, because its value is as good as known. With
#: 1e-8 the same nodes were chosen there; with 1e-4 errors were 1.34 times as large.
_KNOWN = 1e-6


def telling_nodes(
    points: Array,
    values: Array,
    at: Nodes,
    count: int,
    kernel: Kernel | type[Stationary] | None = None,
    amplitude: AnyAmplitude = "calibrated",
) -> Array:
    r"""Return nodes (k, d), k <= count, whose values would tell most about the evidences of the leading models.

    One after the other that node x is taken which lowers :math:`\sum_i p_i a_i \iint \pi_i c\, \pi_i` most, by

    .. math:: \sum_i p_i a_i \Big(\int \pi_i(y)\, c(y, x)\,\mathrm{d}y\Big)^2 \Big/ c(x, x),

    with :math:`p_i` the probability that model i has the highest evidence and the rest as for :class:`LogProcess`:
    sequential Bayesian quadrature under the posteriors of the leading models. They share the points, as all models of
    their family do.

    Parameters
    ----------
    points : (n, d) array
        Distinct points in the models' coordinates.
    values : (n, m) array
        Log likelihoods.
    at : Nodes
        Where to choose from.
    count : int
        How many to choose; there are fewer when all others are known.
    kernel, amplitude
        As for :meth:`LogProcess.fit`.

    Notes
    -----
    On eight simulated sets of kinetic data with 300 enzymes (noise 0.1 to 5 %, 7 to 21 times), 100 points spread over
    the prior and 100 chosen so, against 200 spread ones: the error of the leading log evidence was 9 to 80 times
    smaller where the data have more than 7 times, and the 95 % intervals of the models in contention held 98 % (92 %)
    of the evidences by brute force. Weights that favour models by their posterior probability made the errors of the
    runners-up smaller still, but their intervals held 85 %.
    """
    fit = LogProcess.fit(points, values, at, kernel, amplitude)
    chances = map_probabilities(fit.evidences, np.zeros(values.shape[1]))
    leading = np.argsort(-chances, kind="stable")[:_LEADERS]
    leading = leading[np.isfinite(fit.evidences.centre[leading])]
    F = values[:, leading]
    known = regression(fit.kernel, points, levelled(F - F.max(axis=0)))
    _, at = thinned(at)
    process = known.predict(cross_gram(fit.kernel, points, at), np.ones((len(at.points), 1)))
    share = process.mean.copy()
    exponentiated(share, at)
    weights = chances[leading] * known.sum_of_squares
    variance = process.variance(fit.kernel.diag(at.points))
    least = _KNOWN * fit.kernel.diag(at.points)
    # The covariance of the process at the nodes with each integral, (Q, models).
    with_integral = gram_times(fit.kernel, at, share)
    with_integral -= process.known.T @ (process.known @ share) - process.unknown.T @ (process.unknown @ share)

    def column(j: int, out: Array) -> Array:
        out[...] = fit.kernel(at.points, at.points[j : j + 1])[:, 0]
        out -= process.known.T @ process.known[:, j] - process.unknown.T @ process.unknown[:, j]
        return out

    left = RemainingCovariance(column, variance, least)
    chosen = choose(left, lambda variance: (with_integral**2 @ weights) / variance, count, with_integral)
    return np.asarray(at.points[chosen])
