"""Posterior distributions of evidences, always positive, always in the log domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from .. import _frozen

Array = NDArray[np.float64]
Kind = Literal["log", "positive"]
#: How many natural logarithms below its largest value an evidence of zero is taken to be: exp(-745) is the smallest
#: positive float64.
_NOTHING = 745.0


@dataclass(frozen=True, eq=False)
class Evidences:
    r"""Independent posteriors of the evidences of m models.

    Kind ``"log"``: :math:`\log Z_i = c_i + s_i T`, T Student-t with :math:`\nu_i` degrees of freedom (Gaussian when
    infinite). Kind ``"positive"``: :math:`Z_i = e^{o_i} (c_i + s_i T)` given that it is positive.

    A likelihood that is zero wherever it was evaluated has the log evidence minus infinity (as centre, or as offset):
    that is the estimate, and no interval bounds it. In draws, and for P(MAP), it is zero.

    Attributes
    ----------
    kind : (m,) array of str
        ``"log"`` or ``"positive"``.
    centre, scale, df, offset : (m,) arrays
        As above; the offset of kind ``"log"`` is zero.
    """

    kind: NDArray[np.str_]
    centre: Array
    scale: Array
    df: Array
    offset: Array

    def __post_init__(self) -> None:
        _frozen.lock(self)

    def __len__(self) -> int:
        return len(self.centre)

    @classmethod
    def empty(cls, size: int) -> Evidences:
        """Return room for `size` posteriors, to be filled by :meth:`put`."""
        nan = np.full(size, np.nan)
        return cls(np.full(size, "log", dtype="<U8"), nan, nan.copy(), nan.copy(), np.zeros(size))

    def put(self, where: NDArray[np.intp], other: Evidences) -> Evidences:
        """Return a copy with the posteriors at `where` replaced."""
        arrays = [a.copy() for a in (self.kind, self.centre, self.scale, self.df, self.offset)]
        for array, new in zip(arrays, (other.kind, other.centre, other.scale, other.df, other.offset), strict=True):
            array[where] = new
        return Evidences(*arrays)  # type: ignore[arg-type]

    def take(self, where: ArrayLike) -> Evidences:
        """Return the posteriors at `where`."""
        i = np.asarray(where)
        return Evidences(self.kind[i], self.centre[i], self.scale[i], self.df[i], self.offset[i])

    def widened(self, sd: Array) -> Evidences:
        """Return the same log evidences with these standard deviations added to their errors, (m,)."""
        more = (self.kind == "log") & ~self.nothing
        return replace(self, scale=np.where(more, np.hypot(self.scale, sd), self.scale))

    @property
    def nothing(self) -> NDArray[np.bool_]:
        """Which likelihoods were zero at every point evaluated, so that nothing is known of their evidences, (m,)."""
        return np.asarray(np.isneginf(self.centre) | np.isneginf(self.offset))

    @property
    def log_median(self) -> Array:
        """Median of each log evidence: the estimate that is reported."""
        return np.asarray(self.quantile(np.full((1, len(self)), 0.5))[0])

    @property
    def log_sd(self) -> Array:
        """Half the width of the central 68.27 % interval of each log evidence; infinite where nothing is known."""
        low, high = self.quantile(np.array([[0.15865525393145707], [0.8413447460685429]]))
        with np.errstate(invalid="ignore"):
            return np.where(self.nothing, np.inf, 0.5 * (high - low))

    def interval(self, level: float) -> tuple[Array, Array]:
        """Central interval of each log evidence; all numbers where nothing is known."""
        low, high = self.quantile(np.array([[0.5 - 0.5 * level], [0.5 + 0.5 * level]]))
        return np.where(self.nothing, -np.inf, low), np.where(self.nothing, np.inf, high)

    def quantile(self, u: Array) -> Array:
        """Return quantiles of the log evidences: u (r, m) or (r, 1) in (0, 1) to (r, m)."""
        u = np.broadcast_to(u, (len(u), len(self)))
        with np.errstate(divide="ignore", invalid="ignore"):
            below = self._below_zero()
            t = _student_quantile(np.where(self.kind == "log", u, below + (1.0 - below) * u), self.df)
            value = self.centre + np.where(self.scale > 0.0, self.scale * t, 0.0)
            largest = np.maximum(np.abs(self.centre), self.scale)
            floor = np.log(np.where(largest > 0.0, largest, 1.0)) - _NOTHING
            logs = self.offset + np.fmax(np.log(np.maximum(value, 0.0)), floor)
        return np.where(self.kind == "log", value, logs)

    def cdf(self, x: Array) -> Array:
        """Return P(log Z_i <= x) for x (r, m) or (r, 1); one half at the centre of a posterior of width zero."""
        x = np.broadcast_to(x, (len(x), len(self)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = np.where(self.kind == "log", x, np.exp(x - self.offset))
            t = (value - self.centre) / self.scale
            sharp = 0.5 * (1.0 + np.sign(value - self.centre))
            p = np.where(self.scale > 0.0, _student_cdf(t, self.df), sharp)
            below = self._below_zero()
            return np.where(self.kind == "log", p, np.clip((p - below) / (1.0 - below), 0.0, 1.0))

    def sample(self, draws: int, rng: np.random.Generator) -> Array:
        """Return independent draws (draws, m) of the log evidences."""
        finite = np.isfinite(self.df)
        shape = (draws, len(self))
        t = np.where(finite, rng.standard_t(np.where(finite, self.df, 1.0), shape), rng.standard_normal(shape))
        drawn = self.centre + self.scale * t
        positive = np.flatnonzero(self.kind == "positive")
        if len(positive):
            drawn[:, positive] = self.take(positive).quantile(rng.uniform(size=(draws, len(positive))))
        return drawn

    def _below_zero(self) -> Array:
        """Mass of the untruncated posterior below zero; kept below one, so that there is always some above zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.where(self.scale > 0.0, _student_cdf(-self.centre / self.scale, self.df), 0.0)
        return np.where(self.kind == "log", 0.0, np.minimum(p, 1.0 - 1e-12))


@dataclass(frozen=True, eq=False)
class Earlier:
    """What is known of the models of a family before they are compared.

    Attributes
    ----------
    evidences : Evidences
        Posteriors of all of them.
    n : int
        Points that these come from.
    """

    evidences: Evidences
    n: int


def _student_cdf(t: Array, df: Array) -> Array:
    finite = np.isfinite(df)
    return np.where(finite, stdtr(np.where(finite, df, 1.0), t), ndtr(t))


def _student_quantile(u: Array, df: Array) -> Array:
    finite = np.isfinite(df)
    return np.where(finite, stdtrit(np.where(finite, df, 1.0), u), ndtri(u))
