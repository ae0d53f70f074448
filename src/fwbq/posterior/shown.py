"""How a distribution over integrals is shown: a figure, and a table for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most integrals that the table lists.
_ROWS = 8


class Shown:
    """A picture and a table, for classes with `mean`, `sd` and `interval`."""

    if TYPE_CHECKING:
        # Fields of some posteriors, properties of others; a property here would hide the dataclass fields.
        @property
        def mean(self) -> Any:
            """The estimate."""

        @property
        def sd(self) -> Any:
            """Standard deviation."""

        def interval(self, level: float = 0.95) -> tuple[Any, Any]:
            """Return the central interval."""

    def plot(self, ax: Axes | None = None, *, truth: ArrayLike | None = None) -> Axes:
        """Draw the density, or the intervals of several integrals; see :func:`fwbq.plots.integral`."""
        from ..plots import integral

        return integral(self, ax, truth=truth)

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks: estimate, standard deviation and 95 % interval of each integral."""
        columns = [np.atleast_1d(x) for x in (self.mean, self.sd, *self.interval(0.95))]
        count = len(columns[0])
        rows = [
            [str(j + 1), f"{m:.10g}", f"{sd:.2g}", f"[{low:.10g}, {high:.10g}]"]
            for j, (m, sd, low, high) in enumerate(zip(*(c[:_ROWS] for c in columns), strict=True))
        ]
        title = f"The first {_ROWS} of {count:,} integrals" if count > _ROWS else type(self).__name__
        return _html.grid(["integral", "estimate", "sd", "95 % interval"], rows, title=title)
