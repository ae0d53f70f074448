"""Functions drawn from a fitted process, each of which can be evaluated anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._linalg import triangular_solve
from ..fitted import Conditioned, FittedProcess

FloatArray = NDArray[np.float64]

#: What is added to the covariance of the anchors given the values, relative to the largest variance among them, and
#: relative to their variance without the values, from which it differs by rounding.
_JITTER, _ROUNDING = 1e-10, 1e-13


@dataclass(frozen=True, eq=False)
class Bundle:
    r"""Functions drawn from the process under one kernel.

    A draw g of the process less its mean m is fixed by its values at some anchors Z, which are drawn jointly, and
    continued by what these values say of all other points,

    .. math:: g(x) = c(x, Z)\, c(Z, Z)^{-1} g(Z), \qquad c(Z, Z) = L L', \quad g(Z) = L v, \quad v \sim N(0, a I),

    with c the covariance given the values of f. What the anchors leave open at x has the variance
    :math:`c(x, x) - |L^{-1} c(Z, x)|^2`; it is drawn for each point by itself.

    Attributes
    ----------
    member : Conditioned
    anchors : (z, d) array
        Z, in the coordinates of the kernel.
    root : (z, z) array
        L.
    known, unknown : (n, z) and (p, z) array
        Parts of the prediction at the anchors; see `Prediction`.
    noise : (z, D) array
        v for each of D draws.
    scales : (D,) array
        Root of the amplitude a of each draw: Student-t, as that of the integral.
    weight : float
        Probability of the kernel.
    """

    member: Conditioned
    anchors: FloatArray
    root: FloatArray
    known: FloatArray
    unknown: FloatArray
    noise: FloatArray
    scales: FloatArray
    weight: float

    @classmethod
    def drawn(
        cls, member: Conditioned, anchors: FloatArray, count: int, weight: float, generator: np.random.Generator
    ) -> Bundle:
        """Draw `count` functions."""
        predicted = member.predict(anchors)
        covariance = predicted.covariance(member.kernel(anchors))
        root = _root(covariance, float(np.max(member.kernel.diag(anchors), initial=0.0)))
        scales = np.full(count, np.sqrt(member.amplitude))
        df = member.posterior.df
        if np.isfinite(df):
            scales = scales * np.sqrt(df / generator.chisquare(df, count))
        noise = generator.standard_normal((len(anchors), count)) * scales
        return cls(member, anchors, root, predicted.known, predicted.unknown, noise, scales, weight)

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the mean (q,), the draws less the mean (q, D), and the variance left open (q,) at points x (q, d).

        The variance is relative to the amplitude.
        """
        predicted = self.member.predict(x)
        cross = self.member.kernel(self.anchors, x) - self.known.T @ predicted.known
        cross += self.unknown.T @ predicted.unknown
        weights = triangular_solve(self.root, cross)
        variance = predicted.variance(self.member.kernel.diag(x))
        left = np.maximum(variance - np.einsum("zq,zq->q", weights, weights), 0.0)
        return self.member.shift + predicted.mean, weights.T @ self.noise, left


def _root(covariance: FloatArray, prior: float) -> FloatArray:
    """Return L with L L' = covariance (z, z) and as much on the diagonal as makes it positive."""
    largest = float(np.max(np.diagonal(covariance), initial=0.0))
    jitter = max(_JITTER * largest, _ROUNDING * prior, np.finfo(float).tiny)
    while True:
        try:
            return np.asarray(np.linalg.cholesky(covariance + jitter * np.eye(len(covariance))), dtype=float)
        except np.linalg.LinAlgError:
            jitter *= 10.0


@dataclass(frozen=True, eq=False)
class Paths:
    """Functions drawn from a process, kernel by kernel, each kernel as often as it is probable.

    Attributes
    ----------
    process : FittedProcess
    bundles : tuple of Bundle
    """

    process: FittedProcess
    bundles: tuple[Bundle, ...]

    @classmethod
    def drawn(cls, process: FittedProcess, anchors: FloatArray, count: int) -> Paths:
        """Draw functions that are fixed by their values at anchors (z, d) in the coordinates of f.

        The seed is fixed, so that a functional of a result is a number that does not change when it is asked again.
        """
        generator = np.random.default_rng(1)
        which = generator.choice(len(process.members), count, p=process.weights)
        u = process.natural(anchors)
        bundles = [
            Bundle.drawn(process.members[j], u, int(np.sum(which == j)), float(process.weights[j]), generator)
            for j in np.unique(which)
        ]
        return cls(process, tuple(bundles))

    def values(self, x: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return, for each kernel, the mean (q,) and the functions (q, D) at points x (q, d) in the coordinates of f.

        What the anchors leave open is drawn for each point independently.
        """
        u = self.process.natural(x)
        generator = np.random.default_rng(2)
        found = []
        for bundle in self.bundles:
            mean, draws, left = bundle(u)
            rest = np.sqrt(left)[:, None] * bundle.scales
            draws += mean[:, None] + rest * generator.standard_normal(draws.shape)
            found.append((mean, draws))
        return found
