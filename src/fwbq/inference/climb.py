"""A climb: from a start to a mode of the log joint density, without derivatives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .local_process import LocalProcess
from .quadratic import Neighbourhood, Quadratic, unbend

Array = NDArray[np.float64]
Model = Quadratic | LocalProcess

#: A climb has arrived when a Newton step would gain less than this many natural logarithms.
_GAIN = 0.05
#: Stencil points lie so many standard deviations of the local Gaussian from the top: there a Gaussian has fallen by
#: 1.1 natural logarithms, far above rounding and near enough for the curvature at the top.
_REACH = 1.5
#: Steps in a row that met a likelihood of zero before a climb ends at the boundary.
_WALLS = 4
#: While all of a star of points around a single positive value are zero, the next one is smaller by this factor: the
#: size of a support that holds a hundredth of the prior, in three dimensions, is found in two or three stars.
_SHRINK = 0.5
#: Models run side by side, of the values as they are and bent by so many typical falls (see `bend`); the one whose last
#: predictions were better leads, older errors fading by _MEMORY. Densities that fall exponentially, hundreds of widths
#: away, are climbed by the second, Gaussians at once by the first.
_BENDS = (np.inf, 1.0)
_MEMORY = 0.7
#: From this dimension on there are processes beside the quadratics (`LocalProcess`), whose length-scales are looked for
#: after every third evaluation. Evaluations until the top was within 0.5, medians of eight problems, without and with
#: them: Student, d = 4: 31 and 20; regressions with unknown noise, d = 4: 53 and 45, d = 6: 136 and 99; rotated
#: products, d = 6: 120 and 100. In two dimensions, where a quadratic has six coefficients, there was no difference.
_PROCESS_DIM, _SEARCH = 3, 3
#: Largest ratio of curvatures that the shape of the trust region follows.
_CONDITION = 1e4
#: After a step that failed, a point of the trust region where the model is known worse than this leverage is evaluated
#: next, out of so many directions.
_UNKNOWN, _DIRECTIONS = 3.0, 200
#: The trust region grows by the factor after a step of nearly full length whose rise was at least the first share of
#: what the model predicted, and shrinks after a rise of less than the second share. These are customary values; other
#: ones changed little on rotated products of six shapes.
_GOOD, _POOR, _LONG, _GROWTH = 0.7, 0.25, 0.8, 2.5
#: The fall to a stencil point may be wrong by this factor before the curvature is corrected and measured again. After
#: so many stencils a top that does not rise is the top; in the dimension given and above only if no fall is wrong by
#: the second factor, or after the last number of stencils: in eight dimensions a climb had ended 3 below its top.
_TRUE, _ROUGHLY, _ROUGH_DIM = 2.0, 3.0, 5
_CHECKS, _MOST_CHECKS = 3, 6
#: Where points are evaluated on the way from the start of a further climb to a known mode, and by how much the power of
#: the distance with which they fall may be lower near the start: that of a Gaussian is two everywhere, and the tails of
#: many densities fall more and more slowly.
_WAY = np.array([0.25, 0.5, 0.75])
_SAME_POWER = 0.3
#: A climb that rose by more than this within its last 2 (d + 2) evaluations is worth going on with.
_RISING = 0.1
#: Largest ratio of the geometric series in `Climb.ahead`: two rises determine it badly.
_MOST_RATIO = 0.8
#: Largest rise to the maximum of a model that is believed, and the least that a climb which has not arrived may be
#: short of its top.
_MOST_GAIN, NOT_ARRIVED = 1e3, 0.3


@dataclass(eq=False)
class Climb:
    """A climb in progress: `propose` the next points, `learn` their values.

    A model is fitted to the points around the best one, its maximum within a trust region is evaluated, and the
    radius follows how well the model predicted (Conn, Scheinberg and Vicente, Introduction to Derivative-Free
    Optimization, 2009). The models are quadratics and, from three dimensions on, processes (`LocalProcess`); the one
    whose predictions were best leads. The region is an ellipsoid with the axes of the model's curvature, so that a
    narrow ridge is followed in long steps; after a step that failed, a point is evaluated where a quadratic is known
    worst. At the top the curvature is measured anew by a stencil a little more than a standard deviation away, because
    what far points say of it can be wrong by any factor. Every evaluation is kept by the caller and serves the
    surrogate afterwards.

    Attributes
    ----------
    best : (d,) array
        Highest point of this climb.
    value : float
        Its log joint density.
    radius : float
        Trust radius, in units of the shape.
    budget : int
        Evaluations it may still make.
    further : bool
        Whether it began after the first climb had ended, from a point that the modes do not explain; such a climb
        begins with a point on every axis.
    deep : bool
        Whether a further climb began so deep below the top that its start says nothing of the known mass.
    toward : (d,) array or None
        A known mode: a further climb begins with points on the way to it, and ends there if these say that the start is
        on the slope of that mode.
    height : float or None
        Log joint density at that mode.
    joined : int
        How many steps of a further climb led up to ground that was known already.
    arrived : bool
        Whether the top and its curvature are known.
    ended : bool
        Whether it has arrived or used its budget.
    counted : bool
        Whether the run has taken note of where it ended.
    spent : int
        Evaluations it has made.
    model : Quadratic or None
        Last local model.
    shape : (d, d) array
        Root of the metric of the trust region, of determinant one or minus one; the identity at first.
    """

    best: Array
    value: float
    radius: float
    budget: int
    further: bool = False
    deep: bool = False
    toward: Array | None = None
    height: float | None = None
    joined: int = 0
    arrived: bool = False
    ended: bool = False
    counted: bool = False
    spent: int = 0
    model: Quadratic | None = None
    shape: Array = field(init=False)
    _predicted: Array = field(default_factory=lambda: np.zeros(2 * len(_BENDS)))
    _errors: Array = field(default_factory=lambda: np.zeros(2 * len(_BENDS)))
    _thetas: dict[float, Array] = field(default_factory=dict)
    _searched: int = 0
    _leader: int = 0
    _length: float = 0.0
    _failed: bool = False
    _kind: str = "none"
    _checks: int = 0
    _walls: int = 0
    _falls: list[float] = field(default_factory=list)
    _tops: list[float] = field(default_factory=list)
    _least: float = 1e-7

    def __post_init__(self) -> None:
        self.shape = np.eye(len(self.best))

    @property
    def on_the_way(self) -> bool:
        """Whether its last points lie on the way to a known mode."""
        return self._kind == "way"

    def propose(self, z: Array, g: Array) -> Array:
        """Return the next points (k, d) to evaluate, given all points (n, d) and finite values (n,) so far."""
        if self.toward is not None and not self.spent:
            self._kind = "way"
            return np.asarray(self.best + _WAY[:, None] * (self.toward - self.best))
        if self.further and self._kind in ("way", "none"):
            # Nothing is known of the slope here: one point on every axis tells it.
            self._kind = "simplex"
            return np.asarray(self.best + self.radius * np.eye(len(self.best)))
        if len(z) <= len(self.best):
            # Too few positive values to tell a slope: both sides of every axis are tried, nearer and nearer.
            self._kind = "star"
            axes = self.radius * np.eye(len(self.best))
            return np.asarray(self.best + np.concatenate([axes, -axes])[: max(self.budget, 1)])
        at = int(np.argmin(np.sum((z - self.best) ** 2, axis=1)))
        around = Neighbourhood.of(z, g, at, self.radius * self.shape)
        processes = self._processes(around)
        self._leader = int(np.argmin(self._errors[: len(_BENDS) + len(processes)]))
        if self._leader >= len(_BENDS):
            self._reshape(around.unscaled(processes[self._leader - len(_BENDS)][0].quadratic()).curvature)
        elif around.determined:
            self._reshape(around.unscaled(around.fit(_BENDS[self._leader] * around.typical)).curvature)
        around = Neighbourhood.of(z, g, at, self.radius * self.shape)
        models: list[tuple[Model, float]] = [(around.fit(b * around.typical), b * around.typical) for b in _BENDS]
        models += [(replace(process, root=around.root), scale) for process, scale in processes]
        leading, scale = models[self._leader]
        if isinstance(leading, LocalProcess):
            local, s = leading.quadratic(), leading.step(np.random.default_rng(self.spent))
            rise = unbend(float(leading(s[None])[0]), scale)
        else:
            local, s, rise = leading, leading.step(1.0), 0.0
        self.model = around.unscaled(local)
        if local.concave and self.model.concave and max(rise, local.gain()) < _GAIN:
            return self._stencil(self.model)
        if self._failed:
            self._failed = False
            worst = None if isinstance(leading, LocalProcess) else self._least_known(around, leading)
            if worst is not None:
                self._kind = "geometry"
                return np.asarray(self.best + around.root @ worst)[None]
        self._kind = "step"
        self._length = float(np.linalg.norm(s))
        self._predicted = np.array([unbend(float(model(s[None])[0]), b) for model, b in models])
        return np.asarray(self.best + around.root @ s)[None]

    def _processes(self, around: Neighbourhood) -> list[tuple[LocalProcess, float]]:
        """Return the processes of the values, with the scales by which these are bent; none in few dimensions."""
        if len(self.best) < _PROCESS_DIM:
            return []
        search = self.spent >= self._searched + _SEARCH
        found = []
        for b in _BENDS:
            process = LocalProcess.fit(around, b * around.typical, self._thetas.get(b), search=search)
            self._thetas[b] = process.theta
            found.append((process, b * around.typical))
        self._searched = self.spent if search else self._searched
        return found

    def _reshape(self, curvature: Array) -> None:
        """Give the trust region the axes of the curvature, each as long as the density is wide there."""
        values, axes = np.linalg.eigh(curvature)
        size = np.abs(values)
        if size.max() > 0.0:
            log_widths = -0.5 * np.log(np.maximum(size, size.max() / _CONDITION))
            self.shape = axes * np.exp(log_widths - log_widths.mean())

    def _least_known(self, around: Neighbourhood, model: Quadratic) -> Array | None:
        """Return the direction in which the model is known worst, the higher end of it; None when all are known."""
        s = np.random.default_rng(self.spent).standard_normal((_DIRECTIONS, len(self.best)))
        s /= np.linalg.norm(s, axis=1)[:, None]
        leverage = around.leverage(s)
        worst = np.asarray(s[int(np.argmax(leverage))], dtype=float)
        if leverage.max() <= _UNKNOWN:
            return None
        return worst * (1.0 if worst @ model.slope >= 0.0 else -1.0)

    def _stencil(self, model: Quadratic) -> Array:
        self._kind = "stencil"
        values, axes = np.linalg.eigh(-model.curvature)
        reach = _REACH / np.sqrt(values)
        d = len(values)
        sides = (1.0, -1.0) if d <= 4 else (1.0,)
        steps = np.concatenate([side * (axes * reach).T for side in sides])
        top = model.step(np.inf) if model.gain() > 1e-3 else np.zeros(d)
        points = self.best + top + steps
        self._falls = [float(v) for v in self.value - model(points)]
        return np.asarray(points[: max(self.budget, 1)])

    def learn(self, points: Array, values: Array) -> None:
        """Take in the values at the points proposed; minus infinity is a step that failed."""
        self.budget -= len(points)
        self.spent += len(points)
        top = int(np.argmax(values))
        rise = float(values[top]) - self.value
        moved = rise > 0.0
        if self._kind == "stencil":
            self._checks += 1
            falls = self.value - values
            expected = np.array(self._falls[: len(falls)])
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where(expected > 0.0, falls / expected, np.inf)
            true, roughly = (bool(np.all((ratios > 1.0 / r) & (ratios < r))) for r in (_TRUE, _ROUGHLY))
            roughly = roughly or len(self.best) < _ROUGH_DIM
            enough = self._checks >= _MOST_CHECKS or (roughly and self._checks >= _CHECKS)
            self.arrived = rise <= _GAIN and (true or enough)
            spread = np.linalg.norm(np.linalg.solve(self.shape, (points - self.best).T), axis=0)
            # A Gaussian is climbed in steps far longer than it is wide; its shape is that of the points at the top.
            self.radius = float(np.median(spread)) if moved or not true else min(self.radius, float(np.median(spread)))
        elif self._kind == "step":
            hoped = float(self._predicted[self._leader])
            ratio = rise / hoped if hoped > 0.0 else 0.0
            if np.isfinite(rise):
                # Relative errors, the only ones to be compared while rises shrink by orders of magnitude.
                size = np.abs(self._predicted) + abs(rise) + 1e-3
                wrong = np.abs(self._predicted - rise) / size
                self._errors[: len(wrong)] = _MEMORY * self._errors[: len(wrong)] + wrong
            if ratio > _GOOD and self._length > _LONG:
                self.radius *= _GROWTH
            elif ratio < _POOR:
                self.radius = max(0.5 * self.radius * min(1.0, self._length), self._least)
                self._failed = True
        if self.on_the_way:
            self.ended = self.ended or self._on_a_slope(values)
            moved = False
        zeros = bool(np.all(np.isneginf(values)))
        if self._kind == "star":
            self.radius *= _SHRINK if zeros else 1.0
        self._walls = self._walls + 1 if zeros and self._kind != "star" else 0
        if self._walls >= _WALLS:
            # The top lies on the boundary of the support, and further steps would only meet zeros.
            self.arrived = self.ended = True
        if moved:
            self.best, self.value = points[top].copy(), float(values[top])
        self._tops.extend([self.value] * len(points))
        self.ended = self.ended or self.arrived or self.budget <= 0 or self.radius <= self._least

    def _on_a_slope(self, values: Array) -> bool:
        """Whether the start is on the slope of the mode, as the values on the way there tell.

        Falls from the mode on grow with the distance, and on the last part not like a lower power of it than before: a
        second mode would have raised the start.
        """
        assert self.height is not None
        distance = np.append(1.0, 1.0 - _WAY)
        falls = self.height - np.append(self.value, values)
        if not (np.all(np.isfinite(falls)) and np.all(np.diff(falls) < 0.0) and falls[-1] > 0.0):
            return False
        powers = np.diff(np.log(falls)) / np.diff(np.log(distance))
        return bool(powers[0] > powers[1] - _SAME_POWER)

    def extend(self, most: int) -> None:
        """Go on beyond the budget, by `most` evaluations at most, if the climb ended without arriving but still rises.

        A climb that no longer rises is at a cusp or on a plateau, which its quadratics do not describe.
        """
        recent = 2 * (len(self.best) + 2)
        rising = len(self._tops) > recent and self.value - self._tops[-recent - 1] > _RISING
        if rising and most > 0 and self.radius > self._least:
            self.budget, self.ended = min(recent, most), False

    def ahead(self) -> float:
        """Return how much may be left to climb.

        The sum of a geometric series that begins with the rise of the last quarter of the evaluations, with the ratio
        of the rises of the last two quarters.
        """
        quarter = len(self._tops) // 4
        if quarter == 0:
            return 0.0
        before, last = np.diff([self._tops[i] for i in (-2 * quarter - 1, -quarter - 1, -1)])
        ratio = min(last / before, _MOST_RATIO) if before > 0.0 else _MOST_RATIO
        return float(last / (1.0 - ratio))

    def short(self) -> float:
        """Return how far below the top a climb that has not arrived may be, about one standard deviation.

        What is `ahead`, the maximum of a concave model, the rise of the last two thirds of the evaluations, and the
        slope along the longest axis of the trust region, for one standard deviation of the prior. Rotated products of
        six shapes in four dimensions, 2 to 200 times narrower than the prior, stopped after 45 and 60 evaluations: the
        first two held the top within 2.2 times their size in 71 % of 93 climbs, all four in 92 %.
        """
        rise = self.value - self._tops[len(self._tops) // 3] if self._tops else 0.0
        gain, slope = 1.0, 0.0
        if self.model is not None:
            gain = min(self.model.gain(), _MOST_GAIN) if self.model.concave else 1.0
            lengths = np.linalg.norm(self.shape, axis=0)
            longest = int(np.argmax(lengths))
            slope = float(abs(self.model.slope @ self.shape[:, longest])) / float(lengths[longest])
        return max(gain, self.ahead(), float(np.hypot(rise, slope)), NOT_ARRIVED)
