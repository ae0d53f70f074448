"""A plan: points about to be evaluated for one purpose, and the values that have come in."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .climb import Climb
from .space import Space

Array = NDArray[np.float64]


@dataclass(eq=False)
class Plan:
    """Points about to be evaluated.

    Attributes
    ----------
    kind : str
        ``"spread"``, ``"climb"``, ``"images"`` or ``"round"``.
    z, x : (k, d) arrays
        The points, in the run's own coordinates and in the user's parameters.
    climbs : list of tuple
        The climbs that asked for them, with the number of points of each.
    exploring : int
        The last so many points look for modes that nobody has seen.
    asked : int
        How many were handed out.
    values : dict
        Log likelihoods told so far, by the bytes of the point; NaN for a point that was given up.
    """

    kind: str
    z: Array
    x: Array
    climbs: list[tuple[Climb, int]] = field(default_factory=list)
    exploring: int = 0
    asked: int = 0
    values: dict[bytes, float] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: str, z: Array, space: Space, climbs: list[tuple[Climb, int]] | None = None) -> Plan:
        """Return the plan of points z (k, d); of points that coincide in the user's parameters one is kept."""
        x = space.to_user(z) + 0.0
        _, first = np.unique(x, axis=0, return_index=True)
        if len(first) < len(x) and not climbs:
            keep = np.sort(first)
            z, x = z[keep], x[keep]
        return cls(kind, z, x, climbs or [])

    @property
    def keys(self) -> list[bytes]:
        """The bytes of every point."""
        return [row.tobytes() for row in self.x + 0.0]

    @property
    def complete(self) -> bool:
        """Whether every point has a value or was given up."""
        return all(key in self.values for key in self.keys)

    @property
    def told(self) -> int:
        """Number of points with a value."""
        return int(np.sum(~np.isnan(list(self.values.values()))))

    @property
    def looks_around(self) -> NDArray[np.bool_]:
        """Which points look for modes that nobody has seen, (k,)."""
        return np.arange(len(self.x)) >= len(self.x) - self.exploring

    @property
    def given_up(self) -> NDArray[np.bool_]:
        """Which points were given up, (k,)."""
        return np.isnan([self.values.get(key, 0.0) for key in self.keys])

    def take(self, most: int | None) -> Array:
        """Hand out the next points, at most so many."""
        stop = len(self.x) if most is None else min(len(self.x), self.asked + most)
        points = self.x[self.asked : stop]
        self.asked = stop
        return np.array(points)

    def known(self) -> tuple[NDArray[np.intp], Array]:
        """Return the rows of the points that have a value, and the values."""
        values = np.array([self.values.get(key, np.nan) for key in self.keys])
        rows = np.flatnonzero(~np.isnan(values))
        return rows, values[rows]
