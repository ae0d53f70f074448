"""The error of the logarithm of an integral of exp(process): first and second order in the deviation of the process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .regression import Prediction

FloatArray = NDArray[np.float64]

#: Variance of the log integrand at a node beyond which the expansion in its deviation says nothing: the mass of the
#: node may be lost, or be several times as large, whether the variance is 4 or 400. Without the bound a few nodes in
#: unknown tails made standard deviations of tens of natural logarithms.
EXPANDED = 4.0
#: Entries of a block of which several passes are made: 1 MB.
_CACHED = 125_000


@dataclass(frozen=True, eq=False)
class LogIntegralError:
    r"""How far the logarithm of an integral may be off when the log integrand is a Gaussian process.

    The log integrand is :math:`m + \delta` at the nodes, with :math:`\delta \sim N(0, aC)`. The weights
    :math:`p_q \propto w_q e^{m_q}` of the nodes sum to one. Expanded in :math:`\delta`,

    .. math::
        \log \sum_q w_q e^{m_q + \delta_q} - \log \sum_q w_q e^{m_q}
        = p'\delta + \tfrac12 \bigl(p'\delta^2 - (p'\delta)^2\bigr) + O(\delta^3).

    The first term has mean zero and variance :math:`a\, p'Cp`. The second has the expectation

    .. math:: \tfrac12 \bigl(\sum_q p_q a C_{qq} - a\, p'Cp\bigr) \ge 0,

    in which variances :math:`a C_{qq}` above `EXPANDED` count as that.

    Attributes
    ----------
    first : float or (m,) array
        Variance of the first-order term, for one integrand or m of them.
    second : float or (m,) array
        Expectation of the second-order term, not below zero. Of an expectation (:meth:`of_expectation`) of either sign.

    Examples
    --------
    Two nodes of equal weight, whose errors are independent:

    >>> import numpy as np
    >>> error = LogIntegralError.of(np.array([0.5, 0.5]), np.array([0.2, 0.2]), 0.1)
    >>> round(float(error.first), 12), round(float(error.second), 12)
    (0.1, 0.05)
    """

    first: FloatArray
    second: FloatArray

    @classmethod
    def of(
        cls, weights: FloatArray, variance: FloatArray, double: FloatArray | float, amplitude: FloatArray | float = 1.0
    ) -> LogIntegralError:
        """Return the error from variances at the nodes and double sums over them, for one integrand or thousands.

        Parameters
        ----------
        weights : (q,) or (q, m) array
            Weights p of the nodes, not negative; those of an integrand sum to one.
        variance : (q,) array
            Diagonal of C, the same for all integrands.
        double : float or (m,) array
            Double sums p'Cp. They lie between zero and the mean of `variance` under p (Cauchy-Schwarz). What is
            outside, by rounding, or because it is not known (infinity), is set to the nearest of the two.
        amplitude : float or (m,) array
            Factor a of each integrand.
        """
        mean = variance @ weights
        first = np.asarray(amplitude * np.clip(double, 0.0, mean))
        bounded = bounded_mean(weights, variance, amplitude, mean)
        return cls(first, np.asarray(0.5 * np.maximum(bounded - first, 0.0)))

    @classmethod
    def of_process(
        cls, there: Prediction, prior: FloatArray, weights: FloatArray, amplitude: FloatArray | float = 1.0
    ) -> LogIntegralError:
        """Return the error from a process at the nodes.

        Parameters
        ----------
        there : Prediction
            The process at the q nodes.
        prior : (q, q) array
            Its covariance before any value was known, amplitude one.
        weights : (q,) or (q, m) array
            As for :meth:`of`.
        amplitude : float or (m,) array
            Factor on the covariance.
        """
        double = there.weighted_variance(weights, np.einsum("q...,q...->...", weights, prior @ weights))
        return cls.of(weights, there.variance(np.diagonal(prior)), double, amplitude)

    @classmethod
    def of_expectation(
        cls,
        there: Prediction,
        prior: FloatArray,
        weights: FloatArray,
        functions: FloatArray,
        amplitude: float = 1.0,
    ) -> LogIntegralError:
        r"""Return the error of expectations of functions under the normalised integrand.

        The expectation of g is the derivative of :math:`\log \sum_q w_q e^{m_q + \delta_q + s g_q}` at s = 0. So its
        error is the derivative of the error of a log integral: with :math:`t_q = p_q (g_q - p'g)` the first-order term
        is :math:`t'\delta`, of variance :math:`a\, t'Ct`, and the second-order term has the expectation

        .. math:: \tfrac12 \sum_q t_q a C_{qq} - a\, t'Cp.

        Where the variance at a node is above `EXPANDED`, the deviation there counts as shrunk to that variance.

        Parameters
        ----------
        there, prior
            As for :meth:`of_process`.
        weights : (q,) array
            Weights p of the nodes, not negative, with sum one.
        functions : (q, m) array
            Values of m functions g at the nodes.
        amplitude : float
            Factor on the covariance.
        """
        tilt = weights[:, None] * (functions - weights @ functions)
        variance = amplitude * there.variance(np.diagonal(prior))
        bounded = np.minimum(variance, EXPANDED)
        shrunk = np.sqrt(np.divide(bounded, variance, out=np.ones_like(variance), where=variance > 0.0))
        first = amplitude * there.weighted_variance(tilt, np.einsum("qm,qm->m", tilt, prior @ tilt))
        t, p = shrunk[:, None] * tilt, shrunk * weights
        with_total = amplitude * there.weighted_covariance(t, p, t.T @ (prior @ p))
        return cls(first, np.asarray(0.5 * bounded @ tilt - with_total))

    @property
    def variance(self) -> FloatArray:
        """The mean square that both orders leave open: first + second^2."""
        return np.asarray(self.first + self.second**2)

    def inflated(self, factor: float) -> LogIntegralError:
        """Return the error for a covariance `factor` times as large; the bound on variances is not applied again."""
        return LogIntegralError(np.asarray(factor * self.first), np.asarray(factor * self.second))


def bounded_mean(
    weights: FloatArray, variance: FloatArray, amplitude: FloatArray | float, mean: FloatArray | None = None
) -> FloatArray:
    """Return the mean of min(a C_qq, `EXPANDED`) under the weights of the nodes, () or (m,).

    Parameters
    ----------
    weights : (q,) or (q, m) array
        Weights of the nodes.
    variance : (q,) array
        C_qq.
    amplitude : float or (m,) array
        a.
    mean : () or (m,) array, optional
        Mean of C_qq under the weights, where it is known.
    """
    out = amplitude * (variance @ weights if mean is None else mean)
    largest = amplitude * variance.max(initial=0.0)
    if weights.ndim == 1:
        return np.asarray(np.minimum(amplitude * variance, EXPANDED) @ weights if largest > EXPANDED else out)
    # The bound is met by few integrands, those that are steep: one product serves the others.
    beyond = np.flatnonzero(np.broadcast_to(largest > EXPANDED, out.shape))
    a = np.broadcast_to(amplitude, out.shape)
    step = max(1, _CACHED // len(variance))
    for start in range(0, len(beyond), step):
        some = beyond[start : start + step]
        bounded = np.multiply.outer(variance, a[some])
        np.minimum(bounded, EXPANDED, out=bounded)
        out[some] = np.einsum("qm,qm->m", bounded, weights[:, some])
    return np.asarray(out)


def largest_upper_end(mean_variance: FloatArray, reach: float) -> FloatArray:
    r"""Bound :math:`s + r \sqrt{f + s^2}` where only the mean variance under the weights is known, not the double sum.

    Let V be that mean, f <= V the variance of the first-order term, and s <= (min(V, 4) - f) / 2 the second-order term,
    not below zero. For V >= 1 the expression at the largest s is a convex function of f, and thus at most the larger of
    its ends, :math:`r \sqrt V` and :math:`(r + 1) \min(V, 4) / 2`. For V < 1 it is at most :math:`r \sqrt V + V / 2`.
    It rises with s, and s is the largest for the mean of min(., 4), which is at most min(V, 4).

    Parameters
    ----------
    mean_variance : (m,) array
        V.
    reach : float
        r, half the width of an interval in standard deviations.

    Examples
    --------
    >>> largest_upper_end(np.array([0.0, 100.0]), 2.0).tolist()
    [0.0, 20.0]
    """
    half = 0.5 * np.minimum(mean_variance, EXPANDED)
    below = reach * np.sqrt(mean_variance)
    return np.where(mean_variance < 1.0, below + half, np.maximum(below, (reach + 1.0) * half))
