"""The six families of Genz (1984) on the unit cube.

Each has d difficulty parameters a > 0 and d location parameters u in [0, 1]. The location is uniform; the difficulty is
uniform, then scaled to a fixed sum, which is the one Barthelmann, Novak and Ritter use (High dimensional polynomial
interpolation on sparse grids, Adv. Comput. Math. 12, 2000): 9, 7.25, 1.85, 7.03, 20.4, 4.3 in the order below.

Source: A. Genz, Testing multidimensional integration routines, in Tools, Methods and Languages for Scientific and
Engineering Computation, North-Holland 1984, pp. 81-94.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import factorial, fsum, pi, prod

import numpy as np
from scipy.special import erf

from fwbq.measures import Measure, Uniform

from .problem import Array, Family


@dataclass(frozen=True, eq=False)
class Oscillatory:
    """cos(2 pi u_1 + a.x); integral cos(2 pi u_1 + sum a_i / 2) prod 2 sin(a_i / 2) / a_i."""

    a: Array
    u: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(np.cos(2.0 * pi * self.u[0] + x @ self.a))

    def integral(self) -> float:
        """Return the exact integral over the unit cube."""
        half = self.a / 2.0
        return float(np.cos(2.0 * pi * self.u[0] + half.sum()) * np.prod(np.sin(half) / half))


@dataclass(frozen=True, eq=False)
class ProductPeak:
    """prod 1 / (a_i^-2 + (x_i - u_i)^2); integral prod a_i (atan(a_i (1 - u_i)) + atan(a_i u_i))."""

    a: Array
    u: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(1.0 / np.prod(self.a**-2.0 + (x - self.u) ** 2, axis=1))

    def integral(self) -> float:
        """Return the exact integral over the unit cube."""
        return float(np.prod(self.a * (np.arctan(self.a * (1.0 - self.u)) + np.arctan(self.a * self.u))))


@dataclass(frozen=True, eq=False)
class CornerPeak:
    """(1 + a.x)^-(d + 1); integral by inclusion and exclusion over the corners of the cube.

    The integral is (1 / (d! prod a_i)) sum_v (-1)^|v| / (1 + v.a) over v in {0, 1}^d.
    """

    a: Array
    u: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray((1.0 + x @ self.a) ** -(len(self.a) + 1.0))

    def integral(self) -> float:
        """Return the exact integral over the unit cube."""
        a = [float(value) for value in self.a]
        terms = [
            (-1.0) ** sum(v) / (1.0 + fsum(vi * ai for vi, ai in zip(v, a, strict=True)))
            for v in product((0, 1), repeat=len(a))
        ]
        return fsum(terms) / (factorial(len(a)) * prod(a))


@dataclass(frozen=True, eq=False)
class GaussianPeak:
    """exp(-sum a_i^2 (x_i - u_i)^2); integral prod sqrt(pi) / (2 a_i) (erf(a_i (1 - u_i)) + erf(a_i u_i))."""

    a: Array
    u: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(np.exp(-(((x - self.u) * self.a) ** 2).sum(axis=1)))

    def integral(self) -> float:
        """Return the exact integral over the unit cube."""
        sides = erf(self.a * (1.0 - self.u)) + erf(self.a * self.u)
        return float(np.prod(np.sqrt(pi) / (2.0 * self.a) * sides))


@dataclass(frozen=True, eq=False)
class Continuous:
    """exp(-sum a_i |x_i - u_i|), a kink along d planes; integral prod (2 - e^(-a_i u_i) - e^(-a_i (1 - u_i))) / a_i."""

    a: Array
    u: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.exp(-np.abs(x - self.u) @ self.a)

    def integral(self) -> float:
        """Return the exact integral over the unit cube."""
        sides = np.expm1(-self.a * self.u) + np.expm1(-self.a * (1.0 - self.u))
        return float(np.prod(-sides / self.a))


@dataclass(frozen=True, eq=False)
class Discontinuous:
    """exp(a.x) where x_1 <= u_1 and x_2 <= u_2, zero elsewhere; integral prod (e^(a_i b_i) - 1) / a_i.

    The bounds are b = (u_1, u_2, 1, ..., 1).
    """

    a: Array
    u: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        inside = np.all(x[:, :2] <= self.u[:2], axis=1)
        return np.where(inside, np.exp(x @ self.a), 0.0)

    def integral(self) -> float:
        """Return the exact integral over the unit cube."""
        bounds = np.ones_like(self.a)
        bounds[:2] = self.u[:2]
        return float(np.prod(np.expm1(self.a * bounds) / self.a))


_Genz = Oscillatory | ProductPeak | CornerPeak | GaussianPeak | Continuous | Discontinuous


def _family(kind: Callable[[Array, Array], _Genz], name: str, difficulty: float, *tags: str) -> Family:
    def make(dim: int, rng: np.random.Generator) -> tuple[Measure, Callable[[Array], Array], float]:
        a = rng.uniform(size=dim)
        integrand = kind(a * (difficulty / a.sum()), rng.uniform(size=dim))
        return Uniform(np.zeros(dim), np.ones(dim)), integrand, integrand.integral()

    return Family(f"genz-{name}", (1, 2, 3, 5), ("genz", *tags), make)


FAMILIES = (
    _family(Oscillatory, "oscillatory", 9.0, "smooth", "analytic", "oscillatory"),
    _family(ProductPeak, "product-peak", 7.25, "smooth", "analytic", "peak"),
    _family(CornerPeak, "corner-peak", 1.85, "smooth", "analytic", "peak"),
    _family(GaussianPeak, "gaussian", 7.03, "smooth", "analytic", "peak"),
    _family(Continuous, "continuous", 20.4, "kink", "peak"),
    _family(Discontinuous, "discontinuous", 4.3, "step"),
)
