"""A kernel of binary digits: what the fast Walsh-Hadamard transform diagonalises on a digital net."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _frozen, _validate
from .._validate import Array
from .base import Kernel
from .registry import register

#: Binary digits of a coordinate that the kernel looks at: those of SciPy's Sobol points.
DIGITS = 30


@register()
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Walsh(Kernel):
    r"""Product over coordinates of kernels that see only how many leading binary digits two numbers share.

    .. math::

        k(x, y) = \prod_j \bigl(1 + s_j\, \omega(z_j)\bigr), \qquad
        \omega(z) = 1 - q^z (2 - q), \quad \omega(\infty) = 1, \quad q = 2^{1 - \beta},

    with :math:`z_j` the number of leading binary digits in which :math:`x_j` and :math:`y_j` in [0, 1) agree. This is
    the sum of the Walsh functions with k digits, times a weight proportional to :math:`2^{-\beta k}`: omega integrates
    to zero in each argument. It is the covariance that a function keeps when its argument is scrambled in the sense of
    Owen (1995), with a variance that falls by 2^(1 - beta) from one digit to the next. beta = 3 belongs to functions
    with a square-integrable derivative, beta = 2 to jumps, beta near 1 to noise.

    Parameters
    ----------
    scales : array_like, shape (d,)
        The variance s_j > 0 of each coordinate, relative to that of the constant.
    decay : float
        The exponent beta > 1.

    References
    ----------
    Owen, "Scrambled net variance for integrals of smooth functions", Ann. Statist. 25 (1997). Dick & Pillichshammer,
    "Digital Nets and Sequences", Cambridge 2010, chapters 12 and 13. Jagadeeswaran & Hickernell, "Fast automatic
    Bayesian cubature using Sobol sampling", 2021.

    Examples
    --------
    >>> import numpy as np
    >>> k = Walsh([1.0], 3.0)
    >>> k([[0.0]], [[0.0], [0.25], [0.75]])  # all digits, one digit and none in common
    array([[2.    , 1.5625, 0.25  ]])
    >>> cells = (np.arange(64) + 0.5)[:, None] / 64
    >>> bool(abs(k([[0.3]], cells).mean() - 1.0) < 1e-3)
    True
    """

    scales: Array
    decay: float

    def __init__(self, scales: ArrayLike, decay: float) -> None:
        array = _validate.vector(scales, "scales")
        _validate.positive_scalar_or_vector(array, "scales")
        decay = _validate.positive(decay, "decay")
        if not decay > 1.0:
            raise ValueError(f"`decay` must be greater than 1, or the variance of the kernel is infinite, got {decay}")
        _frozen.freeze(self, scales=_frozen.readonly(array), decay=decay)

    @property
    def dim(self) -> int:
        """The number of scales."""
        return len(self.scales)

    def __repr__(self) -> str:
        scales = ", ".join(f"{s:.3g}" for s in self.scales[:6]) + (", ..." if self.dim > 6 else "")
        return f"Walsh(scales=[{scales}], decay={self.decay:.3g})"

    def omega(self) -> Array:
        """Return omega(z) for z = 0, ..., 30 digits in common, shape (31,); all 30 are taken for equality."""
        return omega_and_derivative(self.decay)[0]

    def _gram(self, x: Array, y: Array) -> Array:
        digits_x, digits_y = binary_digits(x), binary_digits(y)
        omega = self.omega()
        k = np.ones((len(x), len(y)))
        for j in range(x.shape[1]):
            k *= 1.0 + self.scales[j] * omega[shared_digits(digits_x[:, j, None] ^ digits_y[None, :, j])]
        return k

    def _diagonal(self, x: Array) -> Array:
        return np.full(len(x), np.prod(1.0 + self.scales))

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        # The kernel is constant on cells: its derivative is zero wherever it has one.
        for _ in range(x.shape[1]):
            yield np.zeros((len(x), len(y)))

    def factors(self, dim: int) -> tuple[Kernel, ...]:
        """Return a kernel with one scale for each coordinate."""
        self._check_dim(dim)
        return tuple(Walsh([scale], self.decay) for scale in self.scales)

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel."""
        return {"type": "Walsh", "scales": self.scales.tolist(), "decay": self.decay}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        return cls(spec["scales"], spec["decay"])


def omega_and_derivative(decay: float) -> tuple[Array, Array]:
    """Return omega(z) for z = 0, ..., 30, and its derivative in the decay."""
    z = np.arange(DIGITS + 1.0)
    q = 2.0 ** (1.0 - decay)
    omega = 1.0 - q**z * (2.0 - q)
    slope = (q**z - z * q ** np.maximum(z - 1.0, 0.0) * (2.0 - q)) * (-np.log(2.0) * q)
    omega[DIGITS], slope[DIGITS] = 1.0, 0.0
    return omega, slope


def binary_digits(x: Array) -> NDArray[np.int64]:
    """Return the first 30 binary digits of numbers in [0, 1) as integers."""
    if ((x < 0.0) | (x >= 1.0)).any():
        raise ValueError(f"`x` must lie in [0, 1) for a Walsh kernel, got values from {x.min()} to {x.max()}")
    return (x * 2.0**DIGITS).astype(np.int64)


def shared_digits(difference: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return how many leading digits agree, given the digits of two numbers joined by exclusive or."""
    # The exponent of a float64 is the length of the whole number it holds; both are exact up to 2^53.
    exponent = difference.astype(np.float64).view(np.int64) >> 52
    return np.where(difference == 0, DIGITS, DIGITS + 1022 - exponent)
