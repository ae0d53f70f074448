"""Kernels in the latent coordinates of a measure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .. import _frozen, _validate, measures
from .._validate import Array
from ..measures import Measure
from .base import Kernel
from .registry import from_spec, register


@register()
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Transported(Kernel):
    """A kernel of the latent coordinates y(x) of a measure, as a kernel of the original ones.

    k'(x, y) = k(y(x), y(y))

    Latent coordinates are independent, so that kernels which are products over coordinates have an embedding under
    measures whose coordinates depend on each other: copulas, `fwbq.MultivariateT`, products with blocks. Length-scales
    are those of the latent coordinates.

    Parameters
    ----------
    kernel : Kernel
        k, of latent coordinates.
    measure : Measure
        A measure that has latent coordinates.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> from scipy import stats
    >>> p = fwbq.Copula([stats.expon(), stats.uniform()], 0.5)
    >>> k = Transported(fwbq.Matern32(1.0), p)
    >>> x = p.sample(2, rng=0)
    >>> bool(np.allclose(k(x), fwbq.Matern32(1.0)(p.to_latent(x))))
    True
    >>> fwbq.embed(k, p).method
    'closed form'
    """

    kernel: Kernel
    measure: Measure

    def __init__(self, kernel: Kernel, measure: Measure) -> None:
        _validate.instance(kernel, "kernel", Kernel, "pass a kernel such as fwbq.ExpQuad(1.0)")
        _validate.instance(measure, "measure", Measure, "pass a measure with latent coordinates, e.g. fwbq.Copula")
        if measure.latent is None:
            raise ValueError(f"`measure` must have latent coordinates, and {measure!r} has none: use the kernel itself")
        _validate.dimension(measure.dim, kernel.dim, "measure", f"the kernel {type(kernel).__name__}")
        _frozen.freeze(self, kernel=kernel, measure=measure)

    def __repr__(self) -> str:
        """Name the measure by its type only: with its parameters the line would not be readable."""
        return f"Transported({self.kernel!r}, {type(self.measure).__name__} of {self.dim} coordinates)"

    @property
    def dim(self) -> int:
        """The dimension d of the measure."""
        return self.measure.dim

    def _gram(self, x: Array, y: Array) -> Array:
        u = self.measure._to_latent(x)
        return self.kernel._gram(u, u if y is x else self.measure._to_latent(y))

    def _diagonal(self, x: Array) -> Array:
        return self.kernel._diagonal(self.measure._to_latent(x))

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        parts = list(self.kernel._gradients(self.measure._to_latent(x), self.measure._to_latent(y)))
        slopes = self.measure._latent_slopes(x)
        for j in range(self.dim):
            yield sum((part * slopes[:, i, j, None] for i, part in enumerate(parts)), np.zeros_like(parts[0]))

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel, exact to the bit."""
        return {"type": "Transported", "kernel": self.kernel.spec(), "measure": self.measure.spec()}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        return cls(from_spec(spec["kernel"]), measures.from_spec(spec["measure"]))
