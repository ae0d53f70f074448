"""The way of gradients: an evidence from log likelihoods and their gradients, in up to tens of dimensions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .._reason import Reason
from .chart import Chart
from .data import Data
from .draws import Draws, Region
from .proposers.ascent import Ascent, Top, usable
from .result import Evidence
from .settings import Proposal, Settings
from .tuning import TUNING

Array = NDArray[np.float64]


class GradientWay:
    """Climbs by gradients to the modes, then rounds of draws under a surrogate of values and gradients.

    1. Points spread over the prior, or around the start. A climb by quasi-Newton steps from the best of them, in the
       metric of the curvature at the start, and the curvature at the top. Climbs from around the top, which is believed
       when enough of them come back; climbs from afar, which end there too, or find further modes.
    2. Rounds: a process is fitted to values and gradients, and points are drawn at random from its posterior. A draw
       far above the top is the start of another climb.
    3. The last round judges: importance sampling with the surrogate as control variate, whose error is a standard
       error. The space is cut into cells, one for each mode, and their masses are added.

    Parameters
    ----------
    chart : Chart
    settings : Settings
    """

    def __init__(self, chart: Chart, settings: Settings) -> None:
        self.chart, self.settings = chart, settings
        self.ascents: list[Ascent] = []
        self.draws = Draws(chart, settings, gradients=True)

    @property
    def regions(self) -> list[Region]:
        """The surroundings of the modes that are known."""
        return self.draws.regions

    @property
    def rounds(self) -> int:
        """Rounds of draws so far."""
        return self.draws.rounds

    def reseed(self, entropy: list[int]) -> None:
        """Take another seed for all points."""
        self.settings = self.draws.settings = replace(self.settings, entropy=entropy)

    # Proposing

    def propose(self, data: Data) -> Proposal | None:
        """Return the next points, given all there are."""
        known = data.evaluated
        good = usable(known.values, known.gradient)
        if len(data) < self._spread_size or not good.any():
            return self._spread(data)
        if not self.ascents:
            self._begin(data)
        if not self._going:
            self._advance(data)
        if self._going:
            parts = tuple((i, len(self.ascents[i].points)) for i in self._going)
            return Proposal("climb", np.vstack([self.ascents[i].points for i in self._going]), parts)
        if not self.regions:
            return self._spread(data)  # every climb ended where nothing is finite
        return self.draws.propose(data)

    @property
    def _going(self) -> list[int]:
        """Numbers of the climbs that ask for points."""
        return [i for i, ascent in enumerate(self.ascents) if len(ascent.points)]

    @property
    def _spread_size(self) -> int:
        """First points: the start, and twice as many others as there are further climbs."""
        return 1 + 2 * self._further

    @property
    def _further(self) -> int:
        """Number of further climbs at a time that the evaluations planned have room for."""
        numbers = TUNING.ascent
        if "further climbs" not in self.settings.parts:
            return 0
        return min(numbers.further, int(numbers.further_share * self.settings.n / numbers.further_budget))

    def _spread(self, data: Data) -> Proposal:
        n = len(data)
        size = max(self._spread_size, n + self.chart.dim + 2 if n >= self._spread_size else 0)
        points = self.chart.first(size, np.random.default_rng(self.settings.seed("spread")))
        if self.settings.start is not None:
            points = np.vstack([self.settings.start, points])[:size]
        return Proposal("spread", points[n:])

    def _begin(self, data: Data) -> None:
        """Begin the first climb: at the start if it can be used, else at the best point of the spread."""
        order = [row for row in data.highest_first if self._is_usable(data, row)]
        given = self.settings.start is not None or not self.chart.has_prior
        row = 0 if given and self._is_usable(data, 0) else order[0]
        self._ascend(data, row, None, int(TUNING.ascent.share * self.settings.n))

    def _is_usable(self, data: Data, row: int) -> bool:
        return bool(usable(data.values[row : row + 1], data.gradient[row : row + 1])[0])

    def _ascend(
        self, data: Data, row: int, root: Array | None, budget: int, *, further: bool = False, anew: bool = True
    ) -> None:
        """Begin a climb at a row of the data, which ends at a known mode unless it is `anew`."""
        tops = () if anew else tuple(region.top for region in self.regions)
        ascent = Ascent(data.z[row], root, budget, further, tops, wide=further)
        self.ascents.append(ascent)
        ascent.tell([row], *self.draws.replies(data, [row]))

    def _advance(self, data: Data) -> None:
        """Take note of climbs that have ended, and begin those that they, the spread and the draws give reason for."""
        for ascent in list(self.ascents):
            if not ascent.counted:
                ascent.counted = True
                assert ascent.top is not None
                self._add(data, ascent, ascent.top)
        if not self.regions:
            return
        if not self.rounds:
            self._further_climbs(data)
        best = data.highest_first[0]
        left = self.settings.n - len(data.evaluated)
        above = data.joint[best] > max(region.top.value for region in self.regions) + TUNING.judge.above
        tried = {ascent.rows[0] for ascent in self.ascents if ascent.rows}
        if above and best not in tried and left > 3 * self.chart.dim + 20 and self._is_usable(data, best):
            region = self.regions[int(self.draws.cells(data.z[best : best + 1])[0])]
            self._ascend(data, best, region.whitening.root, left // 2)

    def _further_climbs(self, data: Data) -> None:
        """Begin climbs that ask whether the top is a mode; when it is believed, climbs that look for other modes."""
        further = [ascent for ascent in self.ascents if ascent.further]
        few = self.chart.dim < TUNING.ascent.several
        if further and (few or self._agree(TUNING.ascent.believed)):
            self._explore(data, further)
        else:
            self._challenge(data, further)

    def _room(self, data: Data) -> tuple[int, int]:
        """Return how many evaluations further climbs may use beside those kept for draws, and how many each from afar.

        A climb from afar gets as many as the first one had.
        """
        numbers, n = TUNING.ascent, self.settings.n
        full = max(len(self.ascents[0].rows), numbers.further_budget)
        reserve = max(numbers.reserve, numbers.reserve_per_dimension * self.chart.dim)
        if n - self._spread_size - full < reserve + full + numbers.further_budget:
            reserve //= numbers.reserve_parts  # too few are planned for as many climbs and draws as one would like
        return n - len(data.evaluated) - reserve, full

    def _challenge(self, data: Data, further: list[Ascent]) -> None:
        """Begin climbs from around the top, and from points of the spread that no mode holds.

        A mode to which enough of them come back is believed. Where they end elsewhere there are several modes, and
        further climbs are worth more than further draws, as long as enough evaluations for draws are left.
        """
        numbers = TUNING.ascent
        best = max((region.top for region in self.regions), key=lambda top: top.value)
        tops = tuple(region.top for region in self.regions)
        tried = {row for ascent in self.ascents for row in ascent.rows}
        spread = [row for row in data.highest_first if row < self._spread_size and self._is_usable(data, row)]
        starts = [row for row in spread if row not in tried and not any(top.holds(data.z[row]) for top in tops)]
        least = numbers.further_budget
        left, full = self._room(data)
        # Most climbs from around the top come back with fewer evaluations than they may use.
        usual = max((len(ascent.rows) for ascent in further if self._is_about(ascent)), default=numbers.usual)
        # Climbs from around the top tell a mode from a false basin, and begin first in many dimensions, where that is
        # asked; those from the spread, which is as wide as the prior or the user's scale, find other modes.
        from_afar = (2,) if self.chart.dim >= numbers.several else (0, 2)
        for k in range(self._further):
            wide = bool(starts) and left >= full and k in from_afar
            cost = full if wide else usual
            if left < cost and (k or further):
                break
            left -= cost
            if wide:
                self._ascend(data, starts.pop(0), best.root, full, further=True, anew=False)
            else:
                budget = min(max(left, least), 2 * least)
                self.ascents.append(Ascent(self._around(best, len(self.ascents)), best.root, budget, True, tops))

    def _explore(self, data: Data, further: list[Ascent]) -> None:
        """Begin climbs from all over the prior, with what other further climbs have left of their share."""
        spent = sum(len(ascent.rows) for ascent in further)
        if spent >= TUNING.ascent.further_share * self.settings.n or not self.chart.has_prior or self.chart.discrete:
            return
        best = max((region.top for region in self.regions), key=lambda top: top.value)
        tops = tuple(region.top for region in self.regions)
        left, full = self._room(data)
        for _ in range(min(self._further, left // full)):
            point = self._anywhere(len(self.ascents))
            self.ascents.append(Ascent(point, best.root, full, True, tops, wide=True))

    def _anywhere(self, number: int) -> Array:
        """Return a point (d,) of the prior, of the sequence that the spread began."""
        rng = np.random.default_rng(self.settings.seed("spread"))
        return np.asarray(self.chart.first(self._spread_size + number, rng)[-1])

    def _around(self, top: Top, number: int) -> Array:
        """Return a point (d,) some standard deviations from a top, in a random direction."""
        u = np.random.default_rng(self.settings.seed("spread", number)).standard_normal(self.chart.dim)
        distance = TUNING.ascent.around * np.sqrt(self.chart.dim)
        return np.asarray(top.place + distance * (top.root @ (u / np.linalg.norm(u))))

    def _add(self, data: Data, ascent: Ascent, top: Top) -> None:
        """Take note of where a climb ended: a mode that is known, a better top of one, or another mode.

        A short climb that ended elsewhere, high enough for a mode that matters, goes on as a full one.
        """
        if not np.isfinite(top.value):
            return
        for region in self.regions:
            if region.top.holds(top.place) or (not ascent.tops and top.holds(region.top.place)):
                region.climbs += 1
                if top.value > region.top.value and not ascent.tops:
                    region.replace(top)
                return
        uphill = [float(top.gradient @ (region.top.place - top.place)) > 0.0 for region in self.regions]
        highest = max((region.top.value for region in self.regions), default=-np.inf)
        if top.decrement >= 1.0 and any(uphill) and top.value < highest + TUNING.judge.above:
            return  # no top yet, and on the slope of one that is known
        if not ascent.further:
            self.regions.append(Region(top))
            best = max(region.log_mass for region in self.regions)
            self.draws.regions = [r for r in self.regions if r.log_mass > best + TUNING.ascent.faint]
        elif top.value + 0.5 * top.decrement**2 > self.regions[0].top.value + TUNING.ascent.faint:
            left = self.settings.n - len(data.evaluated)
            self._ascend(data, ascent.highest, top.root, left // 4, anew=False)

    # Learning

    def learn(self, proposal: Proposal, data: Data, start: int) -> None:
        """Take in the points of a proposal, which stand in the data from row `start` on.

        Raises
        ------
        WrongGradient
            When the gradients contradict the values.
        """
        if proposal.proposer == "climb":
            for number, size in proposal.climbs:
                rows = list(range(start, start + size))
                self.ascents[number].tell(rows, *self.draws.replies(data, rows))
                start += size

    def takes(self, proposal: Proposal) -> bool:
        """Whether the climbs that a proposal names are there, and ask for as many points."""
        return all(
            0 <= number < len(self.ascents) and len(self.ascents[number].points) == size
            for number, size in proposal.climbs
        )

    @property
    def open_climbs(self) -> float:
        """Share of the further climbs that have not arrived, and from whose ends the way to every top first goes down.

        There is a dip between such an end and the tops, and another mode on its side. Where the way to a known top goes
        up, the climb was on its slope.
        """
        further = [top for _, top in self._ends]
        places = [region.top.place for region in self.regions]
        downhill = [
            top
            for top in further
            if 0.5 * top.decrement**2 > TUNING.ascent.arrived
            and all(float(top.gradient @ (place - top.place)) < 0.0 for place in places)
        ]
        return len(downhill) / len(further) if further else 0.0

    @property
    def _ends(self) -> list[tuple[Ascent, Top]]:
        """Further climbs that say something of the modes that are known, and where each ended.

        One that went on as a full climb ended where that did. One that began around another mode says something only
        if it ended at one of these.
        """
        full = {ascent.rows[0]: ascent.top for ascent in self.ascents if not ascent.further and ascent.rows}
        ends = []
        for ascent in self.ascents:
            top = full.get(ascent.highest) or ascent.top
            if not ascent.further or top is None or not np.isfinite(top.value):
                continue
            if self._is_known(top) or self._is_about(ascent):
                ends.append((ascent, top))
        return ends

    def _is_about(self, ascent: Ascent) -> bool:
        """Whether one of the modes that are known was known already when a further climb began."""
        places = {region.top.place.tobytes() for region in self.regions}
        return not ascent.tops or any(top.place.tobytes() in places for top in ascent.tops)

    def _is_known(self, top: Top) -> bool:
        return any(region.top.holds(top.place) for region in self.regions)

    def _agree(self, enough: int) -> bool:
        """Whether enough further climbs ended at modes that are known, and half of those from around them."""
        ends = self._ends
        near = [self._is_known(top) for ascent, top in ends if not ascent.wide]
        return sum(self._is_known(top) for _, top in ends) >= enough and 2 * sum(near) >= len(near)

    @property
    def confirmed(self) -> bool:
        """Whether the modes are believed: in many dimensions one climb alone may have ended in a false basin.

        Either enough further climbs ended at them, or two that began around another mode, and most climbs ended at
        some top, be it a lower one that holds nothing of the mass.
        """
        if self.apart == 0.0:
            return True
        ends = self._ends
        full = [each.top for each in self.ascents if not each.further and each.top is not None]
        tops = [top for top in full if np.isfinite(top.value) and top.decrement < 1.0]
        at_top = sum(any(top.holds(end.place) for top in tops) for _, end in ends)
        return sum(not self._is_about(ascent) for ascent, _ in ends) >= 2 and 2 * at_top > len(ends)

    @property
    def apart(self) -> float:
        """How far apart climbs end, in natural logarithms, where too few of the further ones ended at modes: else zero.

        It is the median of by how much they ended below the highest top.
        """
        numbers = TUNING.ascent
        if self.chart.dim < numbers.several or self._agree(numbers.believed) or not self.regions:
            return 0.0
        best = max(region.top.value for region in self.regions)
        gaps = [best - top.value for _, top in self._ends]
        return max(1.0, float(np.median(gaps))) if gaps else 1.0

    # Concluding

    def conclude(self, data: Data, *, complete: bool = True, rough: bool = False) -> Evidence:
        """Return the evidence, or what is wrong with it, given all points; draws are judged in one way only."""
        known = data.evaluated
        skipped, budget = int(data.failed.sum()), self.settings.n
        if not known.positive.any():
            return Evidence(-np.inf, np.inf, Reason.ZERO, known.x, known.values, (), None, None, skipped, budget)
        posterior = self.draws.judge(data, TUNING.doubts.starts * self.open_climbs, confirmed=self.confirmed)
        if posterior is None:
            # No round is over yet: nothing but the Gaussians at the tops is known.
            value = self.draws.log_mass if self.regions else float(np.max(known.values))
            return Evidence(value, np.inf, Reason.UNSEEN, known.x, known.values, (), None, None, skipped, budget)
        if not posterior.terms.sound:
            # What was not found may be as far off as climbs end apart. Nobody knows how far a funnel goes on.
            terms = replace(posterior.terms, starts=max(posterior.terms.starts, self.apart))
            if any(ascent.top is not None and ascent.top.narrows for ascent in self.ascents):
                terms = replace(terms, funnel=max(1.0, *terms.doubts.values()))
            posterior = replace(posterior, terms=terms)
        terms = posterior.terms
        modes = posterior.describe([region.mode for region in self.regions])
        reason = Reason.OPEN if terms.sound else Reason.UNSEEN
        return Evidence(
            terms.log_evidence, terms.sd, reason, known.x, known.values, modes, terms, posterior, skipped, budget
        )
