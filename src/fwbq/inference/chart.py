"""Charts: the coordinates in which the log joint density is modelled, and all that differs between kinds of prior."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from .. import _validate
from .._whitening import Whitening
from ..designs.qmc import sobol_points
from ..measures import Empirical, Gaussian, Measure, as_prior
from .mixture import Mixture
from .nodes import LogJoint, Nodes, adapted, resample

Array = NDArray[np.float64]

#: Most points of a sample that are nodes at once; of a larger one as many are drawn.
_MOST_NODES = 8192


class Chart(ABC):
    """A one-to-one map between the user's parameters x and coordinates z, with the log prior density in z.

    What differs between priors (a density, a sample, none) is a method of their charts. `discrete` says that the prior
    is a set of points: there is nothing between them to climb on, and all of them can be evaluated. `has_prior` says
    that a prior bounds the evidence; without one the density itself must fall off.
    """

    discrete = False
    has_prior = True

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of parameters."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters: those of the prior, or ``x1``, ``x2``, ..."""
        prior: Measure | None = getattr(self, "prior", None)
        return _validate.parameter_names(None, self.dim) if prior is None else prior.names

    @abstractmethod
    def to_user(self, z: Array) -> Array:
        """Map z (n, d) to x."""

    @abstractmethod
    def from_user(self, x: Array) -> Array:
        """Map x (n, d) to z."""

    @abstractmethod
    def log_prior(self, z: Array) -> Array:
        """Return the log prior density with respect to dz, (n,)."""

    @abstractmethod
    def gradient_to_coordinates(self, z: Array, gradient: Array) -> Array:
        """Return the gradient of the log joint density with respect to z.

        Parameters
        ----------
        z : (n, d) array
            Points, in coordinates.
        gradient : (n, d) array
            Gradients of the function that was evaluated (the log likelihood; without a prior the log joint density)
            with respect to the user's parameters. A row of NaN, where it is not known, stays one.
        """

    def at_end(self, z: Array) -> NDArray[np.bool_]:
        """Return at which of the points z (n, d) the parameters no longer follow z: double precision ends there."""
        return np.zeros(len(z), dtype=bool)

    def first(self, size: int, rng: np.random.Generator) -> Array:
        """Return `size` points spread where the prior, or the start, is."""
        u = sobol_points(self.dim, size, rng)
        return self._spread(ndtri(np.clip(u, 1e-12, 1.0 - 1e-12)))

    def _spread(self, normal: Array) -> Array:
        return normal

    @property
    def wide(self) -> tuple[Array, Array]:
        """Mean and lower root of a Gaussian that covers the prior, or what is known of the posterior beforehand."""
        return np.zeros(self.dim), np.eye(self.dim)

    def nodes(
        self,
        log_joint: LogJoint,
        proposal: Mixture,
        evaluated: tuple[Array, Array],
        size: int,
        replicates: int,
        seed: np.random.SeedSequence,
    ) -> Nodes:
        """Return nodes of the density exp(log_joint), drawn from a proposal that is adapted to it.

        Parameters
        ----------
        log_joint : callable
            Points (n, d) to log densities (n,).
        proposal : Mixture
            Where to begin.
        evaluated : tuple of (n, d), (n,) arrays
            Points and log likelihoods that need no surrogate, where points of the prior can be evaluated exactly.
        size, replicates : int
            Points of a Sobol sequence, and number of sequences.
        seed : SeedSequence
        """
        return adapted(log_joint, proposal, size, replicates, seed)

    def candidates(self, nodes: Nodes, size: int, wide: int, taken: Array) -> tuple[NDArray[np.intp], Array]:
        """Return rows of nodes among which the next points are chosen, and the mass (q,) that every node stands for.

        Parameters
        ----------
        nodes : Nodes
        size, wide : int
            How many are drawn from the surrogate posterior, and from its square root, which reaches into the tails.
        taken : (k, d) array
            Points that were evaluated or failed.
        """
        mass: Array = np.bincount(resample(nodes, 5 * size), minlength=len(nodes.points)).astype(float)
        return np.unique(np.concatenate([resample(nodes, size), resample(nodes, wide, power=0.5)])), mass

    def settled(self, failed: Array, zeros: Array) -> Array:
        """Return the points (k, d) beside the data of the surrogate that count as known when others are chosen.

        Points of zero likelihood are data of the sign process and need not be excluded.
        """
        return failed

    def rest(self, chosen: list[int], size: int, batch: int) -> list[int]:
        """Return which of `size` candidates fill a batch once those that lower the error are chosen: none."""
        return []

    def far(self, s: Array, reach: float) -> NDArray[np.intp]:
        """Return the rows of points s (n, d), in standard deviations of the posterior, that lie beyond a reach."""
        return np.flatnonzero(np.linalg.norm(s, axis=1) > reach)

    def rough_whitening(self) -> Whitening | None:
        """Return the whitening to use before the mass is found; None where it comes from the highest point."""
        return None

    def total(self, z: Array, values: Array) -> float | None:
        """Return the log evidence where log likelihoods (n,) are known at all points of the prior; None otherwise."""
        return None

    def supposed_centres(self, size: int, posterior: Whitening, rng: np.random.Generator) -> tuple[Whitening, Array]:
        """Return coordinates for modes that nobody has seen, and their centres (size, d) in them.

        Under a prior they are those of the prior; without one they are around the `posterior`.
        """
        return Whitening(np.zeros(self.dim), np.ones(self.dim)), self.first(size, rng)


