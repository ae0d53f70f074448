"""Models that are evaluated together at shared points, spread over their prior."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..designs import Spread, made_design
from ..embeddings import embed
from ..evaluation.failures import EvaluationError, written
from ..kernels import ExpQuad, Kernel, Stationary
from ..posterior import AnyAmplitude
from ..rules import Rule, bayes_rule
from .coordinates import Coordinates, LogScale, Standard
from .evidence import Evidences
from .family import Evaluate, Family, check_evaluated, log_integrands
from .leaders import telling_nodes
from .linear_process import carried, linear_doubts, linear_evidences
from .log_process import LogProcess, fitted
from .nodes import Nodes, nodes
from .runner import Runner

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: Of models that share their length-scales at least this many are evaluated while one is in contention, because the
#: length-scales are found from the values of all. With 5 and 80 errors of the leading models were 3.0 and 1.07 times as
#: large (benchmarks/constants.py).
_WITNESSES = 20
#: Where the effective number of points that carry the likelihood of a model is below this, they say nothing about its
#: integral: under the linear process such a model stays in the race. Three values determine an amplitude and a
#: constant, with one degree of freedom left.
CARRIED = 3.0
#: Standard deviation that is then added to a log evidence by a process of kinetic models: of 12 simulated sets in four
#: units of time, errors of such evidences were 0.6 to 2 in root mean square at 20 to 200 points, the largest 13 of the
#: standard deviations that the process itself states.
_UNSEEN = 1.0

#: Points chosen for the leading models at a time, before their values are used to choose more. Of the 30 leading pairs
#: of 3,000 and 10,000 enzymes the errors after 100 such points are 0.02 and 0.04 in root mean square, 0.34 and 0.49 of
#: the stated ones; with 100 at a time they are 0.02 and 0.04, 0.6 and 1.05 of the stated ones.
_TOGETHER = 25


class _Design(Protocol):
    def take(self, n: int) -> Array:
        """Return the first n points."""


@dataclass(frozen=True, eq=False)
class Block:
    """The log integrands of some models of a family as one function of points, fit to travel to other processes."""

    family: Family
    which: IntArray

    def where(self, x: Array) -> str:
        """Return a point as messages show it, with the name of the model if there is one."""
        only = f" of model {self.family.names[int(self.which[0])]!r}" if len(self.which) == 1 else ""
        return f"{written(x)}{only}"

    def named(self, error: EvaluationError) -> EvaluationError:
        """Return an error as it is: its points are those of the models."""
        return error

    def __call__(self, x: Array) -> Array:
        """Return the log integrands at points x (n, d), (n, len(which))."""
        return log_integrands(self.family, x, self.which)


class Shared(Runner):
    """A family of models on one design: its points, the values so far, the posteriors.

    Parameters
    ----------
    family : Family
    first : int
        Position of its first model among all.
    evidence : {"log", "linear"}
        Which process.
    kernel, amplitude, design
        As for `compare_models`.
    seed : int
        Of the design.
    spread : int, optional
        Points of the design; further ones are chosen for the leading models, where these have logarithmic coordinates,
        one kernel and the log process. By default all are of the design.
    """

    each_alone = False

    def __init__(
        self,
        family: Family,
        first: int,
        evidence: str,
        kernel: Kernel | type[Stationary] | None,
        amplitude: AnyAmplitude,
        design: Any,
        seed: int,
        spread: int | None = None,
    ) -> None:
        super().__init__(family, first)
        self.coordinates: Coordinates = family.coordinates or Standard(family.measure)
        self.design: _Design = Spread(family.measure, self.coordinates)
        if design is not None:
            given = kernel if isinstance(kernel, Kernel) else (kernel or ExpQuad)(family.measure.scale)
            self.design = made_design(design, embed(given, family.measure), np.random.default_rng(seed))
        self.evidence = evidence
        self.kernel = kernel
        self.amplitude = amplitude
        self.values = np.empty((0, len(family.names)))
        usual = evidence == "log" and family.alike and design is None
        self._spread = spread if usual and isinstance(self.coordinates, LogScale) else None
        #: Whether the models share length-scales that are found, and all else is as usual.
        self.shares_scales = usual and kernel is None and amplitude == "calibrated"
        self._asked = np.empty((0, family.measure.dim))
        self._has_values = np.empty(0, dtype=bool)  # for each point asked for
        self._n_skipped = 0
        self._nodes: Nodes | None = None

    @property
    def n_skipped(self) -> int:
        """Evaluations that failed; where one model fails at a point, those of all models in contention count."""
        return self._n_skipped

    def missing(self, n: int) -> int:
        """Return how many evaluations bring the models in contention to n points each."""
        return max(n - len(self._has_values), 0) * len(self.active)

    def _points(self) -> Array:
        """Return the points at which values are known."""
        return self._asked[self._has_values]

    def counts(self) -> IntArray:
        """Return the evaluations of each model so far."""
        return np.asarray(np.sum(~np.isnan(self.values), axis=0), dtype=np.intp)

    def extend(self, n: int, evaluate: Evaluate) -> int:
        """Evaluate the models in contention at the points up to the n-th; return how many evaluations that took."""
        if not len(self.active):
            return 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a design has ended is said in the status
            spread = self.design.take(n if self._spread is None else min(n, self._spread))
        taken = self._evaluate(spread[len(self._asked) :], evaluate)
        while self._spread is not None and len(self._asked) < n:
            new = self._for_leaders(min(_TOGETHER, n - len(self._asked)))
            if not len(new):
                break
            taken += self._evaluate(new, evaluate)
        return taken

    def _for_leaders(self, count: int) -> Array:
        """Return further points, chosen for the leading models."""
        if self._nodes is None:
            self._nodes = nodes(self.family.measure, self.coordinates)
        assert isinstance(self.coordinates, LogScale)
        places, values = self.coordinates.forward(self._points()), self.values[:, self.active]
        chosen = telling_nodes(places, values, self._nodes, count, self.kernel, self.amplitude)
        return self.coordinates.inverse(chosen)

    def _evaluate(self, new: Array, evaluate: Evaluate) -> int:
        """Evaluate the models in contention at new points; return how many evaluations that took."""
        if not len(new):
            return 0
        values, kept = evaluate(Block(self.family, self.active), new)
        fresh = np.full((int(kept.sum()), self.values.shape[1]), np.nan)
        fresh[:, self.active] = values[kept]
        self.values = np.vstack([self.values, fresh])
        self._asked = np.vstack([self._asked, new])
        self._has_values = np.concatenate([self._has_values, kept])
        self._n_skipped += int(np.sum(~kept)) * len(self.active)
        check_evaluated(len(self.values), self.family.names[self.active[0]])
        return int(len(new) * len(self.active))

    def rest(self, but: NDArray[np.bool_]) -> int:
        """Let the models rest in the next round, unless some in contention are not to; return how many are not.

        On shared points the models are evaluated together.
        """
        wanted = int(np.sum(but[self.slots[self.active]]))
        if not wanted:
            self._resting, self.active = self.active, self.active[:0]
        return wanted

    def drop(self, keep: NDArray[np.bool_], score: Array) -> None:
        """Leave out the models that are not to be kept, but for the best of them where length-scales are shared."""
        kept = keep[self.slots[self.active]]
        kept |= self.unknown()
        if not self.family.alike:  # a likelihood that was zero at every point may be anything
            kept |= np.isneginf(self.values[:, self.active].max(axis=0, initial=-np.inf))
        if self.family.alike and kept.any() and kept.sum() < _WITNESSES:
            order = np.lexsort((-score[self.slots[self.active]], ~kept))
            kept[order[:_WITNESSES]] = True
        self.active = self.active[kept]

    def unknown(self) -> NDArray[np.bool_]:
        """Return which models in contention have likelihoods that are all but zero at all but a few points.

        A linear process learns nothing of their evidence from such values, whatever its width says.
        """
        if self.evidence != "linear":
            return super().unknown()
        return np.asarray(carried(self.values[:, self.active]) < CARRIED)

    @property
    def carrying(self) -> Array:
        """Effective points that carry each likelihood, (models,); infinity where that is not asked."""
        out = np.full(len(self.slots), np.inf)
        if self.shares_scales and len(self.values):
            out[self.active] = carried(self.values[:, self.active])
        return out

    def posteriors(self) -> Evidences:
        """Posteriors of the models in contention."""
        points = self._points()
        values = self.values[:, self.active]
        if self.evidence == "log":
            if self._nodes is None:
                self._nodes = nodes(self.family.measure, self.coordinates)
            inside, first = np.unique(points, axis=0, return_index=True)
            if len(inside) < len(points):
                keep = np.sort(first)
                points, values = points[keep], values[keep]
            places = self.coordinates.forward(points)
            if self.family.alike or isinstance(self.kernel, Kernel):
                found = LogProcess.fit(places, values, self._nodes, self.kernel, self.amplitude).evidences
                return found.widened(np.where(self.carrying[self.active] < CARRIED, _UNSEEN, 0.0))
            each = Evidences.empty(values.shape[1])
            for j in range(values.shape[1]):
                one = LogProcess.fit(places, values[:, [j]], self._nodes, self.kernel, self.amplitude)
                each = each.put(np.array([j]), one.evidences)
            return each
        rule, values = self._ruled(values)
        found = linear_evidences(rule, values, self.amplitude)
        self.doubts = self.doubts.put(self.active, linear_doubts(rule, values, found))
        return found

    def _linear_kernel(self, points: Array, values: Array) -> Kernel:
        """Return the kernel of the linear process; of a class the length-scales are found from the likelihoods."""
        scale = self.family.measure.scale
        if self.kernel is None:
            return ExpQuad(scale)
        if isinstance(self.kernel, Kernel):
            return self.kernel
        top = values.max(axis=0)
        likelihoods = np.exp(values - np.where(np.isfinite(top), top, 0.0))
        return self.kernel(scale * fitted(points / scale, likelihoods, self.kernel).lengthscale)

    def _ruled(self, values: Array) -> tuple[Rule, Array]:
        """Return the rule on the points, and the values (n, m) at the rule's points, of which none repeats."""
        points = self._points()
        rule = bayes_rule(embed(self._linear_kernel(points, values), self.family.measure), points)
        self.errors.append((len(points), rule.mmd))
        chosen = np.array([np.flatnonzero(rule.index == i)[0] for i in range(len(rule.points))])
        return rule, values[chosen]
