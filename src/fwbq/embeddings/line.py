"""One kernel under one density on the line: what products over coordinates are made of."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from .._validate import Array
from ..kernels import Kernel
from .base import registered
from .density import Density
from .panels import Estimate


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


def embed_line(kernel: Kernel, p: Density) -> Line:
    """Return the embedding of a one-dimensional kernel: in closed form if one is registered, else by quadrature."""
    builder = registered(kernel, p)
    assert builder is not None, f"{type(p).__name__} has no entry for every kernel"
    return cast("Line", builder(kernel, p))
