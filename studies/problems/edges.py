"""Problems that stationary kernels find hard: singular ends, kinks between points, heavy tails.

They are no part of the fixed table of `problems.all`, whose values are checked by plain sampling, which heavy tails
defeat.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.special import betainc, betaln

from fwbq._gauss import gauss_legendre
from fwbq.measures import Measure, Product, Uniform

from .problem import Array, Family

Drawn = tuple[Measure, Callable[[Array], Array], float]

#: Values under heavy tails are sums over this number of Gauss-Legendre nodes on either side of the median, in a
#: coordinate v with levels B(12, 12)(v): the integrands below are then smooth to the 4th power of the distance from the
#: end at least, and twice as many nodes change the sum by less than 1e-11 of it.
_NODES = 800
_POWER = 12.0


@dataclass(frozen=True, eq=False)
class Powers:
    """prod_i x_i^s_i on the unit cube, 0 < s_i < 1: infinite slopes at the faces."""

    s: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(np.prod(x**self.s, axis=1))

    def integral(self) -> float:
        """Return prod 1 / (1 + s_i)."""
        return float(np.prod(1.0 / (1.0 + self.s)))


@dataclass(frozen=True, eq=False)
class Logarithms:
    """prod_i (a_i - log x_i) on the unit cube: infinite at the faces."""

    a: Array

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(np.prod(self.a - np.log(x), axis=1))

    def integral(self) -> float:
        """Return prod (1 + a_i)."""
        return float(np.prod(1.0 + self.a))


@dataclass(frozen=True, eq=False)
class Kinks:
    """prod_i |x_i - c_i|^power on the unit cube."""

    c: Array
    power: float

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, d), shape (n,)."""
        return np.asarray(np.prod(np.abs(x - self.c) ** self.power, axis=1))

    def integral(self) -> float:
        """Return prod (c_i^q + (1 - c_i)^q) / q with q = power + 1."""
        q = self.power + 1.0
        return float(np.prod((self.c**q + (1.0 - self.c) ** q) / q))


@dataclass(frozen=True, eq=False)
class Growing:
    """x, |x| or sqrt(c^2 + x^2), which grow along a tail."""

    kind: Literal["identity", "absolute", "root"]
    c: float

    def __call__(self, x: Array) -> Array:
        """Return f at x (n, 1), shape (n,)."""
        t = x[:, 0]
        if self.kind == "identity":
            return t.copy()
        return np.abs(t) if self.kind == "absolute" else np.hypot(self.c, t)

    def integral(self, distribution: Any, nodes: int = _NODES) -> float:
        """Return the integral under a frozen distribution, by quadrature in its quantiles, split at the median."""
        t, w = gauss_legendre(nodes)
        v, w = 0.25 * (1.0 + t), 0.25 * w  # on [0, 1/2]
        level = betainc(_POWER, _POWER, v)
        ratio = np.exp((_POWER - 1.0) * np.log(v * (1.0 - v)) - betaln(_POWER, _POWER))
        both = self(distribution.ppf(level)[:, None]) + self(distribution.isf(level)[:, None])
        return float((w * ratio) @ both)


def _powers(dim: int, rng: np.random.Generator) -> Drawn:
    f = Powers(rng.uniform(0.2, 0.8, dim))
    return _cube(dim), f, f.integral()


def _logarithms(dim: int, rng: np.random.Generator) -> Drawn:
    f = Logarithms(rng.uniform(0.0, 2.0, dim))
    return _cube(dim), f, f.integral()


def _kinks(power: float, dim: int, rng: np.random.Generator) -> Drawn:
    f = Kinks(rng.uniform(0.1, 0.9, dim), power)
    return _cube(dim), f, f.integral()


def _tail(name: str, shapes: tuple[float, ...], dim: int, rng: np.random.Generator) -> Drawn:
    from scipy import stats

    p = getattr(stats, name)(float(rng.choice(shapes)))
    kinds: tuple[Literal["identity", "absolute", "root"], ...] = ("identity", "absolute", "root")
    f = Growing(kinds[rng.integers(3)], float(rng.uniform(0.5, 2.0)))
    return Product(p), f, f.integral(p)


def _cube(dim: int) -> Uniform:
    return Uniform(np.zeros(dim), np.ones(dim))


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("edge-power", (1, 2), ("edge",), _powers),
        Family("edge-log", (1, 2), ("edge",), _logarithms),
        Family("kink-1", (1, 2), ("kink",), partial(_kinks, 1.0)),
        Family("kink-1.5", (1, 2), ("kink",), partial(_kinks, 1.5)),
        Family("tail-t", (1,), ("tail",), partial(_tail, "t", (2.0, 3.0))),
        Family("tail-pareto", (1,), ("tail",), partial(_tail, "pareto", (1.5,))),
        Family("tail-lognorm", (1,), ("tail",), partial(_tail, "lognorm", (2.0,))),
        Family("tail-gamma", (1,), ("tail",), partial(_tail, "gamma", (0.1,))),
    )
}
