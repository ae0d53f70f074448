"""The run as a dialogue: ask for points, tell log likelihoods, have the evidence at any time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate
from .._lock import Lock
from .._reason import Reason
from .._threads import one_blas_thread
from ..designs import checked_design
from ..kernels import Kernel, Stationary
from ..measures import Measure, as_measure
from ..posterior import AnyAmplitude, checked_amplitude
from . import files
from .acquisition import next_points
from .assessment import known_error
from .climbs import Climbs
from .conclusion import Conclusion
from .exploration import exploring_share, telling_points
from .known import Known
from .plan import Plan
from .probes import Probes
from .residuals import Residuals
from .result import Evidence
from .space import Free, Space, space_of
from .start import refuse_outside
from .surrogate import depth_noise, families_of
from .symmetry import Exchange
from .view import View, look

Array = NDArray[np.float64]

#: Evaluations planned for when `n` is not given.
DEFAULT_N = 200
#: A batch is this share of the evaluations so far. On the nine evidences of benchmarks/constants.py half of it took
#: 27 % longer, twice as much had widths 1.05 times as large.
_GROWTH = 0.1
#: The exploring points come this many times faster than their share, so that what they find can still be climbed.
_AHEAD = 4.0
#: A log likelihood below this is that of zero: squares of what is deeper overflow, and nothing is lost.
_NOTHING = -1e100
#: Two values of one point that differ by less, relative to the larger of one and their size, are the same but for
#: rounding: a vectorised function may round otherwise among other points.
_SAME = 1e-8


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
            if np.size(width) not in (1, len(begin)):
                raise ValueError(
                    f"`scale` must be one number, or one for each of the {len(begin)} parameters, got {np.size(width)}"
                )
            self._space: Space = Free(begin, width)
        else:
            if scale is not None:
                raise ValueError("`scale` goes with a log joint density without a prior: leave it out")
            self._space = space_of(prior)
            if start is not None:
                begin = _validate.points(np.atleast_2d(np.asarray(start, dtype=float)), "start", self.dim)
                refuse_outside(prior, begin[0])
                self._start = self._space.from_user(begin)
        self._families = families_of(kernel, self._space)
        self._amplitude = checked_amplitude(amplitude)
        self._quick = quick
        self._design = checked_design(design)
        self._entropy = [int(word) for word in _validate.generator(rng).integers(2**63, size=2)]
        d = self._space.dim
        # Twice the dimension sees every coordinate from both sides; a twelfth of a large budget finds further modes.
        self._first = min(max(2 * d + 2, 6, self._n // 12), max(3, self._n // 3))
        self._known = Known.nothing(self._space)
        self._told: dict[bytes, float] = {}  # the last value of every point that was told, by its bytes
        self._lost = np.empty((0, d))  # where the function failed
        self._skipped = 0
        self._plan: Plan | None = None
        self._rounds = 0
        self._climbs = Climbs(self._n, self._first)
        self._probes = Probes()
        self._residuals = Residuals()
        self._view: View | None = None  # the one that the last round was planned on
        self._fresh: tuple[tuple[int, int], View | None] | None = None  # the last one, with what it is a function of
        # Where the top would be with exchanged parameters, once it is known.
        self._images: list[tuple[Exchange, Array]] | None = None
        self._explored = 0  # points that looked for modes nobody has seen
        self._exhausted = False
        self._answer: tuple[tuple[int, int], Evidence] | None = None

    def __repr__(self) -> str:
        return f"<EvidenceRun of {self.dim} parameter{'s' if self.dim > 1 else ''}: {self.n_evaluations} values known>"

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self._space.dim

    @property
    def n_evaluations(self) -> int:
        """Number of points at which values are known."""
        return len(self._known) + (0 if self._plan is None else self._plan.told)

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
            return np.empty((0, self.dim)) if self._plan is None else self._plan.take(most)

    @one_blas_thread
    def tell(self, points: ArrayLike, values: ArrayLike) -> None:
        """Add log likelihoods.

        Parameters
        ----------
        points : array_like, shape (k, d)
            Points that `ask` returned, in any order and any portions, or others of one's own.
        values : array_like, shape (k,)
            Log likelihoods; minus infinity, or less than -1e100, is a likelihood of zero.

        Raises
        ------
        ValueError
            For NaN, plus infinity, another number of values than points, or another value than before for a point.
            Nothing is then added.
        """
        x = _validate.points(points, "points", self.dim) + 0.0
        ell = _validate.log_values(values, "values", len(x))
        with self._lock:
            self._refuse_other_values(x, _heard(ell))
            self._take_in(x, ell)

    def _refuse_other_values(self, x: Array, ell: Array) -> None:
        """Refuse a second value for a point, unless it differs by rounding alone, as between calls of f with others."""
        told = dict(self._told)
        for row, value in zip(x, ell.tolist(), strict=True):
            before = told.setdefault(row.tobytes(), value)
            if before != value and not np.isclose(before, value, rtol=_SAME, atol=_SAME):
                raise ValueError(
                    f"`values` has {value!r} for the point {row.tolist()}, for which {before!r} was told before: a log "
                    "likelihood has one value at a point; begin a new EvidenceRun if the likelihood has changed"
                )

    @one_blas_thread
    def _take_in(self, x: Array, ell: Array) -> None:
        """Add log likelihoods that were checked."""
        ell = _heard(ell)
        plan = self._plan
        planned = set() if plan is None else set(plan.keys)
        own = [i for i, row in enumerate(x) if row.tobytes() not in planned]
        if own:
            self._known = self._known.joined(self._space.from_user(x[own]), x[own], ell[own])
        self._note("tell", x, values=ell)
        self._told.update((row.tobytes(), value) for row, value in zip(x, ell.tolist(), strict=True))
        if plan is not None:
            for row, value in zip(x, ell, strict=True):
                if row.tobytes() in planned:
                    plan.values[row.tobytes()] = float(value)
            self._digest(plan)

    def skip(self, points: ArrayLike) -> None:
        """Give up points that `ask` returned and that have no value.

        Parameters
        ----------
        points : array_like, shape (k, d)

        Raises
        ------
        ValueError
            For a point that was not asked for, or that has a value. Nothing is then given up.
        """
        x = _validate.points(points, "points", self.dim) + 0.0
        with self._lock:
            plan = self._plan
            asked = set() if plan is None else {row.tobytes() for row in plan.x[: plan.asked] + 0.0}
            for row in x:
                given_up = plan is not None and np.isnan(plan.values.get(row.tobytes(), 0.0))
                if row.tobytes() not in asked or row.tobytes() in self._told or given_up:
                    raise ValueError(
                        f"`points` has {row.tolist()}, which is not waiting for a value: skip points that `ask` "
                        "returned last and that were not told"
                    )
            self._give_up(x)

    def _give_up(self, x: Array) -> None:
        """Give up points that were checked."""
        self._note("skip", x)
        self._skipped += len(x)
        if self._plan is None:  # of a run that was read, and had planned them
            self._lost = np.vstack([self._lost, self._space.from_user(x)])
            return
        for row in x:
            self._plan.values[row.tobytes()] = np.nan
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
                run._take_in(event.x, event.values)
            elif event.kind == "skip":
                run._give_up(event.x)
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
                self._take_in(event.x, event.values)
            else:
                self._give_up(event.x)
        if self._plan is not None:
            self._plan.asked = history.asked
        return True

    def _digest(self, plan: Plan) -> None:
        """Take in the values of a plan once all have come."""
        if not plan.complete:
            return
        self._plan = None
        rows, values = plan.known()
        known = np.isin(np.arange(len(plan.x)), rows)
        self._lost = np.vstack([self._lost, plan.z[~known]])
        aside = plan.looks_around
        belief = None if self._view is None else self._view.belief
        if plan.kind == "climb":
            start = 0
            joint = np.full(len(known), -np.inf)
            joint[rows] = values
            joint += self._space.log_prior(plan.z)
            for climb, size in plan.climbs:
                part = slice(start, start + size)
                self._climbs.learn(climb, plan.z[part], joint[part], belief)
                aside[part] = climb.further and self._rounds > 0
                start += size
        z, x, aside = plan.z[rows], plan.x[rows], aside[rows]
        if plan.kind == "images":
            asked = self._images or []
            self._climbs.compare([asked[row][0] for row in rows], self._known, z, values)
        if plan.kind == "round":
            assert belief is not None
            near = z[~aside]
            self._residuals.compare(belief.surrogate, near, values[~aside] + self._space.log_prior(near))
            self._climbs.follow(self._known, z, values, aside, belief)
        self._known = self._known.joined(z, x, values, self._deep(z, values, aside))

    def _deep(self, z: Array, values: Array, some: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of `some` points are so deep below the top that they say nothing of the mass there is.

        Those of an exploration, and of the climbs it leads to, are then no data for the surrogate: what it would learn
        from them of its amplitude and length-scales is wrong where the mass is.
        """
        if not some.any():
            return some
        g = np.append(values + self._space.log_prior(z), self._known.top)
        return np.asarray(some & (depth_noise(g, self.dim)[:-1] > 0.0))

    # Planning

    def _seed(self, *key: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self._entropy, spawn_key=key)

    def _next(self) -> Plan | None:
        n = len(self._known) + len(self._lost)
        if n < self._first or not self._known.positive.any():
            return self._spread(n)
        if self._space.support is None:
            if self._images is None:
                self._images = self._climbs.images(self._known)
                if self._images:
                    return Plan.of("images", np.array([z for _, z in self._images]), self._space)
            proposals = self._climbs.propose(self._known)
            if proposals:
                sizes = [(climb, len(points)) for climb, points in proposals]
                return Plan.of("climb", np.vstack([points for _, points in proposals]), self._space, sizes)
        return self._round()

    def _spread(self, n: int) -> Plan | None:
        size = self._first if n < self._first else n + self.dim + 2
        points = self._space.first(size, np.random.default_rng(self._seed(0)))
        if self._start is not None:
            points = np.vstack([self._start, points])[:size]
        if len(points) <= n:
            self._exhausted = True
            return None
        return Plan.of("spread", points[n:], self._space)

    def _round(self) -> Plan | None:
        view = self._look(self._known)
        if view is None:
            return self._spread(len(self._known) + len(self._lost))
        self._view = view
        left = self._n - len(self._known)
        batch = max(2, int(np.ceil(_GROWTH * len(self._known))))
        batch = min(batch, left) if left > 0 else batch
        probes = self._probes.next(view.belief)
        if probes is not None:
            return Plan.of("round", probes, self._space)
        self._rounds += 1
        exploring = self._exploring(view, batch)
        z = np.empty((0, self.dim))
        if len(exploring) < batch:
            # Points of zero likelihood are data of the sign process, and need not be excluded; those of a sample are,
            # so that none of its points is evaluated twice.
            zeros = self._known.z[~self._known.positive]
            lost = self._lost if self._space.support is None else np.vstack([self._lost, zeros])
            size = batch - len(exploring)
            z = next_points(view.belief, view.nodes, size, self._seed(2, self._rounds), self._design, lost)
        if not len(z) + len(exploring):
            self._exhausted = True
            return None
        plan = Plan.of("round", np.vstack([z, exploring]), self._space)
        plan.exploring = len(exploring)
        return plan

    def _exploring(self, view: View, batch: int) -> Array:
        """Return points that look for modes nobody has seen; none while the known mass needs all.

        They leave room for a climb from what they find.
        """
        nothing = np.empty((0, self.dim))
        if self._space.support is not None or not self._climbs.modes or view.belief.fitted.kind == "gaussian":
            return nothing
        room = self._n - len(self._known) - 4 * self.dim
        error = known_error(view.belief, view.nodes, self._residuals.inflation, self._seed(6, self._rounds))
        share = exploring_share(error)
        size = int(np.ceil(_AHEAD * share * batch)) if _AHEAD * share < 1.0 else max(batch, self._n // 12)
        size = min(size, int(share * self._n) - self._explored, room)
        if size <= 0:
            return nothing
        known = self._known.z, self._known.joint
        z = telling_points(view.belief, known, view.nodes.log_integral()[0], size, self._seed(5, self._rounds))
        self._explored += len(z)
        return z

    def _look(self, known: Known) -> View | None:
        """Return the view of the values known, computed once for each number of them, and of modes."""
        state = len(known), len(self._climbs.modes)
        if self._fresh is None or self._fresh[0] != state:
            view = look(known, self._climbs, self._view, self._families, self._amplitude, self._seed(1, len(known)))
            self._fresh = state, view
        return self._fresh[1]

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
        """Return the evidence given all values, computed once for each number of them and of failures."""
        n = self.n_evaluations
        state = n, self._skipped
        if self._answer is None or self._answer[0] != state:
            known, fresh, lost = self._known, self._fresh, self._lost
            if self._plan is not None:
                # The values of a batch count even while other points of it are still being evaluated.
                rows, values = self._plan.known()
                z, around = self._plan.z[rows], self._plan.looks_around[rows]
                known = known.joined(z, self._plan.x[rows], values, self._deep(z, values, around))
                lost = np.vstack([lost, self._plan.z[self._plan.given_up]])
            if not len(known):
                raise ValueError("no log likelihood is known yet: call `ask` and `tell` first")
            view = self._look(known) if known.positive.any() else None
            if self._plan is not None:
                self._fresh = fresh
            conclusion = Conclusion(known, lost, self._climbs, self._probes, self._residuals.inflation, self._quick)
            answer = conclusion.evidence(view, self._seed(3, n), self._seed(4, n), self._skipped, self._n)
            self._answer = state, answer
        return self._answer[1]


def _heard(values: Array) -> Array:
    """Return log likelihoods with those too low to be squared taken for zero."""
    return np.where(values < _NOTHING, -np.inf, values)
