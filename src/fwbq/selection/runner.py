"""What evaluates the models of one family, in rounds: at points of each model's own, or at shared ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .evidence import Evidences
from .family import Evaluate, Family
from .linear_process import LinearDoubts

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]


class Runner(ABC):
    """The models of a family in a comparison.

    Parameters
    ----------
    family : Family
    first : int
        Position of its first model among all.

    Attributes
    ----------
    slots : (m,) array of int
        Positions of its models among all.
    active : array of int
        Which of them are in contention.
    doubts : LinearDoubts
        Under the linear process: what speaks against it, for each model, when it was last evaluated.
    errors : list of (int, float)
        Under the linear process: number of points and worst-case error of the rule, after each round.
    """

    #: Whether every model has points of its own, so that its posterior is computed by itself.
    each_alone: ClassVar[bool]

    def __init__(self, family: Family, first: int) -> None:
        self.family = family
        self.slots = np.arange(first, first + len(family.names))
        self.active: IntArray = np.arange(len(family.names))
        self.doubts = LinearDoubts.none(len(family.names))
        self.errors: list[tuple[int, float]] = []
        self._resting: IntArray | None = None  # all in contention, while some of them rest

    @property
    @abstractmethod
    def n_skipped(self) -> int:
        """Number of evaluations that failed."""

    @abstractmethod
    def counts(self) -> IntArray:
        """Return the evaluations of each model so far."""

    @abstractmethod
    def missing(self, n: int) -> int:
        """Return how many evaluations bring the models in contention to n points each."""

    @abstractmethod
    def extend(self, n: int, evaluate: Evaluate) -> int:
        """Evaluate the models in contention at n points each; return how many evaluations that took."""

    @abstractmethod
    def posteriors(self) -> Evidences:
        """Return the posteriors of the models in contention."""

    @abstractmethod
    def drop(self, keep: NDArray[np.bool_], score: Array) -> None:
        """Leave out models that are not to be kept.

        Parameters
        ----------
        keep : (all models,) array of bool
        score : (all models,) array
            Log of evidence times prior probability.
        """

    @abstractmethod
    def rest(self, but: NDArray[np.bool_]) -> int:
        """Let models rest in the next round but some of those in contention; return how many will not.

        Parameters
        ----------
        but : (all models,) array of bool
            Which are to be evaluated.
        """

    def resume(self) -> None:
        """End the rest of the models in contention."""
        if self._resting is not None:
            self.active, self._resting = self._resting, None

    def refine(self, which: NDArray[np.bool_]) -> bool:
        """Let models be known better than roughly from now on; return whether that changes any in contention.

        Parameters
        ----------
        which : (all models,) array of bool
        """
        return False

    def unknown(self) -> NDArray[np.bool_]:
        """Return which models in contention have values that say nothing of their evidence, whatever its width."""
        return np.zeros(len(self.active), dtype=bool)

    def remarks(self) -> Mapping[Hashable, str]:
        """Return what seems to be wrong with the values of models in contention."""
        return {}
