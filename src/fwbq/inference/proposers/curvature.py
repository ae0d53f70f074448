"""The whole quadratic at a top, measured by values around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..modes import Mode
from ..quadratic import Quadratic
from ..tuning import TUNING
from .ascent import Top

Array = NDArray[np.float64]


@dataclass(eq=False)
class Curvature:
    r"""Measures slope and curvature at a top: a pair of values on every axis, and one value for every two axes.

    The axes are those of the Gaussian that a climb has left, each a standard deviation long. What the climb knows of
    them may be wrong by any factor across its path, so that a pair is taken again, at the width that it showed, until
    all widths are right within a factor of two. With :math:`v` at the centre, :math:`s` the slopes and :math:`k` the
    curvatures along the axes, the value between two of them tells how they are correlated:

    .. math:: f(c + (a_i + a_j) / \sqrt 2) = v + (s_i + s_j) / \sqrt 2 - (k_i + k_j) / 4 + h_{ij} / 2

    Where a value is far above the centre, or the quadratic has its maximum more than a standard deviation away, it is
    measured anew from there, as long as there are evaluations left.

    Attributes
    ----------
    centre : (d,) array
    axes : (d, d) array
        One in each column.
    began : (d,) array
        Centre of the mode that it began at.
    most : int
        Evaluations that it may still use.
    value : float
        Log joint density at the centre; NaN before it is known.
    slopes, curvatures : (d,) arrays
        Along the axes; curvatures are positive where the density falls to both sides.
    correlations : (d, d) array
        h, zero on the diagonal.
    tries : int
        Times that the pairs on the axes were taken.
    pairing : bool
        Whether the next points are those between two axes.
    ended : bool
    """

    centre: Array
    axes: Array
    began: Array
    most: int
    value: float
    slopes: Array
    curvatures: Array
    correlations: Array
    tries: int = 0
    pairing: bool = False
    ended: bool = False

    @classmethod
    def at(cls, mode: Mode, most: int) -> Curvature:
        """Begin at a mode, with at most this many evaluations."""
        values, vectors = np.linalg.eigh(-mode.peak.curvature)
        d = len(values)
        axes = vectors / np.sqrt(values)
        return cls(mode.peak.centre, axes, mode.peak.centre, most, np.nan, np.zeros(d), np.ones(d), np.zeros((d, d)))

    @staticmethod
    def cost(dim: int) -> int:
        """Return how many evaluations it takes if no pair is taken again."""
        return 1 + 2 * dim + dim * (dim - 1) // 2

    def propose(self) -> Array:
        """Return the next points (k, d)."""
        if self.pairing:
            i, j = np.triu_indices(len(self.centre), 1)
            return np.asarray(self.centre + ((self.axes[:, i] + self.axes[:, j]) / np.sqrt(2.0)).T)
        pairs = np.concatenate([self.centre + self.axes.T, self.centre - self.axes.T])
        return pairs if np.isfinite(self.value) else np.vstack([self.centre, pairs])

    def learn(self, points: Array, values: Array) -> None:
        """Take in the log joint densities (k,) of the points proposed; minus infinity where there is none."""
        self.most -= len(values)
        if self.pairing:
            self._learn_pairs(values)
        else:
            if not np.isfinite(self.value):
                self.value, points, values = float(values[0]), points[1:], values[1:]
            self.ended = not np.isfinite(self.value)
            if not self.ended:
                self._learn_axes(points, values)

    def _learn_axes(self, points: Array, values: Array) -> None:
        numbers, d = TUNING.curvature, len(self.centre)
        self.tries += 1
        up, down = np.split(np.where(np.isfinite(values), values, self.value - 1e6), 2)
        self.slopes, self.curvatures = 0.5 * (up - down), 2.0 * self.value - up - down
        again = self.tries < numbers.tries and self.most >= self.cost(d)
        wrong = np.any((self.curvatures < numbers.right**-2) | (self.curvatures > numbers.right**2))
        highest = int(np.argmax(values))
        higher = bool(values[highest] > self.value + TUNING.judge.above)
        if again and (wrong or higher):
            self.axes = self.axes / np.sqrt(np.clip(self.curvatures, numbers.widen**-2, 1e6))
            if higher:
                self.centre, self.value = points[highest].copy(), float(values[highest])
            return
        self.pairing = self.most >= d * (d - 1) // 2 > 0
        self.ended = not self.pairing

    def _learn_pairs(self, values: Array) -> None:
        d = len(self.centre)
        i, j = np.triu_indices(d, 1)
        k, s = self.curvatures, self.slopes
        h = 2.0 * (values - self.value - (s[i] + s[j]) / np.sqrt(2.0) + (k[i] + k[j]) / 4.0)
        self.correlations[i, j] = self.correlations[j, i] = np.where(np.isfinite(h), h, 0.0)
        self.ended = True
        peak = self.peak
        if 2.0 * peak.gain() > 1.0 and self.tries < TUNING.curvature.tries and self.most >= self.cost(d):
            mode = Mode(Quadratic(self.centre + peak.step(self._reach(peak)), np.nan, peak.slope, peak.curvature))
            self.__dict__.update(Curvature.at(mode, self.most).__dict__, began=self.began, tries=self.tries)

    def _reach(self, peak: Quadratic) -> float:
        """Return how long a step to the maximum may be: some standard deviations along it."""
        step = peak.step(np.inf)
        deviations = float(np.sqrt(-step @ peak.curvature @ step))
        return float(np.linalg.norm(step)) * min(1.0, TUNING.modes.within / max(deviations, 1e-300))

    @property
    def peak(self) -> Quadratic:
        """The quadratic around the centre; no direction is wider than is believed."""
        H = np.diag(np.maximum(self.curvatures, 0.0)) - self.correlations
        values, vectors = np.linalg.eigh(H)
        values = np.maximum(values, TUNING.curvature.flat)
        inverse = np.linalg.inv(self.axes)
        K = inverse.T @ (vectors * values) @ vectors.T @ inverse
        return Quadratic(self.centre, self.value, inverse.T @ self.slopes, -0.5 * (K + K.T))

    @property
    def top(self) -> Top:
        """The centre, with the slope and the Gaussian there."""
        peak = self.peak
        return Top(self.centre, self.value, peak.slope, Mode(peak).root)

    @property
    def mode(self) -> Mode:
        """The mode: a Newton step on where that is a short one."""
        peak, top = self.peak, self.top.whitening.centre
        return Mode(Quadratic(top, float(peak(top[None])[0]), np.zeros(len(top)), peak.curvature))
