"""Widths and curvature of a log joint density at its start: units for what comes after."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..tuning import TUNING

Array = NDArray[np.float64]


@dataclass(eq=False)
class Metric:
    """Measures how wide the density is around the start, from pairs of values on every axis, and a value for every two.

    A user's `scale` may be wrong by a thousand, and parameters may differ in size by as much. On an axis with the
    values up and down at a step h from the start, v there, the parabola through them has the width
    h / sqrt(2 v - up - down). Where the values change by too much or too little for that to be believed, the step is
    changed and the pair taken again, a few times at most. What is found are units for the coordinates; where further
    climbs begin is up to `scale`. One more value for every two axes, a width along both, then determines the whole
    quadratic at the start, correlations included, if all axes are measured and it does not take too many of the
    evaluations.

    Attributes
    ----------
    steps : (d,) array
        Step on every axis, in units of `scale`.
    open : (k,) array of int
        Axes that are not measured yet.
    asked : list of tuple
        First row in the data, and number, of the points of each round on the axes.
    paired : bool
        Whether there is a value for every two axes, or none is asked for.
    """

    steps: Array
    open: NDArray[np.intp] = field(init=False)
    asked: list[tuple[int, int]] = field(default_factory=list)
    paired: bool = False

    def __post_init__(self) -> None:
        self.open = np.arange(len(self.steps))

    @classmethod
    def of(cls, dim: int, n: int) -> Metric | None:
        """Return the measurement of a run of n evaluations; None where these are too few for it."""
        if 2 * dim + 1 > TUNING.metric.share * n:
            return None
        return cls(np.ones(dim), paired=not 0 < dim * (dim - 1) // 2 <= TUNING.metric.pairs_share * n)

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to measure."""
        return self.measured and (self.paired or len(self.open) > 0)

    @property
    def measured(self) -> bool:
        """Whether every axis is measured, or was tried often enough."""
        return bool(self.asked) and (not len(self.open) or len(self.asked) > TUNING.metric.rounds)

    def propose(self) -> Array:
        """Return the next points (k, d): the start, pairs on the axes that are open, a point for every two axes."""
        if not self.asked:
            return np.zeros((1, len(self.steps)))
        if self.measured:
            i, j = np.triu_indices(len(self.steps), 1)
            widths = np.diag(self.steps)
            return np.asarray(widths[i] + widths[j])
        pairs = self.steps[self.open, None] * np.eye(len(self.steps))[self.open]
        return np.concatenate([pairs, -pairs])

    def learn(self, first: int, values: Array, centre: float) -> None:
        """Take in the log joint densities (k,) of the points proposed, in rows from `first` on.

        Parameters
        ----------
        first : int
        values : (k,) array
            Minus infinity where the density is zero, or the function failed.
        centre : float
            Log joint density at the start.
        """
        if self.measured:
            self.paired = True  # the values serve the models of the climbs
            return
        self.asked.append((first, len(values)))
        if len(self.asked) == 1:
            if not np.isfinite(centre):
                self.open, self.paired = self.open[:0], True
            return
        numbers = TUNING.metric
        up, down = np.split(values, 2)
        left = []
        for axis, a, b in zip(self.open, up, down, strict=True):
            step = float(self.steps[axis])
            # An exponential falls by more than any parabola where a step is far too long.
            shortest = step / numbers.factor**2
            if not (np.isfinite(a) and np.isfinite(b)):
                self.steps[axis] = shortest
                left.append(axis)
                continue
            change = max(abs(a - centre), abs(b - centre))
            fall = 2.0 * centre - a - b
            curved = fall > numbers.curved * change
            width = step / float(np.sqrt(fall if curved else max(change, numbers.least_change)))
            if change == 0.0 and len(self.asked) > numbers.rounds:
                self.steps[axis] = 1.0  # flat as far as was looked: the user's unit is as good as any
                left.append(axis)
            elif change > numbers.most:
                self.steps[axis] = max(width, shortest)
                left.append(axis)
            elif fall < numbers.rounding * (1.0 + abs(centre)) and change < numbers.least:
                self.steps[axis] = step * numbers.factor
                left.append(axis)
            else:
                self.steps[axis] = width
        self.open = np.array(left, dtype=np.intp)
