"""The interface of every kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import _html, _validate
from .._numbers import short_parameter
from .._validate import Array

Column = Callable[..., Array]


class Kernel(ABC):
    """A symmetric positive definite function k(x, y) of two points of R^d.

    Kernels are immutable values. ``k(x, y)`` gives the Gram block; ``k1 + k2``, ``k1 * k2`` and ``2.0 * k`` build new
    kernels.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> k = 2.0 * fwbq.ExpQuad(1.0)
    >>> k(np.zeros((1, 1)), np.ones((2, 1))).round(4).tolist(), k.diag(np.zeros((1, 1))).tolist()
    ([[1.2131, 1.2131]], [2.0])
    """

    # NumPy scalars and arrays leave `scalar * kernel` to the kernel.
    __array_ufunc__ = None

    @property
    @abstractmethod
    def dim(self) -> int | None:
        """The dimension d of the points; None when every d will do."""

    @abstractmethod
    def _gram(self, x: Array, y: Array) -> Array:
        """k(x_i, y_j), shape (n, m), for checked points; a new array, symmetric to the bit when y is x."""

    @abstractmethod
    def _diagonal(self, x: Array) -> Array:
        """k(x_i, x_i), shape (n,), for checked points; equal to the diagonal of the Gram matrix."""

    @abstractmethod
    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        """Yield the derivatives of k(x_i, y_j) in coordinate 0, 1, ... of x_i: d new arrays of shape (n, m)."""

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel, exact to the bit."""

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return the kernel that `spec` describes; every class that is registered has this method."""
        raise NotImplementedError

    def __call__(self, x: ArrayLike, y: ArrayLike | None = None) -> Array:
        """Compute the Gram block.

        Parameters
        ----------
        x : array_like, shape (n, d)
        y : array_like, shape (m, d), optional
            Default x; the matrix is then exactly symmetric.

        Returns
        -------
        ndarray, shape (n, m)
            k(x_i, y_j).
        """
        return self._gram(*self._pair(x, y))

    def diag(self, x: ArrayLike) -> Array:
        """k(x_i, x_i), shape (n,), for x of shape (n, d)."""
        return self._diagonal(_validate.points(x, "x", self.dim))

    def gradient(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Gradient of k(x_i, y_j) in x_i, shape (n, m, d).

        Where a kernel has a kink at x = y (Matern12, PeriodicSobolev of order 1) the gradient there is given as zero,
        the mean of the one-sided ones.
        """
        x, y = self._pair(x, y)
        result = np.empty((x.shape[0], y.shape[0], x.shape[1]))
        for i, part in enumerate(self._gradients(x, y)):
            result[:, :, i] = part
        return result

    def gradient_sum(self, x: ArrayLike, y: ArrayLike, weights: ArrayLike) -> Array:
        """Weighted sum of gradients, sum_j w_ij grad_x k(x_i, y_j), coordinate by coordinate.

        Parameters
        ----------
        x : array_like, shape (n, d)
        y : array_like, shape (m, d)
        weights : array_like, shape (m,) or (n, m)

        Returns
        -------
        ndarray, shape (n, d)
        """
        x, y = self._pair(x, y)
        n, m = x.shape[0], y.shape[0]
        w = np.asarray(weights, dtype=np.float64)
        if w.shape not in ((m,), (n, m)):
            raise ValueError(f"`weights` must have shape ({m},) or ({n}, {m}), got shape {w.shape}")
        result = np.empty(x.shape)
        for i, part in enumerate(self._gradients(x, y)):
            result[:, i] = part @ w if w.ndim == 1 else np.einsum("ij,ij->i", part, w)
        return result

    def gradient_covariance(self, x: ArrayLike, y: ArrayLike | None = None) -> Array:
        """Covariance of the gradients of a process with this kernel, d^2 k(x_i, y_j) / dx_ia dy_jb.

        Parameters
        ----------
        x : array_like, shape (n, d)
        y : array_like, shape (m, d), optional
            Default x; the result is then symmetric to the bit in (i, a) and (j, b).

        Returns
        -------
        ndarray, shape (n, d, m, d)

        Raises
        ------
        TypeError
            If functions of the process have no derivative (`Matern12`), or its covariance is not known in closed form.

        Examples
        --------
        >>> import numpy as np
        >>> from fwbq import ExpQuad
        >>> at_one_point = ExpQuad([1.0, 0.5]).gradient_covariance(np.zeros((1, 2)))[0, :, 0, :]
        >>> np.diagonal(at_one_point).tolist()  # 1 / lengthscale^2
        [1.0, 4.0]
        """
        return self._gradient_covariance(*self._pair(x, y))

    def _gradient_covariance(self, x: Array, y: Array) -> Array:
        raise TypeError(
            f"`kernel` {type(self).__name__} has no covariance of derivatives in closed form: use ExpQuad, Matern32, "
            "Matern52 or InverseMultiquadric, or sums and products of these"
        )

    def columns(self, x: ArrayLike) -> Column:
        """Prepare the columns k(x, y) over fixed points x.

        Parameters
        ----------
        x : array_like, shape (M, d)

        Returns
        -------
        callable
            ``column(y, out=None)`` with y of shape (d,) returns k(x_i, y), shape (M,), written to ``out`` if given.
        """
        fixed = _validate.points(x, "x", self.dim)

        def column(y: Array, out: Array | None = None) -> Array:
            k = self._gram(fixed, np.asarray(y, dtype=np.float64).reshape(1, -1))[:, 0]
            if out is None:
                return np.ascontiguousarray(k)
            out[...] = k
            return out

        return column

    def factors(self, dim: int) -> tuple[Kernel, ...] | None:
        """One-dimensional kernels whose product over coordinates is k in dimension ``dim``; None if there are none."""
        self._check_dim(dim)
        return (self,) if dim == 1 else None

    def _check_dim(self, dim: int) -> int:
        return _validate.dimension(_validate.count(dim, "dim"), self.dim, "dim", f"the kernel {type(self).__name__}")

    def _pair(self, x: ArrayLike, y: ArrayLike | None) -> tuple[Array, Array]:
        checked = _validate.points(x, "x", self.dim)
        return checked, checked if y is None or y is x else _validate.points(y, "y", checked.shape[1])

    def __repr__(self) -> str:
        if not is_dataclass(self):
            return object.__repr__(self)
        given = [(f.name, getattr(self, f.name)) for f in fields(self) if f.repr]
        return f"{type(self).__name__}({', '.join(f'{name}={short_parameter(x)}' for name, x in given)})"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks: the parameters, and what the kernel is in a word."""
        dim = "any" if self.dim is None else str(self.dim)
        return _html.table([*_html.parameters(self), ("dimension", dim)], title=type(self).__name__)

    def __add__(self, other: Kernel) -> Kernel:
        from .composite import Sum

        return Sum((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        from .composite import ProductKernel, Scaled

        return ProductKernel((self, other)) if isinstance(other, Kernel) else Scaled(other, self)

    def __rmul__(self, other: float) -> Kernel:
        return self * other
