"""The climbs of a run: which go on, where new ones begin, and the modes that they found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data import Data
from ..depth import free_depth
from ..local_process import peak_at
from ..modes import Mode, explains
from ..parts import ALL, Parts
from ..quadratic import Quadratic
from ..tuning import TUNING
from .climb import Climb
from .exchange import Exchange

if TYPE_CHECKING:
    from ..surrogate import Surrogate

Array = NDArray[np.float64]

#: Most modes: six exchangeable components have 720, more than can be described.
_MOST_MODES = 24
#: Points on known ground count for a further climb as lower than its start by this much: as steps that failed.
_FAILED = 20.0


def _same(points: Array, others: Array, radius: float) -> bool:
    """Whether two climbs are about to evaluate the same points, to a thousandth of the trust radius."""
    return len(points) == len(others) and bool(np.all(np.abs(points - others) < 1e-3 * radius))


class Climbs:
    """The climbs of a run, in the order in which they began, and the modes where they ended.

    Parameters
    ----------
    n : int
        Evaluations planned for the run.
    first : int
        Points of the spread, which come before all climbs.
    parts : Parts
    reserve : int
        Evaluations that further climbs leave.

    Attributes
    ----------
    first : int
    each : list of Climb
    modes : list of Mode
        The highest first.
    finished : int
        Climbs that ended at a mode.
    """

    def __init__(self, n: int, first: int, parts: Parts = ALL, reserve: int = 0) -> None:
        self._n = n
        self._reserve = reserve
        self._parts = parts
        self.first = first
        self.each: list[Climb] = []
        self.modes: list[Mode] = []
        self.finished = 0
        self._racing: list[Climb] = []
        self._starts: list[int] | None = None  # rows of points from which climbs may begin
        self._exchanges: list[Exchange] = []  # under which the likelihood does not change
        self.around: dict[int, int] = {}  # rows of points far around the top, with the climbs from them, or -1
        self.surrounded = False  # whether these points were asked for; the function may have failed there

    def register(self) -> dict[str, Any]:
        """Return what is known beside the climbs themselves, as `restore` takes it; climbs by their numbers."""
        return {
            "modes": self.modes,
            "exchanges": self._exchanges,
            "finished": self.finished,
            "racing": [self.each.index(climb) for climb in self._racing],
            "starts": self._starts,
            "around": list(self.around.items()),
            "surrounded": self.surrounded,
        }

    def restore(
        self,
        modes: list[Mode],
        exchanges: list[Exchange],
        finished: int,
        racing: list[int],
        starts: list[int] | None,
        around: list[tuple[int, int]],
        surrounded: bool,
    ) -> None:
        """Take in what `register` returned."""
        self.surrounded = surrounded
        self.around = {int(row): int(number) for row, number in around}
        self.modes, self._exchanges, self.finished = modes, exchanges, finished
        self._racing = [self.each[number] for number in racing]
        self._starts = starts

    @property
    def highest(self) -> Climb:
        """The climb that stands highest."""
        return max(self.each, key=lambda climb: climb.value)

    # Going on

    def propose(self, data: Data) -> list[tuple[Climb, Array]]:
        """Return the points that each climb asks for next; nothing when all have ended and none begins."""
        going = self._going(data)
        z, g = data.z[data.positive], data.joint[data.positive]
        unexplained = np.ones(len(g), dtype=bool)
        if self.modes:
            # A further climb must not be led by the points of the modes that are known: only those that the modes do
            # not explain are its data.
            unexplained = g > np.max([mode.peak(z) for mode in self.modes], axis=0) + TUNING.modes.above
        proposals: list[tuple[Climb, Array]] = []
        for climb in sorted(going, key=lambda c: -c.value):
            points = climb.propose(z[unexplained], g[unexplained]) if climb.further else climb.propose(z, g)
            if any(_same(points, others, climb.radius) for _, others in proposals):
                climb.ended = climb.counted = True  # it has joined a climb that stands higher
            else:
                proposals.append((climb, points))
        return proposals

    def _going(self, data: Data) -> list[Climb]:
        """Return the climbs that go on, having begun new ones where that is called for."""
        if not self.each:
            self._begin_first(data)
        return self.settle(data) or self._begin(data)

    def settle(self, data: Data) -> list[Climb]:
        """Take note of climbs that have ended, and return those that go on."""
        self._end_race()
        for climb in self.each[1:]:
            climb.ended = climb.ended or self._needless(climb)
        going = [climb for climb in self.each if not climb.ended]
        for climb in self.each:
            if climb.ended and not climb.counted:
                climb.counted = True
                self._finish(climb, data)
        return going

    def replace(self, place: Array, mode: Mode) -> None:
        """Put a mode in the place of the one whose centre is given, or beside the others."""
        old = [each for each in self.modes if np.array_equal(each.peak.centre, place)]
        others = [each for each in self.modes if not np.array_equal(each.peak.centre, place)]
        climbs = old[0].climbs if old else 1
        self.modes = sorted([*others, Mode(mode.peak, climbs)], key=lambda each: -each.peak.constant)

    def _begin_first(self, data: Data) -> None:
        """Begin at the highest point; in many dimensions, if there is room for it, at several, which are raced."""
        d, numbers = data.dim, TUNING.climbs
        raced = d >= TUNING.climb.many_dim and self._n >= numbers.race_budget * d and "race" in self._parts
        budget = max(int(numbers.first_share * self._n) - len(data), 2)
        for i in data.highest_first[: numbers.racers if raced else 1]:
            if data.positive[i]:
                self.each.append(Climb(data.z[i].copy(), float(data.joint[i]), 1.0, budget, parts=self._parts))
        self._racing = list(self.each)

    def _end_race(self) -> None:
        """Let the highest of the climbs that are raced go on; the others may begin again from where they are."""
        if len(self._racing) > 1 and all(c.ended or c.spent >= 2 * len(c.best) + 2 for c in self._racing):
            best = max(self._racing, key=lambda climb: climb.value)
            for climb in self._racing:
                climb.ended = climb.ended or climb is not best
            self._racing = [best]

    def _needless(self, climb: Climb) -> bool:
        """Whether a climb has come to a mode that is known, or is a further one that the modes explain."""
        if any(mode.holds(climb.best) for mode in self.modes):
            return True
        return climb.further and explains(self.modes, climb.best, climb.value)

    def _finish(self, climb: Climb, data: Data) -> None:
        """Register where a climb ended."""
        z, g = data.z[data.positive], data.bounded[data.positive]
        for k, mode in enumerate(self.modes):
            if mode.holds(climb.best):
                self.modes[k] = Mode(mode.peak, mode.climbs + 1)
                self.finished += 1
                return
        if not climb.arrived and (climb.further or climb.value < self.highest.value):
            return
        row = int(np.argmin(np.sum((z - climb.best) ** 2, axis=1)))
        peak = peak_at(z, g, row, climb.radius, climb.shape, climb.model)
        if not peak.concave:
            return
        top = z[row] + peak.step(climb.radius)
        self.finished += int(climb.arrived)
        self._add(Mode(Quadratic(top, float(peak(top[None])[0]), np.zeros(data.dim), peak.curvature)))

    def _add(self, found: Mode) -> None:
        """Add a mode, and what it becomes when parameters are exchanged that the likelihood does not tell apart."""
        new = [found]
        while new:
            mode = new.pop()
            if len(self.modes) < _MOST_MODES and not any(other.holds(mode.peak.centre) for other in self.modes):
                self.modes = sorted([*self.modes, mode], key=lambda mode: -mode.peak.constant)
                new += [exchange.image(mode) for exchange in self._exchanges]

    def carry(self, found: list[Exchange], starts: list[int]) -> None:
        """Take in exchanges under which the likelihood does not change, and rows from which climbs may begin.

        What is a mode here is one at its images.
        """
        self._exchanges += found
        for mode in [mode for mode in self.modes if mode.climbs]:
            for exchange in self._exchanges:
                self._add(exchange.image(mode))
        self._starts = starts + (self._starts or [])

    @property
    def first_ended(self) -> bool:
        """Whether a mode is known and the first climb has ended."""
        return bool(self.modes) and self._starts is not None

    # Further climbs

    def _begin(self, data: Data) -> list[Climb]:
        """Begin a climb from a point that the modes do not explain, as far as the budget goes."""
        if not self.modes:
            return []
        if "further climbs" not in self._parts:
            self._starts = self._starts or []
            return []
        if self._starts is None:
            self._starts = self._first_starts(data)
        spent = sum(climb.spent for climb in self.each if climb.further)
        # A run that goes on beyond its plan follows the starts that it had left waiting.
        left, planned = self._n - len(data), max(self._n, len(data))
        room = left >= TUNING.climbs.room * data.dim + self._reserve or left <= 0
        rest = planned - self.first - sum(climb.spent for climb in self.each if not climb.further)
        room = room and spent <= min((1.0 - TUNING.climbs.first_share) * planned, TUNING.climbs.further_share * rest)
        while self._starts:
            i = self._starts[0]
            wanted = not explains(self.modes, data.z[i], float(data.joint[i]))
            # Where evaluations are kept for draws, those on the way to the mode at least tell whether there is a dip.
            way = self._reserve > 0 and left >= len(TUNING.climb.way) + self._reserve // 2
            if wanted and not (room or way or i in self.around):
                return []
            self._starts.pop(0)
            if wanted and (room or i not in self.around):
                self.each.append(self._further(i, data))
                if i in self.around:
                    self.around[i] = len(self.each) - 1
                return self.each[-1:]
        return []

    def apart(self, data: Data) -> float:
        """Return how far below the top climbs from far around it have ended elsewhere, in natural logarithms.

        Zero where all came back to known ground; else the median, and at least one. In many dimensions one climb alone
        may have ended in a false basin.
        """
        gaps = [
            data.top - climb.value
            for climb in (self.each[number] for number in self.around.values() if number >= 0)
            if climb.ended and not self._needless(climb)
        ]
        return max(1.0, float(np.median(gaps))) if gaps else 0.0

    def _first_starts(self, data: Data) -> list[int]:
        """Return the rows from which climbs may begin: far around the top, spread, and where a race was lost."""
        rows = [i for i in data.highest_first if data.positive[i] and (i < self.first or self._paused(data.z[i]))]
        high = int(np.sum(data.joint[rows] > self.worth(data.dim)))
        deep = [i for i in rows[high:] if not explains(self.modes, data.z[i], float(data.joint[i]))]
        return [*self.around, *rows[:high][: TUNING.climbs.most_starts], *deep[: self._n // TUNING.climbs.per_deep]]

    def _further(self, i: int, data: Data) -> Climb:
        """Return a climb from row `i` of the data; over a dip where it is deep, or one of many."""
        numbers, starts = TUNING.climbs, self._starts or []
        nearest = min(self.modes, key=lambda mode: float(np.sum((mode.peak.centre - data.z[i]) ** 2)))
        budget = min(int((1.0 - numbers.first_share) * self._n), numbers.further_budget * (data.dim + 1))
        if self._reserve:
            budget = min(budget, max(self._n - len(data) - self._reserve, len(TUNING.climb.way)))
        radius = numbers.further_radius * min(1.0, float(np.linalg.norm(nearest.peak.centre - data.z[i])))
        waiting = sum(not explains(self.modes, data.z[j], float(data.joint[j])) for j in starts)
        many = data.dim >= TUNING.climb.many_dim and waiting >= numbers.many_starts
        dip = (many or data.joint[i] <= self.worth(data.dim)) and "dip" in self._parts
        short = budget < numbers.further_budget * (data.dim + 1) // 2 and self._reserve > 0
        dip = (dip or short) and i not in self.around
        return Climb(
            data.z[i].copy(), float(data.joint[i]), radius, budget, further=True,
            toward=nearest.peak.centre if dip else None, height=nearest.peak.constant, parts=self._parts,
        )  # fmt: skip

    def worth(self, dim: int) -> float:
        """Log joint density from which on a point that the modes do not explain is worth a climb in any case."""
        return self.modes[0].peak.constant - TUNING.climbs.worth * free_depth(dim)

    def _paused(self, z: Array) -> bool:
        return any(not c.arrived and np.array_equal(c.best, z) for c in self.each)

    def follow(self, data: Data, z: Array, values: Array, exploring: NDArray[np.bool_], surrogate: Surrogate) -> None:
        """Note which exploring points are higher than was expected: climbs begin there. They are about to be added."""
        if not exploring.any():
            return
        g = values + data.chart.log_prior(z)
        high = exploring & (g > self.expected(z, surrogate))
        rows = [len(data) + int(i) for i in np.argsort(-g, kind="stable") if high[i]]
        self._starts = rows + (self._starts or [])

    def expected(self, z: Array, surrogate: Surrogate | None) -> Array:
        """Return the log joint densities (k,) up to which values at points z (k, d) are no surprise."""
        level = np.max([mode.peak(z) for mode in self.modes], axis=0) + TUNING.modes.above
        return np.asarray(level if surrogate is None else np.maximum(level, surrogate.surprising(z)))

    def learn(self, climb: Climb, z: Array, joint: Array, surrogate: Surrogate | None) -> None:
        """Give a climb the log joint densities (k,) at its points: a further one is not to be led to known ground.

        For a further climb points no higher than was expected count as steps that failed.
        """
        if climb.further and surrogate is not None and not climb.on_the_way:
            expected = joint <= self.expected(z, surrogate)
            joint = np.where(expected, np.minimum(joint, climb.value - _FAILED), joint)
        climb.learn(z, joint)

    def waiting(self, data: Data, surrogate: Surrogate) -> int:
        """Return how many starts still wait for a climb, which neither modes nor the other values explain.

        Those that a dip parts from the mode, and for which there was no more room, wait too.
        """
        parted = sum(climb.ended and climb.on_the_way and not climb.sloping for climb in self.each)
        return parted * (self._reserve > 0) + sum(self._unexplained(i, data, surrogate) for i in self._starts or [])

    def confirmed(self, data: Data) -> bool:
        """Whether climbs from far around the top came back to known ground.

        Where there was no room for them, whether the density falls no faster than the Gaussian of a mode says: false
        basins lie behind cliffs.
        """
        if self.around:
            return self.apart(data) == 0.0
        if not self.modes:
            return False
        spread = slice(0, self.first)
        gaussian = data.top - np.max([mode.peak(data.z[spread]) for mode in self.modes], axis=0)
        return bool(np.all(data.top - data.joint[spread] <= TUNING.climb.true * gaussian + TUNING.modes.above))

    def _unexplained(self, i: int, data: Data, surrogate: Surrogate) -> bool:
        if not self.modes:
            return True
        value = float(data.joint[i])
        if value <= self.worth(data.dim) or explains(self.modes, data.z[i], value):
            return False
        if i < self.first:
            return True
        row = int(np.sum(data.positive[:i]))
        errors, variances = surrogate.process.regression.leave_one_out()
        return bool(
            errors[row]
            > TUNING.modes.within * np.sqrt(surrogate.process.amplitude * variances[row]) + TUNING.modes.above
        )
