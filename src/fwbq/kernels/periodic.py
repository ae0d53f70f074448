"""Periodic Sobolev (Korobov) kernels."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .. import _frozen, _validate
from .._validate import Array
from .base import Kernel
from .registry import register

# B_{2s}(u) = sum_j c_j v^j with v = u (1 - u): symmetric in u <-> 1 - u by construction.
_BERNOULLI = {1: (1 / 6, -1.0), 2: (-1 / 30, 0.0, 1.0), 3: (1 / 42, 0.0, -0.5, -1.0)}


@register("periodic")
@dataclass(frozen=True, eq=False, init=False, repr=False)
class PeriodicSobolev(Kernel):
    """Product over coordinates of periodic Sobolev kernels of whole order on [0, 1].

    k(x, y) = prod_i [1 + 2 sum_{m >= 1} m^(-2 s) cos(2 pi m (x_i - y_i))],

    in closed form prod_i [1 + (-1)^(s-1) (2 pi)^(2s) / (2s)! B_{2s}({x_i - y_i})],

    with s the order, B_{2s} the Bernoulli polynomial and {.} the fractional part.

    Parameters
    ----------
    order : int
        The smoothness s: 1, 2 or 3.

    Notes
    -----
    The normalisation is the one of the kernel quadrature literature: Bach (2017), "On the equivalence between kernel
    quadrature rules and random feature expansions", section 5; Tsuji, Tanaka and Pokutta (2022). Other texts leave
    out the (2 pi)^(2s). The integral over one period is 1. Points outside [0, 1] are taken modulo 1.

    Examples
    --------
    >>> k = PeriodicSobolev(1)
    >>> k.diag([[0.3]]).round(4)  # 1 + pi^2 / 3
    array([4.2899])
    """

    order: int

    def __init__(self, order: int) -> None:
        _validate.choice(_validate.count(order, "order"), "order", (1, 2, 3))
        _frozen.freeze(self, order=int(order))

    @property
    def dim(self) -> int | None:
        """None: every dimension will do."""
        return None

    @property
    def _amplitude(self) -> float:
        s = self.order
        return float((-1) ** (s - 1) * (2 * math.pi) ** (2 * s) / math.factorial(2 * s))

    def _fraction(self, x: Array, y: Array, i: int) -> tuple[Array, Array]:
        """Return x_i - y_i up to a whole number, and the fractional part of its absolute value."""
        delta = np.subtract.outer(np.fmod(x[:, i], 1.0), np.fmod(y[:, i], 1.0))
        u = np.abs(delta)
        u -= np.floor(u)
        return delta, u

    def _factor(self, x: Array, y: Array, i: int) -> Array:
        """Return the one-dimensional kernel of coordinate i, shape (n, m)."""
        _, u = self._fraction(x, y, i)
        return _polynomial(u * (1.0 - u), [self._amplitude * c for c in _BERNOULLI[self.order]]) + 1.0

    def _factor_derivative(self, x: Array, y: Array, i: int) -> Array:
        delta, u = self._fraction(x, y, i)
        slope = _polynomial(u * (1.0 - u), [j * c for j, c in enumerate(_BERNOULLI[self.order])][1:])
        # At whole differences order 1 has a kink: zero is the mean of the two slopes, and the value for higher orders.
        return np.where(u > 0.0, self._amplitude * np.sign(delta) * (1.0 - 2.0 * u) * slope, 0.0)

    def _gram(self, x: Array, y: Array) -> Array:
        k = self._factor(x, y, 0)
        for i in range(1, x.shape[1]):
            k *= self._factor(x, y, i)
        return k

    def _diagonal(self, x: Array) -> Array:
        return np.full(x.shape[0], self._gram(np.zeros((1, x.shape[1])), np.zeros((1, x.shape[1])))[0, 0])

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        # The factors change sign, so the product of the others is formed anew rather than by division.
        for i in range(x.shape[1]):
            part = self._factor_derivative(x, y, i)
            for j in range(x.shape[1]):
                if j != i:
                    part *= self._factor(x, y, j)
            yield part

    def factors(self, dim: int) -> tuple[Kernel, ...]:
        """Return the kernel itself for each coordinate."""
        return (self,) * self._check_dim(dim)

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel."""
        return {"type": "PeriodicSobolev", "order": self.order}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        return cls(spec["order"])


def _polynomial(v: Array, coefficients: Sequence[float]) -> Array:
    """Return sum_j coefficients_j v^j by Horner's rule."""
    total = np.full_like(v, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= v
        total += c
    return total
