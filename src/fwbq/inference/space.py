"""Coordinates in which the log joint density is modelled, and the prior in them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri, ndtri_exp

from .._whitening import Whitening
from ..designs.qmc import scrambled_engine
from ..measures import Empirical, Gaussian, Measure, TruncatedGaussian, Uniform, as_measure

Array = NDArray[np.float64]


class Space(ABC):
    """A one-to-one map between the user's parameters x and coordinates z, with the log prior density in z."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of parameters."""

    @abstractmethod
    def to_user(self, z: Array) -> Array:
        """Map z (n, d) to x."""

    @abstractmethod
    def from_user(self, x: Array) -> Array:
        """Map x (n, d) to z."""

    @abstractmethod
    def log_prior(self, z: Array) -> Array:
        """Return the log prior density with respect to dz, (n,)."""

    def at_end(self, z: Array) -> NDArray[np.bool_]:
        """Return at which of the points z (n, d) the parameters no longer follow z: double precision ends there."""
        return np.zeros(len(z), dtype=bool)

    def first(self, size: int, rng: np.random.Generator) -> Array:
        """Return `size` points spread where the prior, or the start, is."""
        sobol = scrambled_engine("sobol", self.dim, rng)
        # A power of two at least, which keeps the points balanced; the first ones are those of any larger number.
        u = sobol.random(2 ** max(1, int(np.ceil(np.log2(max(size, 2))))))[:size]
        return self._spread(ndtri(np.clip(u, 1e-12, 1.0 - 1e-12)))

    def _spread(self, normal: Array) -> Array:
        return normal

    @property
    def wide(self) -> tuple[Array, Array]:
        """Mean and lower root of a Gaussian that covers the prior, or what is known of the posterior beforehand."""
        return np.zeros(self.dim), np.eye(self.dim)

    @property
    def support(self) -> Array | None:
        """The only points of the space, for a prior that is a sample; None otherwise."""
        return None


class NormalScores(Space):
    r"""Coordinates in which the prior is standard normal.

    A Gaussian N(m, LL') is whitened, :math:`x = m + L z`; a product has normal scores in each coordinate,
    :math:`x_i = F_i^{-1}(\Phi(z_i))`. The log joint density then falls off on all sides.

    Parameters
    ----------
    prior : Measure
        A Gaussian, or a measure with factors.
    """

    def __init__(self, prior: Measure) -> None:
        self.prior = prior
        self._whitening = prior.whitening if isinstance(prior, Gaussian) else None
        # A quantile that rounds to the end of the support is moved inside, where likelihoods are defined; at zero to
        # the smallest normal number, whose reciprocal is finite.
        tiny = np.finfo(float).tiny
        self._inside = (
            np.where(prior.lower == 0.0, tiny, np.nextafter(prior.lower, np.inf)),
            np.where(prior.upper == 0.0, -tiny, np.nextafter(prior.upper, -np.inf)),
        )

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self.prior.dim

    def to_user(self, z: Array) -> Array:
        """Map z (n, d) to x."""
        if self._whitening is not None:
            return self._whitening.back(z)
        return np.clip(self.prior.from_normal(z), *self._inside)

    def from_user(self, x: Array) -> Array:
        """Map x (n, d) to z."""
        if self._whitening is not None:
            return self._whitening.forward(x)
        return np.column_stack([_score(factor, x[:, i]) for i, factor in enumerate(self.prior.factors or ())])

    def at_end(self, z: Array) -> NDArray[np.bool_]:
        """Return at which of the points z (n, d) a coordinate moved outwards by a half changes no parameter.

        At the finite end of a support that is so from |z| = 8.2 on, without an end from |z| = 37.5.
        """
        return np.asarray(np.any(self.to_user(z) == self.to_user(z + np.copysign(0.5, z)), axis=1))

    def log_prior(self, z: Array) -> Array:
        """Return the log density of N(0, I)."""
        return np.asarray(-0.5 * np.sum(z * z, axis=1) - 0.5 * self.dim * np.log(2.0 * np.pi))


def _score(factor: Measure, x: Array) -> Array:
    """Return normal scores of values of a one-dimensional measure, from the smaller tail, which keeps its digits."""
    if isinstance(factor, Uniform):
        u = (x - factor.lower[0]) / (factor.upper[0] - factor.lower[0])
        lower, upper = u, (factor.upper[0] - x) / (factor.upper[0] - factor.lower[0])
    elif isinstance(factor, TruncatedGaussian):
        sd = np.sqrt(factor.variance[0])
        a, b, t = ((v - factor.mean[0]) / sd for v in (factor.lower[0], factor.upper[0], x))
        whole = _log_mass(np.asarray(a), np.asarray(b))
        lower, upper = np.exp(_log_mass(a, t) - whole), np.exp(_log_mass(t, b) - whole)
    else:
        (p,) = factor.distributions  # type: ignore[attr-defined]
        lower, upper = p.cdf(x), p.sf(x)
    tiny = np.finfo(float).tiny
    low, high = (ndtri_exp(np.log(np.maximum(v, tiny))) for v in (lower, upper))
    return np.asarray(np.where(lower <= 0.5, low, -high))


