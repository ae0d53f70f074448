"""The first points, spread where the prior, or the start, is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..chart import Chart
from ..tuning import TUNING

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spread:
    """The points that come before all others.

    Attributes
    ----------
    chart : Chart
    first : int
        How many come before the first climb.
    start : (1, d) array or None
        A point of high density, in coordinates: the first one.
    """

    chart: Chart
    first: int
    start: Array | None

    @classmethod
    def of(cls, chart: Chart, n: int, start: Array | None) -> Spread:
        """Return the spread of a run of n evaluations.

        Twice the dimension sees every coordinate from both sides; a twelfth of a large budget finds further modes.
        """
        numbers = TUNING.spread
        return cls(
            chart,
            min(max(2 * chart.dim + 2, numbers.least, n // numbers.share), max(3, n // numbers.most_share)),
            start,
        )

    def propose(self, n: int, seed: np.random.SeedSequence) -> Array:
        """Return the points (k, d) that follow the first n; none where the prior is a sample that has no more.

        While no value is positive there are always d + 2 more.
        """
        size = self.first if n < self.first else n + self.chart.dim + 2
        points = self.chart.first(size, np.random.default_rng(seed))
        if self.start is not None:
            points = np.vstack([self.start, points])[:size]
        return np.asarray(points[n:])
