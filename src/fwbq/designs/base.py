"""What every design is: a nested sequence of points, its own weights, and a trace of how they were chosen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _frozen, _html, _validate, _warnings
from .._lock import Lock
from .._threads import one_blas_thread
from ..embeddings import Embedding
from ..rules import Rule

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

_RECORD = 18  # what the lists of gap, error, step and index take per iterate, in units of 8 bytes


@dataclass(frozen=True, eq=False)
class Trace:
    """How a run went, one entry per iterate (entry n - 1 belongs to the first n points).

    Attributes
    ----------
    gap : (n,) array
        Frank-Wolfe duality gap max_x <g - mu, g - k(., x)> of the design's own g = sum_l w_l k(., x_l) on the first n
        points, x over the candidates: J(g) = mmd2 / 2 exceeds its least value over their hull by at most this much.
        NaN where a design has none.
    mmd2 : (n,) array
        Squared worst-case error of the design's own rule on the first n points.
    step : (n,) array
        Step rho that gave the iterate its weight; NaN where a design has none.
    index : (n,) array of int
        Row of the iterate in the candidates; -1 for a point that is not a candidate.
    """

    gap: FloatArray
    mmd2: FloatArray
    step: FloatArray
    index: IntArray

    def __len__(self) -> int:
        return len(self.mmd2)


class PointSequence(ABC):
    """A nested, extendable sequence of points: the first n stay the same however many more are asked for.

    A subclass implements ``_extend``, which calls ``_append`` once per new iterate. When it can give no more points it
    calls ``_stop`` with the reason.

    Parameters
    ----------
    dim : int
        Number of coordinates d.
    known : (N, d) array_like, optional
        Points that are already there, wherever they came from. The sequence goes on from them: they are not among the
        points that ``take`` returns.

    Notes
    -----
    Several threads may use one sequence: they get the points that one thread alone would get.
    """

    def __init__(self, dim: int, known: ArrayLike | None = None) -> None:
        given = np.empty((0, dim)) if known is None else _validate.points(known, "known", dim)
        self._known = _frozen.readonly(given)
        self._lock = Lock()
        self._points = np.empty((16, dim))
        self._index: list[int] = []
        self._stopped: str | None = None

    @property
    def known(self) -> FloatArray:
        """The points (N, d) that the sequence goes on from, read-only; none unless they were given."""
        return self._known

    def __len__(self) -> int:
        """Return the number of iterates computed so far."""
        return len(self._index)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.status}>"

    @property
    def status(self) -> str:
        """One line: how many iterates there are, and why there can be no more if so."""
        return f"{len(self)} points; " + (self._stopped or "can be extended")

    @one_blas_thread
    def take(self, n: int) -> FloatArray:
        """Return the first `n` iterates, repeats included; only what is new is computed.

        Parameters
        ----------
        n : int
            Number of iterates, at least 1.

        Returns
        -------
        (n, d) array
            A copy. Shorter when the sequence has come to its end; a warning and :attr:`status` then say why.
        """
        n = self._reach(n)
        return self._points[:n].copy()

    def _reach(self, n: int) -> int:
        """Compute up to `n` iterates if possible and return how many of the `n` exist."""
        n = _validate.fits_in_memory(_validate.count(n, "n"), self._points.shape[1] + _RECORD, "n", "points")
        with self._lock:  # what exists is never changed: only the making of more must not happen twice at once
            if n > len(self) and self._stopped is None:
                self._extend(n)
        if len(self) < n:
            message = f"only {len(self)} of the {n} points asked for exist: {self._stopped}"
            _warnings.warn(message)
        return min(n, len(self))

    def _append(self, point: FloatArray, *, index: int = -1) -> None:
        """Record one finished iterate."""
        n = len(self)
        if n == len(self._points):
            grown = np.empty((2 * n, self._points.shape[1]))
            grown[:n] = self._points
            self._points = grown
        self._points[n] = point
        self._index.append(index)

    def _stop(self, reason: str) -> None:
        """Declare that there are no further iterates."""
        self._stopped = reason

    @abstractmethod
    def _extend(self, n: int) -> None:
        """Append iterates until there are at least `n` or ``_stop`` was called."""


class Design(PointSequence):
    """A nested sequence of points chosen for an embedding without ever seeing an integrand, with its own weights.

    A subclass implements ``_extend``, which calls ``_record`` once per new iterate, and ``_rule``.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    known : (N, d) array_like, optional
        Points that are already part of the rule; the sequence goes on from them.
    """

    def __init__(self, embedding: Embedding, known: ArrayLike | None = None) -> None:
        _validate.instance(embedding, "embedding", Embedding, "pass fwbq.embed(kernel, measure)")
        super().__init__(embedding.dim, known)
        self._embedding = embedding
        self._gap: list[float] = []
        self._mmd2: list[float] = []
        self._step: list[float] = []
        self._trace: Trace | None = None

    @property
    def embedding(self) -> Embedding:
        """The embedding that the points are chosen for."""
        return self._embedding

    @property
    def trace(self) -> Trace:
        """Duality gap, squared worst-case error, step and candidate index of every iterate computed so far."""
        with self._lock:
            if self._trace is None or len(self._trace) != len(self):
                gap, mmd2, step = (np.array(a, dtype=float) for a in (self._gap, self._mmd2, self._step))
                arrays = (gap, mmd2, step, np.array(self._index, dtype=np.intp))
                for a in arrays:
                    a.flags.writeable = False
                self._trace = Trace(*arrays)
            return self._trace

    @one_blas_thread
    def rule(self, n: int) -> Rule:
        """Return the known points, if there are any, and the first `n` iterates, with the design's own weights.

        Parameters
        ----------
        n : int
            Number of iterates, at least 1; computed if they do not exist yet.

        Returns
        -------
        Rule
            Repeated points are merged. Shorter when the design has come to its end; a warning then says why.
        """
        return self._rule(self._reach(n))

    def to_frame(self) -> pd.DataFrame:
        """Return the points computed so far and their trace: x1, ..., xd, gap, mmd2, step, index; a row for each."""
        import pandas as pd

        trace = self.trace
        columns = dict(zip(self._embedding.measure.names, self._points[: len(trace)].T, strict=True))
        record = {"gap": trace.gap, "mmd2": trace.mmd2, "step": trace.step, "index": trace.index}
        return pd.DataFrame({**columns, **record})

    def plot(self, n: int | None = None, ax: Axes | None = None, *, coordinates: tuple[int, int] | None = None) -> Axes:
        """Draw the first `n` points over the density of the measure; see :func:`fwbq.plots.design`."""
        from ..plots import design

        return design(self, n, ax, coordinates=coordinates)

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        rows = [("kernel", repr(self._embedding.kernel)), ("measure", repr(self._embedding.measure))]
        if len(self.trace) and np.isfinite(self.trace.mmd2[-1]):
            rows.append(("worst-case error", f"{max(float(self.trace.mmd2[-1]), 0.0) ** 0.5:.4g}"))
        return _html.table([("points", str(len(self))), *rows, ("status", self.status)], title=type(self).__name__)

    def _first(self, n: int) -> FloatArray:
        """Return the known points and the first n iterates, (N + n, d)."""
        return np.concatenate([self._known, self._points[:n]])

    def _record(
        self, point: FloatArray, *, index: int = -1, step: float = nan, gap: float = nan, mmd2: float = nan
    ) -> None:
        """Append one finished iterate with its entries in the trace."""
        n = len(self)
        for record, entry in ((self._gap, gap), (self._mmd2, mmd2), (self._step, step)):
            record[n:] = [entry]  # overwrites what an interruption of this function left behind: the index counts
        self._append(point, index=index)

    @abstractmethod
    def _rule(self, n: int) -> Rule:
        """Return the rule on the known points and the first n iterates, which exist."""


def checked_design(design: Any) -> Any:
    """Return something that makes designs: a class, or a function of an embedding; None is none.

    Raises
    ------
    TypeError
        For anything that cannot be called.
    """
    if design is not None and not callable(design):
        raise TypeError(
            "`design` must be a design class such as fwbq.FrankWolfe, or a function (embedding, rng=...) that returns "
            f"a design, got {_validate.shown(design)}: pass the class, not an instance or a name"
        )
    return design


def made_design(design: Any, embedding: Embedding, rng: Any) -> Any:
    """Return the design that a class, or a function of one's own, makes for an embedding.

    Raises
    ------
    TypeError
        For a function that returns something without points to take.
    """
    made = design(embedding, rng=rng)
    if not callable(getattr(made, "take", None)):
        raise TypeError(
            "`design` must return a design, something with a method take(n) -> (n, d) points, for an embedding; it "
            f"returned {_validate.shown(made)} of type {type(made).__name__}: return e.g. "
            "fwbq.FrankWolfe(embedding, rng=rng)"
        )
    return made