def _log_mass(a: Array, b: Array) -> Array:
    """Return the log of the standard normal probability of [a, b]."""
    a, b = np.broadcast_arrays(a, b)
    flip = a + b > 0.0
    low, high = np.where(flip, -b, a), np.where(flip, -a, b)
    with np.errstate(divide="ignore"):
        return np.asarray(log_ndtr(high) + np.log1p(-np.exp(np.minimum(log_ndtr(low) - log_ndtr(high), 0.0))))


class Standardised(Space):
    """A prior with a density but without factors, such as a mixture: its coordinates, standardised.

    Parameters
    ----------
    prior : Measure
        With a log density.
    """

    def __init__(self, prior: Measure) -> None:
        self.prior = prior
        self._whitening = prior.whitening

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self.prior.dim

    def to_user(self, z: Array) -> Array:
        """Map z (n, d) to x."""
        return self._whitening.back(z)

    def from_user(self, x: Array) -> Array:
        """Map x (n, d) to z."""
        return self._whitening.forward(x)

    def log_prior(self, z: Array) -> Array:
        """Return the log prior density with respect to dz."""
        return self.prior.log_density(self.to_user(z)) + self._whitening.log_volume

    def first(self, size: int, rng: np.random.Generator) -> Array:
        """Return `size` points spread under the prior."""
        sobol = scrambled_engine("sobol", self.prior.uniform_dim, rng)
        u = sobol.random(2 ** max(1, int(np.ceil(np.log2(max(size, 2))))))[:size]
        return self.from_user(self.prior.from_uniform(u))


class Free(Space):
    """No prior measure: a log joint density on R^d, a start and a rough scale.

    Parameters
    ----------
    start : (d,) array
        Where to begin.
    scale : (d,) array
        A guess of the width of the posterior in each coordinate; wrong by a factor of a hundred it costs evaluations,
        not accuracy.
    """

    def __init__(self, start: ArrayLike, scale: ArrayLike) -> None:
        centre = np.asarray(start, dtype=float)
        self._whitening = Whitening(centre, np.broadcast_to(np.asarray(scale, dtype=float), centre.shape))

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return len(self._whitening.centre)

    def to_user(self, z: Array) -> Array:
        """Map z (n, d) to x."""
        return self._whitening.back(z)

    def from_user(self, x: Array) -> Array:
        """Map x (n, d) to z."""
        return self._whitening.forward(x)

    def log_prior(self, z: Array) -> Array:
        """Return the log of dx/dz: the integral is taken over x."""
        return np.full(len(z), self._whitening.log_volume)

    def _spread(self, normal: Array) -> Array:
        points = np.array(normal)
        points[:1] = 0.0  # the start itself
        return points


class Sample(Space):
    """A prior that is a sample: the points there are, in units of their standard deviations.

    Parameters
    ----------
    prior : Empirical
    """

    def __init__(self, prior: Empirical) -> None:
        self.prior = prior
        held = prior.weights > 0.0
        points, which = np.unique(prior.points[held], axis=0, return_inverse=True)
        self._whitening = prior.whitening
        self._points = points
        self._support = self._whitening.forward(points)
        self._log_weights = np.log(np.bincount(which.ravel(), prior.weights[held]))

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self.prior.dim

    @property
    def support(self) -> Array:
        """The points of the sample, each once."""
        return self._support

    @property
    def log_weights(self) -> Array:
        """Log probabilities of the support."""
        return self._log_weights

    def log_sum(self, z: Array, values: Array) -> float:
        """Return the log of the sum of weights times exp(values), values (N,) given at every point z of the support."""
        row = {point.tobytes(): i for i, point in enumerate(self._support)}
        logs = np.full(len(self._support), -np.inf)
        for point, value in zip(z, values, strict=True):
            if point.tobytes() in row:
                logs[row[point.tobytes()]] = value
        return float(np.logaddexp.reduce(logs + self._log_weights))

    def to_user(self, z: Array) -> Array:
        """Map z (n, d) to x: exactly the points of the sample for those of the support."""
        row = {point.tobytes(): i for i, point in enumerate(self._support)}
        x = self._whitening.back(z)
        for i, point in enumerate(z):
            if point.tobytes() in row:
                x[i] = self._points[row[point.tobytes()]]
        return x

    def from_user(self, x: Array) -> Array:
        """Map x (n, d) to z: exactly a point of the support for those of the sample."""
        row = {point.tobytes(): i for i, point in enumerate(self._points + 0.0)}
        z = self._whitening.forward(x)
        for i, point in enumerate(x + 0.0):
            if point.tobytes() in row:
                z[i] = self._support[row[point.tobytes()]]
        return z

    def log_prior(self, z: Array) -> Array:
        """Return zero: the weights of the sample go with its points."""
        return np.zeros(len(z))

    def first(self, size: int, rng: np.random.Generator) -> Array:
        """Return distinct points of the sample."""
        return np.asarray(self._support[rng.permutation(len(self._support))[:size]])


def space_of(prior: Measure) -> Space:
    """Return the coordinates that suit a prior, a measure or a distribution of scipy.stats."""
    prior = as_measure(prior, "prior")
    if isinstance(prior, Empirical):
        return Sample(prior)
    if isinstance(prior, Gaussian) or prior.factors is not None:
        return NormalScores(prior)
    return Standardised(prior)
