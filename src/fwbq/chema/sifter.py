"""What a look at many models leaves of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .judge import Judge
from .kinetics import BoolArray, FloatArray, IntArray
from .sieve import Sieve, log_sum

#: Models judged at a time: their values at some hundred points take a few megabytes.
AT_ONCE = 2_000


@dataclass(frozen=True, eq=False)
class Found:
    """Models that may be among the best, and the weight of those that may not."""

    models: IntArray  # (m, size)
    centre: FloatArray  # (m,)
    width: FloatArray  # (m,)
    dropped: int
    log_dropped: float
    capped: bool = False  # whether models were dropped for their number alone

    @classmethod
    def nothing(cls, size: int, dropped: int = 0, log_dropped: float = -np.inf) -> Found:
        """Return that no model of a size was found, but some dropped."""
        return cls(np.empty((0, size), dtype=np.intp), np.empty(0), np.empty(0), dropped, log_dropped)

    @staticmethod
    def merge(found: Iterable[Found]) -> Found:
        """Return what several have found together."""
        every = list(found)
        return Found(
            np.concatenate([f.models for f in every]),
            np.concatenate([f.centre for f in every]),
            np.concatenate([f.width for f in every]),
            sum(f.dropped for f in every),
            float(logsumexp([f.log_dropped for f in every])),
            any(f.capped for f in every),
        )

    def keep(self, top: int, most: int) -> Found:
        """Drop models whose upper bound is below the lower bounds of `top` others; of the rest keep `most` at most."""
        return self.only(self.centre + self.width >= threshold(self.centre - self.width, top)).at_most(most)

    def at_most(self, most: int) -> Found:
        """Keep the `most` models whose upper bounds are the largest."""
        if len(self.models) <= most:
            return self
        kept = np.zeros(len(self.models), dtype=bool)
        kept[np.argsort(-(self.centre + self.width), kind="stable")[:most]] = True
        return replace(self.only(kept), capped=True)

    def in_order(self) -> Found:
        """Return the same models in lexicographic order."""
        order = np.lexsort(self.models.T[::-1])
        return replace(self, models=self.models[order], centre=self.centre[order], width=self.width[order])

    def only(self, kept: BoolArray) -> Found:
        """Drop the models that are not `kept`."""
        lost = np.append(self.centre[~kept], self.log_dropped)
        return Found(
            self.models[kept], self.centre[kept], self.width[kept], self.dropped + int(np.sum(~kept)),
            float(logsumexp(lost)), self.capped,
        )  # fmt: skip


def threshold(lower: FloatArray, top: int) -> float:
    """Return the `top`-th largest lower bound: what an upper bound must reach to be among the `top` best."""
    return float(np.partition(lower, -top)[-top]) if len(lower) >= top else -np.inf


@dataclass(frozen=True, eq=False)
class Look:
    """One round of a screen.

    Attributes
    ----------
    judge : Judge
        With a kernel.
    floor : float
        Models whose log evidence is certainly below are dropped.
    top : int
        How many of the best models must not be lost.
    most : int
        Models to keep at most.
    last : bool
        Whether the judge has the last word. Before the last round the sieves of fewer nodes are all that models pass:
        the judge takes twice as long for a model as the likelihoods of the next round.
    """

    judge: Judge
    floor: float
    top: int
    most: int
    last: bool = True

    def kept(self, found: Found) -> Found:
        """Drop what the others found make certain not to be among the best, which takes the intervals of the judge."""
        return found.keep(self.top, self.most) if self.last else found.at_most(self.most)


class Sifter:
    """Takes blocks of models, and keeps those that may be among the best.

    The sieves look at all models of a block. In the last round those that they leave are collected until there are
    enough for the judge, which takes about as long for ten models as for a thousand.

    Parameters
    ----------
    look : Look
        The round.
    size : int
        Enzymes in a model.
    """

    def __init__(self, look: Look, size: int) -> None:
        self._look, self._size = look, size
        chain = look.judge.chain()
        self._sieves = [Sieve(each) for each in (chain if look.last else chain[:-1] or chain)]
        self._waiting: list[tuple[FloatArray, IntArray, BoolArray]] = []
        self._found: list[Found] = []

    def add(
        self,
        values: FloatArray | NDArray[np.float32],
        models: Callable[[IntArray], IntArray],
        *,
        counted: BoolArray | None = None,
        doubtful: BoolArray | None = None,
        error: float = 0.0,
    ) -> None:
        """Take the values of a block of models.

        Parameters
        ----------
        values : (n, m) array
            Log likelihoods.
        models : callable
            Returns the models at some places of the block, (k,) to (k, size).
        counted : (m,) bool array, optional
            Which places of the block are models; all by default.
        doubtful : (m,) bool array, optional
            Which values may be wrong: such models are kept whatever the values are.
        error : float, optional
            The most by which the other values may be wrong.
        """
        at = np.arange(values.shape[1]) if counted is None else np.flatnonzero(counted)
        some = values if counted is None else values[:, at]
        centre = upper = np.empty(0)
        for sieve in self._sieves:
            centre, upper = sieve(some, error)
            promising = upper >= self._look.floor
            if doubtful is not None:
                promising |= doubtful[at]
            lost = centre[~promising]
            self._found.append(Found.nothing(self._size, len(lost), log_sum(lost)))
            at, centre, upper = at[promising], centre[promising], upper[promising]
            some = values[:, at]
        if not len(at):
            return
        which = np.zeros(len(at), dtype=bool) if doubtful is None else doubtful[at]
        if not self._look.last:
            with np.errstate(invalid="ignore"):  # of a likelihood that is zero at every point
                width = np.where(np.isneginf(upper), 0.0, upper - centre)
            self._found.append(Found(models(at), centre, np.where(which, np.inf, width), 0, -np.inf))
            return
        self._waiting.append((some.astype(np.float64), models(at), which))
        if sum(len(waiting[1]) for waiting in self._waiting) >= AT_ONCE:
            self._decide()

    def found(self) -> Found:
        """Return what may be among the best, and the weight of the rest."""
        self._decide()
        return self._look.kept(Found.merge([Found.nothing(self._size), *self._found]))

    def _decide(self) -> None:
        if not self._waiting:
            return
        values, models, doubtful = (
            np.concatenate(part, axis=axis)
            for part, axis in zip(zip(*self._waiting, strict=True), (1, 0, 0), strict=True)
        )
        self._waiting = []
        centre, width = self._look.judge(values)
        width = np.where(doubtful, np.inf, width)
        self._found.append(Found(models, centre, width, 0, -np.inf).only(centre + width >= self._look.floor))
