"""The climbs of a run: which go on, where new ones begin, and the modes that they found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .belief import Belief
from .climb import Climb
from .exploration import SURPRISE, surprising
from .known import Known
from .local_process import peak_at
from .modes import ABOVE, Mode, explains
from .quadratic import Quadratic
from .surrogate import DEPTH, PER_DIMENSION
from .symmetry import Exchange, exchanges

Array = NDArray[np.float64]

#: Share of the evaluations by which the first climb ends, at the latest: the rest is for the evidence itself.
_CLIMBING = 0.7
#: Share of the budget that climbs after the first may use together.
_FURTHER = 0.3
#: From this dimension on, and with a budget of so many times it, several climbs are raced: on the eight parameters of
#: a Lotka-Volterra model half of single climbs ended in a false basin.
RACE_DIM, _RACE_BUDGET, _RACERS = 5, 15, 3
#: A climb from an exploring point ends when so many of its steps led to higher ground that was known already. Points on
#: known ground count for it as lower than its start by the second number, in natural logarithms: as failed steps.
_JOINED, _FAILED = 2, 20.0
#: A further climb is given up, after so many times d + 2 evaluations, when what is ahead of it (`Climb.ahead`) would
#: leave it deeper below the top than any mass that matters (`DEPTH`).
_HOPE = 2
#: A spread point deeper below the top than these, for any and for each dimension, in natural logarithms, is a start
#: only over a dip on the way to the nearest mode, and of such there is one for every so many evaluations planned: tails
#: that fall more slowly than a Gaussian's are deep and unexplained everywhere.
_WORTH, _WORTH_PER_DIMENSION = 60.0, 10.0
_MOST_STARTS, _PER_DEEP = 10, 50
#: In `RACE_DIM` dimensions and above, where a climb is long, a dip is asked for as well while at least so many further
#: starts wait: on the eight parameters of a Lotka-Volterra model nearly every spread point is one.
_MANY_STARTS = 3
#: One image of the top under an exchange of parameters is evaluated for every so many evaluations planned; likelihoods
#: there and at the top are the same if they differ by less than the second number, relative to their size, and by no
#: more than the third: sums in another order differ by rounding. Six components have 720 modes, more than can be
#: described: no more than the last.
_PER_IMAGE, _SAME, _MOST_ROUNDING, _MOST_MODES = 25, 1e-9, 1e-3, 24
#: Exploring points that are no data for the surrogate are starts until so many climbs from them ended on known ground:
#: where all tails are higher than expected, two climbs say so.
_VAIN = 2


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

    Attributes
    ----------
    first : int
    each : list of Climb
    modes : list of Mode
        The highest first.
    finished : int
        Climbs that ended at a mode.
    """

    def __init__(self, n: int, first: int) -> None:
        self._n = n
        self.first = first
        self.each: list[Climb] = []
        self.modes: list[Mode] = []
        self.finished = 0
        self._racing: list[Climb] = []
        self._starts: list[int] | None = None  # rows of points from which climbs may begin
        self._vain = 0  # climbs from deep starts that ended on known ground
        self._exchanges: list[Exchange] = []  # under which the likelihood does not change

    @property
    def highest(self) -> Climb:
        """The climb that stands highest."""
        return max(self.each, key=lambda climb: climb.value)

    # Going on

    def propose(self, known: Known) -> list[tuple[Climb, Array]]:
        """Return the points that each climb asks for next; nothing when all have ended and none begins."""
        going = self._going(known)
        z, g = known.z[known.positive], known.joint[known.positive]
        strange = np.ones(len(g), dtype=bool)
        if self.modes:
            # A further climb must not be led by the points of the modes that are known: only those that the modes do
            # not explain are its data.
            strange = g > np.max([mode.peak(z) for mode in self.modes], axis=0) + ABOVE
        proposals: list[tuple[Climb, Array]] = []
        for climb in sorted(going, key=lambda c: -c.value):
            points = climb.propose(z[strange], g[strange]) if climb.further else climb.propose(z, g)
            if any(_same(points, others, climb.radius) for _, others in proposals):
                climb.ended = climb.counted = True  # it has joined a climb that stands higher
            else:
                proposals.append((climb, points))
        return proposals

    def _going(self, known: Known) -> list[Climb]:
        """Return the climbs that go on, having begun new ones where that is called for."""
        d = known.dim
        if not self.each:
            racers = _RACERS if d >= RACE_DIM and self._n >= _RACE_BUDGET * d else 1
            budget = min(max(int(_CLIMBING * self._n) - self.first, 2), 12 * d + 12)
            for i in known.highest_first[:racers]:
                if known.positive[i]:
                    self.each.append(Climb(known.z[i].copy(), float(known.joint[i]), 1.0, budget))
            self._racing = list(self.each)
        if len(self._racing) > 1 and all(c.ended or c.spent >= 2 * d + 2 for c in self._racing):
            # The one that is highest goes on; the others may begin again from where they are.
            best = max(self._racing, key=lambda c: c.value)
            for climb in self._racing:
                climb.ended = climb.ended or climb is not best
            self._racing = [best]
        first = max((climb for climb in self.each if not climb.further), key=lambda c: c.value)
        if first.ended and not first.counted and not first.arrived:
            first.extend(int(_CLIMBING * self._n) - len(known))
        going = [climb for climb in self.each if not climb.ended]
        for climb in going[:]:
            held = any(mode.holds(climb.best) for mode in self.modes)
            if climb is not self.each[0] and (
                held or (climb.further and (explains(self.modes, climb.best, climb.value) or self._hopeless(climb)))
            ):
                climb.ended = True
                going.remove(climb)
        for climb in self.each:
            if climb.ended and not climb.counted:
                climb.counted = True
                self._finish(climb, known)
        return going or self._begin(known)

    def _hopeless(self, climb: Climb) -> bool:
        """Whether a further climb will end too deep below the top to matter, as far as its last rises tell."""
        d = len(climb.best)
        deep = self.modes[0].peak.constant - DEPTH - PER_DIMENSION * d
        return climb.spent >= _HOPE * (d + 2) and climb.value + climb.ahead() < deep

    def _finish(self, climb: Climb, known: Known) -> None:
        """Register where a climb ended."""
        z, g = known.z[known.positive], known.bounded[known.positive]
        for k, mode in enumerate(self.modes):
            if mode.holds(climb.best):
                self.modes[k] = Mode(mode.peak, mode.climbs + 1)
                self.finished += 1
                self._vain += int(climb.deep)
                return
        self._vain += int(climb.deep and not climb.arrived)
        if not climb.arrived and (climb.further or climb.value < self.highest.value):
            return
        row = int(np.argmin(np.sum((z - climb.best) ** 2, axis=1)))
        peak = peak_at(z, g, row, climb.radius, climb.shape, climb.model)
        if not peak.concave:
            return
        top = z[row] + peak.step(climb.radius)
        self.finished += int(climb.arrived)
        self._add(Mode(Quadratic(top, float(peak(top[None])[0]), np.zeros(known.dim), peak.curvature)))

    def _add(self, found: Mode) -> None:
        """Add a mode, and what it becomes when parameters are exchanged that the likelihood does not tell apart."""
        new = [found]
        while new:
            mode = new.pop()
            if len(self.modes) < _MOST_MODES and not any(other.holds(mode.peak.centre) for other in self.modes):
                self.modes = sorted([*self.modes, mode], key=lambda mode: -mode.peak.constant)
                new += [exchange.image(mode) for exchange in self._exchanges]

    # Exchangeable parameters

    def images(self, known: Known) -> list[tuple[Exchange, Array]] | None:
        """Return exchanges of parameters, and where they put the highest point: a mode may be there again.

        None while the first mode is not known. Images within the mode, which tell nothing, are left out.
        """
        if not self.modes or self._starts is None:
            return None
        best = known.z[int(np.argmax(known.joint))]
        most = min(self._n // _PER_IMAGE, self._n - len(known))
        found = [(exchange, exchange(best[None])[0]) for exchange in exchanges(known.space, most)]
        found = [(exchange, z) for exchange, z in found if not any(mode.holds(z) for mode in self.modes)]
        # Of exchanges that put the point to the same place one is enough.
        places = known.space.to_user(np.array([z for _, z in found]).reshape(-1, known.dim)) + 0.0
        return [found[i] for i in np.sort(np.unique(places, axis=0, return_index=True)[1])]

    def compare(self, asked: list[Exchange], known: Known, z: Array, values: Array) -> None:
        """Take in the log likelihoods (k,) at images z (k, d) of the highest point; they are about to be added.

        Where the likelihood is the same the exchange (one for each image) is a symmetry: what is a mode here is one
        there. Elsewhere a climb begins if the modes do not explain the value.
        """
        best = float(known.values[int(np.argmax(known.joint))])
        joint = values + known.space.log_prior(z)
        starts: list[int] = []
        for i, exchange in enumerate(asked):
            if abs(values[i] - best) <= min(_SAME * (1.0 + abs(best)), _MOST_ROUNDING):
                self._exchanges.append(exchange)
            elif np.isfinite(joint[i]) and joint[i] > self._worth(known.dim):
                starts.append(len(known) + i)
        for mode in [mode for mode in self.modes if mode.climbs]:
            for exchange in self._exchanges:
                self._add(exchange.image(mode))
        self._starts = starts + (self._starts or [])

    # Further climbs

    def _begin(self, known: Known) -> list[Climb]:
        """Begin a climb from a point that the modes do not explain, as far as the budget goes."""
        if not self.modes:
            return []
        if self._starts is None:
            rows = [
                i for i in known.highest_first if known.positive[i] and (i < self.first or self._paused(known.z[i]))
            ]
            high = int(np.sum(known.joint[rows] > self._worth(known.dim)))
            deep = [i for i in rows[high:] if not explains(self.modes, known.z[i], float(known.joint[i]))]
            self._starts = rows[:high][:_MOST_STARTS] + deep[: self._n // _PER_DEEP]
        spent = sum(climb.spent for climb in self.each if climb.further)
        while self._starts:
            # A run that goes on beyond its plan follows the starts that it had left waiting.
            left, planned = self._n - len(known), max(self._n, len(known))
            room = (left >= 4 * known.dim or left <= 0) and spent <= _FURTHER * planned
            i = self._starts.pop(0)
            remote = bool(known.remote[i])
            if explains(self.modes, known.z[i], float(known.joint[i])) or (remote and self._vain >= _VAIN):
                continue
            if not room:
                self._starts.insert(0, i)
                return []
            nearest = min(self.modes, key=lambda mode: float(np.sum((mode.peak.centre - known.z[i]) ** 2)))
            way = nearest.peak.centre - known.z[i]
            budget = min(int(_FURTHER * self._n), 8 * known.dim + 8)
            radius = 0.3 * min(1.0, float(np.linalg.norm(way)))
            waiting = sum(not explains(self.modes, known.z[j], float(known.joint[j])) for j in self._starts)
            many = known.dim >= RACE_DIM and waiting >= _MANY_STARTS
            dip = many or known.joint[i] <= self._worth(known.dim)
            climb = Climb(
                known.z[i].copy(), float(known.joint[i]), radius, budget, further=True, deep=remote,
                toward=nearest.peak.centre if dip else None, height=nearest.peak.constant,
            )  # fmt: skip
            self.each.append(climb)
            return [climb]
        return []

    def _worth(self, dim: int) -> float:
        """Log joint density from which on a point that the modes do not explain is worth a climb in any case."""
        return self.modes[0].peak.constant - _WORTH - _WORTH_PER_DIMENSION * dim

    def _paused(self, z: Array) -> bool:
        return any(not c.arrived and np.array_equal(c.best, z) for c in self.each)

    def follow(self, known: Known, z: Array, values: Array, exploring: NDArray[np.bool_], belief: Belief) -> None:
        """Note which exploring points are higher than was expected: climbs begin there. They are about to be added."""
        if not exploring.any():
            return
        g = values + known.space.log_prior(z)
        high = exploring & (g > self.expected(z, belief))
        rows = [len(known) + int(i) for i in np.argsort(-g, kind="stable") if high[i]]
        self._starts = rows + (self._starts or [])

    def expected(self, z: Array, belief: Belief | None) -> Array:
        """Return the log joint densities (k,) up to which values at points z (k, d) are no surprise."""
        level = np.max([mode.peak(z) for mode in self.modes], axis=0) + ABOVE
        return np.asarray(level if belief is None else np.maximum(level, surprising(belief, z)))

    def learn(self, climb: Climb, z: Array, joint: Array, belief: Belief | None) -> None:
        """Give a climb the log joint densities (k,) at its points: a further one is not to be led to known ground.

        For a further climb points no higher than was expected count as steps that failed. When such steps lead up
        twice, the climb has come to known ground, and ends.
        """
        if climb.further and belief is not None and not climb.on_the_way:
            expected = joint <= self.expected(z, belief)
            climb.joined += int(climb.spent > 0 and np.any(expected & (joint > climb.value)))
            climb.ended = climb.joined >= _JOINED
            joint = np.where(expected, np.minimum(joint, climb.value - _FAILED), joint)
        climb.learn(z, joint)

    def waiting(self, known: Known, belief: Belief) -> int:
        """Return how many starts still wait for a climb, which neither modes nor the other values explain."""
        return sum(self._unexplained(i, known, belief) for i in self._starts or [])

    def _unexplained(self, i: int, known: Known, belief: Belief) -> bool:
        if not self.modes:
            return True
        value = float(known.joint[i])
        if value <= self._worth(known.dim) or explains(self.modes, known.z[i], value):
            return False
        if i < self.first or known.remote[i]:
            return i < self.first or self._vain < _VAIN
        row = int(np.sum((known.positive & ~known.remote)[:i]))
        errors, variances = belief.surrogate.regression.leave_one_out()
        return bool(errors[row] > SURPRISE * np.sqrt(belief.surrogate.amplitude * variances[row]) + ABOVE)
