"""The objective of every search for a kernel: the log posterior density of its parameters, and where it is greatest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._linalg import CholeskyFactor
from ..kernels import Differences
from .families import KernelFamily
from .likelihood import JITTER
from .prior import LengthscalePrior
from .regression import Regression

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Objective:
    r"""Log posterior density of a family's parameters theta, but for a constant.

    .. math:: s \log p(f \mid \theta) - \tfrac12 (\theta - \theta_0)' \Lambda (\theta - \theta_0),

    the likelihood of `Regression.log_likelihood`, with covariance :math:`C = K_\theta + \mathrm{diag}(\text{noise})`,
    and the normal prior of `LengthscalePrior`.

    Parameters
    ----------
    family : KernelFamily
    prior : LengthscalePrior
    pairs : Differences
        Of the n points.
    values : (n,) or (n, m) array
        Values f.
    basis : (n, p) array, optional
        Functions of the unknown mean at the points; by default the mean is zero.
    noise : (n,) array or float
        Variance of the noise of each value, relative to the amplitude.
    jitter : float
        Relative jitter on the diagonal, beside the noise.
    share : float
        s, what the likelihood counts: with 1 / m it is the mean of those of m columns.
    """

    family: KernelFamily
    prior: LengthscalePrior
    pairs: Differences
    values: FloatArray
    basis: FloatArray | None = None
    noise: FloatArray | float = 0.0
    jitter: float = JITTER
    share: float = 1.0

    @cached_property
    def location(self) -> FloatArray:
        """Prior mean of the parameters, (p,)."""
        return self.prior.location(self.family)

    @cached_property
    def precision(self) -> FloatArray:
        """Inverse of the prior covariance of the parameters, (p, p)."""
        return self.prior.precision(self.family)

    def value(self, theta: FloatArray) -> float:
        """Return the log density at the parameters theta (p,)."""
        k, _ = self.family.pullback(theta, self.pairs)
        shift = theta - self.location
        return self.share * self._regress(k).log_likelihood() - 0.5 * float(shift @ self.precision @ shift)

    def gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the log density at theta (p,), and its derivatives (p,)."""
        k, pull = self.family.pullback(theta, self.pairs)
        regression = self._regress(k)
        # Every pair of points stands for two entries of the Gram matrix, whose diagonal is constant.
        slope = self.share * pull(2.0 * self.pairs.pairs(regression.sensitivity()))
        shift = theta - self.location
        pull_of_prior = self.precision @ shift
        value = self.share * regression.log_likelihood() - 0.5 * float(shift @ pull_of_prior)
        return value, slope - pull_of_prior

    def curvature(self, theta: FloatArray, step: float = 1e-3) -> FloatArray:
        """Return minus the Hessian at theta (p,), shape (p, p), by differences of the gradient.

        Central ones; of a weighted family, which has twice as many parameters, one-sided ones, at half the cost. Their
        relative error is of the order of the step, and the curvature is that of a proposal only.
        """
        steps = step * np.eye(len(theta))
        if self.family.weighted:
            here = self.gradient(theta)[1]
            H = np.array([(here - self.gradient(theta + h)[1]) / step for h in steps])
        else:
            H = np.array([(self.gradient(theta - h)[1] - self.gradient(theta + h)[1]) / (2.0 * step) for h in steps])
        return np.asarray(0.5 * (H + H.T))

    def maximise(
        self,
        starts: Sequence[FloatArray],
        *,
        iterations: int,
        ftol: float,
        gtol: float = 1e-5,
        unit: FloatArray | float = 1.0,
    ) -> tuple[FloatArray, float]:
        """Return the parameters of the greatest density that L-BFGS-B finds, and the log density there.

        Parameters
        ----------
        starts : sequence of (p,) arrays
            Where to begin; the best of the searches is returned, the first of equal ones.
        iterations : int
            Most steps of each search.
        ftol, gtol : float
            A search ends when the relative change of the objective, or the largest derivative, is smaller.
        unit : (p,) array or float
            The parameters are searched, and derivatives judged, in these units: the closer they are to the widths of
            the peak, the fewer steps.
        """
        from scipy.optimize import minimize

        lower, upper = np.array(self.prior.bounds(self.family)).T / unit
        bounds = list(zip(lower.tolist(), upper.tolist(), strict=True))

        def negative(scaled: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.gradient(scaled * unit)
            return -value, -gradient * unit

        runs = [
            minimize(
                negative, np.clip(start / unit, lower, upper), jac=True, method="L-BFGS-B", bounds=bounds,
                options={"maxiter": iterations, "ftol": ftol, "gtol": gtol},
            )
            for start in starts
        ]  # fmt: skip
        best = min(runs, key=lambda run: float(run.fun))
        return np.asarray(best.x * unit), -float(best.fun)

    def _regress(self, k: FloatArray) -> Regression:
        K = self.pairs.matrix(k, 1.0)
        K.flat[:: len(K) + 1] += self.noise
        return Regression(CholeskyFactor.with_jitter(K, self.jitter), self.values, self.basis)
