"""Samples of Gaussian processes with Matern kernels, the truths a Bayesian quadrature rule is calibrated for.

A sample is a sum of many cosines: f(x) = sqrt(1 / D) sum_j (alpha_j cos(w_j.x) + beta_j sin(w_j.x)), with alpha, beta
standard normal and the coordinates of w_j independent draws from the spectral density of the one-dimensional Matern
kernel of order nu and length-scale l, which is Student's t with 2 nu degrees of freedom over l. Half of the frequencies
are drawn from a Cauchy law instead and reweighted: the high frequencies carry little variance but are what makes f
rough, and plain draws for nu = 5/2 would have none above about 10 / l, an analytic function to any quadrature rule. The
covariance, averaged over the frequencies, is the product kernel `fwbq.Matern12`, `Matern32` or `Matern52`. The integral
of every wave is in closed form, so that of f is exact, and f is a function like any other (no grid, no state).

Source: A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS 2007.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from fwbq.measures import Gaussian, Measure, Uniform

from .problem import Array, Family

_WAVES = 2000  # at n = 100 points far more waves than points: the sample does not look finite-dimensional


@dataclass(frozen=True, eq=False)
class Waves:
    """sum_j alpha_j cos(w_j.x) + beta_j sin(w_j.x) with w (D, d), alpha (D,), beta (D,)."""

    w: Array
    alpha: Array
    beta: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        phase = x @ self.w.T
        return np.cos(phase) @ self.alpha + np.sin(phase) @ self.beta

    def integral(self, characteristic: Callable[[Array], np.ndarray]) -> float:
        """Return the integral, given w (D, d) -> E exp(i w.X) (D,)."""
        phi = characteristic(self.w)
        return float(phi.real @ self.alpha + phi.imag @ self.beta)


def characteristic_uniform(w: Array) -> np.ndarray:
    """E exp(i w.X) for X uniform on the unit cube: prod e^(i w_i / 2) sin(w_i / 2) / (w_i / 2)."""
    return np.asarray(np.prod(np.exp(0.5j * w) * np.sinc(w / (2.0 * np.pi)), axis=1))


def characteristic_normal(w: Array) -> np.ndarray:
    """E exp(i w.X) for X standard normal: exp(-|w|^2 / 2)."""
    return np.asarray(np.exp(-0.5 * (w**2).sum(axis=1)).astype(complex))


def frequencies(nu: float, size: int, dim: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw unit-length-scale frequencies (size, dim) and their importance weights (size,), which average to one."""
    w = np.where(
        (np.arange(size) % 2 == 0)[:, None], rng.standard_t(2.0 * nu, (size, dim)), rng.standard_cauchy((size, dim))
    )
    log_target, log_cauchy = _log_student(w, 2.0 * nu).sum(axis=1), _log_student(w, 1.0).sum(axis=1)
    return w, np.asarray(2.0 / (1.0 + np.exp(log_cauchy - log_target)))


def _log_student(x: Array, df: float) -> Array:
    constant = gammaln((df + 1.0) / 2.0) - gammaln(df / 2.0) - 0.5 * np.log(df * np.pi)
    return np.asarray(constant - 0.5 * (df + 1.0) * np.log1p(x * x / df))


def _family(nu: float, name: str, base: str) -> Family:
    def make(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
        # Length-scales of half to twice the width of the cube (or two standard deviations), longer in more dimensions.
        lengthscale = np.sqrt(dim) * np.exp(rng.uniform(np.log(0.25), np.log(1.0), size=dim))
        w, importance = frequencies(nu, _WAVES, dim, rng)
        alpha, beta = rng.standard_normal((2, _WAVES)) * np.sqrt(importance / _WAVES)
        if base == "uniform":
            waves = Waves(w / lengthscale, alpha, beta)
            return Uniform(np.zeros(dim), np.ones(dim)), waves, waves.integral(characteristic_uniform)
        waves = Waves(w / (2.0 * lengthscale), alpha, beta)
        return Gaussian(np.zeros(dim), np.eye(dim)), waves, waves.integral(characteristic_normal)

    return Family(f"{name}-{base}", (1, 2, 3, 5), ("rough", "sample", name), make)


FAMILIES = tuple(
    _family(nu, name, base)
    for base in ("uniform", "gaussian")
    for nu, name in ((0.5, "matern12"), (1.5, "matern32"), (2.5, "matern52"))
)
