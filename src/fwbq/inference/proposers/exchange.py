"""Exchangeable parameters: where a mode is again when labels are exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..chart import Chart
from ..data import Data
from ..modes import Mode
from ..quadratic import Quadratic
from ..tuning import TUNING

if TYPE_CHECKING:
    from .climbs import Climbs

Array = NDArray[np.float64]

#: Points at which the prior must be the same.
_TRIED = 5
#: How far logarithms that are the same may differ, relative to their size: sums in another order differ by rounding.
_ROUNDING = 1e-9
#: They never differ by more than this.
_MOST_ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class Exchange:
    """A permutation of the user's parameters as a map of the run's own coordinates: z to shift + turn z.

    One of them may be reflected: the weight w of a mixture of two becomes 1 - w when its labels are exchanged.

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


def exchanges(chart: Chart, most: int) -> list[Exchange]:
    """Return up to `most` exchanges of parameters that leave the prior as it is, the likelier ones first.

    First all labels of two components at once, with the parameters of one next to each other (a1, k1, a2, k2) or those
    of one kind (a1, a2, k1, k2), and perhaps a weight before or after them, which is reflected; then single pairs, also
    with a weight among three or four parameters; then two pairs at a time.
    """
    d = chart.dim
    if d < 2 or most < 1 or chart.discrete:
        return []
    z = np.random.default_rng(0).standard_normal((_TRIED, d))
    found: dict[tuple[int, ...], Exchange] = {}

    def tried(*swap: tuple[int, int], weight: int | None = None) -> bool:
        order = np.arange(d)
        for i, j in swap:
            order[i], order[j] = j, i
        exchange = None if len(found) >= most else _exchange(chart, order, weight, z)
        if exchange is not None:
            found.setdefault((*order.tolist(), -1 if weight is None else weight), exchange)
        return exchange is not None

    if d % 2 == 0 and d > 2:
        for labels in _labels(range(d)):
            tried(*labels)
    if d % 2 == 1 and d > 3:
        for weight in (d - 1, 0):
            for labels in _labels([i for i in range(d) if i != weight]):
                tried(*labels, weight=weight)
    alike = [pair for pair in combinations(range(d), 2) if tried(pair)]
    if d in (3, 4):
        # Two components that differ in one parameter, their weight, and perhaps one that they share.
        for weight in range(d - 1, -1, -1):
            for pair in combinations([i for i in range(d) if i != weight], 2):
                tried(pair, weight=weight)
    for a, b in combinations(alike, 2):
        if not set(a) & set(b):
            tried(a, b)
    return list(found.values())


def _labels(rows: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Return the two ways in which an even number of parameters may belong to two components."""
    half = len(rows) // 2
    return [list(zip(rows[:half], rows[half:], strict=True)), list(zip(rows[::2], rows[1::2], strict=True))]


def _exchange(chart: Chart, order: NDArray[np.intp], weight: int | None, z: Array) -> Exchange | None:
    """Return the map of a permutation if it is affine and leaves the prior as it is at points z (k, d).

    A `weight` is reflected: where there is a prior at its median, which takes w to 1 - w if the prior is symmetric, and
    without one at zero, for its logit.
    """
    d = chart.dim

    def moved(points: Array) -> Array:
        x = chart.to_user(points)[:, order]
        if weight is not None and not chart.has_prior:
            x[:, weight] = -x[:, weight]
        out = np.array(chart.from_user(x))
        if weight is not None and chart.has_prior:
            out[:, weight] = -out[:, weight]
        return out

    with np.errstate(all="ignore"):
        corners = moved(np.vstack([np.zeros(d), np.eye(d)]))
        images = moved(z)
        if not (np.isfinite(corners).all() and np.isfinite(images).all()):
            return None
        exchange = Exchange(corners[0], (corners[1:] - corners[0]).T)
        size = 1.0 + np.abs(images).max()
        affine = np.max(np.abs(exchange(z) - images)) < _ROUNDING * size
        before, after = chart.log_prior(z), chart.log_prior(images)
        same = np.max(np.abs(after - before)) < _ROUNDING * (1.0 + np.abs(before).max())
        volume = abs(np.linalg.slogdet(exchange.turn)[1]) < 1e-6
        # Twice is nothing: not so where a reflected coordinate is a mixture of parameters that are correlated.
        twice = np.max(np.abs(exchange(exchange(z)) - z)) < 1e-6 * size
    return exchange if affine and same and volume and twice else None


def images(climbs: Climbs, data: Data, n: int) -> list[tuple[Exchange, Array]] | None:
    """Return exchanges of parameters, and where they put the highest point: a mode may be there again.

    None while the first mode is not known. Images within the mode, which tell nothing, are left out.

    Parameters
    ----------
    climbs : Climbs
    data : Data
        Points that have values.
    n : int
        Evaluations planned.
    """
    if not climbs.first_ended:
        return None
    best = data.z[int(np.argmax(data.joint))]
    most = min(n // TUNING.exchange.per_image, n - len(data))
    found = [(exchange, exchange(best[None])[0]) for exchange in exchanges(data.chart, most)]
    found = [(exchange, z) for exchange, z in found if not any(mode.holds(z) for mode in climbs.modes)]
    # Of exchanges that put the point to the same place one is enough.
    places = data.chart.to_user(np.array([z for _, z in found]).reshape(-1, data.dim)) + 0.0
    return [found[i] for i in np.sort(np.unique(places, axis=0, return_index=True)[1])]


def compare(climbs: Climbs, asked: list[Exchange], data: Data, z: Array, values: Array) -> None:
    """Take in the log likelihoods (k,) at images z (k, d) of the highest point; they are about to be added to the data.

    Where the likelihood is the same the exchange (one for each image) is a symmetry: what is a mode here is one there.
    Elsewhere a climb begins if the modes do not explain the value.
    """
    best = float(data.values[int(np.argmax(data.joint))])
    joint = values + data.chart.log_prior(z)
    found: list[Exchange] = []
    starts: list[int] = []
    for i, exchange in enumerate(asked):
        if abs(values[i] - best) <= min(_ROUNDING * (1.0 + abs(best)), _MOST_ROUNDING):
            found.append(exchange)
        elif np.isfinite(joint[i]) and joint[i] > climbs.worth(data.dim):
            starts.append(len(data) + i)
    climbs.carry(found, starts)
