"""Values of f at a batch of points."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .failures import Failure

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evaluations:
    """Values of f at a batch of points.

    Attributes
    ----------
    points : (n, d) array
        As f saw them (-0.0 is written 0.0).
    values : (n,) or (n, m) array
        In the order of the points; NaN in the skipped rows.
    n_new : int
        Points at which f was called successfully for this batch.
    n_reused : int
        Rows whose value was there already: from the journal, from an earlier batch or from a repeated row.
    failures : tuple of Failure
        The skipped points, by row; empty unless ``on_error="skip"``.
    """

    points: FloatArray
    values: FloatArray
    n_new: int
    n_reused: int
    failures: tuple[Failure, ...]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def skipped(self) -> NDArray[np.intp]:
        """Rows that were skipped, ascending."""
        return np.array([failure.index for failure in self.failures], dtype=np.intp)

    @property
    def n_skipped(self) -> int:
        """How many rows were skipped."""
        return len(self.failures)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Mask (n,) of the rows that have a value."""
        mask = np.ones(len(self.points), dtype=bool)
        mask[self.skipped] = False
        return mask

    def __repr__(self) -> str:
        return f"Evaluations({len(self)} points: {self.n_new} new, {self.n_reused} reused, {self.n_skipped} skipped)"
