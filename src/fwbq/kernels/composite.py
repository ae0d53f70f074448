"""Sums, products and positive multiples of kernels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import _frozen, _validate
from .._validate import Array
from .base import Column, Kernel
from .differences import Differences
from .registry import from_spec, register
from .stationary import Stationary


def _checked(kernels: Sequence[Kernel], flatten: "type[_Composite]") -> tuple[Kernel, ...]:
    """Return the kernels as one flat tuple, of one dimension."""
    flat: list[Kernel] = []
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"`kernels` must be kernels, got {type(kernel).__name__}: pass a tuple of fwbq kernels")
        flat.extend(kernel.kernels if isinstance(kernel, flatten) else (kernel,))
    if not flat:
        raise ValueError("`kernels` must hold at least one kernel, got none")
    dims = sorted({kernel.dim for kernel in flat if kernel.dim is not None})
    if len(dims) > 1:
        raise ValueError(
            f"`kernels` must agree in dimension, got {' and '.join(map(str, dims))}: give them length-scales of one "
            "length (a scalar lengthscale fits any dimension)"
        )
    return tuple(flat)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class _Composite(Kernel):
    """A kernel made of several."""

    kernels: tuple[Kernel, ...]

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        _frozen.freeze(self, kernels=_checked(kernels, type(self)))

    @property
    def dim(self) -> int | None:
        """The dimension of the parts; None when all take every dimension."""
        return next((kernel.dim for kernel in self.kernels if kernel.dim is not None), None)

    def _columns(self, x: ArrayLike, combine: np.ufunc) -> Column:
        fixed = _validate.points(x, "x", self.dim)
        first, *others = [kernel.columns(fixed) for kernel in self.kernels]

        def column(y: Array, out: Array | None = None) -> Array:
            k = first(y, out)
            for other in others:
                combine(k, other(y), out=k)
            return k

        return column

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel, exact to the bit."""
        return {"type": type(self).__name__, "kernels": [kernel.spec() for kernel in self.kernels]}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        return cls([from_spec(part) for part in spec["kernels"]])


@register()
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Sum(_Composite):
    """Sum of kernels, k(x, y) = sum_j k_j(x, y); written ``k1 + k2``.

    Parameters
    ----------
    kernels : sequence of Kernel
        Nested sums are flattened.
    """

    def _gram(self, x: Array, y: Array) -> Array:
        k = self.kernels[0]._gram(x, y)
        for kernel in self.kernels[1:]:
            k += kernel._gram(x, y)
        return k

    def pullback(self, pairs: Differences) -> tuple[Array, Callable[[Array], Array]]:
        """Return the sums of what the parts, all stationary, give, for length-scales in proportion.

        See `Stationary.pullback`.
        """
        parts = [kernel.pullback(pairs) for kernel in self.kernels if isinstance(kernel, Stationary)]
        if len(parts) < len(self.kernels):
            raise TypeError("`pullback` needs a sum of stationary kernels: make it of ExpQuad and Matern kernels")
        k = np.asarray(np.sum([k for k, _ in parts], axis=0))
        return k, lambda u: np.asarray(np.sum([pull(u) for _, pull in parts], axis=0))

    def columns(self, x: ArrayLike) -> Column:
        """Prepare the columns k(x, y) over fixed points x, part by part; see `Kernel.columns`."""
        return self._columns(x, np.add)

    def _diagonal(self, x: Array) -> Array:
        k = self.kernels[0]._diagonal(x)
        for kernel in self.kernels[1:]:
            k = k + kernel._diagonal(x)
        return k

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        for parts in zip(*(kernel._gradients(x, y) for kernel in self.kernels), strict=True):
            total = parts[0]
            for part in parts[1:]:
                total += part
            yield total

    def _gradient_covariance(self, x: Array, y: Array) -> Array:
        total = self.kernels[0]._gradient_covariance(x, y)
        for kernel in self.kernels[1:]:
            total += kernel._gradient_covariance(x, y)
        return total


