"""The periodic Sobolev kernel under the uniform distribution on an interval within [0, 1]."""

from dataclasses import dataclass

import numpy as np

from .._validate import Array
from ..kernels import PeriodicSobolev
from .base import register
from .density import UniformOnInterval
from .line import Line
from .panels import panel_nodes


@register([PeriodicSobolev], [UniformOnInterval], "closed form")
@dataclass(frozen=True, eq=False)
class SobolevUniform(Line):
    """PeriodicSobolev of order s under the uniform distribution on [a, b] within [0, 1].

    On [0, 1] mean and double integral are 1. On a part of it, with w = b - a, c = (-1)^(s-1) (2 pi)^(2s) / (2s)! and
    {.} the fractional part,

    mu(x) = 1 + c / ((2s + 1) w) [B_{2s+1}({x - a}) - B_{2s+1}({x - b})],
    double integral 1 + 2 c / ((2s + 1) (2s + 2) w^2) [B_{2s+2}(w) - B_{2s+2}(0)],

    B_n the Bernoulli polynomials.

    Notes
    -----
    The differences cancel for short intervals. But k is a polynomial of degree 2 s on either side of x, which a Gauss
    rule integrates exactly; so is mu on either side of the bounds, of degree 2 s + 2.
    """

    kernel: PeriodicSobolev
    p: UniformOnInterval

    @property
    def _whole(self) -> bool:
        return self.p.lower == 0.0 and self.p.upper == 1.0

    def mean(self, x: Array) -> Array:
        """Return mu(x) for points x of shape (n,), taken modulo 1."""
        return np.ones_like(x) if self._whole else self._integral(x, False)

    def gradient(self, x: Array) -> Array:
        """Return the derivative of mu at points x of shape (n,)."""
        return np.zeros_like(x) if self._whole else self._integral(x, True)

    def variance(self) -> float:
        """Return the double integral of the kernel."""
        if self._whole:
            return 1.0
        nodes, weights = panel_nodes(np.array([self.p.lower]), np.array([self.p.upper]))
        return float(self.mean(nodes[0]) @ weights[0]) / self.p.width

    def breaks(self) -> Array:
        """Return the bounds, where mu is not smooth."""
        return np.array([self.p.lower, self.p.upper])

    def _integral(self, x: Array, derivative: bool) -> Array:
        x = x - np.floor(x)
        cut = np.clip(x, self.p.lower, self.p.upper)
        total = np.zeros_like(x)
        for left, right in ((np.full_like(x, self.p.lower), cut), (cut, np.full_like(x, self.p.upper))):
            nodes, weights = panel_nodes(left, right)
            r = (x[:, None] - nodes).reshape(-1, 1)
            origin = np.zeros((1, 1))
            values = self.kernel.gradient(r, origin)[:, 0, 0] if derivative else self.kernel(r, origin)[:, 0]
            total += np.einsum("ij,ij->i", values.reshape(nodes.shape), weights)
        return total / self.p.width
