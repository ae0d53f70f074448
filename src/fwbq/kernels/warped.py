"""Kernels in coordinates in which heavy tails come to an end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .. import _frozen, _validate, measures
from .._validate import Array
from ..measures.warp import Warp
from .base import Kernel
from .registry import from_spec, register


@register()
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Warped(Kernel):
    """A kernel of warped coordinates v(x), as a kernel of the original ones that grows in the tails.

    k'(x, y) = k(v(x), v(y)) / (r(v(x)) r(v(y))),  r the ratio of densities of the `Warp`.

    What f r is as a function of v, bounded and smooth, a stationary kernel k describes; k' describes f itself. Under
    the measure of the warp the ratio cancels, and the embedding is that of k under the uniform distribution.
    Length-scales are those of v: parts of the unit interval.

    Parameters
    ----------
    kernel : Kernel
        k, of warped coordinates.
    warp : fwbq.measures.Warp
        The coordinates, with their measure.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from fwbq import Matern32, Product
    >>> k = Warped(Matern32(0.5), Warp.of(Product(stats.t(2.0))))
    >>> near, far = k.diag(np.array([[0.0], [1e3]]))
    >>> bool(far > 1e3 * near)
    True
    """

    kernel: Kernel
    warp: Warp

    def __init__(self, kernel: Kernel, warp: Warp) -> None:
        _validate.instance(kernel, "kernel", Kernel, "pass a kernel such as fwbq.ExpQuad(1.0)")
        _validate.instance(warp, "warp", Warp, "pass fwbq.measures.Warp.of(measure)")
        _validate.dimension(warp.measure.dim, kernel.dim, "warp", f"the kernel {type(kernel).__name__}")
        _frozen.freeze(self, kernel=kernel, warp=warp)

    @property
    def dim(self) -> int:
        """The dimension d of the measure."""
        return self.warp.measure.dim

    def _gram(self, x: Array, y: Array) -> Array:
        u = self.warp.to_warped(x)
        v = u if y is x else self.warp.to_warped(y)
        a = 1.0 / self.warp.ratio(u)
        b = a if y is x else 1.0 / self.warp.ratio(v)
        # One product of the two factors, so that the matrix is symmetric to the bit.
        return self.kernel._gram(u, v) * (a[:, None] * b)

    def _diagonal(self, x: Array) -> Array:
        v = self.warp.to_warped(x)
        a = 1.0 / self.warp.ratio(v)
        return self.kernel._diagonal(v) * (a * a)

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        u, v = self.warp.to_warped(x), self.warp.to_warped(y)
        scale = np.multiply.outer(1.0 / self.warp.ratio(u), 1.0 / self.warp.ratio(v))
        speed, fall = self.warp.slopes(x, u)
        k = self.kernel._gram(u, v)
        for i, part in enumerate(self.kernel._gradients(u, v)):
            yield (part - k * fall[:, i : i + 1]) * speed[:, i : i + 1] * scale

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel, exact to the bit."""
        parameters = {"measure": self.warp.measure.spec(), "powers": self.warp.powers.tolist()}
        return {"type": "Warped", "kernel": self.kernel.spec(), **parameters}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        kernel, measure = from_spec(spec["kernel"]), measures.from_spec(spec["measure"])
        return cls(kernel, Warp(measure, spec["powers"]))  # type: ignore[arg-type]
