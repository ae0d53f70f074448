"""What a run knows: points, log likelihoods there, and the top so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .space import Space

Array = NDArray[np.float64]

#: Log joint densities deeper than this below the top are raised to it: they matter to nothing, and squares stay finite.
_DEEPEST = 1e7


@dataclass(frozen=True, eq=False)
class Known:
    """Points with known log likelihoods, in the order in which they were told.

    Attributes
    ----------
    space : Space
    z, x : (n, d) arrays
        The points, in the run's own coordinates and in the user's parameters.
    values : (n,) array
        Log likelihoods; minus infinity is a likelihood of zero.
    remote : (n,) array of bool
        Points that are no data for the surrogate.
    tops : (n,) array
        Largest log joint density up to each point.
    """

    space: Space
    z: Array
    x: Array
    values: Array
    remote: NDArray[np.bool_]
    tops: Array

    @classmethod
    def nothing(cls, space: Space) -> Known:
        """Return what is known before the first value."""
        points = np.empty((0, space.dim))
        return cls(space, points, points, np.empty(0), np.empty(0, dtype=bool), np.empty(0))

    def joined(self, z: Array, x: Array, values: Array, remote: NDArray[np.bool_] | None = None) -> Known:
        """Return what is known once the values (k,) at points z and x (k, d) are."""
        tops = np.maximum.accumulate(np.append(self.top, values + self.space.log_prior(z)))[1:]
        return Known(
            self.space,
            np.vstack([self.z, z]),
            np.vstack([self.x, x]),
            np.concatenate([self.values, values]),
            np.concatenate([self.remote, np.zeros(len(z), dtype=bool) if remote is None else remote]),
            np.concatenate([self.tops, tops]),
        )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self.space.dim

    @property
    def top(self) -> float:
        """Largest log joint density; minus infinity when there is none."""
        return float(self.tops[-1]) if len(self.tops) else -np.inf

    @cached_property
    def positive(self) -> NDArray[np.bool_]:
        """Where the likelihood is not zero, (n,)."""
        return np.isfinite(self.values)

    @cached_property
    def joint(self) -> Array:
        """Log joint densities (n,)."""
        return np.asarray(self.values + self.space.log_prior(self.z))

    @property
    def bounded(self) -> Array:
        """The log joint densities, those too deep to matter or to be squared raised to `_DEEPEST` below the top."""
        return np.maximum(self.joint, self.top - _DEEPEST)

    @property
    def highest_first(self) -> list[int]:
        """Rows by falling log joint density, those of zero likelihood last."""
        rows: list[int] = np.argsort(-np.where(self.positive, self.joint, -np.inf), kind="stable").tolist()
        return rows
