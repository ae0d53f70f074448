"""One kernel or one density on the line: what products over coordinates are made of."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import eval_legendre, roots_jacobi, spherical_jn

from .._gauss import gauss_legendre
from .._validate import Array
from ..kernels import Kernel
from .base import registered

# Nodes of a panel. With 20 a panel over which an analytic integrand falls by a factor of about 1000 is exact to
# rounding, and the arrays of a thousand panels still fit a cache.
ORDER = 20
NODES, WEIGHTS = gauss_legendre(ORDER)
_DEGREES = np.arange(ORDER)
# Values at the nodes -> coefficients of the Legendre series.
TO_SERIES = (_DEGREES[:, None] + 0.5) * eval_legendre(_DEGREES[:, None], NODES) * WEIGHTS
# Relative agreement of a panel with its halves: a hundred roundings, what sums of 20 products of a kernel and a density
# reach for certain.
_TOLERANCE = 1e-14
# Panels with more mass than this are integrated first: together they give all but a millionth of most integrals. Of the
# others only those are, whose mass times the largest kernel value is more than a hundredth of a rounding of the result.
_HEAVY = 1e-6
_UNSEEN = 1e-18
# A panel of unit length halved 60 times is as narrow as the spacing of the floats; 2000 unresolved panels at once mean
# that the integrand is not smooth anywhere.
_LEVELS = 60
_MOST = 2000


class Estimate(NamedTuple):
    """An integral and the error that its rule found in it, both absolute."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Line(ABC):
    """The mean element mu of a one-dimensional kernel k under a density p on the line.

    mu(x) = int k(x, y) p(y) dy,  double integral int mu(x) p(x) dx.

    Parameters
    ----------
    kernel : Kernel
        A function of x - y, of dimension 1.
    p : Density
    """

    kernel: Any
    p: Any

    @property
    def method(self) -> str:
        """How mean and variance are computed."""
        return "closed form"

    @property
    def amplitude(self) -> float:
        """The largest value of the kernel, k(x, x)."""
        return float(self.kernel.diag(np.zeros((1, 1)))[0])

    @property
    def accuracy(self) -> float:
        """Relative error of mean and variance beyond rounding; zero for closed forms."""
        return 0.0

    @abstractmethod
    def breaks(self) -> Array:
        """Return the places near which mu varies fastest or is not smooth, as edges of panels for its integration."""

    @abstractmethod
    def mean(self, x: Array) -> Array:
        """Return mu(x) for points x of shape (n,)."""

    @abstractmethod
    def gradient(self, x: Array) -> Array:
        """Return the derivative of mu at points x of shape (n,)."""

    @abstractmethod
    def variance(self) -> float:
        """Return the double integral of the kernel."""

    @cached_property
    def _double(self) -> Estimate:
        """The double integral as the integral of mu, by quadrature."""
        return self.p.expectation(self, self.breaks())  # type: ignore[no-any-return]

    @property
    def _double_accuracy(self) -> float:
        """Relative error that the quadrature of mu found in the double integral."""
        value, error = self._double
        return error / abs(value) if value else 0.0


def embed_line(kernel: Kernel, p: "Density") -> Line:
    """Return the embedding of a one-dimensional kernel: in closed form if one is registered, else by quadrature."""
    builder = registered(kernel, p)
    assert builder is not None, f"{type(p).__name__} has no entry for every kernel"
    return cast("Line", builder(kernel, p))


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

    def expectation(self, function: Line, edges: Array) -> Estimate:
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
                bessel = spherical_jn(_DEGREES[:, None], np.abs(argument))
                # j_l is even or odd as l is.
                signs = np.where(argument < 0.0, (-1j) ** _DEGREES[:, None], 1j ** _DEGREES[:, None])
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


def integrate_panels(
    integrand: Callable[[Array], Array], left: Array, right: Array, tolerance: float, beside: float = 0.0
) -> Estimate:
    """Return the integral over panels [left_i, right_i] by Gauss-Legendre rules of 20 nodes and bisection.

    A panel is split until it agrees with its two halves to ``tolerance`` times the whole integral and what stands
    ``beside`` it; all active panels are evaluated in one call. The error is the sum of the differences that were left.

    Raises
    ------
    ArithmeticError
        If 60 bisections, or 2000 panels at once, do not reach the tolerance.
    """
    coarse = _panel_values(integrand, left, right)
    done = error = 0.0
    for _ in range(_LEVELS):
        middle = 0.5 * (left + right)
        halves = np.stack([_panel_values(integrand, left, middle), _panel_values(integrand, middle, right)])
        fine = halves.sum(axis=0)
        scale = beside + abs(done) + float(np.abs(fine).sum())
        # Panels as narrow as the spacing of the floats cannot be split further.
        unresolved = (np.abs(fine - coarse) > tolerance * scale) & (middle > left) & (middle < right)
        done += float(fine[~unresolved].sum())
        error += float(np.abs(fine - coarse)[~unresolved].sum())
        if not np.any(unresolved):
            return Estimate(done, error)
        if np.count_nonzero(unresolved) > _MOST:
            break
        coarse = halves[:, unresolved].reshape(-1)
        left, right = (
            np.concatenate([left[unresolved], middle[unresolved]]),
            np.concatenate([middle[unresolved], right[unresolved]]),
        )
    raise not_converged("the integral under the measure", tolerance)


def panel_nodes(left: Array, right: Array) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights on panels of any shape (...), shape (..., 20)."""
    half = 0.5 * (right - left)
    t = (0.5 * (left + right))[..., None] + half[..., None] * NODES
    # Rounding may carry a node past the ends of a very narrow panel.
    return np.clip(t, left[..., None], right[..., None]), half[..., None] * WEIGHTS


def _panel_values(integrand: Callable[[Array], Array], left: Array, right: Array) -> Array:
    t, weights = panel_nodes(left, right)
    return np.asarray(np.sum(integrand(t.ravel()).reshape(t.shape) * weights, axis=1))


def not_converged(what: str, tolerance: float) -> ArithmeticError:
    """Return the error for an integral that bisection does not bring to its tolerance."""
    return ArithmeticError(
        f"{what} did not converge to {tolerance:g} of its value: the integrand changes faster than float64 resolves; "
        "check the measure's parameters and the lengthscale, or use Empirical with a sample"
    )
