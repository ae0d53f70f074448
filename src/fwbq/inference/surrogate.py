"""The surrogate: a Gaussian process on the log joint density, in coordinates whitened by what it says itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from .._linalg import CholeskyFactor
from ..kernels import ExpQuad, Kernel, Matern52
from ..process import KernelFamily, LengthscalePrior
from ..process.basis import Basis, basis_functions, basis_size
from ..process.regression import Prediction, Regression

Array = NDArray[np.float64]

FAMILIES = (KernelFamily("ExpQuad", ExpQuad), KernelFamily("Matern52", Matern52))
#: Relative variance of the rounding of a log likelihood, and what keeps Gram matrices of smooth kernels regular.
JITTER = 1e-10


@dataclass(frozen=True, eq=False)
class Whitening:
    """Coordinates s = root^-1 (z - centre).

    Attributes
    ----------
    centre : (d,) array
    root : (d, d) array
        Lower triangular.
    """

    centre: Array
    root: Array

    def forward(self, z: Array) -> Array:
        """Map points z (n, d) to s."""
        return np.asarray(solve_triangular(self.root, (z - self.centre).T, lower=True, check_finite=False).T)

    def back(self, s: Array) -> Array:
        """Map points s (n, d) to z."""
        return np.asarray(self.centre + s @ self.root.T)


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A process for the log joint density g, given its values at points.

    g(z) = offset(z) + h(s)'beta + a process of covariance a k(s, s'), s the whitened coordinates. The values far below
    the largest carry a noise that grows with their depth: they are of no account for the evidence and would
    stretch the process.

    Attributes
    ----------
    points : (n, d) array
        z.
    values : (n,) array
        g, finite.
    whitening : Whitening
    offset : callable
        Known part of the mean, (n, d) -> (n,).
    basis : str
        Unknown part of the mean (`fwbq.process.basis`).
    family : KernelFamily
    theta : (d,) array
        Log length-scales.
    """

    points: Array
    values: Array
    whitening: Whitening
    offset: Callable[[Array], Array]
    basis: Basis
    family: KernelFamily
    theta: Array

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel in whitened coordinates, of unit variance."""
        return self.family.kernel(self.theta, self.points.shape[1])

    @cached_property
    def whitened(self) -> Array:
        """The points in whitened coordinates."""
        return self.whitening.forward(self.points)

    @cached_property
    def regression(self) -> Regression:
        """The values less their offset, given the kernel."""
        noise = depth_noise(self.values, self.points.shape[1])
        K = self.kernel(self.whitened)
        K.flat[:: len(K) + 1] += JITTER + noise
        H = basis_functions(self.basis, self.whitened) if self.basis != "none" else None
        return Regression(CholeskyFactor.of(K), self.values - self.offset(self.points), H)

    @cached_property
    def amplitude(self) -> float:
        """Amplitude: the larger of the likelihood's and the leave-one-out one of the values near the top."""
        errors, variances = self.regression.leave_one_out()
        weights = 1.0 / (1.0 + depth_noise(self.values, self.points.shape[1])) * np.exp(
            -0.25 * np.minimum(self.values.max() - self.values, 200.0)
        )
        loo = float(np.sum(weights * errors**2 / variances) / np.sum(weights))
        return max(float(self.regression.amplitude), loo)

    def predict(self, z: Array) -> Prediction:
        """Return the process at points z (q, d); its mean is without the offset."""
        s = self.whitening.forward(z)
        H = basis_functions(self.basis, s) if self.basis != "none" else None
        return self.regression.predict(self.kernel(self.whitened, s), H)

    def mean(self, z: Array) -> Array:
        """Return the expected log joint density at points z (q, d), (q,)."""
        s = self.whitening.forward(z)
        r = self.regression
        alpha = r.factor.whiten_transposed(r.residual)
        out = np.empty(len(z))
        for start in range(0, len(z), 4096):
            part = slice(start, start + 4096)
            out[part] = self.kernel(s[part], self.whitened) @ alpha
            if self.basis != "none":
                out[part] += basis_functions(self.basis, s[part]) @ r.coefficients
        return np.asarray(out + self.offset(z))


def depth_noise(values: Array, dim: int) -> Array:
    """Variance, relative to the amplitude, that values far below the largest carry."""
    excess = np.maximum(values.max() - values - (10.0 + 2.0 * dim), 0.0)
    return np.asarray((excess / 5.0) ** 2)


def fit_lengthscales(
    s: Array, values: Array, basis: Basis, noise: Array, family: KernelFamily, starts: Sequence[Array], iterations: int = 20
) -> tuple[float, Array]:
    """Return the greatest log posterior density of the log length-scales, and where it is."""
    d = s.shape[1]
    prior = LengthscalePrior(np.ones(d))
    location, precision = prior.location(family), prior.precision(family)
    H = basis_functions(basis, s) if basis != "none" else None
    diagonal = noise + JITTER

    def objective(theta: Array) -> tuple[float, Array]:
        K, slopes = family.gram_and_derivatives(theta, s)
        K.flat[:: len(K) + 1] += diagonal
        r = Regression(CholeskyFactor.with_jitter(K, 1e-13), values, H)
        shift = theta - location
        pull = precision @ shift
        return -r.log_likelihood() + 0.5 * float(shift @ pull), pull - r.gradient(slopes)

    bounds = prior.bounds(family)
    best: tuple[float, Array] | None = None
    for start in starts:
        found = minimize(
            objective, np.clip(start, *np.array(bounds).T), jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": iterations, "ftol": 1e-5},
        )  # fmt: skip
        if best is None or -found.fun > best[0]:
            best = -float(found.fun), np.asarray(found.x)
    assert best is not None
    return best