def _through(whitening: Whitening, gradient: Array) -> Array:
    """Return gradients (n, d) with respect to x as those with respect to s, x = centre + root s."""
    return np.asarray(gradient * whitening.root if whitening.root.ndim == 1 else gradient @ whitening.root)


class NormalScores(Chart):
    r"""Coordinates in which the prior is standard normal.

    A Gaussian N(m, LL') is whitened, :math:`x = m + L z`; a product has normal scores in each coordinate,
    :math:`x_i = F_i^{-1}(\Phi(z_i))`, a copula those of :math:`L z`. The log joint density then falls off on all sides.

    Parameters
    ----------
    prior : Measure
        A measure that is `invertible`.
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
        return self.prior.to_normal(x)

    def at_end(self, z: Array) -> NDArray[np.bool_]:
        """Return at which of the points z (n, d) a coordinate moved outwards by a half changes no parameter.

        At the finite end of a support that is so from |z| = 8.2 on, without an end from |z| = 37.5.
        """
        return np.asarray(np.any(self.to_user(z) == self.to_user(z + np.copysign(0.5, z)), axis=1))

    def gradient_to_coordinates(self, z: Array, gradient: Array) -> Array:
        r"""Return the gradient of the log joint density: for a product :math:`g_i \phi(z_i) / f_i(x_i) - z_i`.

        Where a parameter is at the end of its support it no longer moves with z, and only the prior has a slope.
        """
        if self._whitening is not None:
            return _through(self._whitening, gradient) - z
        x, prior, inside = self.to_user(z), self.prior, self._inside
        latent = prior.latent
        if latent is not None:
            gradient, x = prior.gradient_to_latent(x, gradient), prior.to_latent(x)
            prior, inside = latent, (latent.lower, latent.upper)
        log_density = np.column_stack([p.log_density(x[:, i : i + 1]) for i, p in enumerate(prior.factors or ())])
        log_slope = -0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_density
        moves = (x > inside[0]) & (x < inside[1]) & np.isfinite(log_slope)
        slope = np.exp(np.where(moves, log_slope, -np.inf))
        return np.asarray(np.where(moves | np.isnan(gradient), gradient * slope, 0.0) - z)

    def log_prior(self, z: Array) -> Array:
        """Return the log density of N(0, I)."""
        return np.asarray(-0.5 * np.sum(z * z, axis=1) - 0.5 * self.dim * np.log(2.0 * np.pi))


class Standardised(Chart):
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

    def gradient_to_coordinates(self, z: Array, gradient: Array) -> Array:
        """Return the gradient of the log joint density: that of the function and the score of the prior, through x."""
        return _through(self._whitening, gradient + self.prior.score(self.to_user(z)))

    def log_prior(self, z: Array) -> Array:
        """Return the log prior density with respect to dz."""
        return self.prior.log_density(self.to_user(z)) + self._whitening.log_volume

    def first(self, size: int, rng: np.random.Generator) -> Array:
        """Return `size` points spread under the prior."""
        return self.from_user(self.prior.from_uniform(sobol_points(self.prior.uniform_dim, size, rng)))


class NoPrior(Chart):
    """No prior measure: a log joint density on R^d, a start and a rough scale.

    Parameters
    ----------
    start : (d,) array
        Where to begin.
    scale : (d,) array
        A guess of the width of the posterior in each coordinate, and how far from the start other points are spread.
    widths : (d,) array, optional
        The widths that were measured at the start, in units of `scale`: the units of the coordinates.
    """

    has_prior = False

    def __init__(self, start: ArrayLike, scale: ArrayLike, widths: Array | None = None) -> None:
        centre = np.asarray(start, dtype=float)
        self.scale = np.broadcast_to(np.asarray(scale, dtype=float), centre.shape)
        self.widths = np.ones(len(centre)) if widths is None else widths
        self._whitening = Whitening(centre, self.scale * self.widths)

    def measured(self, widths: Array) -> NoPrior:
        """Return the chart with widths that were measured, in units of `scale`."""
        return NoPrior(self._whitening.centre, self.scale, widths)

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

    def gradient_to_coordinates(self, z: Array, gradient: Array) -> Array:
        """Return the gradient of the log joint density with respect to z."""
        return _through(self._whitening, gradient)

    def supposed_centres(self, size: int, posterior: Whitening, rng: np.random.Generator) -> tuple[Whitening, Array]:
        """Return three times the width of the posterior as coordinates, and standard normal centres."""
        return Whitening(posterior.centre, 3.0 * posterior.root), rng.standard_normal((size, self.dim))

    def log_prior(self, z: Array) -> Array:
        """Return the log of dx/dz: the integral is taken over x."""
        return np.full(len(z), self._whitening.log_volume)

    def _spread(self, normal: Array) -> Array:
        points = normal / self.widths
        points[:1] = 0.0  # the start itself
        return points


class SamplePoints(Chart):
    """A prior that is a sample: the points there are, in units of their standard deviations.

    Parameters
    ----------
    prior : Empirical
    """

    discrete = True

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

    def total(self, z: Array, values: Array) -> float | None:
        """Return the log of the sum of weights times exp(values), where values (N,) are known at all points."""
        if len(values) < len(self._support):
            return None
        logs = self._at_support(z, values, np.full(len(self._support), -np.inf), self._support)
        return float(np.logaddexp.reduce(logs + self._log_weights))

    @staticmethod
    def _at_support(z: Array, values: Array, at: Array, support: Array) -> Array:
        """Put values (k,) at points z (k, d) to the places in `at` that belong to the same points of a support."""
        row = {point.tobytes(): i for i, point in enumerate(support)}
        for point, value in zip(z, values, strict=True):
            if point.tobytes() in row:
                at[row[point.tobytes()]] = value
        return at

    def nodes(
        self,
        log_joint: LogJoint,
        proposal: Mixture,
        evaluated: tuple[Array, Array],
        size: int,
        replicates: int,
        seed: np.random.SeedSequence,
    ) -> Nodes:
        """Return the points of the sample, or of a large one as many as can be nodes; known values as they are."""
        z, log_weights = self._support, self._log_weights
        if len(z) > _MOST_NODES:
            rows = np.random.default_rng(seed).choice(len(z), _MOST_NODES, replace=False)
            z, log_weights = z[rows], log_weights[rows]
            log_weights = log_weights - np.logaddexp.reduce(log_weights)
        g = self._at_support(*evaluated, log_joint(z), z)
        return Nodes(z, g, g + log_weights, None, 1)

    def candidates(self, nodes: Nodes, size: int, wide: int, taken: Array) -> tuple[NDArray[np.intp], Array]:
        """Return the points of the sample that are not taken, the most probable ones first, and all masses."""
        known = {point.tobytes() for point in taken + 0.0}
        fresh = np.array([point.tobytes() not in known for point in nodes.points + 0.0])
        order = np.argsort(-nodes.log_ratio, kind="stable")
        return order[fresh[order]][: size + wide], nodes.weights

    def settled(self, failed: Array, zeros: Array) -> Array:
        """Return failed points and those of zero likelihood: none of the points of a sample is evaluated twice."""
        return np.vstack([failed, zeros])

    def rest(self, chosen: list[int], size: int, batch: int) -> list[int]:
        """Return the next ones that are not chosen: in the end all points of a sample are evaluated."""
        return [i for i in range(size) if i not in chosen][: batch - len(chosen)]

    def far(self, s: Array, reach: float) -> NDArray[np.intp]:
        """Return no rows: between the points of a sample nothing is extrapolated."""
        return np.empty(0, dtype=np.intp)

    def rough_whitening(self) -> Whitening:
        """Return the coordinates themselves, in which the sample has unit width."""
        return Whitening(np.zeros(self.dim), np.eye(self.dim))

    def gradient_to_coordinates(self, z: Array, gradient: Array) -> Array:
        """Return the gradient of the log likelihood with respect to z: the weights of the sample have none."""
        return _through(self._whitening, gradient)

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


def chart_of(prior: Measure) -> Chart:
    """Return the coordinates that suit a prior, a measure or a distribution of scipy.stats."""
    prior = as_prior(prior)
    if isinstance(prior, Empirical):
        return SamplePoints(prior)
    if prior.invertible:
        return NormalScores(prior)
    return Standardised(prior)
