"""The fitted process: what is believed of the integrand itself, between the points where it was evaluated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate
from .._threads import one_blas_thread
from ..kernels import Kernel
from ..posterior import AveragedPosterior, IntegralPosterior
from ..process import Prediction, Regression
from .frame import Frame

FloatArray = NDArray[np.float64]

#: Eigenvalues of the covariance of a draw below this part of the largest are rounding errors, and are set to zero.
_FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class Conditioned:
    """A Gaussian process given values, under one kernel.

    Attributes
    ----------
    kernel : Kernel
    points : (n, d) array
        Distinct points, in the coordinates of the kernel.
    regression : Regression
        Of the values at the points, less `shift`.
    shift : float
        The first value when the mean is an unknown constant, else zero.
    posterior : IntegralPosterior
        Of the integral: its amplitude and degrees of freedom are those of the process.
    variance : float
        Of the integral, relative to the amplitude.
    """

    kernel: Kernel
    points: FloatArray
    regression: Regression
    shift: float
    posterior: IntegralPosterior
    variance: float

    @property
    def amplitude(self) -> float:
        """The amplitude that the values are most probable under, or the one that was given.

        That of `posterior` may be larger, because leave-one-out errors are: see `widening`.
        """
        return float(self.posterior.amplitude if math.isinf(self.posterior.df) else self.regression.amplitude)

    @property
    def widening(self) -> float:
        """How many times as wide the posterior of the integral is as the process alone makes it, at least one.

        That is what the calibration by leave-one-out errors (`fwbq.posterior.calibrated`) found to be missing.
        """
        plain = math.sqrt(self.amplitude * self.variance)
        return max(float(self.posterior.scale) / plain, 1.0) if plain > 0.0 else 1.0

    @cached_property
    def coefficients(self) -> FloatArray:
        """The a_j of the mean b + sum_j a_j k(x, x_j), (n,)."""
        return self.regression.factor.whiten_transposed(self.regression.residual)

    @property
    def constant(self) -> float:
        """The b of the mean."""
        return self.shift + (float(self.regression.coefficients[0]) if self.regression.rank else 0.0)

    def mean(self, x: FloatArray) -> FloatArray:
        """Return the mean of the process at points x (q, d); its variance, which `predict` needs, costs far more."""
        return np.asarray(self.kernel(x, self.points) @ self.coefficients + self.constant)

    def predict(self, x: FloatArray) -> Prediction:
        """Return the process at points x (q, d), less `shift` and relative to the amplitude."""
        basis = None if self.regression.basis is None else np.ones((len(x), 1))
        return self.regression.predict(self.kernel(self.points, x), basis)


@dataclass(frozen=True, eq=False)
class FittedProcess:
    """The process on the integrand that an integral was inferred from, averaged over kernels as the integral was.

    Attributes
    ----------
    members : tuple of Conditioned
        The process under each kernel.
    weights : (J,) array
        Probabilities of the kernels.
    frame : Frame
        The map between the coordinates of f and those of the kernels.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> found = fwbq.integrate(lambda x: np.sin(x[:, 0]), fwbq.Gaussian([0.0], [[1.0]]), n=20, rng=0)
    >>> low, high = found.process.at([[0.3]]).interval(0.99)
    >>> bool(low[0] < np.sin(0.3) < high[0])
    True
    """

    members: tuple[Conditioned, ...]
    weights: FloatArray
    frame: Frame

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(type(member.kernel).__name__ for member in self.members))
        count = len(self.members)
        return f"<FittedProcess averaged over {count} kernel{'s' if count > 1 else ''}: {names}>"

    @one_blas_thread
    def at(self, x: ArrayLike) -> AveragedPosterior:
        """Return the distribution of f at each of the points x (q, d), with `mean`, `sd` and `interval` of shape (q,).

        The values at several points are not independent of each other: for whole functions see :meth:`sample`.
        """
        u = self.natural(_validate.points(x, "x", self.frame.measure.dim))
        parts = []
        for member in self.members:
            predicted = member.predict(u)
            spread = np.sqrt(predicted.variance(member.kernel.diag(u)))
            a = member.posterior.amplitude
            parts.append(IntegralPosterior(predicted.mean + member.shift, np.sqrt(a) * spread, member.posterior.df, a))
        return AveragedPosterior(tuple(parts), self.weights)

    @one_blas_thread
    def sample(self, x: ArrayLike, size: int = 1, rng: Any = None) -> FloatArray:
        """Draw functions from the process at points x (q, d): an array (size, q), a row for each function.

        Parameters
        ----------
        x : (q, d) array_like
            Some hundreds of points: a draw costs q^3 operations.
        size : int, optional
            How many functions.
        rng : None, int or numpy.random.Generator
            Seed of the draws.
        """
        u = self.natural(_validate.points(x, "x", self.frame.measure.dim))
        generator = _validate.generator(rng)
        which = generator.choice(len(self.members), _validate.count(size, "size", minimum=0), p=self.weights)
        draws = np.empty((len(which), len(u)))
        for j in np.unique(which):
            member = self.members[j]
            predicted = member.predict(u)
            values, vectors = np.linalg.eigh(predicted.covariance(member.kernel(u)))
            root = vectors * np.sqrt(np.where(values > _FLAT * values.max(initial=0.0), values, 0.0))
            rows = np.flatnonzero(which == j)
            df = member.posterior.df
            scale = np.sqrt(np.full(len(rows), member.posterior.amplitude))
            if np.isfinite(df):
                scale *= np.sqrt(df / generator.chisquare(df, len(rows)))
            normal = generator.standard_normal((len(rows), len(u)))
            draws[rows] = member.shift + predicted.mean + scale[:, None] * (normal @ root.T)
        return draws

    def natural(self, x: FloatArray) -> FloatArray:
        """Return points x (q, d) in the coordinates of the kernels."""
        return self.frame.to_natural(x)
