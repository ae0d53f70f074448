r"""What replicates say of the rates of change: how well each mean is known, and how much single measurements scatter.

With r replicates of an interval, rates :math:`Y_{n1}, \dots, Y_{nr}` and the levels :math:`x_n` at its start (means
over the replicates, so that their errors count less), the rows of the regression are

.. math:: Y_{nk} = x_n' V + \sigma \varepsilon_{nk}.

Turned by an orthogonal matrix they are one row :math:`\sqrt r\, \bar Y_n = \sqrt r\, x_n' V + \sigma \varepsilon` and
r - 1 rows :math:`0' V + \sigma \varepsilon` whose squares add up to :math:`\sum_k (Y_{nk} - \bar Y_n)^2`. The marginal
likelihood does not change with the turn. So a mean of r counts as r rows, and the scatter informs sigma alone.

Where an interval does not begin and end with the same replicates, the difference of the means is all there is. Errors
of single measurements make its variance :math:`\tfrac12 (1/r + 1/r')\, \sigma^2` for r and r' replicates: its weight is
the harmonic mean of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _frozen
from . import _checks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Replicates", "of_course", "scatter_share"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Replicates:
    """What is known of the interval that begins in each row of a data set.

    Attributes
    ----------
    weight : (T,) array
        How many single rates the mean rate is worth: r with r replicates. Positive.
    squares : (T,) array
        Sum of the squared differences of the replicates' rates from their mean.
    freedom : (T,) int array
        How many independent rows these squares stand for: r - 1 with r replicates.

    Examples
    --------
    >>> Replicates([2, 1], [0.02, 0], [1, 0]).freedom
    array([1, 0])
    """

    weight: FloatArray
    squares: FloatArray
    freedom: NDArray[np.int64]

    def __init__(self, weight: ArrayLike, squares: ArrayLike, freedom: ArrayLike) -> None:
        rows = len(np.atleast_1d(np.asarray(weight)))
        count = _checks.levels(freedom, "freedom", 1, rows)
        if np.any(count != np.round(count)):
            _checks.fail("`freedom` must be whole numbers: replicates less one")
        worth = _checks.levels(weight, "weight", 1, rows)
        if not np.all(worth > 0.0):
            _checks.fail("`weight` must be positive: 1 where an interval was measured once")
        freely = count.astype(np.int64)
        freely.setflags(write=False)
        _frozen.freeze(
            self,
            weight=_frozen.readonly(worth),
            squares=_frozen.readonly(_checks.levels(squares, "squares", 1, rows)),
            freedom=freely,
        )

    def take(self, rows: NDArray[np.intp]) -> Replicates:
        """Return only these rows."""
        return Replicates(self.weight[rows], self.squares[rows], self.freedom[rows])

    def rescaled(self, rate: float) -> Replicates:
        """Return the same where rates of change are measured in another unit, given in the old one."""
        return Replicates(self.weight, self.squares / rate**2, self.freedom)

    @staticmethod
    def single(rows: int) -> Replicates:
        """Return rows without replicates."""
        return Replicates(np.ones(rows), np.zeros(rows), np.zeros(rows))

    @staticmethod
    def stacked(parts: list[Replicates]) -> Replicates | None:
        """Return the rows of several together; None where no row has a replicate."""
        result = Replicates(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("weight", "squares", "freedom")))
        return None if np.all(result.weight == 1.0) and not result.freedom.any() else result


def of_course(times: FloatArray, values: FloatArray) -> Replicates:
    """Return what replicates say of the rates of one time course.

    Parameters
    ----------
    times : (T,) array
        Increasing.
    values : (T, R) array
        The phosphorylated substrate in each replicate; NaN where it was not measured.

    Examples
    --------
    >>> course = of_course(np.array([0.0, 1.0]), np.array([[1.0, 1.2], [2.0, 2.6]]))
    >>> float(course.weight[0]), round(float(course.squares[0]), 6)
    (2.0, 0.08)
    """
    there = np.isfinite(values)
    counts = there.sum(axis=1)
    weight, squares, freedom = np.ones(len(times)), np.zeros(len(times)), np.zeros(len(times))
    for i in range(len(times) - 1):
        before, after = counts[i], counts[i + 1]
        if not before or not after:
            continue
        weight[i] = 2.0 * before * after / (before + after)
        if before > 1 and np.array_equal(there[i], there[i + 1]):
            rates = (values[i + 1] - values[i])[there[i]] / (times[i + 1] - times[i])
            squares[i] = np.sum((rates - rates.mean()) ** 2)
            freedom[i] = before - 1
    return Replicates(weight, squares, freedom)


def scatter_share(table: pd.DataFrame) -> float:
    r"""Share of the squared rates of change that is scatter of the replicates: the median over the variables.

    With means :math:`\bar y` of r replicates that have the variance :math:`s^2`, and steps :math:`\Delta` of time,

    .. math::
        \frac{\sum_n (s_n^2 / r_n + s_{n+1}^2 / r_{n+1}) / \Delta_n^2}
             {\sum_n (\bar y_{n+1} - \bar y_n)^2 / \Delta_n^2}.

    It is 0 without replicates.

    Parameters
    ----------
    table : DataFrame
        Tidy.
    """
    means = table.groupby(["variable", "condition", "time"])["value"].agg(["mean", "var", "size"]).reset_index()
    means["error"] = means["var"] / means["size"]
    courses = means.groupby(["variable", "condition"])
    step = courses["time"].diff()
    means["signal"] = (courses["mean"].diff() / step) ** 2
    means["scatter"] = (means["error"] + courses["error"].shift()) / step**2
    known = means.dropna(subset=["signal", "scatter"]).groupby("variable")[["scatter", "signal"]].sum()
    known = known[known["signal"] > 0.0]
    return float((known["scatter"] / known["signal"]).median()) if len(known) else 0.0
