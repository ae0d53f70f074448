"""Exchangeable parameters: where a mode is again when labels are exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .modes import Mode
from .quadratic import Quadratic
from .space import Space

Array = NDArray[np.float64]

#: Points at which the prior must be the same, and how far its logarithm may be off by rounding.
_TRIED, _ROUNDING = 5, 1e-9


@dataclass(frozen=True, eq=False)
class Exchange:
    """A permutation of the user's parameters as a map of the run's own coordinates: z to shift + turn z.

    Attributes
    ----------
    shift : (d,) array
    turn : (d, d) array
        Of determinant one or minus one.
    """

    shift: Array
    turn: Array

    def __call__(self, z: Array) -> Array:
        """Return the images of points z (n, d)."""
        return np.asarray(self.shift + z @ self.turn.T)

    def image(self, mode: Mode) -> Mode:
        """Return the mode with exchanged parameters, which no climb has reached."""
        back = np.linalg.inv(self.turn)
        peak = mode.peak
        curvature = back.T @ peak.curvature @ back
        return Mode(Quadratic(self(peak.centre[None])[0], peak.constant, back.T @ peak.slope, curvature), 0)


def exchanges(space: Space, most: int) -> list[Exchange]:
    """Return up to `most` exchanges of parameters that leave the prior as it is, the likelier ones first.

    First all labels of two components at once, with the parameters of one next to each other (a1, k1, a2, k2) or those
    of one kind (a1, a2, k1, k2); then single pairs, then two of these at a time.
    """
    d = space.dim
    if d < 2 or most < 1 or space.support is not None:
        return []
    z = np.random.default_rng(0).standard_normal((_TRIED, d))
    found: dict[tuple[int, ...], Exchange] = {}

    def tried(*swap: tuple[int, int]) -> bool:
        order = np.arange(d)
        for i, j in swap:
            order[i], order[j] = j, i
        exchange = None if len(found) >= most else _exchange(space, order, z)
        if exchange is not None:
            found.setdefault(tuple(order.tolist()), exchange)
        return exchange is not None

    if d % 2 == 0 and d > 2:
        tried(*((i, i + d // 2) for i in range(d // 2)))
        tried(*((i, i + 1) for i in range(0, d, 2)))
    alike = [pair for pair in combinations(range(d), 2) if tried(pair)]
    for a, b in combinations(alike, 2):
        if not set(a) & set(b):
            tried(a, b)
    return list(found.values())


def _exchange(space: Space, order: NDArray[np.intp], z: Array) -> Exchange | None:
    """Return the map of a permutation if it is affine and leaves the prior as it is at points z (k, d)."""
    d = space.dim

    def moved(points: Array) -> Array:
        return np.asarray(space.from_user(space.to_user(points)[:, order]))

    with np.errstate(all="ignore"):
        corners = moved(np.vstack([np.zeros(d), np.eye(d)]))
        images = moved(z)
        if not (np.isfinite(corners).all() and np.isfinite(images).all()):
            return None
        exchange = Exchange(corners[0], (corners[1:] - corners[0]).T)
        size = 1.0 + np.abs(images).max()
        affine = np.max(np.abs(exchange(z) - images)) < _ROUNDING * size
        before, after = space.log_prior(z), space.log_prior(images)
        same = np.max(np.abs(after - before)) < _ROUNDING * (1.0 + np.abs(before).max())
        volume = abs(np.linalg.slogdet(exchange.turn)[1]) < 1e-6
    return exchange if affine and same and volume else None
