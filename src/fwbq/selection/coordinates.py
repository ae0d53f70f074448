"""Coordinates in which a log integrand is modelled, so that it varies about as fast everywhere, as its process does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _frozen, _validate
from ..measures import Measure

Array = NDArray[np.float64]


class Coordinates(ABC):
    """A smooth one-to-one map of the support of a measure to the space where distances are taken."""

    @abstractmethod
    def forward(self, x: Array) -> Array:
        """Map points (n, d)."""

    @property
    def key(self) -> Hashable:
        """Equal for maps that are the same, so that models can share a design."""
        return id(self)


@dataclass(frozen=True, eq=False)
class Standard(Coordinates):
    """Whitened Gaussians, and everything else divided by its standard deviations.

    Parameters
    ----------
    measure : Measure
        For a Gaussian N(m, S), S = LL', s = L^-1 (x - m); otherwise s_i = (x_i - E x_i) / sd_i, with the median and a
        quantile-based scale where these do not exist (`Measure.whitening`).
    """

    measure: Measure

    def forward(self, x: Array) -> Array:
        """Map points (n, d)."""
        return self.measure.whitening.forward(x)

    def axis(self, x: Array, i: int) -> Array:
        """Map the i-th coordinate (q,) of points of a product measure."""
        centre, scale = self._axis(i)
        return np.asarray((x - centre) / scale)

    def back(self, s: Array, i: int) -> tuple[Array, Array]:
        """Map the i-th coordinate back; return it and the slope of the map."""
        centre, scale = self._axis(i)
        return centre + scale * s, np.full(len(s), scale)

    def _axis(self, i: int) -> tuple[float, float]:
        whitening = self.measure.whitening
        root = whitening.root
        return float(whitening.centre[i]), float(root[i] if root.ndim == 1 else root[i, i])


@dataclass(frozen=True, eq=False)
class LogScale(Coordinates):
    r"""Logarithmic coordinates for positive parameters, :math:`s_i = \log(1 + x_i / c_i)`.

    Linear below the offset c and logarithmic above it: a Michaelis constant enters the likelihood through y / (y +
    K), and what happens between K = y / 10 and y matters as much as what happens between y and 10 y.

    Parameters
    ----------
    offset : float or (d,) array_like
        c > 0.

    Examples
    --------
    >>> import numpy as np
    >>> LogScale([2.0]).forward(np.array([[2.0]])) == np.log(2)
    array([[ True]])
    """

    offset: Array

    def __init__(self, offset: ArrayLike) -> None:
        given = np.atleast_1d(_validate.positive_scalar_or_vector(offset, "offset"))
        _frozen.freeze(self, offset=_frozen.readonly(given))

    def forward(self, x: Array) -> Array:
        """Map points (n, d); NaN below -c, where there is no logarithm."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.log1p(x / self.offset))

    def inverse(self, s: Array) -> Array:
        """Map points (n, d) back."""
        return np.asarray(self.offset * np.expm1(s))

    @property
    def key(self) -> Hashable:
        """The offsets."""
        return ("LogScale", self.offset.tobytes())

    def axis(self, x: Array, i: int) -> Array:
        """Map the i-th coordinate (q,)."""
        return np.asarray(np.log1p(x / self._offset(i)))

    def back(self, s: Array, i: int) -> tuple[Array, Array]:
        """Map the i-th coordinate back; return it and the slope of the map."""
        c = self._offset(i)
        return c * np.expm1(s), c * np.exp(s)

    def _offset(self, i: int) -> float:
        return float(np.broadcast_to(self.offset, max(i + 1, len(self.offset)))[i])
