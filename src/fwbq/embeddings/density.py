"""Densities on the line: in panels between which they are smooth."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_jacobi, spherical_jn

from .._validate import Array
from .panels import DEGREES, NODES, ORDER, TO_SERIES, Estimate, integrate_panels, panel_nodes

if TYPE_CHECKING:
    from .line import Line

# Relative agreement of a panel with its halves: a hundred roundings, what sums of 20 products of a kernel and a density
# reach for certain.
_TOLERANCE = 1e-14
# Panels with more mass than this are integrated first: together they give all but a millionth of most integrals. Of the
# others only those are, whose mass times the largest kernel value is more than a hundredth of a rounding of the result.
_HEAVY = 1e-6
_UNSEEN = 1e-18


@dataclass(frozen=True, eq=False)
class Side:
    """A part of a density that begins at an origin and runs one way: y = origin + scale t, t >= 0.

    Distances t from the origin are exact where y itself is not, so that peaks at a bound and truncated tails keep
    their digits.

    Attributes
    ----------
    origin, scale : float
        The scale is negative when the part runs downwards.
    density : callable
        Density of t.
    edges : (m,)
        Panels in t on each of which 20 Gauss-Legendre nodes resolve the density.
    power : float
        Below ``edges[0]``, if that is positive, the density is t^power times a smooth function.
    """

    origin: float
    scale: float
    density: Callable[[Array], Array]
    edges: Array
    power: float = 0.0

    def position(self, t: Array) -> Array:
        """Return y = origin + scale t."""
        return self.origin + self.scale * t

    def peak(self, length: float, order: int = ORDER) -> tuple[Array, Array]:
        """Return nodes t and weights for the mass in [0, length], where length <= edges[0]."""
        t, weights = self.peaks(np.array([length]), order)
        return t[0], weights[0]

    def peaks(self, lengths: Array, order: int = ORDER) -> tuple[Array, Array]:
        """Return nodes and weights of Gauss-Jacobi rules, shape (n, order), for the masses in [0, lengths_i]."""
        x, w = roots_jacobi(order, 0.0, self.power)
        t = lengths[:, None] * (0.5 * (1.0 + x))
        return t, (0.5 * lengths[:, None]) ** (self.power + 1.0) * w * self.density(t) / t**self.power


class Density(ABC):
    """A probability density on the line."""

    @property
    def accuracy(self) -> float:
        """Mass that the panels of `sides` get wrong, beyond rounding; zero where they resolve the density."""
        return 0.0

    @abstractmethod
    def sides(self) -> tuple[Side, ...]:
        """Return the parts that make up the density."""

    def nodes(self) -> tuple[Array, Array]:
        """Return nodes and weights of Gauss rules on the halves of the panels, for products of polynomials."""
        positions, masses = [], []
        for side in self.sides():
            edges = np.sort(np.concatenate([side.edges, 0.5 * (side.edges[1:] + side.edges[:-1])]))
            t, w = panel_nodes(edges[:-1], edges[1:])
            t, w = t.ravel(), (w * side.density(t)).ravel()
            if side.edges[0] > 0.0:
                peak, peak_weights = side.peak(side.edges[0])
                t, w = np.append(peak, t), np.append(peak_weights, w)
            positions.append(side.position(t))
            masses.append(w)
        weights = np.concatenate(masses)
        return np.concatenate(positions), weights / weights.sum()

    def expectation(self, function: "Line", edges: Array) -> Estimate:
        """Return the integral of ``function.mean`` under this density, adaptively, and its error.

        The tolerance is 1e-14 of its value, or the accuracy to which the density is known, if that is less.

        Parameters
        ----------
        function : Line
            Its ``mean`` is integrated.
        edges : (m,)
            Further places near which the integrand varies fast or is not smooth.
        """
        total = error = 0.0
        tolerance = max(_TOLERANCE, self.accuracy)
        parts = []
        for side in self.sides():
            own = side.edges
            if own[0] > 0.0:
                # The integrand itself is not smooth at the peak: down to a millionth the panels are graded.
                own = np.concatenate([own[0] * 0.25 ** np.arange(12.0, 0.0, -1.0), own])
                nodes, weights = side.peak(own[0])
                total += float(weights @ function.mean(side.position(nodes)))
            t = (edges - side.origin) / side.scale
            t = t[(t > own[0]) & (t < own[-1])]
            # Edges that differ by rounding alone are one edge.
            t = t[np.abs(t[:, None] - own).min(axis=1, initial=np.inf) > 1e-9 * t]
            own = np.unique(np.concatenate([own, t]))
            left, right = own[:-1], own[1:]
            nodes, weights = panel_nodes(left, right)
            mass = np.sum(side.density(nodes) * weights, axis=1)

            def integrand(t: Array, side: Side = side) -> Array:
                return function.mean(side.position(t)) * side.density(t)

            heavy = mass > _HEAVY
            part = integrate_panels(integrand, left[heavy], right[heavy], tolerance)
            total, error = total + part.value, error + part.error
            parts.append((integrand, left[~heavy], right[~heavy], mass[~heavy]))
        for integrand, left, right, mass in parts:
            # A light panel matters only if the whole is as small, as for two measures far from each other.
            seen = mass * function.amplitude > _UNSEEN * total
            part = integrate_panels(integrand, left[seen], right[seen], tolerance, abs(total))
            total, error = total + part.value, error + part.error
        return Estimate(total, error)

    def characteristic(self, frequencies: Array) -> tuple[NDArray[np.complex128], str]:
        """Return E exp(i w Y) for each frequency w and the method.

        On every panel the density is a Legendre series, whose Fourier transform is a series of spherical Bessel
        functions: int_-1^1 P_l(u) exp(i c u) du = 2 i^l j_l(c). No frequency is too high for it.
        """
        total = np.zeros(frequencies.shape, dtype=np.complex128)
        fastest = float(np.max(np.abs(frequencies), initial=0.0))
        for side in self.sides():
            edges = side.edges
            start = edges[0]
            if start > 0.0:
                # The rule for the peak resolves exp(i w t) up to w t = 1; the rest is cut in halves.
                while start * abs(side.scale) * fastest > 1.0:
                    start *= 0.5
                    edges = np.concatenate([[start], edges])
                nodes, weights = side.peak(start)
                total += np.exp(1j * np.multiply.outer(frequencies, side.position(nodes))) @ weights
            for left, right in pairwise(edges):
                half = 0.5 * (right - left)
                series = TO_SERIES @ side.density(0.5 * (left + right) + half * NODES)
                argument = frequencies * (half * side.scale)
                bessel = spherical_jn(DEGREES[:, None], np.abs(argument))
                # j_l is even or odd as l is.
                signs = np.where(argument < 0.0, (-1j) ** DEGREES[:, None], 1j ** DEGREES[:, None])
                middle = side.origin + side.scale * 0.5 * (left + right)
                transform = 2.0 * half * np.sum(series[:, None] * signs * bessel, axis=0)
                total += np.exp(1j * frequencies * middle) * transform
        return total, "1-d quadrature"


@dataclass(frozen=True, eq=False)
class UniformOnInterval(Density):
    """The uniform distribution on [lower, upper]."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.upper - self.lower

    def density(self, y: Array) -> Array:
        """Return 1 / width."""
        return np.full(y.shape, 1.0 / self.width)

    def sides(self) -> tuple[Side, ...]:
        """Return the interval, run through from the lower bound."""
        return (Side(self.lower, self.width, np.ones_like, np.array([0.0, 1.0])),)

    def characteristic(self, frequencies: Array) -> tuple[NDArray[np.complex128], str]:
        """Return exp(i w (a + b)/2) sin(w (b - a)/2) / (w (b - a)/2)."""
        middle = 0.5 * (self.lower + self.upper)
        return np.exp(1j * frequencies * middle) * np.sinc(frequencies * (self.width / (2.0 * np.pi))), "closed form"
