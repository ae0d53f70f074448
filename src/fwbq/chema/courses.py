r"""Whole time courses in place of rates of change: for data whose noise is as large as what changes from time to time.

Far from saturation, and with V_0 at its prior mean, the kinetics are linear,

.. math:: \dot y_{S^*} = -\frac{y_{S^*}}{K_0} + b + \sum_j V_j\, y_{E_j},

and have a solution in closed form: S* is a constant, what is left of where it starts, and the activities of the enzymes
as a memory of length K_0 keeps them,

.. math::
    y_{S^*}(t) = c + V_0\, e^{-t/K_0} + \sum_j V_j \int_0^t e^{-(t - s)/K_0}\, y_{E_j}(s)\, ds + \varepsilon .

Given K_0 that is again linear in V: Y are the levels, and the columns of X are these. Enzymes are taken as linear
between the times at which they were measured; a background that was measured with them changes c and V_0 alone.
Differences of neighbouring levels, which are mostly noise where steps are short, are not needed, and errors of S* are
not in the columns. K_0 is a time here; the constants of the enzymes have no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .dataset import Dataset
from .kinetics import BoolArray, FloatArray, Increments, IntArray

__all__ = ["Courses", "courses"]

# K_0 = 0 is within the prior: a memory this short, in the unit of time, is as good as none.
_SHORTEST = 1e-6


@dataclass(frozen=True, eq=False)
class Courses(Increments):
    """Levels of conditions that share V and sigma, where :class:`Increments` are rates of change.

    `rates` are the levels of S*. `enzymes` have a row for each time of a condition, also where S* is missing.

    Attributes
    ----------
    times : tuple of (T,) array
        Of each condition.
    there : tuple of (T,) bool array
        Whether S* was measured.
    """

    times: tuple[FloatArray, ...] = ()
    there: tuple[BoolArray, ...] = ()

    @property
    def measured(self) -> FloatArray:
        """The levels of S* without the constant: what is left to explain."""
        return np.asarray(self.turned_back(self.rates[None])[0])

    def constants(self, points: FloatArray, size: int) -> FloatArray:
        """Return K_0 in every place: the columns of the enzymes have the same memory."""
        return np.repeat(points[:, :1], 1 + size, axis=1)

    def with_basal(self) -> Courses:
        """Return the same with a constant in every model: the level that there is without any of the enzymes."""
        basal = np.full(self.rows, 1.0 / np.sqrt(self.rows))
        part = replace(self, basal=basal, along_basal=float(basal @ self.rates))
        # What is constant is orthogonal to the rest: without it, levels that never change are exactly zero.
        return replace(part, rates=part.turned((self.rates - self.rates[0])[None])[0])

    def dephosphorylation(self, k: FloatArray) -> FloatArray:
        """Column 0, what is left of where S* starts, for every K_0 in k: (n, N)."""
        return self.turned(self._left(k))

    def phosphorylation(self, k: FloatArray, enzymes: IntArray) -> FloatArray:
        """Columns of the enzymes, in units of `unit`, for every K_0 in k: (n, N, len(enzymes))."""
        return self.turned(self._remembered(k, self.enzymes[:, enzymes]))

    def designs(self, index: IntArray, points: FloatArray) -> FloatArray:
        """X(K_0) of model index[i] at points[i]: (m, N, d) for index (m, d - 1)."""
        x = np.empty((len(points), self.rows, 1 + index.shape[1]))
        x[:, :, 0] = self._left(points[:, 0])
        models, which = np.unique(index, axis=0, return_inverse=True)
        for i, model in enumerate(models):
            same = np.flatnonzero(which.reshape(-1) == i)
            x[same, :, 1:] = self._remembered(points[same, 0], self.enzymes[:, model] * self.unit[model])
        return self.turned(x)

    @property
    def _grids(self) -> list[FloatArray]:
        """The different grids of times: mostly one for all conditions."""
        return list({t.tobytes(): t for t in self.times}.values())

    def _left(self, k: FloatArray) -> FloatArray:
        since = np.concatenate([(t - t[0])[seen] for t, seen in zip(self.times, self.there, strict=True)])
        return np.asarray(np.exp(-since / np.maximum(k, _SHORTEST)[:, None]))

    def _remembered(self, k: FloatArray, levels: FloatArray) -> FloatArray:
        """Integrals of levels (rows, u), linear between their times, each weighed by exp(-age / k): (n, N, u)."""
        memories = {t.tobytes(): _memory(t, np.maximum(k, _SHORTEST)) for t in self._grids}
        first, parts = 0, []
        for t, seen in zip(self.times, self.there, strict=True):
            rows = slice(first, first + len(t))
            first = rows.stop
            parts.append((memories[t.tobytes()] @ levels[rows])[:, seen])
        return np.concatenate(parts, axis=1)


def _memory(t: FloatArray, k: FloatArray) -> FloatArray:
    r"""Weights of the levels at times t in \int_0^t exp(-(t - s)/k) y(s) ds, for every k: (n, T, T)."""
    step, rate = np.diff(t), 1.0 / k[:, None]
    # Of one step: the integral of the kernel, and that of the kernel times the part of the step that has gone by.
    whole = -np.expm1(-step * rate) / rate
    late = (step - whole) / (rate * step)
    age = t[:, None] - t[None, 1:]
    left = np.where(age >= 0.0, np.exp(-np.maximum(age, 0.0) * rate[:, :, None]), 0.0)
    result = np.zeros((len(k), len(t), len(t)))
    result[:, :, :-1] = left * (whole - late)[:, None, :]
    result[:, :, 1:] += left * late[:, None, :]
    return result


def courses(data: Dataset) -> tuple[Courses, ...]:
    """Return the courses of every group of conditions that share the rates V and the noise sigma.

    An enzyme whose level is missing at a time has there what is between its neighbours.
    """
    rows = data.rows()
    groups = (_group(data, [rows[i] for i in members]) for members in data.groups)
    return tuple(part.with_basal() if data.basal else part for part in groups)


def _group(data: Dataset, conditions: Sequence[IntArray]) -> Courses:
    there = tuple(np.isfinite(data.phospho[rows]) for rows in conditions)
    kept = np.concatenate([rows[seen] for rows, seen in zip(conditions, there, strict=True)])
    enzymes = np.concatenate([_filled(data.times[rows], data.enzymes[rows]) for rows in conditions])
    largest = enzymes.max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return Courses(
        data.phospho[kept], data.substrate[kept], data.phospho[kept], enzymes / unit, unit,
        times=tuple(data.times[rows] for rows in conditions), there=there,
    )  # fmt: skip


def _filled(times: FloatArray, levels: FloatArray) -> FloatArray:
    result = np.array(levels)
    for column in result.T:
        known = np.isfinite(column)
        column[~known] = np.interp(times[~known], times[known], column[known])
    return result
