"""How a distribution over integrals is shown: a figure, and a table for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _html, _numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most integrals that the table lists.
_ROWS = 8


def written(mean: ArrayLike, sd: ArrayLike, low: ArrayLike, high: ArrayLike) -> list[tuple[str, str, str, str]]:
    """Return estimates, standard deviations and the ends of their intervals, with the digits that the errors leave.

    Parameters
    ----------
    mean, sd, low, high : float or (m,) array_like

    Returns
    -------
    list of tuple
        For each of the m numbers: estimate, standard deviation, lower and upper end.

    Examples
    --------
    >>> written(1.571567721, 0.005, 1.56157, 1.58157)
    [('1.5716', '0.0050', '1.5616', '1.5816')]
    """
    rows = zip(*(np.atleast_1d(x).tolist() for x in (mean, sd, low, high)), strict=True)
    texts = [(_numbers.with_digits_of(s, m, a, b), _numbers.error(s)) for m, s, a, b in rows]
    return [(m, s, a, b) for (m, a, b), s in texts]


def stated(x: Any, level: float = 0.95) -> str:
    """Return one line for what has `mean`, `sd` and `interval`: the first of its numbers with its error.

    Examples
    --------
    >>> from fwbq import IntegralPosterior
    >>> stated(IntegralPosterior(1.571567721, 0.005, float("inf"), 1.0))
    '1.5716 ± 0.0050, 95 % in [1.5618, 1.5814]'
    """
    mean, sd, low, high = written(x.mean, x.sd, *x.interval(level))[0]
    return f"{mean} ± {sd}, {100.0 * level:g} % in [{low}, {high}]"


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
            [str(j + 1), m, sd, f"[{low}, {high}]"]
            for j, (m, sd, low, high) in enumerate(written(*(c[:_ROWS] for c in columns)))
        ]
        title = f"The first {_ROWS} of {count:,} integrals" if count > _ROWS else type(self).__name__
        return _html.grid(["integral", "estimate", "sd", "95 % interval"], rows, title=title)
