"""The objective of every search for a kernel: the log posterior density of its parameters, and where it is greatest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from .._linalg import CholeskyFactor
from ..kernels import Differences
from .families import KernelFamily
from .likelihood import JITTER
from .prior import LengthscalePrior
from .regression import Regression

FloatArray = NDArray[np.float64]

#: Least variance of the noise of a value, relative to the amplitude: the rounding of a log likelihood, which keeps Gram
#: matrices of smooth kernels regular. An unknown noise is added to it.
LEAST_NOISE = 1e-10
#: Prior mean and standard deviation of the log variance of an unknown noise, relative to the amplitude: most functions
#: are known to rounding, and a noise of any size is possible.
_NOISE_LOCATION = log(LEAST_NOISE)
_NOISE_SCALE = 3.0 * log(10.0)


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
    noisy : bool
        Whether all values have one more noise of unknown variance. Its logarithm, relative to the amplitude, is then
        the last of the parameters.
    """

    family: KernelFamily
    prior: LengthscalePrior
    pairs: Differences
    values: FloatArray
    basis: FloatArray | None = None
    noise: FloatArray | float = 0.0
    jitter: float = JITTER
    share: float = 1.0
    noisy: bool = False

    @cached_property
    def location(self) -> FloatArray:
        """Prior mean of the parameters, (p,)."""
        location = self.prior.location(self.family)
        return np.append(location, _NOISE_LOCATION) if self.noisy else location

    @cached_property
    def precision(self) -> FloatArray:
        """Inverse of the prior covariance of the parameters, (p, p)."""
        precision = self.prior.precision(self.family)
        return np.asarray(block_diag(precision, np.array([[_NOISE_SCALE**-2]]))) if self.noisy else precision

    @property
    def _bounds(self) -> list[tuple[float, float]]:
        """The interval in which the search of each parameter stays."""
        bounds = self.prior.bounds(self.family)
        return [*bounds, (_NOISE_LOCATION - _NOISE_SCALE, -_NOISE_LOCATION)] if self.noisy else bounds

    def value(self, theta: FloatArray) -> float:
        """Return the log density at the parameters theta (p,)."""
        k, _ = self.family.pullback(self._of_kernel(theta), self.pairs)
        shift = theta - self.location
        return self.share * self._regress(k, theta).log_likelihood() - 0.5 * float(shift @ self.precision @ shift)

    def gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the log density at theta (p,), and its derivatives (p,)."""
        k, pull = self.family.pullback(self._of_kernel(theta), self.pairs)
        regression = self._regress(k, theta)
        sensitivity = regression.sensitivity()
        # Every pair of points stands for two entries of the Gram matrix, whose diagonal changes with the noise alone.
        slope = self.share * pull(2.0 * self.pairs.pairs(sensitivity))
        if self.noisy:
            slope = np.append(slope, self.share * np.exp(theta[-1]) * np.trace(sensitivity))
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

        lower, upper = np.array(self._bounds).T / unit
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

    def _of_kernel(self, theta: FloatArray) -> FloatArray:
        """Return those of the parameters that are the kernel's."""
        return theta[:-1] if self.noisy else theta

    def _regress(self, k: FloatArray, theta: FloatArray) -> Regression:
        K = self.pairs.matrix(k, 1.0)
        K.flat[:: len(K) + 1] += self.noise + (np.exp(theta[-1]) if self.noisy else 0.0)
        return Regression(CholeskyFactor.with_jitter(K, self.jitter), self.values, self.basis)
