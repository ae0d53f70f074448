"""The kinetic models with one number of enzymes: their prior, and their likelihoods as a block."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._threads import one_blas_thread
from ..measures import TruncatedGaussian
from ..selection import LogScale
from .candidates import model_indices
from .dataset import Dataset
from .kinetics import Increments, IntArray, increments
from .likelihood import block_at

FloatArray = NDArray[np.float64]


def prior(dim: int) -> TruncatedGaussian:
    """Return the prior of the Michaelis constants: N(1, 1/2) in each coordinate, truncated to K >= 0."""
    return TruncatedGaussian(np.ones(dim), np.full(dim, 0.5))


@dataclass(frozen=True, eq=False)
class KineticFamily:
    """The kinetic models with one number of enzymes, evaluated as a block.

    Parameters
    ----------
    dataset : Dataset
        The data.
    names : tuple of models
        Tuples of enzyme names, all of one length.
    truncated : bool
        Whether V is truncated to V >= 0.
    power : float
        To which likelihoods are raised.
    """

    dataset: Dataset
    names: tuple[tuple[str, ...], ...]
    truncated: bool = False
    power: float = 1.0

    @property
    def measure(self) -> TruncatedGaussian:
        """The prior of K: of K_0 alone where levels are explained."""
        return prior(1 if self.dataset.explained == "levels" else 1 + len(self.names[0]))

    @property
    def coordinates(self) -> LogScale:
        """Logarithmic above the level that a Michaelis constant is compared with: y_S* for K_0, y_S for the others.

        The level is low among those measured (the 20 % quantile), because y / (y + K) changes fastest where y is small.
        Where levels are explained, K_0 is compared with the shortest step of time.
        """
        if self.dataset.explained == "levels":  # K_0 is a time; below the shortest step it hardly matters
            return LogScale([min(float(np.diff(t).min()) for part in self.dataset.split() for t in [part.times])])
        levels = [
            np.concatenate([getattr(part, name)[: part.means] for part in self._increments])
            for name in ("phospho", "substrate")
        ]
        low = [float(np.quantile(level[level > 0.0], 0.2)) if np.any(level > 0.0) else 1.0 for level in levels]
        return LogScale([low[0]] + [low[1]] * len(self.names[0]))

    @property
    def alike(self) -> bool:
        """True: the models of a family are the same function of the same data, so that they share length-scales."""
        return True

    @one_blas_thread
    def log_integrands(self, x: FloatArray, which: NDArray[np.intp]) -> FloatArray:
        """Return log likelihoods (n, len(which))."""
        return self.power * block_at(self._increments, self._index[which], x, truncated=self.truncated)[0]

    @cached_property
    def _increments(self) -> tuple[Increments, ...]:
        return increments(self.dataset)

    @cached_property
    def _index(self) -> IntArray:
        """Columns of the enzymes, (m, size): found once, because a race asks for thousands of models in each round."""
        return model_indices(self.dataset, self.names)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments alone: what is cached is computed again in the other process."""
        return KineticFamily, (self.dataset, self.names, self.truncated, self.power)

    def identity(self) -> Any:
        """Return a digest of the data, and the models."""
        digest = hashlib.sha256()
        for part in self.dataset.split():
            for array in (part.times, part.substrate, part.phospho, part.enzymes):
                digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
            if part.replicates is not None:
                scatter = (part.replicates.weight, part.replicates.squares, part.replicates.freedom)
                digest.update(np.concatenate(scatter).astype("<f8").tobytes())
        return {
            "data": digest.hexdigest(),
            "rates": [list(group) for group in self.dataset.groups],
            "truncated": self.truncated,
            **({"basal": True} if self.dataset.basal else {}),
            **({} if self.dataset.explained == "rates" else {"explained": self.dataset.explained}),
            **({} if self.power == 1.0 else {"power": self.power}),
            "models": [list(name) for name in self.names],
        }
