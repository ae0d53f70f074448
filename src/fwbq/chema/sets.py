"""Models of any number of enzymes, screened in blocks, as `Pairs` does for two, but without its closed form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from .dataset import Dataset
from .kinetics import IntArray
from .likely import any_sets, likely
from .screening import sifted
from .sifter import AT_ONCE, Found, Look

__all__ = ["Listed", "Sets"]

# Models of a list that are evaluated first, to learn how large the leading evidences are: as many as are compared
# without a screen.
_PILOT = 5_000


@dataclass(frozen=True, eq=False)
class Sets:
    """All sets of `size` enzymes of a data set: those with the same first enzyme are one task of an executor.

    Parameters
    ----------
    dataset : Dataset
        The data.
    size : int
        Enzymes in a model.
    truncated : bool
        Whether V is truncated to V >= 0.
    """

    dataset: Dataset
    size: int
    truncated: bool = False

    def __len__(self) -> int:
        return comb(self.dataset.n_enzymes, self.size)

    @property
    def gain(self) -> float:
        """One: likelihoods of all rounds are computed in the same way."""
        return 1.0

    def pilot(self) -> IntArray:
        """Return some models that are likely to be good."""
        return likely(self.dataset, self.size, self.truncated)

    def sample(self, count: int) -> IntArray:
        """Return some sets of any kind."""
        return any_sets(self.dataset, self.size, count)

    def parts(self) -> Iterable[int]:
        """Return the first enzymes."""
        return range(self.dataset.n_enzymes - self.size + 1)

    def found(self, look: Look, part: int) -> tuple[Found, int]:
        """Return what may be among the best of the sets that begin with an enzyme, and how many these are."""
        later = range(part + 1, self.dataset.n_enzymes)
        rest = np.array(list(combinations(later, self.size - 1)), dtype=np.intp)
        models = np.column_stack([np.full(len(rest), part), rest])
        return sifted(self.dataset, look, self.truncated, models), len(models)


@dataclass(frozen=True, eq=False)
class Listed:
    """Models of one size, given as a list.

    Parameters
    ----------
    dataset : Dataset
        The data.
    index : (m, size) int array
        Columns of the enzymes of each model.
    truncated : bool
        Whether V is truncated to V >= 0.
    """

    dataset: Dataset
    index: IntArray
    truncated: bool = False

    @property
    def size(self) -> int:
        """Enzymes in a model."""
        return int(self.index.shape[1])

    def __len__(self) -> int:
        return len(self.index)

    @property
    def gain(self) -> float:
        """One: likelihoods of all rounds are computed in the same way."""
        return 1.0

    def pilot(self) -> IntArray:
        """Return models spread evenly over the list."""
        return self.sample(_PILOT)

    def sample(self, count: int) -> IntArray:
        """Return models spread evenly over the list."""
        some = np.unique(np.linspace(0, len(self.index) - 1, count).astype(int))
        return np.asarray(self.index[some])

    def parts(self) -> Iterable[IntArray]:
        """Return consecutive pieces of the list, 2,000 models each."""
        return (self.index[i : i + AT_ONCE] for i in range(0, len(self.index), AT_ONCE))

    def found(self, look: Look, part: IntArray) -> tuple[Found, int]:
        """Return what may be among the best of a piece, and its length."""
        return sifted(self.dataset, look, self.truncated, part), len(part)
