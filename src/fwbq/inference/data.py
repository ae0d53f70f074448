"""Data: everything that was evaluated, or is about to be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..integration.state import same_value
from .chart import Chart

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Values deeper than this below the top are raised to it: they matter to nothing, and squares stay finite.
_DEEPEST = 1e7


@dataclass(frozen=True, eq=False)
class Data:
    """All points of a run with what is known there, in the order in which they were asked for, or told.

    Attributes
    ----------
    chart : Chart
    x, z : (n, d) arrays
        The points, in the user's parameters and in coordinates of the chart.
    values : (n,) array
        Log likelihoods (without a prior log joint densities); minus infinity is a likelihood of zero. NaN where the
        function failed, and for points that wait for a value.
    gradient : (n, d) array
        Gradients of the values with respect to the user's parameters; a row of NaN where there is none.
    noise : (n,) array
        Variances of the values; zero where they are exact.
    failed : (n,) array of bool
        Points where the function failed.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> from fwbq.inference.chart import chart_of
    >>> data = Data.nothing(chart_of(fwbq.Gaussian([0.0], [[1.0]])))
    >>> data = data.asked(np.array([[0.0], [1.0]])).told(np.array([[1.0], [2.0]]), np.array([-3.0, -5.0]))
    >>> data.waiting.tolist(), data.values[1:].tolist(), data.evaluated.x[:, 0].tolist()
    ([True, False, False], [-3.0, -5.0], [1.0, 2.0])
    """

    chart: Chart
    x: Array
    z: Array
    values: Array
    gradient: Array
    noise: Array
    failed: Mask

    @classmethod
    def nothing(cls, chart: Chart) -> Data:
        """Return the data before the first point."""
        points, no = np.empty((0, chart.dim)), np.empty(0, dtype=bool)
        return cls(chart, points, points, np.empty(0), points, np.empty(0), no)

    def __len__(self) -> int:
        return len(self.values)

    # Adding to it

    def asked(self, z: Array) -> Data:
        """Return the data with further points z (k, d) that wait for their values."""
        return self._with(self.chart.to_user(z) + 0.0, z)

    def _with(self, x: Array, z: Array) -> Data:
        k = len(x)
        return replace(
            self,
            x=np.vstack([self.x, x]),
            z=np.vstack([self.z, z]),
            values=np.concatenate([self.values, np.full(k, np.nan)]),
            gradient=np.vstack([self.gradient, np.full((k, self.dim), np.nan)]),
            noise=np.concatenate([self.noise, np.zeros(k)]),
            failed=np.concatenate([self.failed, np.zeros(k, dtype=bool)]),
        )

    def told(self, x: Array, values: Array, gradient: Array | None = None) -> Data:
        """Return the data with values (k,) and gradients (k, d) at points x (k, d), waited for or of one's own.

        A value that was told before, but for rounding, is no news; a gradient that was not known is kept.

        Raises
        ------
        ValueError
            When a point has another value already.
        """
        places = self._places()
        new: dict[bytes, int] = {}
        for i, (row, value) in enumerate(zip(x, values, strict=True)):
            at = places.get(row.tobytes())
            before = float(values[new.setdefault(row.tobytes(), i)]) if at is None else float(self.values[at[-1]])
            if not np.isnan(before) and not same_value(before, float(value)):
                raise ValueError(
                    f"`values` has {float(value)!r} for the point {row.tolist()}, for which {before!r} was told before"
                    ": a log likelihood has one value at a point; begin a new EvidenceRun if the likelihood has changed"
                )
        own = list(new.values())
        data = self._with(x[own], self.chart.from_user(x[own])) if own else self
        held, slopes, failed = data.values.copy(), data.gradient.copy(), data.failed.copy()
        places = data._places() if own else places
        for i, row in enumerate(x):
            for at_row in places[row.tobytes()]:
                if np.isnan(held[at_row]):
                    held[at_row], failed[at_row] = values[i], False
                if gradient is not None and not np.isnan(gradient[i]).any():
                    slopes[at_row] = gradient[i]
        return replace(data, values=held, gradient=slopes, failed=failed)

    def on(self, chart: Chart) -> Data:
        """Return the data in the coordinates of another chart."""
        return replace(self, chart=chart, z=chart.from_user(self.x))

    def given_up(self, x: Array) -> Data:
        """Return the data with those of the points x (k, d) that wait for a value marked as failed."""
        gone = {row.tobytes() for row in x}
        return replace(self, failed=self.failed | (self.waiting & [row.tobytes() in gone for row in self.x]))

    def given_up_all(self) -> Data:
        """Return the data with all points that wait for a value marked as failed."""
        return replace(self, failed=self.failed | self.waiting)

    def _places(self) -> dict[bytes, list[int]]:
        """Return the rows of every point, by its bytes."""
        places: dict[bytes, list[int]] = {}
        for i, row in enumerate(self.x):
            places.setdefault(row.tobytes(), []).append(i)
        return places

    # What it holds

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self.chart.dim

    @property
    def waiting(self) -> Mask:
        """Which points wait for a value, (n,)."""
        return np.asarray(np.isnan(self.values) & ~self.failed)

    @property
    def failures(self) -> Array:
        """Where the function failed, in coordinates, (k, d)."""
        return np.asarray(self.z[self.failed])

    @cached_property
    def evaluated(self) -> Data:
        """The points that have a value, alone; what follows is meant for these."""
        return self.rows(~np.isnan(self.values))

    def rows(self, which: Mask | slice) -> Data:
        """Return some of the rows."""
        columns = ("x", "z", "values", "gradient", "noise", "failed")
        return replace(self, **{name: getattr(self, name)[which] for name in columns})

    @cached_property
    def joint(self) -> Array:
        """Log joint densities (n,)."""
        return np.asarray(self.values + self.chart.log_prior(self.z))

    @cached_property
    def tops(self) -> Array:
        """Largest log joint density up to each point, (n,)."""
        return np.maximum.accumulate(self.joint)

    @property
    def top(self) -> float:
        """Largest log joint density; minus infinity when there is none."""
        return float(self.tops[-1]) if len(self.tops) else -np.inf

    @cached_property
    def positive(self) -> Mask:
        """Where the likelihood is not zero, (n,)."""
        return np.isfinite(self.values)

    @property
    def bounded(self) -> Array:
        """The log joint densities; those too deep to matter are raised, so that they can be squared."""
        return np.maximum(self.joint, self.top - _DEEPEST)

    @property
    def highest_first(self) -> list[int]:
        """Rows by falling log joint density, those of zero likelihood last."""
        rows: list[int] = np.argsort(-np.where(self.positive, self.joint, -np.inf), kind="stable").tolist()
        return rows
