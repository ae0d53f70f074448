"""Rounds of draws under a surrogate of each mode, the last of which judge it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._whitening import Whitening
from .assessment import JudgedAssessment
from .chart import Chart
from .data import Data
from .gradients.judge import Cell, Judgement, judge, propose
from .gradients.judge import Proposal as Density
from .gradients.surrogate import GradientSurrogate, Rows, Shape, best_shape
from .gradients.tilt import warn_of_tilt
from .modes import Mode
from .nodes import joined
from .proposers.ascent import Top, usable
from .quadratic import Quadratic
from .result import JudgedPosterior
from .settings import Proposal, Settings
from .tuning import TUNING

Array = NDArray[np.float64]


@dataclass(eq=False)
class Region:
    """The surroundings of a mode, whose mass is judged by itself.

    Attributes
    ----------
    top : Top
    climbs : int
        How many climbs ended there.
    whitening : Whitening
        Mean and root of the posterior there, as far as they are known.
    shape : Shape
        Of the kernel of the surrogate.
    masses : list of float
        Log integral of the surrogate, round by round.
    density : Density or None
        What the draws of the last round came from.
    rows : tuple of int
        First row of these draws in the data, and how many there are.
    """

    top: Top
    climbs: int = 1
    whitening: Whitening = field(init=False)
    shape: Shape = field(default_factory=Shape)
    masses: list[float] = field(default_factory=list)
    density: Density | None = None
    rows: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        self.whitening = self.top.whitening

    def replace(self, top: Top) -> None:
        """Begin anew from a better top."""
        self.top, self.whitening, self.density, self.masses = top, top.whitening, None, []

    @property
    def log_mass(self) -> float:
        """Log integral as far as it is known: of the last surrogate, or of the Gaussian at the top."""
        return self.masses[-1] if self.masses else self.top.log_mass

    @property
    def mode(self) -> Mode:
        """The mode, with the Gaussian at the top as local model."""
        inverse = np.linalg.inv(self.top.root)
        H = -inverse.T @ inverse
        peak = Quadratic(self.top.place, self.top.value, np.zeros(len(H)), 0.5 * (H + H.T))
        return Mode(peak, self.climbs)


class Draws:
    """Draws under a surrogate of each mode: a process is fitted, points are drawn at random from its posterior.

    The last round judges: importance sampling with the surrogate as control variate, whose error is a standard error.
    The space is cut into cells, one for each mode.

    Parameters
    ----------
    chart : Chart
    settings : Settings
    gradients : bool
        Whether the surrogate has gradients beside values.

    Attributes
    ----------
    regions : list of Region
    rounds : int
    """

    def __init__(self, chart: Chart, settings: Settings, *, gradients: bool) -> None:
        self.chart, self.settings, self.gradients = chart, settings, gradients
        self.regions: list[Region] = []
        self.rounds = 0
        self.warned = False  # whether gradients that miss the same vector were warned of

    def replies(self, data: Data, rows: Sequence[int]) -> tuple[Array, Array]:
        """Return log joint densities and gradients in coordinates at rows of the data; NaN where there is none."""
        at = list(rows)
        z = data.z[at]
        return data.values[at] + self.chart.log_prior(z), self.chart.gradient_to_coordinates(z, data.gradient[at])

    def cells(self, z: Array) -> NDArray[np.intp]:
        """Return the number of the region to which each of the points z (m, d) belongs, (m,)."""
        if len(self.regions) == 1:
            return np.zeros(len(z), dtype=np.intp)
        tops = [region.top for region in self.regions]
        heights = [top.value + top.whitening.unit(z) for top in tops]
        return np.asarray(np.argmax(heights, axis=0))

    def propose(self, data: Data) -> Proposal:
        """Return the draws of the next round; those of the last one are all that are left."""
        numbers = TUNING.judge
        d, left = self.chart.dim, self.settings.n - len(data.evaluated)
        for_each = numbers.first_per_dimension if self.gradients else numbers.first_from_values
        size = round(max(numbers.first, for_each * d) * numbers.growth**self.rounds)
        if 0 < left < numbers.last * size:
            size = left
        logs = np.array([region.log_mass for region in self.regions])
        shares = np.maximum(np.exp(logs - logs.max()), 0.1)
        sizes = np.maximum(np.round(size * shares / shares.sum()).astype(int), 2)
        rows = self.rows(data)
        cells = self.cells(rows.points)
        drawn: list[Array] = []
        start = len(data)
        for k, region in enumerate(self.regions):
            near = self._near(rows, cells, k)
            if self.rounds in numbers.searches:
                region.shape = best_shape(rows, near, region.whitening, region.shape, self.rounds)
                self.warned = self.warned or self._is_tilted(rows, near, region)
            surrogate = GradientSurrogate.fit(rows, near, region.whitening, region.shape)
            seed = self.settings.seed("quadrature", self.rounds, k)
            region.density, z, mass = propose(surrogate, self._cell(k), region.whitening, int(sizes[k]), seed)
            region.whitening = region.density.whitening
            region.masses.append(mass)
            region.rows = start, len(z)
            start += len(z)
            drawn.append(z)
        self.rounds += 1
        return Proposal("draws", np.vstack(drawn))

    def _is_tilted(self, rows: Rows, near: NDArray[np.intp], region: Region) -> bool:
        """Whether gradients were found, and warned of, that all miss the same vector."""
        if not self.gradients:
            return False
        some = near[-max(TUNING.judge.search_rows // self.chart.dim, 1) :]
        return warn_of_tilt(GradientSurrogate.fit(rows, some, region.whitening, region.shape))

    def _cell(self, k: int) -> Cell:
        return lambda z: self.cells(z) == k

    def rows(self, data: Data) -> Rows:
        """Return the rows of the data that have all that the surrogate takes, in coordinates."""
        good = usable(data.values, data.gradient) if self.gradients else np.isfinite(data.values)
        return self.some_rows(data, np.flatnonzero(good))

    def some_rows(self, data: Data, numbers: NDArray[np.intp]) -> Rows:
        """Return some rows of the data, in coordinates."""
        if self.gradients:
            joint, gradients = self.replies(data, numbers.tolist())
            return Rows(data.z[numbers], joint, gradients, numbers)
        return Rows(data.z[numbers], data.joint[numbers], None, numbers)

    def _near(self, rows: Rows, cells: NDArray[np.intp], k: int) -> NDArray[np.intp]:
        """Return which of the rows are data for the surrogate of a region: neither too deep nor too far.

        Where its whitening is still far off, the nearest are, as many as a linear function has coefficients and one.
        """
        d = self.chart.dim
        inside = cells == k
        top = float(rows.values[inside].max())
        depth = 0.5 * (np.sqrt(d) + TUNING.judge.depth) ** 2
        near = np.flatnonzero(inside & (rows.values > top - depth))
        distance = np.linalg.norm(self.regions[k].whitening.forward(rows.points[near]), axis=1)
        reach = TUNING.judge.reach * (np.sqrt(d) + TUNING.judge.radius)
        near = np.asarray(near[distance <= max(reach, np.sort(distance)[: d + 2][-1])])
        return near[-(TUNING.judge.most_rows // (d + 1)) :] if self.gradients else near

    def judge(self, data: Data, starts: float, *, confirmed: bool) -> JudgedPosterior | None:
        """Return the posterior that the draws of the last round judge; None while there are none.

        `starts` is what climbs that have not arrived leave open, `confirmed` whether the modes are believed.
        """
        found = [self._judge(data, k) for k in range(len(self.regions))]
        judgements = tuple(each for each in found if each is not None)
        if not judgements or len(judgements) < len(found):
            return None
        # Where a value is far above every top, there is a mode that was not reached, and may be as high again.
        above = data.evaluated.top - max(region.top.value for region in self.regions)
        if above > TUNING.judge.above:
            starts, confirmed = max(starts, 2.0 * above), False
        decrement = max(region.top.decrement for region in self.regions)
        way = "values and gradients" if self.gradients else "values"
        terms = JudgedAssessment.of(
            judgements, decrement, starts, confirmed=confirmed, way=f"draws under a surrogate of {way}"
        )
        return JudgedPosterior(self.chart, joined([each.nodes for each in judgements]), terms, judgements)

    @property
    def log_mass(self) -> float:
        """Log integral as far as it is known without a judgement."""
        return float(np.logaddexp.reduce([region.log_mass for region in self.regions]))

    def _judge(self, data: Data, k: int) -> Judgement | None:
        """Return the judgement of a region by the draws of its last round that have values; None without any."""
        region = self.regions[k]
        first, size = region.rows
        drawn = np.arange(first, min(first + size, len(data)))
        drawn = drawn[~np.isnan(data.values[drawn])]
        if region.density is None or len(drawn) < 2:
            return None
        rows = self.rows(data)
        near = self._near(rows, self.cells(rows.points), k)
        shape = best_shape(rows, near, region.whitening, region.shape, len(data))
        surrogate = GradientSurrogate.fit(rows, near, region.whitening, shape)
        place = np.full(len(data), -1, dtype=np.intp)
        place[rows.numbers[near]] = np.arange(len(near))
        values = data.values[drawn] + self.chart.log_prior(data.z[drawn])
        seed = self.settings.seed("nodes", len(data.evaluated), k)
        return judge(surrogate, region.density, self._cell(k), data.z[drawn], values, place[drawn], region.masses, seed)
