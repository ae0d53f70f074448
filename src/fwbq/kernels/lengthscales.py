"""Kernels that measure the difference of two points in length-scales: their two parameters."""

from abc import ABC
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import _frozen, _validate
from .._validate import Array
from .base import Kernel


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LengthscaleKernel(Kernel, ABC):
    """A kernel k(x, y) = variance h((x - y) / lengthscale) with h(0) = 1.

    Attributes
    ----------
    lengthscale : float or (d,) array
        Positive. A scalar serves all coordinates and every dimension.
    variance : float
        k(x, x), positive.
    """

    lengthscale: float | Array
    variance: float

    def __init__(self, lengthscale: ArrayLike, variance: float = 1.0) -> None:
        _frozen.freeze(
            self,
            lengthscale=_validate.positive_scalar_or_vector(lengthscale, "lengthscale"),
            variance=_validate.positive(variance, "variance"),
        )
        _validate.moderate(self.lengthscale, "lengthscale", "length-scales")

    @property
    def dim(self) -> int | None:
        """The number of length-scales; None for a scalar length-scale, which fits every dimension."""
        return None if isinstance(self.lengthscale, float) else self.lengthscale.size

    def lengthscales(self, dim: int) -> Array:
        """One length-scale per coordinate, shape (dim,)."""
        return np.full(self._check_dim(dim), self.lengthscale)

    def _diagonal(self, x: Array) -> Array:
        return np.full(x.shape[0], self.variance)

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel, exact to the bit."""
        length = self.lengthscale if isinstance(self.lengthscale, float) else self.lengthscale.tolist()
        return {"type": type(self).__name__, "lengthscale": length, "variance": self.variance}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        return cls(spec["lengthscale"], spec["variance"])
