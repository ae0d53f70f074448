"""The run as a dialogue: ask for points, tell log likelihoods, have the evidence at any time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from .. import _validate
from .._lock import Lock
from .._reason import Reason
from .._threads import one_blas_thread
from .._whitening import Whitening
from ..kernels import Kernel, Stationary
from ..measures import Measure, as_measure
from ..posterior import AnyAmplitude, checked_amplitude
from ..process import KernelFamily
from ..process.basis import basis_size
from . import files
from .acquisition import next_points
from .assessment import Assessment, assess, known_error
from .belief import Belief
from .climb import NOT_ARRIVED, Climb
from .exploration import SURPRISE, exploring_share, surprising, telling_points
from .mixture import lower_root
from .modes import ABOVE, Mode, explains
from .nodes import Nodes
from .quadratic import Quadratic, local_quadratic
from .result import Evidence, Posterior
from .space import Free, Sample, Space, space_of
from .surrogate import FAMILIES, Given, depth_noise, fit
from .zeros import SignProcess

Array = NDArray[np.float64]

#: Evaluations planned for when `n` is not given.
DEFAULT_N = 200
#: Nodes (size of a Sobol sequence, number of sequences) for the choice of points, for a quick and for a full result.
_FEW, _SOME, _MANY = (256, 4), (1024, 8), (4096, 8)
#: A batch is this share of the evaluations so far. On the nine evidences of benchmarks/constants.py half of it took
#: 27 % longer, twice as much had widths 1.05 times as large.
_GROWTH = 0.1
#: Length-scales are searched for anew when the number of values has grown by this factor; in between they follow. With
#: 1.5 widths were 1.3 times as large there and one of nine intervals missed; with 1.01 only the time grew, by 13 %.
_REFIT = 1.1
#: Share of the evaluations by which the first climb ends, at the latest: the rest is for the evidence itself.
_CLIMBING = 0.7
#: Share of the budget that climbs after the first may use together.
_FURTHER = 0.3
#: From this dimension on, and with a budget of so many times it, several climbs are raced: on the eight parameters of
#: a Lotka-Volterra model half of single climbs ended in a false basin.
_RACE_DIM, _RACE_BUDGET, _RACERS = 5, 15, 3
#: A rise of the top by more than this within the last fifth of the evaluations says that it is not found yet.
_RISING = 0.5
#: Without a prior, points so many standard deviations out on every axis show whether the density falls off; they are
#: moved out when the surrogate posterior has widened by a factor, or so far that one of them is near in its standard
#: deviations, a dozen times at most. The density is said not to fall off when a value there is less than the last
#: number below the top, in natural logarithms (a Cauchy density has fallen by four).
_PROBE, _WIDENED, _NEAR, _MOST_PROBES, _FALLEN = 5.0, 1.5, 0.7, 12, 3.0
#: A climb that has not arrived is held to be at the top when the error of the surrogate is below this, and twice as
#: many points as a quadratic has coefficients have not risen by more than `_RISING`. Of 32 climbs on rotated products
#: in two and four dimensions that held for twelve, all with errors below 0.4, and for none with an error above one; of
#: 32 further problems 27 were then known, all within their intervals.
_SETTLED = 1.0
#: Log joint densities deeper than this below the top are raised to it: they matter to nothing, and squares stay finite.
_DEEPEST = 1e7
#: While no prediction has been tested the variance is multiplied by one plus this; with every tested prediction the
#: addition falls, like one over their number.
_UNTESTED = 3.0
#: A climb from an exploring point ends when so many of its steps led to higher ground that was known already. Points on
#: known ground count for it as lower than its start by the second number, in natural logarithms: as failed steps.
_JOINED, _FAILED = 2, 20.0
#: A spread point deeper below the top than these, for any and for each dimension, in natural logarithms, is no start.
_WORTH, _WORTH_PER_DIMENSION = 60.0, 10.0
#: Exploring points that are no data for the surrogate are starts until so many climbs from them ended on known ground:
#: where all tails are higher than expected, two climbs say so.
_VAIN = 2
#: The exploring points come this many times faster than their share, so that what they find can still be climbed.
_AHEAD = 4.0
#: How far the process can be trusted is judged by the errors of the last so many predictions.
_REMEMBERED = 40


def _same(points: Array, others: Array, radius: float) -> bool:
    """Whether two climbs are about to evaluate the same points, to a thousandth of the trust radius."""
    return len(points) == len(others) and bool(np.all(np.abs(points - others) < 1e-3 * radius))


@dataclass(eq=False)
class _Plan:
    """Points about to be evaluated, for one purpose."""

    kind: str
    z: Array
    x: Array
    climbs: list[tuple[Climb, int]] = field(default_factory=list)  # with the number of points of each
    exploring: int = 0  # the last so many points look for modes that nobody has seen
    asked: int = 0
    values: dict[bytes, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _View:
    """Surrogate posterior and nodes, and where the next search for length-scales begins."""

    belief: Belief | None = None
    nodes: Nodes | None = None
    thetas: dict[tuple[str, str], Array] = field(default_factory=dict)
    fitted_at: int = 0


class EvidenceRun:
    r"""An evidence in progress: `ask` for points, `tell` log likelihoods, take the `result` at any time.

    A few points spread over the prior; a climb from the best of them to a mode of the log joint density, and from
    others that the mode does not explain; then rounds of sequential Bayesian quadrature under the posterior that a
    Gaussian process on the log joint density describes. Every evaluation is data for the process.

    Parameters
    ----------
    prior : Measure or frozen scipy.stats distribution, optional
        The prior. Without one the function is a log joint density on R^d, and `start` says where to begin.
    n : int, optional
        Evaluations planned, by which they are shared between spread, climbs and rounds; 200 by default.
    start : (d,) array_like, optional
        A point of high density. With a prior it is one more point of the spread.
    scale : float or (d,) array_like, optional
        Without a prior, a guess of the width of the posterior; 1 by default.
    kernel : Kernel or class of kernel, optional
        ``fwbq.ExpQuad``, ``fwbq.Matern52`` or another, whose length-scales are found from the values; by default these
        two are weighed by their likelihood. A kernel such as ``fwbq.Matern52([0.1, 2.0])`` is used as it is, on the
        parameters.
    design : callable, optional
        ``design(embedding, rng=...)``, e.g. `fwbq.FrankWolfe`, in place of sequential Bayesian quadrature. Its
        embedding is of a table of covariances under nodes of the posterior.
    amplitude : {"calibrated", "marginal", "ml", "loo"} or float, optional
        The factor on the kernel's variance: the likelihood's ("marginal", "ml"), that of leave-one-out predictions near
        the top ("loo"), the larger of these ("calibrated", the default), or a number. Predictions that turn out worse
        than stated widen the error in any case.
    rng : None, int or numpy.random.Generator
        Seed of all points.
    quick : bool
        Take a quarter of the nodes for a result, as comparisons of many models do: the sum over them is then known to
        about 1e-3 instead of 1e-4.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> run = fwbq.EvidenceRun(fwbq.Gaussian([0.0], [[1.0]]), n=20, rng=0)
    >>> while run.n_evaluations < 20:
    ...     x = run.ask()
    ...     run.tell(x, -0.5 * ((x[:, 0] - 0.3) / 0.01) ** 2)
    >>> truth = 0.5 * np.log(0.01**2 / (1 + 0.01**2)) - 0.5 * 0.09 / (1 + 0.01**2)
    >>> bool(abs(run.result().log_evidence - truth) < 1e-6)
    True
    """

    def __init__(
        self,
        prior: Measure | None = None,
        *,
        n: int | None = None,
        start: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        kernel: Kernel | type[Stationary] | None = None,
        design: Callable[..., Any] | None = None,
        amplitude: AnyAmplitude = "calibrated",
        rng: Any = None,
        quick: bool = False,
    ) -> None:
        prior = None if prior is None else as_measure(prior, "prior")
        self._lock = Lock()
        self._events: list[files.Event] = []
        self._final = _SOME if quick else _MANY
        self._n = _validate.count(DEFAULT_N if n is None else n, "n")
        self._settings = {
            "prior": prior, "n": self._n, "start": start, "scale": scale, "kernel": kernel, "design": design,
            "amplitude": amplitude, "quick": quick,
        }  # fmt: skip
        self._start: Array | None = None
        if prior is None:
            if start is None:
                raise ValueError(
                    "`start` is missing: without a prior the function is a log joint density on R^d, and the search "
                    "needs a point of high density; pass e.g. start=np.zeros(d)"
                )
            begin = _validate.vector(start, "start")
            width = 1.0 if scale is None else _validate.positive_scalar_or_vector(scale, "scale")
            self._space: Space = Free(begin, width)
        else:
            if scale is not None:
                raise ValueError("`scale` goes with a log joint density without a prior: leave it out")
            self._space = space_of(prior)
            if start is not None:
                begin = _validate.points(np.atleast_2d(np.asarray(start, dtype=float)), "start", self.dim)
                self._start = self._space.from_user(begin)
        self._families: Sequence[KernelFamily | Given] = FAMILIES
        if isinstance(kernel, Kernel):
            _validate.dimension(self.dim, kernel.dim, "prior", f"the kernel {type(kernel).__name__}")
            self._families = (Given(kernel, self._space.to_user),)
        elif kernel is not None:
            if not (isinstance(kernel, type) and issubclass(kernel, Stationary)):
                raise TypeError(
                    "`kernel` must be a kernel such as fwbq.Matern52([0.1, 2.0]), or a class such as fwbq.Matern52, "
                    "whose length-scales are then found from values"
                )
            self._families = (KernelFamily(kernel.__name__, kernel),)
        self._amplitude = checked_amplitude(amplitude)
        self._design = design
        self._entropy = [int(word) for word in _validate.generator(rng).integers(2**63, size=2)]
        d = self._space.dim
        # Twice the dimension sees every coordinate from both sides; a twelfth of a large budget finds further modes.
        self._first = min(max(2 * d + 2, 6, self._n // 12), max(3, self._n // 3))
        self._z = np.empty((0, d))
        self._x = np.empty((0, d))
        self._values = np.empty(0)
        self._remote = np.empty(0, dtype=bool)  # points that are no data for the surrogate
        self._plan: _Plan | None = None
        self._rounds = 0
        self._skipped = 0
        self._lost = np.empty((0, d))  # where the function failed
        self._climbs: list[Climb] = []
        self._racing: list[Climb] = []
        self._starts: list[int] | None = None
        self._modes: list[Mode] = []
        self._finished = 0
        self._view = _View()  # the one that the last round was planned on
        self._fresh: tuple[int, _View] | None = None  # the one of all values there are, with their number
        self._residuals: list[tuple[float, float]] = []
        self._tops: list[float] = []
        self._explored = 0  # points that looked for modes nobody has seen
        self._vain = 0  # climbs from deep starts that ended on known ground
        self._probed: list[tuple[float, Array]] = []
        self._exhausted = False
        self._answer: tuple[int, Evidence] | None = None

    def __repr__(self) -> str:
        return f"<EvidenceRun of {self.dim} parameter{'s' if self.dim > 1 else ''}: {self.n_evaluations} values known>"

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self._space.dim

    @property
    def n_evaluations(self) -> int:
        """Number of points at which values are known."""
        waiting = [] if self._plan is None else list(self._plan.values.values())
        return len(self._values) + int(np.sum(~np.isnan(waiting)))

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to ask: every point of a sample is evaluated."""
        return self._exhausted

    @property
    def between_rounds(self) -> bool:
        """Whether the climbs are over and every point asked for is told: a good moment to look at the `result`."""
        return self._plan is None and self._rounds > 0

    # Asking and telling

    @one_blas_thread
    def ask(self, batch: int | None = None) -> Array:
        """Return the points to evaluate next, in the user's parameters.

        Parameters
        ----------
        batch : int, optional
            At most so many; by default all that can be evaluated side by side.

        Returns
        -------
        (k, d) array
            Empty while points that were asked for before have not been told, or when the run has `ended`.
        """
        most = None if batch is None else _validate.count(batch, "batch")
        with self._lock:
            if self._plan is None and not self._exhausted:
                self._plan = self._next()
                if self._plan is not None:
                    self._note("plan", self._plan.x, z=self._plan.z, purpose=self._plan.kind)
            if self._plan is None:
                return np.empty((0, self.dim))
            plan = self._plan
            stop = len(plan.x) if most is None else min(len(plan.x), plan.asked + most)
            points = plan.x[plan.asked : stop]
            plan.asked = stop
            return np.array(points)

    @one_blas_thread
    def tell(self, points: ArrayLike, values: ArrayLike) -> None:
        """Add log likelihoods.

        Parameters
        ----------
        points : array_like, shape (k, d)
            Points that `ask` returned, in any order and any portions, or others of one's own.
        values : array_like, shape (k,)
            Log likelihoods; minus infinity is a likelihood of zero.

        Raises
        ------
        ValueError
            For NaN, plus infinity, or another number of values than points. Nothing is then added.
        """
        x = _validate.points(points, "points", self.dim) + 0.0
        ell = _validate.log_values(values, "values", len(x))
        with self._lock:
            plan = self._plan
            planned = {} if plan is None else {row.tobytes(): i for i, row in enumerate(plan.x + 0.0)}
            own = [i for i, row in enumerate(x) if row.tobytes() not in planned]
            if own:
                self._add(self._space.from_user(x[own]), x[own], ell[own])
            self._note("tell", x, values=ell)
            if plan is not None:
                for row, value in zip(x, ell, strict=True):
                    if row.tobytes() in planned:
                        plan.values[row.tobytes()] = float(value)
                self._digest(plan)

    def skip(self, points: ArrayLike) -> None:
        """Give up points that `ask` returned and that have no value."""
        x = _validate.points(points, "points", self.dim) + 0.0
        with self._lock:
            self._note("skip", x)
            if self._plan is not None:
                for row in x:
                    self._plan.values[row.tobytes()] = np.nan
                self._skipped += len(x)
                self._digest(self._plan)

    # Saving and loading

    def _note(
        self, kind: str, x: Array, *, z: Array | None = None, values: Array | None = None, purpose: str = ""
    ) -> None:
        nothing = np.empty((0, self.dim))
        self._events.append(
            files.Event(kind, x, nothing if z is None else z, np.empty(0) if values is None else values, purpose)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a JSON file: its arguments, and everything it was told, exact to the bit.

        Raises
        ------
        ValueError
            When prior, kernel or design cannot be written down (a design must be a class of fwbq).
        """
        with self._lock:
            asked = 0 if self._plan is None else self._plan.asked
            files.write(path, self._settings, files.History(self._entropy, self._events, asked))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a run written by `save`; it goes on as that one would.

        The run is computed anew from what it was told, which takes as long as its own computing did; nothing is
        evaluated.

        Raises
        ------
        ValueError
            When the file is not of a run, was damaged, or names something that fwbq does not know.

        Warns
        -----
        RuntimeWarning
            When this version, or this processor, would have asked for other points. All values are kept, and the run
            goes on from them with other points than it would have.

        Examples
        --------
        >>> import pathlib, tempfile, numpy as np, fwbq
        >>> run = fwbq.EvidenceRun(fwbq.Gaussian([0.0], [[1.0]]), n=20, rng=0)
        >>> x = run.ask()
        >>> run.tell(x, -(x[:, 0] ** 2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.save(pathlib.Path(folder) / "run.json")
        ...     again = fwbq.EvidenceRun.load(pathlib.Path(folder) / "run.json")
        >>> bool(np.all(again.ask() == run.ask()))
        True
        """
        settings, history = files.read(path)
        run = cls(**settings)
        run._entropy = history.entropy
        if run._replay(history):
            return run
        warnings.warn(
            "this version or processor chooses other points than the run that was saved: its values are kept, and the "
            "run goes on from them with points of its own",
            RuntimeWarning,
            stacklevel=2,
        )
        run = cls(**settings)
        run._entropy = history.entropy
        for event in history.events:
            if event.kind == "tell":
                run.tell(event.x, event.values)
        return run

    @one_blas_thread
    def _replay(self, history: files.History) -> bool:
        """Go through a history again; False when the run would have planned something else."""
        for event in history.events:
            if event.kind == "plan":
                plan = self._next()
                if plan is None or plan.kind != event.purpose or plan.x.shape != event.x.shape:
                    return False
                # The points as they were: here they may differ by rounding.
                plan.x, plan.z, plan.asked = event.x, event.z, len(event.x)
                self._plan = plan
                self._events.append(event)
            elif event.kind == "tell":
                self.tell(event.x, event.values)
            else:
                self.skip(event.x)
        if self._plan is not None:
            self._plan.asked = history.asked
        return True

    def _digest(self, plan: _Plan) -> None:
        keys = [row.tobytes() for row in plan.x + 0.0]
        if any(key not in plan.values for key in keys):
            return
        self._plan = None
        values = np.array([plan.values[key] for key in keys])
        known = ~np.isnan(values)
        self._lost = np.vstack([self._lost, plan.z[~known]])
        aside = np.arange(len(keys)) >= len(keys) - plan.exploring
        if plan.kind == "climb":
            start = 0
            joint = np.where(known, values, -np.inf) + self._space.log_prior(plan.z)
            for climb, size in plan.climbs:
                part = slice(start, start + size)
                climb.learn(plan.z[part], self._strange(climb, plan.z[part], joint[part]))
                aside[part] = climb.further and self._rounds > 0
                start += size
        z, x, values, aside = plan.z[known], plan.x[known], values[known], aside[known]
        if plan.kind == "round":
            self._remember(z[~aside], values[~aside])
            self._follow(z, values, aside)
        self._add(z, x, values, self._deep(z, values, aside))

    def _strange(self, climb: Climb, z: Array, joint: Array) -> Array:
        """Return the values that a climb learns: a further one must not be led away by what is known already.

        Points no higher than was expected count as steps that failed. When such steps lead up twice, the climb has come
        to known ground, and ends.
        """
        if not climb.further or self._view.belief is None:
            return joint
        expected = joint <= self._expected(z)
        climb.joined += int(climb.spent > 0 and np.any(expected & (joint > climb.value)))
        climb.ended = climb.joined >= _JOINED
        return np.asarray(np.where(expected, np.minimum(joint, climb.value - _FAILED), joint))

    def _expected(self, z: Array) -> Array:
        """Return the log joint densities (k,) up to which values at points z (k, d) are no surprise."""
        level = np.max([mode.peak(z) for mode in self._modes], axis=0) + ABOVE
        return np.asarray(level if self._view.belief is None else np.maximum(level, surprising(self._view.belief, z)))

    def _add(self, z: Array, x: Array, values: Array, remote: NDArray[np.bool_] | None = None) -> None:
        self._remote = np.concatenate([self._remote, np.zeros(len(z), dtype=bool) if remote is None else remote])
        self._z = np.vstack([self._z, z])
        self._x = np.vstack([self._x, x])
        for value in values + self._space.log_prior(z):
            self._tops.append(max(self._tops[-1] if self._tops else -np.inf, float(value)))
        self._values = np.concatenate([self._values, values])

    # Planning

    @property
    def _positive(self) -> NDArray[np.bool_]:
        return np.isfinite(self._values)

    @property
    def _joint(self) -> Array:
        return self._values + self._space.log_prior(self._z)

    def _bounded(self) -> Array:
        """Return the log joint densities; those too deep to matter or to be squared are raised to `_DEEPEST` below."""
        return np.maximum(self._joint, self._tops[-1] - _DEEPEST)

    def _seed(self, *key: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self._entropy, spawn_key=key)

    def _planned(self, kind: str, z: Array, climbs: list[tuple[Climb, int]] | None = None) -> _Plan:
        x = self._space.to_user(z) + 0.0
        # Points that are known already, or that coincide in the user's parameters, are not evaluated twice.
        _, first = np.unique(x, axis=0, return_index=True)
        if len(first) < len(x) and not climbs:
            keep = np.sort(first)
            z, x = z[keep], x[keep]
        return _Plan(kind, z, x, climbs or [])

    def _next(self) -> _Plan | None:
        n = len(self._values) + len(self._lost)
        if n < self._first or not self._positive.any():
            return self._spread(n)
        if self._space.support is None:
            climbs = self._climbers()
            if climbs:
                at = self._positive
                z, g = self._z[at], self._joint[at]
                # A further climb must not be led by the points of the modes that are known: only those that the modes
                # do not explain are its data.
                strange = g > np.max([mode.peak(z) for mode in self._modes], axis=0) + ABOVE if self._modes else at[at]
                proposals: list[tuple[Climb, Array]] = []
                for climb in sorted(climbs, key=lambda c: -c.value):
                    points = climb.propose(z[strange], g[strange]) if climb.further else climb.propose(z, g)
                    if any(_same(points, others, climb.radius) for _, others in proposals):
                        climb.ended = climb.counted = True  # it has joined a climb that stands higher
                    else:
                        proposals.append((climb, points))
                sizes = [(climb, len(points)) for climb, points in proposals]
                return self._planned("climb", np.vstack([points for _, points in proposals]), sizes)
        return self._round()

    def _spread(self, n: int) -> _Plan | None:
        size = self._first if n < self._first else n + self.dim + 2
        points = self._space.first(size, np.random.default_rng(self._seed(0)))
        if self._start is not None:
            points = np.vstack([self._start, points])[:size]
        if len(points) <= n:
            self._exhausted = True
            return None
        return self._planned("spread", points[n:])

    def _climbers(self) -> list[Climb]:
        """Return the climbs that go on, having begun new ones where that is called for."""
        if not self._climbs:
            order = np.argsort(-np.where(self._positive, self._joint, -np.inf), kind="stable")
            racers = _RACERS if self.dim >= _RACE_DIM and self._n >= _RACE_BUDGET * self.dim else 1
            budget = min(max(int(_CLIMBING * self._n) - self._first, 2), 12 * self.dim + 12)
            for i in order[:racers]:
                if self._positive[i]:
                    self._climbs.append(Climb(self._z[i].copy(), float(self._joint[i]), 1.0, budget))
            self._racing = list(self._climbs)
        if len(self._racing) > 1 and all(c.ended or c.spent >= 2 * self.dim + 2 for c in self._racing):
            # The one that is highest goes on; the others may begin again from where they are.
            best = max(self._racing, key=lambda c: c.value)
            for climb in self._racing:
                climb.ended = climb.ended or climb is not best
            self._racing = [best]
        first = max((climb for climb in self._climbs if not climb.further), key=lambda c: c.value)
        if first.ended and not first.counted and not first.arrived:
            first.extend(int(_CLIMBING * self._n) - len(self._values))
        going = [climb for climb in self._climbs if not climb.ended]
        if going:
            for climb in going[:]:
                held = any(mode.holds(climb.best) for mode in self._modes)
                if climb is not self._climbs[0] and (
                    held or (climb.further and explains(self._modes, climb.best, climb.value))
                ):
                    climb.ended = True
                    going.remove(climb)
        for climb in self._climbs:
            if climb.ended and not climb.counted:
                climb.counted = True
                self._finish(climb)
        return going or self._further_climb()

    def _further_climb(self) -> list[Climb]:
        """Begin a climb from a point that the modes do not explain, as far as the budget goes."""
        if not self._modes:
            return []
        if self._starts is None:
            self._starts = [
                i
                for i in np.argsort(-np.where(self._positive, self._joint, -np.inf), kind="stable").tolist()
                if self._positive[i] and (i < self._first or self._paused(i)) and self._joint[i] > self._worth
            ][:10]
        spent = sum(climb.spent for climb in self._climbs if climb.further)
        while self._starts:
            # A run that goes on beyond its plan follows the starts that it had left waiting.
            left, planned = self._n - len(self._values), max(self._n, len(self._values))
            room = (left >= 4 * self.dim or left <= 0) and spent <= _FURTHER * planned
            i = self._starts.pop(0)
            deep = bool(self._remote[i])
            if explains(self._modes, self._z[i], float(self._joint[i])) or (deep and self._vain >= _VAIN):
                continue
            if not room:
                self._starts.insert(0, i)
                return []
            distance = min(float(np.linalg.norm(self._z[i] - mode.peak.centre)) for mode in self._modes)
            budget = min(int(_FURTHER * self._n), 8 * self.dim + 8)
            radius = 0.3 * min(1.0, distance)
            climb = Climb(self._z[i].copy(), float(self._joint[i]), radius, budget, further=True, deep=deep)
            self._climbs.append(climb)
            return [climb]
        return []

    @property
    def _worth(self) -> float:
        """Log joint density from which on a point that the modes do not explain is worth a climb in any case."""
        return self._modes[0].peak.constant - _WORTH - _WORTH_PER_DIMENSION * self.dim

    def _paused(self, i: int) -> bool:
        return any(not c.arrived and np.array_equal(c.best, self._z[i]) for c in self._climbs)

    def _finish(self, climb: Climb) -> None:
        """Register where a climb ended."""
        at = self._positive
        z, g = self._z[at], self._bounded()[at]
        for k, mode in enumerate(self._modes):
            if mode.holds(climb.best):
                self._modes[k] = Mode(mode.peak, mode.climbs + 1)
                self._finished += 1
                self._vain += int(climb.deep)
                return
        self._vain += int(climb.deep and not climb.arrived)
        if not climb.arrived and (climb.further or climb.value < max(c.value for c in self._climbs)):
            return
        row = int(np.argmin(np.sum((z - climb.best) ** 2, axis=1)))
        peak = local_quadratic(z, g, row, climb.radius, climb.shape)
        if not peak.concave and climb.model is not None:
            peak = climb.model
        if not peak.concave:
            return
        top = z[row] + peak.step(climb.radius)
        self._finished += int(climb.arrived)
        found = Mode(Quadratic(top, float(peak(top[None])[0]), np.zeros(self.dim), peak.curvature))
        self._modes = sorted([*self._modes, found], key=lambda mode: -mode.peak.constant)
        self._fresh = None  # a look at the result between the climb's last value and now did not know of the mode

    def _round(self) -> _Plan | None:
        view = self._look()
        if view is None:
            return self._spread(len(self._values) + len(self._lost))
        assert view.belief is not None and view.nodes is not None
        self._view = view
        left = self._n - len(self._values)
        batch = max(2, int(np.ceil(_GROWTH * len(self._values))))
        batch = min(batch, left) if left > 0 else batch
        probes = self._probes(view)
        if probes is not None:
            return self._planned("round", probes)
        self._rounds += 1
        exploring = self._exploring(view, batch)
        z = np.empty((0, self.dim))
        if len(exploring) < batch:
            # Points of zero likelihood are data of the sign process, and need not be excluded; those of a sample are,
            # so that none of its points is evaluated twice.
            lost = self._lost if self._space.support is None else np.vstack([self._lost, self._z[~self._positive]])
            size = batch - len(exploring)
            z = next_points(view.belief, view.nodes, size, self._seed(2, self._rounds), self._design, lost)
        if not len(z) + len(exploring):
            self._exhausted = True
            return None
        plan = self._planned("round", np.vstack([z, exploring]))
        plan.exploring = len(exploring)
        return plan

    def _exploring(self, view: _View, batch: int) -> Array:
        """Return points that look for modes nobody has seen; none while the known mass needs all.

        They leave room for a climb from what they find.
        """
        nothing = np.empty((0, self.dim))
        assert view.belief is not None and view.nodes is not None
        if self._space.support is not None or not self._modes or view.belief.fitted.kind == "gaussian":
            return nothing
        room = self._n - len(self._values) - 4 * self.dim
        error = known_error(view.belief, view.nodes, self._inflation(), self._seed(6, self._rounds))
        share = exploring_share(error)
        size = int(np.ceil(_AHEAD * share * batch)) if _AHEAD * share < 1.0 else max(batch, self._n // 12)
        size = min(size, int(share * self._n) - self._explored, room)
        if size <= 0:
            return nothing
        z = telling_points(
            view.belief, (self._z, self._joint), view.nodes.log_integral()[0], size, self._seed(5, self._rounds)
        )
        self._explored += len(z)
        return z

    def _follow(self, z: Array, values: Array, exploring: NDArray[np.bool_]) -> None:
        """Note which exploring points are higher than was expected: climbs begin there. They are about to be added."""
        if not exploring.any():
            return
        g = values + self._space.log_prior(z)
        high = exploring & (g > self._expected(z))
        rows = [len(self._values) + int(i) for i in np.argsort(-g, kind="stable") if high[i]]
        self._starts = rows + (self._starts or [])

    def _deep(self, z: Array, values: Array, some: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of `some` points are so deep below the top that they say nothing of the mass there is.

        Those of an exploration, and of the climbs it leads to, are then no data for the surrogate: what it would learn
        from them of its amplitude and length-scales is wrong where the mass is.
        """
        if not some.any():
            return some
        g = np.append(values + self._space.log_prior(z), self._tops[-1])
        return np.asarray(some & (depth_noise(g, self.dim)[:-1] > 0.0))

    def _probes(self, view: _View) -> Array | None:
        """Return points far out on every axis where a log joint density has no prior to bound it; None when known.

        They are asked for once, and again whenever the surrogate posterior has become half as wide again, or so wide on
        one axis that the last probes are no longer far: a density that does not fall off widens it each time.
        """
        if not isinstance(self._space, Free) or len(self._probed) >= _MOST_PROBES:
            return None
        assert view.belief is not None
        W = view.belief.whitening
        width = float(np.sqrt(np.trace(W.root @ W.root.T)))
        if self._probed:
            nearest = float(np.min(np.linalg.norm(W.forward(self._probed[-1][1]), axis=1)))
            if width < _WIDENED * self._probed[-1][0] and nearest > _NEAR * _PROBE:
                return None
        axes = np.linalg.svd(W.root)[0] * np.linalg.svd(W.root)[1]
        z = W.centre + _PROBE * np.concatenate([axes.T, -axes.T])
        self._probed.append((width, z))
        return z

    def _probe_values(self, whitening: Whitening) -> tuple[Array, Array]:
        """Return the log joint density at the last probes, relative to the largest, and their distances now."""
        far = {point.tobytes() for _, z in self._probed[-1:] for point in z + 0.0}
        at = np.array([point.tobytes() in far for point in self._z + 0.0], dtype=bool)
        distances = np.linalg.norm(whitening.forward(self._z[at]), axis=1)
        return np.asarray(self._joint[at] - self._tops[-1]), distances

    # The surrogate posterior

    def _whitening(self, z: Array, g: Array) -> Whitening:
        d = self.dim
        nodes = self._view.nodes
        if nodes is not None and nodes.effective * len(nodes.points) > 20 * d:
            centre, cov = nodes.moments()
            return Whitening(centre, lower_root(cov))
        if self._space.support is not None:
            return Whitening(np.zeros(d), np.eye(d))
        best = int(np.argmax(g))
        climb = next((c for c in self._climbs if np.array_equal(c.best, z[best])), None)
        radius, shape = (1.0, None) if climb is None else (climb.radius, climb.shape)
        peak = local_quadratic(z, g, best, radius, shape)
        values, axes = np.linalg.eigh(-peak.curvature)
        values = np.where(values > 1e-3, values, 1.0)
        step = peak.step(radius) if peak.concave else np.zeros(d)
        cov = (axes / values) @ axes.T
        return Whitening(z[best] + step, lower_root(cov))

    def _look(self) -> _View | None:
        """Return surrogate and nodes for all values there are; None while there are too few of them.

        A function of the values and of the view of the last round, so that a look at the result in between changes
        nothing.
        """
        if self._fresh is not None and self._fresh[0] == len(self._values):
            return self._fresh[1]
        at = self._positive
        near = at & ~self._remote
        n = int(near.sum())
        if n < 3:
            return None
        z, g = self._z[near], self._bounded()[near]
        whitening = self._whitening(z, g)
        again = n >= _REFIT * self._view.fitted_at
        fitted = fit(
            z, g, whitening, self._modes, self._view.thetas, families=self._families, amplitude=self._amplitude,
            falls_off=self._space.support is None, iterations=20 if again else 3,
        )  # fmt: skip
        sign = None if at.all() else SignProcess.fit(whitening.forward(self._z), at)
        known = None if self._space.support is None else (self._z, self._values)
        belief = Belief(self._space, fitted, sign, float(self._values[at].max()), tuple(self._modes), known)
        nodes = belief.nodes(*_FEW, self._seed(1, len(self._values)))
        view = _View(belief, nodes, fitted.thetas, n if again else self._view.fitted_at)
        self._fresh = len(self._values), view
        return view

    def _remember(self, z: Array, values: Array) -> None:
        """Compare values with what was predicted before they were known."""
        if not len(z):
            return
        assert self._view.belief is not None
        surrogate = self._view.belief.surrogate
        there = surrogate.predict(z)
        offset = 0.0 if surrogate.offset is None else surrogate.offset(z)
        variance = surrogate.amplitude * there.variance(surrogate.variance(z))
        g = values + self._space.log_prior(z)
        top = max(float(surrogate.values.max()), float(np.max(g)))
        for error, v, value in zip(g - surrogate.level - there.mean - offset, variance, g, strict=True):
            if np.isfinite(value):
                noise = depth_noise(np.array([top, value]), self.dim)[1]
                weight = float(np.exp(-0.3 * min(top - value, 200.0)) / (1.0 + noise))
                self._residuals.append((float(error**2 / max(v, 1e-16)), weight))

    def _inflation(self) -> float:
        """Mean square of the standardised errors of predictions, with two errors of one as a prior; at least one."""
        squares, weights = np.array([(1.0, 2.0), *self._residuals[-_REMEMBERED:]]).T
        total = float(np.sum(weights))
        # Few predictions say little: while there are none the standard deviation is doubled.
        return max(1.0, float(np.sum(squares * weights)) / total) * (1.0 + _UNTESTED / (total - 1.0))

    def _unseen(self, belief: Belief, surrogate_error: float) -> float:
        """Return what a top that still rises, and starts that were not followed, may add to the log evidence.

        Where no climb has arrived, the top may be as far above as the best of them says, unless later rounds have
        settled the matter: enough points chosen under the surrogate posterior have not raised the top, and
        `surrogate_error`, what the surrogate itself leaves open, is small.
        """
        recent = max(self.dim + 2, len(self._tops) // 5)
        before = self._tops[-recent - 1] if len(self._tops) > recent else -np.inf
        rising = max(0.0, self._tops[-1] - before - _RISING)
        if self._climbs and not any(climb.arrived for climb in self._climbs):
            best, coefficients = max(self._climbs, key=lambda climb: climb.value), basis_size("quadratic", self.dim)
            since = len(self._tops) - int(np.argmax(np.array(self._tops) >= self._tops[-1] - _RISING))
            settled = surrogate_error < _SETTLED and since >= 2 * coefficients
            rising = float(np.hypot(rising, NOT_ARRIVED * coefficients / since if settled else best.short()))
            if best.spent < coefficients:
                # No model is determined yet: the top may be as far above the best value as that is above the lower
                # quartile of all. The median was too near for one in fifty Gaussians five times narrower than the
                # prior, with fewer evaluations than a quadratic has coefficients.
                rising = max(rising, self._tops[-1] - float(np.quantile(self._joint[self._positive], 0.25)))
        # Slopes may be extrapolated to any height. The top is at most as far above the best value as that is above the
        # lower quartile of the spread points.
        spread = self._joint[self._positive][: self._first]
        rising = min(rising, self._tops[-1] - float(np.quantile(spread, 0.25)))
        waiting = sum(self._unexplained(i, belief) for i in self._starts or [])
        missed = 0.5 * waiting / (waiting + 2.0 * max(self._finished, 1)) if waiting else 0.0
        if self.dim >= _RACE_DIM and self._finished < 2 and waiting:
            missed = max(missed, 1.0)
        # Nothing is known beyond the probes. The mass there may be that of a density that stays at their level for as
        # far again, less what a Gaussian has at that distance.
        values, distances = self._probe_values(belief.whitening)
        tail = np.maximum(np.exp(values) - 2.0 * np.exp(-0.5 * distances**2), 0.0)
        beyond = float(np.sum(tail)) * _PROBE / np.sqrt(2.0 * np.pi)
        return float(np.sqrt(rising**2 + missed**2 + beyond**2))

    def _unexplained(self, i: int, belief: Belief) -> bool:
        """Whether start number i still waits for a climb: neither modes nor the other values explain its value."""
        if not self._modes:
            return True
        value = float(self._joint[i])
        if value <= self._worth or explains(self._modes, self._z[i], value):
            return False
        if i < self._first or self._remote[i]:
            return i < self._first or self._vain < _VAIN
        row = int(np.sum((self._positive & ~self._remote)[:i]))
        errors, variances = belief.surrogate.regression.leave_one_out()
        return bool(errors[row] > SURPRISE * np.sqrt(belief.surrogate.amplitude * variances[row]) + ABOVE)

    def _bound(self) -> float:
        """Return a bound of what the surrogate may leave open: the log of the ratio of an upper to a lower bound of Z.

        Under a prior the evidence is at most the largest likelihood, and about at least the mass within the trust
        region of the highest climb, with a density within a factor e of the largest one seen. What is above the
        likelihoods seen is `_unseen`. Infinite where nothing bounds the evidence: without a prior, or without climbs.
        """
        if isinstance(self._space, Free) or not self._climbs:
            return np.inf
        best = max(self._climbs, key=lambda climb: climb.value)
        d = self.dim
        log_ball = 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1.0) + d * np.log(best.radius)
        top = float(np.max(self._values))
        return max(top - (self._tops[-1] - 1.0 + float(log_ball)), 1.0)

    # The result

    @one_blas_thread
    def result(self, reason: Reason | None = None, *, tol: float | None = None) -> Evidence:
        """Return the evidence given all values told so far.

        Parameters
        ----------
        reason : Reason, optional
            Why the run ended, as the caller knows it.
        tol : float, optional
            The tolerance that was asked for, for the words of the status.
        """
        with self._lock:
            return self._current().ending(reason, tol)

    def _current(self) -> Evidence:
        """Return the evidence given all values, computed once for each number of them."""
        known_now = self.n_evaluations  # before the values of an unfinished batch are added, which are counted in it
        if self._answer is None or self._answer[0] != known_now:
            kept = self._z, self._x, self._values, self._remote, list(self._tops), self._fresh
            try:
                if self._plan is not None:
                    # The values of a batch count even while other points of it are still being evaluated.
                    rows = [i for i, row in enumerate(self._plan.x + 0.0) if row.tobytes() in self._plan.values]
                    values = np.array([self._plan.values[(self._plan.x[i] + 0.0).tobytes()] for i in rows])
                    known = ~np.isnan(values)
                    at = np.array(rows, dtype=int)[known]
                    z, values = self._plan.z[at], values[known]
                    exploring = at >= len(self._plan.x) - self._plan.exploring
                    self._add(z, self._plan.x[at], values, self._deep(z, values, exploring))
                self._answer = known_now, self._conclude()
            finally:
                if self._plan is not None:
                    self._z, self._x, self._values, self._remote, self._tops, self._fresh = kept
        return self._answer[1]

    def _conclude(self) -> Evidence:
        n = len(self._values)
        if n == 0:
            raise ValueError("no log likelihood is known yet: call `ask` and `tell` first")
        if not self._positive.any():
            return Evidence(-np.inf, np.inf, Reason.ZERO, self._x, self._values, (), None, None, self._skipped, self._n)
        if isinstance(self._space, Sample) and n >= len(self._space.support):
            exact = self._space.log_sum(self._z, self._values)
            rounding = 1e-15 * max(1.0, abs(exact), float(np.max(np.abs(self._values[self._positive]))))
            known = self._posterior(self._look(), n)
            return Evidence(
                exact, rounding, Reason.OPEN, self._x, self._values, (), None, known, self._skipped, self._n
            )
        view = self._look()
        if view is None:
            return Evidence(
                float(np.max(self._values)), np.inf, Reason.UNSEEN, self._x, self._values, (), None, None,
                self._skipped, self._n,
            )  # fmt: skip
        posterior = self._posterior(view, n)
        assert posterior is not None
        terms, belief, nodes = posterior.terms, posterior.belief, posterior.nodes
        return Evidence(
            terms.log_evidence, terms.sd, self._judge(terms, belief, nodes), self._x, self._values,
            posterior.describe(self._modes), terms, posterior, self._skipped, self._n,
        )  # fmt: skip

    def _posterior(self, view: _View | None, n: int) -> Posterior | None:
        """Return the posterior on many nodes, with what its error is made of; None while there are too few values."""
        if view is None or view.belief is None or view.nodes is None:
            return None
        nodes = view.belief.final_nodes(view.nodes, *self._final, self._seed(3, n))
        terms = assess(view.belief, nodes, self._inflation(), self._seed(4, n), bound=self._bound())
        terms = replace(terms, unseen=self._unseen(view.belief, terms.surrogate))
        return Posterior(self._space, view.belief, nodes, terms)

    def _judge(self, terms: Assessment, belief: Belief, nodes: Nodes) -> Reason:
        """Return what is wrong, or OPEN."""
        if isinstance(self._space, Free):
            # Mass far beyond every point evaluated: the surrogate does not fall off.
            s = belief.whitening.forward(nodes.points)
            seen = float(np.max(np.abs(belief.surrogate.whitened)))
            outside = float(np.sum(nodes.weights[np.max(np.abs(s), axis=1) > 2.0 * seen]))
            values, distances = self._probe_values(belief.whitening)
            # At these distances a Gaussian has fallen by half their squares.
            high = bool(np.any(values > -np.minimum(_FALLEN, 0.3 * distances**2)))
            shapeless = belief.fitted.kind == "gaussian" and not self._modes
            if high or outside > 0.2 or shapeless:
                return Reason.IMPROPER
        if terms.unseen > 1.0 or terms.sd > 3.0:
            return Reason.UNSEEN
        return Reason.OPEN
