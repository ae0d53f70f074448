"""The way of values: an evidence from log likelihoods alone, without derivatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .._reason import Reason
from ..process import KernelFamily
from .assessment import assess, known_error
from .chart import Chart, NoPrior
from .data import Data
from .doubts import DOUBTS, Case
from .doubts.inflation import Predictions
from .doubts.rising import Rising
from .doubts.starts import Starts
from .draws import Draws, Region
from .modes import Mode
from .proposers.climbs import Climbs
from .proposers.curvature import Curvature
from .proposers.exchange import Exchange, compare, images
from .proposers.exploration import deciding_points, exploring_share
from .proposers.metric import Metric
from .proposers.probes import Probes
from .proposers.quadrature import next_points
from .proposers.spread import Spread
from .quadratic import Quadratic
from .result import Evidence, FoundMode, JudgedPosterior, SurrogatePosterior
from .settings import Proposal, Settings
from .surrogate import Surrogate, fit_surrogate
from .tuning import TUNING

Array = NDArray[np.float64]


class ValueWay:
    """Spread, climbs, then rounds of probes, exploration and quadrature; and the conclusion from all of it.

    Once the first climb has ended, the top is tried with exchanged parameters. New climbs begin between rounds. In many
    dimensions the curvature at the top is measured, points far around it ask whether another climb would end there too,
    and while quadrature leaves much open the rounds are draws that judge a surrogate of their own (`Draws`).

    A run asks for the next `propose` once every point of the last one has its value, or failed, which is told by
    `learn`. What the proposers remember is written down and read by `memory`.

    Parameters
    ----------
    chart : Chart
    settings : Settings
    """

    def __init__(self, chart: Chart, settings: Settings) -> None:
        self.chart, self.settings = chart, settings
        self.metric = None if chart.has_prior or "metric" not in settings.parts else Metric.of(chart.dim, settings.n)
        self.spread = Spread.of(chart, settings.n, settings.start)
        self.climbs = Climbs(settings.n, self.spread.first, settings.parts, self._reserve)
        self.curvatures: list[Curvature] = []  # at the tops, in many dimensions
        self.draws: Draws | None = None
        self.probes = Probes()
        self.predictions = Predictions()
        self.rounds = 0
        self.explored = 0  # points that looked for modes nobody has seen
        self.surrogate: Surrogate | None = None  # the one that the last round was planned on
        self.images: list[tuple[Exchange, Array]] | None = None  # exchanges, and where they put the top
        self._fresh: tuple[tuple[int, int], Surrogate | None] | None = None  # the last one, by values and modes

    @property
    def inflation(self) -> float:
        """The factor on the variance of the process, by how far its predictions were off."""
        return self.predictions.inflation if "inflation" in self.settings.parts else 1.0

    def reseed(self, entropy: list[int]) -> None:
        """Take another seed for all points."""
        self.settings = replace(self.settings, entropy=entropy)

    @property
    def _reserve(self) -> int:
        """Evaluations that further climbs leave for draws that judge the surrogate; zero where there are none.

        Draws are for many dimensions, and for runs with room for them beside the climb and the curvature at the top.
        """
        d = self.chart.dim
        if d < TUNING.climb.many_dim or self.chart.discrete or "draws" not in self.settings.parts:
            return 0
        reserve = max(TUNING.ascent.reserve, TUNING.judge.reserve_per_dimension * d)
        return reserve if self.settings.n >= 2 * (Curvature.cost(d) + reserve) else 0

    # Proposing

    def propose(self, data: Data) -> Proposal | None:
        """Return the next points, given all there are; None when there are none left."""
        if self.metric is not None and not self.metric.ended:
            return Proposal("metric", self.metric.propose())
        known = data.evaluated
        if len(data) < self.spread.first or not known.positive.any():
            return self._spread(data)
        return (
            self._curvature(known)
            or self._around(known)
            or self._exchange(known)
            or self._climb(known)
            or self._round(data, known)
        )

    def _spread(self, data: Data) -> Proposal | None:
        return self._distinct("spread", self.spread.propose(len(data), self.settings.seed("spread")))

    def _curvature(self, known: Data) -> Proposal | None:
        """Return points around a top whose curvature is not measured yet, once all climbs have ended."""
        if not self._reserve or not self.climbs.each or self.climbs.settle(known):
            return None
        if not self.curvatures or self.curvatures[-1].ended:
            mode = self._unmeasured(known)
            left = self.settings.n - len(known) - 3 * self._reserve // 4
            if mode is None:
                return None
            # Of an exchanged mode all is known but whether it is there: a pair on every axis is enough.
            cost = Curvature.cost(self.chart.dim) if mode.climbs else 2 * self.chart.dim + 1
            if left < cost:
                return None
            self.curvatures.append(Curvature.at(mode, min(left, 3 * cost if mode.climbs else cost)))
        return Proposal("curvature", self.curvatures[-1].propose())

    def _unmeasured(self, known: Data) -> Mode | None:
        """Return a mode whose curvature is not measured; None where there is none.

        A draw far above the top is one too.
        """
        measured = [place for each in self.curvatures for place in (each.began, each.mode.peak.centre)]
        for mode in self.climbs.modes:
            if not any(np.array_equal(mode.peak.centre, place) for place in measured):
                return mode
        if self.draws is None:
            return None
        best = known.highest_first[0]
        tops = [region.top.value for region in self.draws.regions]
        if known.joint[best] <= max(tops) + TUNING.judge.above:
            return None
        z = known.z[best]
        region = self.draws.regions[int(self.draws.cells(z[None])[0])]
        inverse = np.linalg.inv(region.whitening.root)
        return Mode(Quadratic(z, float(known.joint[best]), np.zeros(len(z)), -inverse.T @ inverse))

    def _around(self, known: Data) -> Proposal | None:
        """Return points far around the top, in random directions, once its curvature is measured."""
        if self.climbs.surrounded or not self.curvatures or not self.climbs.modes:
            return None
        top = self.curvatures[0].top
        rng = np.random.default_rng(self.settings.seed("spread", 1))
        u = rng.standard_normal((TUNING.curvature.around, self.chart.dim))
        u *= TUNING.ascent.around * np.sqrt(self.chart.dim) / np.linalg.norm(u, axis=1, keepdims=True)
        return Proposal("around", top.place + u @ top.root.T)

    def _exchange(self, known: Data) -> Proposal | None:
        if self.chart.discrete or self.images is not None or "exchange" not in self.settings.parts:
            return None
        self.images = images(self.climbs, known, self.settings.n)
        return self._distinct("exchange", np.array([z for _, z in self.images])) if self.images else None

    def _climb(self, known: Data) -> Proposal | None:
        proposals = [] if self.chart.discrete else self.climbs.propose(known)
        if not proposals:
            return None
        sizes = tuple((self.climbs.each.index(climb), len(points)) for climb, points in proposals)
        return Proposal("climb", np.vstack([points for _, points in proposals]), sizes)

    def _round(self, data: Data, known: Data) -> Proposal | None:
        surrogate = self._fit(known)
        if surrogate is None:
            return self._spread(data)
        self.surrogate = surrogate
        if self._is_open(surrogate):
            return self._draw(data)
        n, left = len(known), self.settings.n - len(known)
        batch = max(2, int(np.ceil(TUNING.quadrature.growth * n)))
        batch = min(batch, left) if left > 0 else batch
        probes = self.probes.propose(surrogate) if "probes" in self.settings.parts else None
        if probes is not None:
            return self._distinct("round", probes)
        self.rounds += 1
        exploring = self._exploration(surrogate, known, batch)
        z = np.empty((0, self.chart.dim))
        if len(exploring) < batch:
            seed = self.settings.seed("quadrature", self.rounds)
            z = next_points(surrogate, batch - len(exploring), seed, self.settings.design, data.failures)
        return self._distinct("round", np.vstack([z, exploring]), len(exploring))

    def _is_open(self, surrogate: Surrogate) -> bool:
        """Whether quadrature leaves so much open, in many dimensions, that draws are worth more."""
        if not any(curvature.ended and np.isfinite(curvature.value) for curvature in self.curvatures):
            return False
        seed = self.settings.seed("error", self.rounds)
        return known_error(surrogate, surrogate.nodes, self.inflation, seed) > TUNING.judge.open

    def _has_region(self, mode: Mode) -> bool:
        return self.draws is not None and any(region.top.holds(mode.peak.centre) for region in self.draws.regions)

    def _draw(self, data: Data) -> Proposal:
        """Return the next draws, from around every mode."""
        if self.draws is None:
            self.draws = Draws(self.chart, self.settings, gradients=False)
        tops = {each.mode.peak.centre.tobytes(): each.top for each in self.curvatures if np.isfinite(each.value)}
        for mode in self.climbs.modes:
            top = tops.get(mode.peak.centre.tobytes())
            if top is not None and not self._has_region(mode):
                self.draws.regions.append(Region(top, mode.climbs))
        self.rounds += 1
        return self.draws.propose(data)

    def _exploration(self, surrogate: Surrogate, known: Data, batch: int) -> Array:
        """Return points that look for modes nobody has seen; none while the known mass needs all.

        They leave room for a climb from what they find.
        """
        nothing = np.empty((0, self.chart.dim))
        idle = self.chart.discrete or not self.climbs.modes or surrogate.fitted.kind == "gaussian"
        if idle or "exploration" not in self.settings.parts:
            return nothing
        n, seed = self.settings.n, self.settings.seed
        room = n - len(known) - TUNING.climbs.room * self.chart.dim
        error = known_error(surrogate, surrogate.nodes, self.inflation, seed("error", self.rounds))
        share = exploring_share(error)
        size = min(max(batch, n // TUNING.spread.share), int(share * n) - self.explored, room)
        if size <= 0:
            return nothing
        log_evidence = surrogate.nodes.log_integral()[0]
        at = known.z, known.joint
        z = deciding_points(surrogate, at, log_evidence, size, seed("exploration", self.rounds))
        self.explored += len(z)
        return z

    def _distinct(self, proposer: str, z: Array, exploring: int = 0) -> Proposal | None:
        """Return the proposal of points z (k, d), of those that coincide in the user's parameters one; None of none."""
        if not len(z):
            return None
        _, first = np.unique(self.chart.to_user(z) + 0.0, axis=0, return_index=True)
        return Proposal(proposer, z[np.sort(first)], (), exploring)

    def _fit(self, known: Data, *, keep: bool = True) -> Surrogate | None:
        """Return the surrogate of the values known, computed once for each number of them, and of modes."""
        state = len(known), len(self.climbs.modes)
        if self._fresh is not None and self._fresh[0] == state:
            return self._fresh[1]
        settings = self.settings
        surrogate = fit_surrogate(
            known, self.climbs.modes, self.climbs.each, self.surrogate, settings.families, settings.amplitude,
            settings.seed("surrogate", len(known)), settings.parts,
        )  # fmt: skip
        if keep:
            self._fresh = state, surrogate
        return surrogate

    # Learning

    def learn(self, proposal: Proposal, data: Data, start: int) -> None:
        """Take in the points of a proposal, which stand in the data from row `start` on."""
        known = data.rows(slice(0, start)).evaluated
        values = data.values[start : start + len(proposal.z)]
        told = ~np.isnan(values)
        around = proposal.looks_around
        z, ell = proposal.z[told], values[told]
        if proposal.proposer == "metric":
            self._measure(data, start, values)
        elif proposal.proposer == "curvature":
            self._measure_top(proposal.z, np.where(told, values, -np.inf) + self.chart.log_prior(proposal.z))
        elif proposal.proposer == "climb":
            joint = np.where(told, values, -np.inf) + self.chart.log_prior(proposal.z)
            first = 0
            for number, size in proposal.climbs:
                climb, part = self.climbs.each[number], slice(first, first + size)
                self.climbs.learn(climb, proposal.z[part], joint[part], self.surrogate)
                first += size
        elif proposal.proposer == "around":
            self.climbs.surrounded = True
            self.climbs.around = {len(known) + k: -1 for k in range(int(told.sum()))}
        elif proposal.proposer == "exchange":
            asked = self.images or []
            compare(self.climbs, [asked[row][0] for row in np.flatnonzero(told)], known, z, ell)
        elif proposal.proposer in ("round", "draws"):
            assert self.surrogate is not None
            near = z[~around[told]]
            self.predictions.compare(self.surrogate.process, near, ell[~around[told]] + self.chart.log_prior(near))
            self.climbs.follow(known, z, ell, around[told], self.surrogate)

    def _measure_top(self, z: Array, joint: Array) -> None:
        """Take in values around a top; the mode there, and its region, have the curvature that they tell."""
        curvature = self.curvatures[-1]
        before = curvature.began
        curvature.learn(z, joint)
        if not curvature.ended or not np.isfinite(curvature.value):
            return
        self.climbs.replace(before, curvature.mode)
        if self.draws is not None:
            cell = int(self.draws.cells(curvature.centre[None])[0])
            self.draws.regions[cell].replace(curvature.top)

    def _measure(self, data: Data, start: int, values: Array) -> None:
        """Take in values on the axes through the start, and take their widths as units when all are measured."""
        assert self.metric is not None
        first = self.metric.asked[0][0] if self.metric.asked else start
        joint = np.where(np.isnan(values), -np.inf, values)
        self.metric.learn(start, joint, float(np.nan_to_num(data.values[first], nan=-np.inf)))
        if self.metric.ended:
            self.use_units(self.metric.steps)

    def use_units(self, widths: Array) -> None:
        """Take widths at the start, in units of the user's scale, as units of the coordinates."""
        assert isinstance(self.chart, NoPrior)
        self.chart = self.chart.measured(widths)
        to_user, families = self.chart.to_user, self.settings.families
        moved = [each if isinstance(each, KernelFamily) else replace(each, to_user=to_user) for each in families]
        self.settings = replace(self.settings, families=moved)
        self.spread = replace(self.spread, chart=self.chart)

    def takes(self, proposal: Proposal) -> bool:
        """Whether the climbs that a proposal names are there."""
        return all(0 <= number < len(self.climbs.each) for number, _ in proposal.climbs)

    # Concluding

    def conclude(self, data: Data, *, complete: bool = True, rough: bool = False) -> Evidence:
        """Return the evidence, or what is wrong with it, given all points.

        Parameters
        ----------
        data : Data
        complete : bool
            Whether no point waits for a value.
        rough : bool
            Whether the nodes by which points are chosen are enough.
        """
        known = data.evaluated
        skipped, budget = int(data.failed.sum()), self.settings.n
        surrogate = self._fit(known, keep=complete) if known.positive.any() else None
        quadrature = None if surrogate is None else self._posterior(surrogate, data, rough=rough)
        posterior: SurrogatePosterior | JudgedPosterior | None = quadrature
        total = self.chart.total(known.z, known.values)
        modes: tuple[FoundMode, ...] = ()
        terms = None
        if not known.positive.any():
            value, sd, reason = -np.inf, np.inf, Reason.ZERO
        elif total is not None:
            value, reason = total, Reason.OPEN
            sd = 1e-15 * max(1.0, abs(value), float(np.max(np.abs(known.values[known.positive]))))
        elif quadrature is None:
            value, sd, reason = float(np.max(known.values)), np.inf, Reason.UNSEEN
        else:
            posterior, reason = self._chosen(data, quadrature)
            terms = posterior.terms
            modes = posterior.describe(self.climbs.modes)
            value, sd = terms.log_evidence, terms.sd
        return Evidence(value, sd, reason, known.x, known.values, modes, terms, posterior, skipped, budget)

    def _chosen(
        self, data: Data, quadrature: SurrogatePosterior
    ) -> tuple[SurrogatePosterior | JudgedPosterior, Reason]:
        """Return the posterior by quadrature, or by the draws where there are any and they know better, and a verdict.

        Draws judge quadrature too: where both are far apart, they are believed.
        """
        surrogate, terms = quadrature.surrogate, quadrature.terms
        reason = Reason.OPEN
        # Far from the top every density is flat: first it has to be found.
        arrived = terms.doubts.get(Rising.sentence, 0.0) <= TUNING.error.unknown
        if arrived and self.probes.improper(data.evaluated, surrogate):
            reason = Reason.IMPROPER
        elif terms.sd > TUNING.error.unknown or self.probes.outside(surrogate, quadrature.nodes):
            reason = Reason.UNSEEN
        judged = None
        if self.draws is not None:
            apart = self.climbs.apart(data.evaluated)
            confirmed = apart == 0.0 and all(self._has_region(mode) for mode in self.climbs.modes)
            judged = self.draws.judge(data, terms.doubts.get(Starts.sentence, 0.0), confirmed=confirmed)
        if judged is None:
            return quadrature, reason
        change = abs(judged.terms.log_evidence - terms.log_evidence)
        agree = change < 2.0 * np.hypot(terms.sd, judged.terms.sd)
        sound = judged.terms.sound and judged.terms.sd <= TUNING.error.unknown
        if reason is Reason.OPEN and (not sound or (agree and terms.sd < judged.terms.sd)):
            return quadrature, reason
        if sound:
            return judged, Reason.OPEN
        # What two surrogates that do not know say differently is open.
        return replace(judged, terms=replace(judged.terms, starts=max(judged.terms.starts, change))), Reason.UNSEEN

    def _posterior(self, surrogate: Surrogate, data: Data, *, rough: bool) -> SurrogatePosterior:
        """Return the posterior on many nodes, or on the few that there are, with what its error is made of."""
        known, seed, parts = data.evaluated, self.settings.seed, self.settings.parts
        n = len(known)
        many = TUNING.sizes.some if self.settings.quick else TUNING.sizes.many
        nodes = surrogate.nodes if rough else surrogate.final_nodes(*many, seed("nodes", n))
        pairs = TUNING.sizes.rough if rough else TUNING.sizes.pairs
        terms = assess(surrogate, nodes, self.inflation, seed("signs", n), pairs)
        case = Case(data, self.climbs, self.probes, surrogate, nodes, terms.surrogate)
        doubts = {each.sentence: each.doubt(case) for each in DOUBTS if each.name in parts}
        unseen = float(np.sqrt(sum(value**2 for value in doubts.values())))
        return SurrogatePosterior(self.chart, nodes, surrogate, replace(terms, unseen=unseen, doubts=doubts))
