"""ANOVA kernels: sums over sets of coordinates, for functions that are mostly sums of functions of few inputs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from .. import _frozen, _validate
from .._validate import Array
from .base import Column, Kernel
from .differences import Differences
from .registry import from_spec, register
from .stationary import CHUNK, Pull, Stationary, mixed_derivatives

#: The orders at which the sum may end; None for all.
_ORDERS = (1, 2, None)


@register()
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Anova(Kernel):
    r"""ANOVA kernel: a sum over sets of coordinates, of products of one-dimensional kernels.

    .. math::
        k(x, y) = \frac{v}{c} \sum_{|S| \le q}\, \prod_{i \in S} w_i\, g_i(x_i, y_i), \qquad
        c = \sum_{|S| \le q}\, \prod_{i \in S} w_i,

    with :math:`v\, g_1 \cdots g_d` the product kernel given, :math:`g_i(x, x) = 1`, and q the order. The empty set
    counts as one, so that k(x, x) = v. A function of the space is a constant, plus functions of one coordinate, plus
    functions of two, and so on up to q. With all orders the sum is a product over coordinates,

    .. math:: k(x, y) = v \prod_{i=1}^d \frac{1 + w_i\, g_i(x_i, y_i)}{1 + w_i}.

    Small weights make sums of functions of one coordinate; with large ones k tends to the product kernel itself.

    Parameters
    ----------
    kernel : Stationary
        `ExpQuad` or a Matern kernel: its factors :math:`g_i`, and its variance v.
    weight : float or array_like, shape (d,)
        :math:`w_i`, positive. A scalar serves all coordinates.
    order : {None, 1, 2}
        Largest number q of coordinates in a product; None for all of them.

    Notes
    -----
    Each value costs O(d) operations whatever the order: the sum over pairs is :math:`\sum_i a_i (a_1 + \dots +
    a_{i-1})` with :math:`a_i = w_i g_i`, in which nothing cancels. The product over all orders is the kernel of
    Stitson et al. (Advances in Kernel Methods, 1999) and of Durrande et al. (Journal of Multivariate Analysis 115,
    2013), here with a weight for each coordinate.

    Examples
    --------
    >>> import numpy as np
    >>> from fwbq import Anova, ExpQuad
    >>> x, y = np.zeros((1, 3)), np.array([[1.0, 0.0, 2.0]])
    >>> g = np.exp([-0.5, 0.0, -2.0])
    >>> Anova(ExpQuad(1.0), 0.5)(x, y).round(6), np.prod((1 + 0.5 * g) / 1.5).round(6)
    (array([[0.618424]]), np.float64(0.618424))
    >>> Anova(ExpQuad(1.0), 0.5, order=1)(x, y).round(6), ((1 + 0.5 * g.sum()) / (1 + 0.5 * 3)).round(6)
    (array([[0.748373]]), np.float64(0.748373))
    """

    kernel: Stationary
    weight: float | Array
    order: int | None

    def __init__(self, kernel: Stationary, weight: ArrayLike = 1.0, order: int | None = None) -> None:
        _validate.instance(kernel, "kernel", Stationary, "pass ExpQuad or a Matern kernel, such as fwbq.ExpQuad(1.0)")
        checked = _validate.positive_scalar_or_vector(weight, "weight")
        _validate.moderate(checked, "weight", "weights")
        if not isinstance(checked, float):
            _validate.dimension(checked.size, kernel.dim, "weight", f"the kernel {type(kernel).__name__}")
        if isinstance(order, bool) or order not in _ORDERS:
            raise ValueError(
                f"`order` must be 1, 2 or None, got {_validate.shown(order)}: pass None for products of any number of "
                "coordinates"
            )
        _frozen.freeze(self, kernel=kernel, weight=checked, order=order)

    @property
    def dim(self) -> int | None:
        """The number of length-scales or weights; None if both are scalars, which fit every dimension."""
        return self.kernel.dim if isinstance(self.weight, float) else self.weight.size

    @property
    def variance(self) -> float:
        """k(x, x)."""
        return self.kernel.variance

    @property
    def unit(self) -> Stationary:
        """The product of the factors g_i: the kernel that was given, with variance one."""
        return type(self.kernel)(self.kernel.lengthscale)

    def weights(self, dim: int) -> Array:
        """One weight per coordinate, shape (dim,)."""
        return np.full(self._check_dim(dim), self.weight)

    def combine(self, factors: Array) -> Array:
        """Return the kernel for given factors: v / c times the sum over sets S of the products of w_i factors_i.

        The sum is linear in each factor, so that the factors may be integrals of the :math:`g_i`.

        Parameters
        ----------
        factors : (d, ...) array

        Returns
        -------
        (...) array
        """
        w = self.weights(len(factors)).reshape(-1, *(1,) * (factors.ndim - 1))
        if self.order is None:
            return np.asarray(self.variance * np.prod((1.0 + w * factors) / (1.0 + w), axis=0))
        return np.asarray((self.variance / _limited_sum(w, self.order)) * _limited_sum(w * factors, self.order))

    def without_each(self, factors: Array) -> Array:
        """Return the derivatives of `combine` in each factor, shape (d, ...): the sums over sets of the others."""
        w = self.weights(len(factors)).reshape(-1, *(1,) * (factors.ndim - 1))
        if self.order is None:
            return np.asarray(self.combine(factors) * (w / (1.0 + w * factors)))
        others = _sums_of_others(w * factors, self.order)
        others *= (self.variance / _limited_sum(w, self.order)) * w
        return others

    def factors(self, dim: int) -> tuple[Kernel, ...] | None:
        """One-dimensional kernels of the same form; the variance goes on the first. None if the order is limited."""
        w = self.weights(dim)
        if self.order is not None and dim > 1:
            return None
        return tuple(type(self)(part, float(each)) for part, each in zip(self.kernel.factors(dim), w, strict=True))

    def pullback(self, pairs: Differences) -> tuple[Array, Pull]:
        """Return k at the pairs, and its contraction with weights, differentiated in all log parameters.

        Parameters
        ----------
        pairs : Differences
            Of a set of points in d dimensions, N pairs.

        Returns
        -------
        k : (N,) array
            The kernel.
        pull : callable
            u (N,) to the derivatives of sum_j u_j k_j in log l_1, ..., log l_d and log w_1, ..., log w_d, (2 d,).
        """
        d = len(pairs.absolute)
        g, stretch = self.kernel.factors_at(pairs)
        k = self.combine(g)

        def pull(u: Array) -> Array:
            w = self.weights(d)
            relative = _relative(w[:, None] * g, self.order)
            contracted = k * u
            # At g = 1 the kernel is v whatever the weights, which gives the derivatives of c.
            of_weights = relative @ contracted - _relative(w, self.order) * contracted.sum()
            relative *= stretch()
            return np.concatenate([relative @ contracted, of_weights])

        return k, pull

    def _gram(self, x: Array, y: Array) -> Array:
        rows = max(1, CHUNK // max(1, y.shape[0]))
        if x.shape[0] <= rows:
            return self._block(x, y)
        k = np.empty((x.shape[0], y.shape[0]))
        for start in range(0, x.shape[0], rows):
            k[start : start + rows] = self._block(x[start : start + rows], y)
        return k

    def _block(self, x: Array, y: Array) -> Array:
        """Return k(x_i, y_j) for so few points that all fits the cache, coordinate by coordinate."""
        w = self.weights(x.shape[1])
        total, first = np.ones((x.shape[0], y.shape[0])), np.zeros((x.shape[0], y.shape[0]))
        for i, weight in enumerate(w):
            a = self.kernel.factor(self.kernel._scaled_difference(x, y, i))
            a *= weight
            if self.order is None:
                a += 1.0
                a /= 1.0 + weight
                total *= a
                continue
            total += a
            if self.order == 2:
                total += a * first
                first += a
        total *= self.variance if self.order is None else self.variance / float(_limited_sum(w, self.order))
        return total

    def _factors(self, x: Array, y: Array) -> Array:
        """g_i(x, y), shape (d, n, m)."""
        return np.stack([self.kernel.factor(self.kernel._scaled_difference(x, y, i)) for i in range(x.shape[1])])

    def _diagonal(self, x: Array) -> Array:
        return np.full(x.shape[0], self.variance)

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        rest = self.without_each(self._factors(x, y))
        for i, length in enumerate(self.kernel.lengthscales(x.shape[1])):
            t = self.kernel._scaled_difference(x, y, i)
            yield rest[i] * self.kernel.factor(t) * self.kernel._ratio1(t) / length

    def _gradient_covariance(self, x: Array, y: Array) -> Array:
        self.kernel._gradient_covariance(x[:1], y[:1])  # says why, if functions have no derivatives
        lengths, w = self.kernel.lengthscales(x.shape[1]), self.weights(x.shape[1])
        slopes, bends = [], []
        for i, length in enumerate(lengths):
            t = self.kernel._scaled_difference(x, y, i)
            a = w[i] * self.kernel.factor(t)
            if self.order is None:
                a /= 1.0 + a
            slopes.append(a * self.kernel._ratio1(t) / length)
            bends.append(a * self.kernel._ratio2(t) / length**2)
        if self.order is None:
            return mixed_derivatives(self._gram(x, y), slopes, bends)
        # In d/dx_a d/dy_b of a sum over sets of at most q coordinates, those without a and b have q - 2 at most.
        unit = np.full((x.shape[0], y.shape[0]), self.variance / float(_limited_sum(w, self.order)))
        mixed = mixed_derivatives(unit, slopes, bends, float(self.order - 1))
        if self.order == 2:
            rest = _sums_of_others(w[:, None, None] * self._factors(x, y), 2)
            for i in range(len(lengths)):
                mixed[:, i, :, i] *= rest[i]
        return mixed

    def columns(self, x: ArrayLike) -> Column:
        """Prepare the columns k(x, y) over fixed points x; see `Kernel.columns`."""
        differences = self.kernel.differences_from(_validate.points(x, "x", self.dim))

        def column(y: Array, out: Array | None = None) -> Array:
            k = self.combine(self.kernel.factor(differences(y)))
            if out is None:
                return k
            out[...] = k
            return out

        return column

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel, exact to the bit."""
        weight = self.weight if isinstance(self.weight, float) else self.weight.tolist()
        return {"type": "Anova", "kernel": self.kernel.spec(), "weight": weight, "order": self.order}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        return cls(cast("Stationary", from_spec(spec["kernel"])), spec["weight"], spec["order"])


def _limited_sum(a: Array, order: int) -> Array:
    """Return the sum over sets S of at most `order` indices of prod_{i in S} a_i, for a (d, ...), shape (...)."""
    total = 1.0 + a.sum(axis=0)
    if order == 2:
        total = total + np.sum(a[1:] * np.cumsum(a[:-1], axis=0), axis=0)
    return np.asarray(total)


def _sums_of_others(a: Array, order: int) -> Array:
    """Return for each index the sum over the sets without it of at most `order` - 1 others, shape (d, ...)."""
    return np.ones_like(a) if order == 1 else np.asarray(1.0 + (a.sum(axis=0) - a))


def _relative(a: Array, order: int | None) -> Array:
    """Return the derivative of the logarithm of the sum over sets in each log a_i, shape (d, ...)."""
    return np.asarray(a / (1.0 + a) if order is None else a * _sums_of_others(a, order) / _limited_sum(a, order))
