"""The prior on length-scales, on the weights of coordinates and on the share of the remainder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from .. import _frozen
from .families import KernelFamily

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LengthscalePrior:
    """A weak log-normal prior relative to the measure's standard deviations s_i.

    log l_i = log(2 sqrt(d) s_i) + u + v_i with u ~ N(0, 1) common to the coordinates and v_i ~ N(0, 0.7^2). The
    correlation of two log length-scales is 2/3: few values give nearly the same length-scale to all coordinates, in
    units of s_i, and many are needed to tell them apart. The factor sqrt(d) keeps the correlation between typical
    points, whose distance grows with sqrt(d), the same in every dimension; 2 s_i is 0.58 of the width of a uniform
    distribution. The log of the remainder's share is N(log 1e-4, (3 log 10)^2): from one to 1e-8 within 4/3 standard
    deviations.

    The log weights of the coordinates of an ANOVA kernel are U + V_i, U ~ N(0, 3^2) and V_i ~ N(0, 1): from sums of
    functions of one coordinate (weights of 0.05) to the product kernel (weights of 20).

    The three numbers of the length-scales are a choice, and a wide one: 95 % of the prior lies within factors of 11 of
    the centre. With n = 10 values 95 % intervals held the truth in 96 to 98 % of 132 rough and smooth problems in one
    to three dimensions. Halved or doubled one at a time, they changed the widths of intervals at n = 20 by 4 % at most
    (geometric mean over the 20 integrals of benchmarks/constants.py); 17 to 19 of the 20 held the truth, 19 as they
    are.

    Attributes
    ----------
    scale : (d,) array
        Standard deviation of the measure in each coordinate.
    centre, common, apart : float
        2, 1 and 0.7 above.
    """

    scale: FloatArray
    centre: float = 2.0
    common: float = 1.0
    apart: float = 0.7

    def __post_init__(self) -> None:
        _frozen.freeze(self, scale=_frozen.readonly(self.scale))

    @property
    def dim(self) -> int:
        """Number of length-scales."""
        return len(self.scale)

    def location(self, family: KernelFamily) -> FloatArray:
        """Return the prior mean of the parameters."""
        location = np.log(self.scale) + log(self.centre * sqrt(self.dim))
        if family.weighted:
            location = np.concatenate([location, np.zeros(self.dim)])
        return np.asarray(location if family.remainder is None else np.append(location, _SHARE_LOCATION))

    def precision(self, family: KernelFamily) -> FloatArray:
        """Return the inverse of the prior covariance of the parameters."""
        d = self.dim
        blocks = [_exchangeable(d, self.common, self.apart)]
        if family.weighted:
            blocks.append(_exchangeable(d, _WEIGHTS_COMMON, _WEIGHTS_APART))
        if family.remainder is not None:
            blocks.append(np.array([[_SHARE_SCALE**-2]]))
        return np.asarray(block_diag(*blocks))

    def share(self, deviations: Sequence[float]) -> list[float]:
        """Return logs of the remainder's share at these numbers of prior standard deviations from the centre."""
        return [_SHARE_LOCATION + _SHARE_SCALE * z for z in deviations]

    def bounds(self, family: KernelFamily) -> list[tuple[float, float]]:
        """Return the interval in which the search stays: ten prior standard deviations to either side.

        It only keeps the optimiser's line search from overflowing. Closer bounds would bind: for values of a polynomial
        the likelihood grows with the length-scales without bound, and only the prior limits them.
        """
        location = self.location(family)
        sd = np.full(len(location), sqrt(self.common**2 + self.apart**2))
        sd[self.dim :] = sqrt(_WEIGHTS_COMMON**2 + _WEIGHTS_APART**2)
        sd[family.inner(self.dim) :] = _SHARE_SCALE
        return [(float(m - 10.0 * s), float(m + 10.0 * s)) for m, s in zip(location, sd, strict=True)]


def _exchangeable(dim: int, common: float, apart: float) -> FloatArray:
    """Return the inverse of common^2 11' + apart^2 I."""
    between = common**2 / (apart**2 + dim * common**2)
    return np.asarray((np.eye(dim) - between) / apart**2)


# Standard deviations of the log weights, common to the coordinates and of each, as the docstring of the prior says.
_WEIGHTS_COMMON, _WEIGHTS_APART = 3.0, 1.0
# Mean and standard deviation of the log share, as the docstring of the prior says.
_SHARE_LOCATION = log(1e-4)
_SHARE_SCALE = 3.0 * log(10.0)
