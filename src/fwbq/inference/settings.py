"""What a run was asked for, and the points that a way proposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..posterior import AnyAmplitude
from ..process import KernelFamily
from .data import Mask
from .joint_process import Given
from .parts import Parts

Array = NDArray[np.float64]

#: Number of each stream of random numbers: the points of a seed depend on it.
_STREAMS = {"spread": 0, "surrogate": 1, "quadrature": 2, "nodes": 3, "signs": 4, "exploration": 5, "error": 6}


@dataclass(frozen=True, eq=False)
class Settings:
    """What a run was asked for.

    Attributes
    ----------
    n : int
        Evaluations planned.
    start : (1, d) array or None
        A point of high density, in coordinates.
    families : sequence of KernelFamily or Given
        Kernels to choose from.
    amplitude : str or float
        How the amplitude of the process is found.
    design : callable or None
        In place of sequential Bayesian quadrature.
    quick : bool
        Whether a quarter of the nodes is enough for a result.
    parts : Parts
    entropy : list of int
        Seed of all points.
    """

    n: int
    start: Array | None
    families: Sequence[KernelFamily | Given]
    amplitude: AnyAmplitude
    design: Callable[..., Any] | None
    quick: bool
    parts: Parts
    entropy: list[int]

    def seed(self, stream: str, *key: int) -> np.random.SeedSequence:
        """Return the seed of a stream of random numbers, and of a number in it."""
        return np.random.SeedSequence(self.entropy, spawn_key=(_STREAMS[stream], *key))


@dataclass(frozen=True, eq=False)
class Proposal:
    """Points that are to be evaluated together.

    Attributes
    ----------
    proposer : str
        ``"metric"``, ``"spread"``, ``"climb"``, ``"curvature"``, ``"around"``, ``"exchange"``, ``"draws"`` or
        ``"round"`` (probes, or exploration and quadrature).
    z : (k, d) array
        In coordinates.
    climbs : tuple of (int, int)
        For climbs, the number of each and how many of the points are its.
    exploring : int
        The last of the points, as many as this number, look for modes that nobody has seen.
    """

    proposer: str
    z: Array
    climbs: tuple[tuple[int, int], ...] = ()
    exploring: int = 0

    @property
    def looks_around(self) -> Mask:
        """Which points look for modes that nobody has seen, (k,)."""
        return np.arange(len(self.z)) >= len(self.z) - self.exploring
