"""What a design is that chooses all its points together: one set for each n, none of them part of another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from .. import _html, _validate
from .._lock import Lock
from .._threads import one_blas_thread
from ..embeddings import Embedding
from ..rules import Rule
from .base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PointSet(ABC):
    """For each n a set of n points chosen together for an embedding, without ever seeing an integrand.

    Unlike a :class:`~fwbq.designs.Design`, whose first n points stay when more are asked for, the set for n + 1 does
    not contain the set for n. ``take(n)`` is a function of n alone: it returns the same points whatever was asked for
    before. All n points must therefore be evaluated; those of one set and those of another do not add up to a rule
    that anything was optimised for.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.

    Notes
    -----
    Several threads may use one set: an implementation solves and keeps its points under ``self._lock``.
    """

    def __init__(self, embedding: Embedding) -> None:
        _validate.instance(embedding, "embedding", Embedding, "pass fwbq.embed(kernel, measure)")
        self._embedding = embedding
        self._lock = Lock()

    @property
    def embedding(self) -> Embedding:
        """The embedding that the points are chosen for."""
        return self._embedding

    @property
    @abstractmethod
    def status(self) -> str:
        """One line: the n solved so far, and how that went."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.status}>"

    @one_blas_thread
    def take(self, n: int) -> FloatArray:
        """Return the set of `n` points.

        Parameters
        ----------
        n : int
            Number of points, at least 1.

        Returns
        -------
        (n, d) array
            A copy. Shorter when there are no `n` points that the kernel can tell apart; a warning then says so.
        """
        return self._points(n).copy()

    @one_blas_thread
    def rule(self, n: int) -> Rule:
        """Return the set of `n` points with its own weights.

        Parameters
        ----------
        n : int
            Number of points, at least 1.

        Returns
        -------
        Rule
            Its points are ``take(n)``.
        """
        return self._rule(self._points(n))

    def plot(self, n: int, ax: Axes | None = None, *, coordinates: tuple[int, int] | None = None) -> Axes:
        """Draw the set of `n` points over the density of the measure; see :func:`fwbq.plots.design`."""
        from ..plots import design

        return design(self, n, ax, coordinates=coordinates)

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        rows = [("kernel", repr(self._embedding.kernel)), ("measure", repr(self._embedding.measure))]
        return _html.table([*rows, ("status", self.status)], title=type(self).__name__)

    @abstractmethod
    def _points(self, n: int) -> FloatArray:
        """Return the set of n points, solved once."""

    @abstractmethod
    def _rule(self, points: FloatArray) -> Rule:
        """Return the rule on a set."""
