"""Models that are evaluated at points of their own: one evidence run each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluation.failures import EvaluationError, written
from ..inference import MOST_FITTED, Evidence, WrongGradient, too_many
from ..inference.result import DF
from ..kernels import Kernel, Stationary
from ..posterior import AnyAmplitude
from .evidence import Evidences
from .family import Evaluate, ModelFamily, check_evaluated, log_integrands
from .runner import Runner

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: A model is dropped from a race only when its log evidence is known to this standard deviation: a wider interval
#: mostly means that the mass of the likelihood is not found yet.
_SMALL = 1.0
#: Largest standard deviation of a log evidence that goes into a comparison: wider ones say as little, and sums of their
#: squares stay finite.
_WIDEST = 1e6


@dataclass(frozen=True, eq=False)
class Numbered:
    """The log integrands of a family as one function of rows (number of the model, parameters)."""

    family: ModelFamily

    @property
    def gradient(self) -> bool:
        """Whether gradients are returned too."""
        return self.family.gradient

    def where(self, row: Array) -> str:
        """Return a row as messages show it: the parameters, and the name of the model."""
        return f"{written(row[1:])} of model {self.family.names[int(row[0])]!r}"

    def named(self, error: EvaluationError) -> EvaluationError:
        """Return an error with the parameters alone as the points at which models failed."""
        error.failures = tuple(replace(failure, point=failure.point[1:]) for failure in error.failures)
        return error

    def __call__(self, rows: Array) -> Array | tuple[Array, Array]:
        """Return the log integrand of each row's model at its parameters, (n,).

        With gradients, the pair of it and these, (n, 1 + d); with respect to the number of the model they are zero.
        """
        which = rows[:, 0].astype(np.intp)
        out, slopes = np.empty(len(rows)), np.zeros(rows.shape)
        for number in np.unique(which):
            own = which == number
            x = np.ascontiguousarray(rows[own, 1:])
            if self.gradient:
                out[own], slopes[own, 1:] = self.family.models[number].with_gradients(x)
            else:
                out[own] = log_integrands(self.family, x, np.array([number]))[:, 0]
        return (out, slopes) if self.gradient else out


@dataclass(frozen=True)
class Verdict:
    """What a comparison needs of an evidence: a few numbers of it, without its nodes."""

    log_evidence: float
    scale: float
    sd: float
    success: bool
    remark: str | None

    @classmethod
    def of(cls, evidence: Evidence) -> Verdict:
        """Return what is needed of an evidence."""
        return cls(evidence.log_evidence, evidence.scale, evidence.sd, evidence.success, evidence.remark)


class Contenders(Runner):
    """A family of models whose points are chosen for each of them, and evaluated together.

    Models under one prior begin with the same spread points; then every model climbs and refines on its own. The points
    that the models ask for at a time are evaluated as one batch, so that an executor is kept busy by all of them.

    Parameters
    ----------
    family : ModelFamily
    first : int
        Position of its first model among all.
    n : int
        Evaluations planned for each model.
    kernel, amplitude, design
        As for `EvidenceRun`, of models without gradients.
    seed : int
        Of the runs.
    rough : bool
        Whether models are known roughly, in half of the time, until `refine` names them: most of many models are far
        from winning.
    """

    family: ModelFamily
    each_alone = True

    def __init__(
        self,
        family: ModelFamily,
        first: int,
        n: int,
        kernel: Kernel | type[Stationary] | None,
        amplitude: AnyAmplitude,
        design: Callable[..., Any] | None,
        seed: int,
        *,
        rough: bool = False,
    ) -> None:
        super().__init__(family, first)
        options: dict[str, Any] = {"n": n, "rng": seed, "quick": True}
        if not family.gradient:
            if n > MOST_FITTED:
                raise too_many(n)
            options |= {"kernel": kernel, "amplitude": amplitude, "design": design}
        self._runs = [model.run(**options) for model in family.models]
        self._asked = np.zeros(len(family.names), dtype=np.intp)
        self._rough = np.full(len(family.names), rough)
        self._verdicts: dict[int, tuple[tuple[int, bool], Verdict]] = {}  # by model: points, whether roughly, what

    def counts(self) -> IntArray:
        """Return the evaluations of each model so far."""
        return np.array([run.n_evaluations for run in self._runs], dtype=np.intp)

    def extend(self, n: int, evaluate: Evaluate) -> int:
        """Evaluate the models in contention at n points each; return how many evaluations that took."""
        function = Numbered(self.family)
        spent = 0
        while True:
            asked = [
                (int(j), self._ask(int(j), n - int(self._asked[j])))
                for j in self.active
                if self._asked[j] < n and not self._runs[j].ended
            ]
            asked = [(j, x) for j, x in asked if len(x)]
            if not asked:
                return spent
            rows = np.vstack([np.column_stack([np.full(len(x), float(j)), x]) for j, x in asked])
            values, kept = evaluate(function, rows)
            start = 0
            for j, x in asked:
                part = slice(start, start + len(x))
                self._tell(j, x[kept[part]], values[part][kept[part]])
                if not kept[part].all():
                    self._runs[j].skip(x[~kept[part]])
                self._asked[j] += len(x)
                start += len(x)
            spent += len(rows)

    def _ask(self, j: int, most: int) -> Array:
        """Return the points that a model asks for."""
        with self._naming(j):
            return self._runs[j].ask(most)

    def _tell(self, j: int, x: Array, values: Array) -> None:
        """Tell a model its values, and its gradients where it has any."""
        with self._naming(j):
            if self.family.gradient:
                self._runs[j].tell(x, values[:, 0], values[:, 1:])
            else:
                self._runs[j].tell(x, values)

    @contextmanager
    def _naming(self, j: int) -> Iterator[None]:
        """Say in the error which of the models has wrong gradients."""
        try:
            yield
        except WrongGradient as error:
            error.add_note(f"in model {self.family.names[j]!r}")
            raise

    def missing(self, n: int) -> int:
        """Return how many evaluations bring the models in contention to n points each."""
        return int(np.maximum(n - self._asked[self.active], 0).sum())

    @property
    def n_skipped(self) -> int:
        """Number of points at which a model failed."""
        return int(self._asked.sum() - self.counts().sum())

    def verdicts(self) -> list[Verdict]:
        """Return what is known of the evidence of each model in contention."""
        return [self._verdict(int(j)) for j in self.active]

    def _verdict(self, j: int) -> Verdict:
        """Return what is known of the evidence of a model, computed once for each number of its points."""
        run, state = self._runs[j], (int(self._asked[j]), bool(self._rough[j]))
        known = self._verdicts.get(j)
        if known is None or known[0] != state:
            check_evaluated(run.n_evaluations, self.family.names[j])
            known = self._verdicts[j] = state, Verdict.of(run.result(rough=state[1]))
            run.release()  # of 1.4 MB that a model takes, 1.2 are nodes of its result
        return known[1]

    def refine(self, which: NDArray[np.bool_]) -> bool:
        """Let models be known better than roughly from now on; return whether that changes any in contention."""
        named = which[self.slots] & self._rough
        self._rough[named] = False
        return bool(named[self.active].any())

    def remarks(self) -> dict[Hashable, str]:
        """Return what seems to be wrong with the values of models in contention."""
        found = zip(self.active, self.verdicts(), strict=True)
        return {self.family.names[j]: each.remark for j, each in found if each.remark is not None}

    def posteriors(self) -> Evidences:
        """Return the posteriors of the models in contention."""
        return as_evidences(self.verdicts())

    def rest(self, but: NDArray[np.bool_]) -> int:
        """Let all models rest in the next round but some of those in contention; return how many will not."""
        self._resting = self.active
        self.active = np.array(
            [j for j in self.active if but[self.slots[j]] and not self._runs[j].ended], dtype=np.intp
        )
        return len(self.active)

    def drop(self, keep: NDArray[np.bool_], score: Array) -> None:
        """Leave out the models that are not to be kept, but for those whose evidence is not known well enough."""
        unknown = np.array([not e.success or not e.sd < _SMALL for e in self.verdicts()], dtype=bool)
        self.active = self.active[keep[self.slots[self.active]] | unknown]


def as_evidences(found: Sequence[Verdict]) -> Evidences:
    """Return verdicts as posteriors of log evidences."""
    m = len(found)
    scale = np.array([min(e.scale, _WIDEST) if np.isfinite(e.log_evidence) else 0.0 for e in found])
    centre = np.array([e.log_evidence for e in found])
    return Evidences(np.full(m, "log", dtype="<U8"), centre, scale, np.full(m, DF), np.zeros(m))