@register()
@dataclass(frozen=True, eq=False, init=False, repr=False)
class ProductKernel(_Composite):
    """Product of kernels, k(x, y) = prod_j k_j(x, y); written ``k1 * k2``.

    Parameters
    ----------
    kernels : sequence of Kernel
        Nested products are flattened.
    """

    def _gram(self, x: Array, y: Array) -> Array:
        k = self.kernels[0]._gram(x, y)
        for kernel in self.kernels[1:]:
            k *= kernel._gram(x, y)
        return k

    def _diagonal(self, x: Array) -> Array:
        k = self.kernels[0]._diagonal(x)
        for kernel in self.kernels[1:]:
            k = k * kernel._diagonal(x)
        return k

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        others = products_of_others([kernel._gram(x, y) for kernel in self.kernels])
        for parts in zip(*(kernel._gradients(x, y) for kernel in self.kernels), strict=True):
            total = parts[0]
            total *= others[0]
            for part, other in zip(parts[1:], others[1:], strict=True):
                total += part * other
            yield total

    def columns(self, x: ArrayLike) -> Column:
        """Prepare the columns k(x, y) over fixed points x, part by part; see `Kernel.columns`."""
        return self._columns(x, np.multiply)

    def _gradient_covariance(self, x: Array, y: Array) -> Array:
        # The product rule, one factor after the other: k, its gradients in x and in y, and the mixed derivatives.
        k = self.kernels[0]._gram(x, y)
        in_x, in_y = _both_gradients(self.kernels[0], x, y)
        mixed = self.kernels[0]._gradient_covariance(x, y)
        for kernel in self.kernels[1:]:
            q = kernel._gram(x, y)
            q_x, q_y = _both_gradients(kernel, x, y)
            mixed *= q[:, None, :, None]
            mixed += k[:, None, :, None] * kernel._gradient_covariance(x, y)
            # The two terms together, so that no bit changes when x and y change places.
            mixed += in_x[:, :, :, None] * q_y[:, None, :, :] + q_x[:, :, :, None] * in_y[:, None, :, :]
            in_x = in_x * q[:, None, :] + k[:, None, :] * q_x
            in_y = in_y * q[:, :, None] + k[:, :, None] * q_y
            k = k * q
        return mixed

    def factors(self, dim: int) -> tuple[Kernel, ...] | None:
        """Coordinate by coordinate the products of the factors; None if a part has none."""
        self._check_dim(dim)
        parts = []
        for kernel in self.kernels:
            factors = kernel.factors(dim)
            if factors is None:
                return None
            parts.append(factors)
        return tuple(ProductKernel(factors) for factors in zip(*parts, strict=True))


def _both_gradients(kernel: Kernel, x: Array, y: Array) -> tuple[Array, Array]:
    """Return the gradients of k(x_i, y_j) in x, (n, d, m), and in y, (n, m, d)."""
    in_x = np.stack(list(kernel._gradients(x, y)), axis=1)
    return in_x, np.stack(list(kernel._gradients(y, x)), axis=2).transpose(1, 0, 2)


def products_of_others(arrays: list[Array]) -> list[Array]:
    """Return for each array the product of all the others, without dividing."""
    before, after = [np.ones_like(arrays[0])], [np.ones_like(arrays[0])]
    for array in arrays[:-1]:
        before.append(before[-1] * array)
    for array in arrays[:0:-1]:
        after.append(after[-1] * array)
    return [b * a for b, a in zip(before, reversed(after), strict=True)]


@register()
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Scaled(Kernel):
    """Positive multiple of a kernel, scale * k(x, y); written ``scale * k``.

    Parameters
    ----------
    scale : float
        Positive.
    kernel : Kernel
    """

    scale: float
    kernel: Kernel

    def __init__(self, scale: float, kernel: Kernel) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"`kernel` must be a kernel, got {type(kernel).__name__}: pass a fwbq kernel")
        _frozen.freeze(self, scale=_validate.positive(scale, "scale"), kernel=kernel)

    @property
    def dim(self) -> int | None:
        """The dimension of the kernel that is scaled."""
        return self.kernel.dim

    def _gram(self, x: Array, y: Array) -> Array:
        k = self.kernel._gram(x, y)
        k *= self.scale
        return k

    def columns(self, x: ArrayLike) -> Column:
        """Prepare the columns scale * k(x, y) over fixed points x; see `Kernel.columns`."""
        inner = self.kernel.columns(x)

        def column(y: Array, out: Array | None = None) -> Array:
            k = inner(y, out)
            k *= self.scale
            return k

        return column

    def _diagonal(self, x: Array) -> Array:
        return self.scale * self.kernel._diagonal(x)

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        for part in self.kernel._gradients(x, y):
            part *= self.scale
            yield part

    def _gradient_covariance(self, x: Array, y: Array) -> Array:
        return self.scale * self.kernel._gradient_covariance(x, y)

    def factors(self, dim: int) -> tuple[Kernel, ...] | None:
        """Return the factors of the kernel, the first of them scaled."""
        factors = self.kernel.factors(dim)
        return None if factors is None else (Scaled(self.scale, factors[0]), *factors[1:])

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel, exact to the bit."""
        return {"type": "Scaled", "scale": self.scale, "kernel": self.kernel.spec()}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        return cls(spec["scale"], from_spec(spec["kernel"]))
