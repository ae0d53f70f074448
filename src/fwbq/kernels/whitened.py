"""Kernels in the whitened coordinates of a Gaussian."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from .. import _frozen, _validate
from .._validate import Array
from .._whitening import Whitening
from .base import Column, Kernel
from .registry import from_spec, register


@register()
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Whitened(Kernel):
    """A kernel of the whitened coordinates of N(mean, cov), as a kernel of the original ones.

    k'(x, y) = k(L^-1 (x - mean), L^-1 (y - mean)),  cov = L L', L lower triangular.

    Under N(mean, cov) itself the whitened coordinates are independent and standard, so that kernels which are products
    over coordinates (Matern) have an embedding under correlated Gaussians too. Length-scales are those of the whitened
    coordinates: in standard deviations, not in the units of x.

    Parameters
    ----------
    kernel : Kernel
        k, of whitened coordinates.
    mean : float or array_like, shape (d,)
    cov : float or array_like, shape (d, d) or (d,)
        As for `fwbq.Gaussian`.

    Examples
    --------
    >>> import numpy as np
    >>> from fwbq import Matern32
    >>> k = Whitened(Matern32(1.0), [1.0, 0.0], [[4.0, 2.0], [2.0, 2.0]])
    >>> bool(np.isclose(k([[1.0, 0.0]], [[3.0, 1.0]])[0, 0], Matern32(1.0)([[0.0, 0.0]], [[1.0, 0.0]])[0, 0]))
    True
    """

    kernel: Kernel
    mean: Array
    cov: Array
    _root: Array = field(repr=False)

    def __init__(self, kernel: Kernel, mean: ArrayLike, cov: ArrayLike) -> None:
        _validate.instance(kernel, "kernel", Kernel, "pass a kernel such as fwbq.ExpQuad(1.0)")
        centre = _validate.per_coordinate(mean=mean)["mean"]
        _validate.dimension(centre.size, kernel.dim, "mean", f"the kernel {type(kernel).__name__}")
        matrix = _validate.covariance(cov, "cov", centre.size)
        _frozen.freeze(
            self,
            kernel=kernel,
            mean=_frozen.readonly(centre),
            cov=_frozen.readonly(matrix),
            _root=_frozen.readonly(np.linalg.cholesky(matrix)),
        )

    @property
    def dim(self) -> int:
        """The dimension d of the Gaussian."""
        return int(self.mean.size)

    def whiten(self, x: Array) -> Array:
        """Return L^-1 (x - mean) for points x (n, d)."""
        return np.ascontiguousarray(Whitening(self.mean, self._root).forward(x))

    def gradient_from_whitened(self, gradient: Array) -> Array:
        """Return the gradient in x, L^-T g, for gradients g (..., d) in the whitened coordinates."""
        flat = gradient.reshape(-1, self.dim).T
        turned = solve_triangular(self._root, flat, lower=True, trans="T", check_finite=False)
        return np.ascontiguousarray(turned.T).reshape(gradient.shape)

    def _gram(self, x: Array, y: Array) -> Array:
        u = self.whiten(x)
        return self.kernel._gram(u, u if y is x else self.whiten(y))

    def _diagonal(self, x: Array) -> Array:
        return self.kernel._diagonal(self.whiten(x))

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        whitened = np.stack(list(self.kernel._gradients(self.whiten(x), self.whiten(y))), axis=-1)
        yield from np.moveaxis(self.gradient_from_whitened(whitened), -1, 0).copy()

    def _gradient_covariance(self, x: Array, y: Array) -> Array:
        u = self.whiten(x)
        one_side = self.gradient_from_whitened(self.kernel._gradient_covariance(u, u if y is x else self.whiten(y)))
        both = np.moveaxis(self.gradient_from_whitened(np.moveaxis(one_side, 1, 3).copy()), 3, 1)
        # The two sides were turned one after the other, which leaves roundings of the symmetry.
        return both if y is not x else 0.5 * (both + both.transpose(2, 3, 0, 1))

    def columns(self, x: ArrayLike) -> Column:
        """Prepare the columns k'(x, y) over fixed points x; see `Kernel.columns`."""
        inner = self.kernel.columns(self.whiten(_validate.points(x, "x", self.dim)))

        def column(y: Array, out: Array | None = None) -> Array:
            return inner(self.whiten(np.asarray(y, dtype=np.float64).reshape(1, -1))[0], out)

        return column

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel, exact to the bit."""
        parameters = {"mean": self.mean.tolist(), "cov": self.cov.tolist()}
        return {"type": "Whitened", "kernel": self.kernel.spec(), **parameters}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        return cls(from_spec(spec["kernel"]), spec["mean"], spec["cov"])
