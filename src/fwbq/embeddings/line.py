"""One kernel and one measure on the line: what a product over coordinates is made of."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import roots_legendre

from .. import _validate
from .._validate import Array

NODES, WEIGHTS = roots_legendre(20)
_TOLERANCE = 1e-14
_LEVELS = 60


class Line(ABC):
    """The mean element of a one-dimensional kernel under a one-dimensional measure."""

    method: str

    @abstractmethod
    def mean(self, x: Array) -> Array:
        """Return mu(x) for points x of shape (n,)."""

    @abstractmethod
    def gradient(self, x: Array) -> Array:
        """Return the derivative of mu at points x of shape (n,)."""

    @abstractmethod
    def variance(self) -> float:
        """Return the double integral of the kernel."""


class Density(ABC):
    """A probability density on the line, with panels on each of which 20 Gauss-Legendre nodes resolve it."""

    @abstractmethod
    def density(self, y: Array) -> Array:
        """Return the density at points of the support."""

    @abstractmethod
    def edges(self) -> Array:
        """Return the sorted edges of the panels."""

    def ends(self) -> tuple[Array, Array]:
        """Return nodes and weights for the mass outside the panels (at a singular bound), empty by default."""
        return np.empty(0), np.empty(0)

    def expectation(self, function: Line, edges: Array) -> float:
        """Return the integral of ``function.mean`` under this density, adaptively to 1e-14 of its value.

        Parameters
        ----------
        function : Line
            Its ``mean`` is integrated.
        edges : (m,)
            Further places where the integrand changes its character.
        """
        own = self.edges()
        edges = np.unique(np.concatenate([own, edges[(edges > own[0]) & (edges < own[-1])]]))

        def integrand(y: Array) -> Array:
            return function.mean(y) * self.density(y)

        nodes, weights = self.ends()
        return integrate_panels(integrand, edges) + float(weights @ function.mean(nodes) if nodes.size else 0.0)


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

    def edges(self) -> Array:
        """Return the two bounds."""
        return np.array([self.lower, self.upper])


def integrate_panels(integrand: Callable[[Array], Array], edges: Array) -> float:
    """Return the integral over the panels by Gauss-Legendre rules of 20 nodes and bisection.

    A panel is split until it agrees with its two halves to 1e-14 of the whole integral; all active panels are evaluated
    in one call.

    Raises
    ------
    ArithmeticError
        If 60 bisections do not reach the tolerance.
    """
    left, right = edges[:-1], edges[1:]
    coarse = _panel_values(integrand, left, right)
    done = 0.0
    for _ in range(_LEVELS):
        middle = 0.5 * (left + right)
        halves = np.stack([_panel_values(integrand, left, middle), _panel_values(integrand, middle, right)])
        fine = halves.sum(axis=0)
        scale = abs(done) + float(np.abs(fine).sum())
        # Panels as narrow as the spacing of the floats cannot be split further.
        open_ = (np.abs(fine - coarse) > _TOLERANCE * scale) & (middle > left) & (middle < right)
        done += float(fine[~open_].sum())
        if not np.any(open_):
            return done
        coarse = halves[:, open_].reshape(-1)
        left, right = (
            np.concatenate([left[open_], middle[open_]]),
            np.concatenate([middle[open_], right[open_]]),
        )
    raise _validate.not_converged("the integral under the measure", _TOLERANCE)


def _panel_values(integrand: Callable[[Array], Array], left: Array, right: Array) -> Array:
    half = 0.5 * (right - left)
    y = (0.5 * (left + right))[:, None] + half[:, None] * NODES
    # Rounding may carry a node past the ends of a very narrow panel.
    y = np.clip(y, left[:, None], right[:, None])
    return half * (integrand(y.ravel()).reshape(y.shape) @ WEIGHTS)
