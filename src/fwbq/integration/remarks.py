"""What a reader should know of an integrand, judged by its values alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import process
from ..measures import Warp

FloatArray = NDArray[np.float64]

#: A tail is judged by the points beyond this level, from `_FEWEST` of them on, the outer half of them.
_TAIL = 0.05
_FEWEST = 4
#: Exponent from which on an integral is said not to exist. That of the mean of a Cauchy distribution is 1, of t(1.1)
#: 0.91; of |x| under pareto(1.5), the heaviest tail that the coverage study integrates, 0.67.
ENDLESS = 0.97


def like_a_likelihood(values: FloatArray) -> str:
    """Return a remark if the values look like those of a likelihood: none negative, and few make nearly all the sum.

    The remark is for 20 values or more, of which a tenth make 99 % of the sum: a process on the values themselves then
    learns little from the others, which are nearly zero, while one on their logarithms learns from all of them.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-5.0, 5.0, 50)
    >>> like_a_likelihood(1.0 + x**2), like_a_likelihood(np.exp(-50.0 * x**2))[:38]
    ('', 'the integrand looks like a likelihood:')
    """
    n = len(values)
    if n < 20 or np.any(values < 0.0):
        return ""
    f, _ = process.normalise(values.reshape(n, -1))
    descending = np.sort(f, axis=0)[::-1]
    total = descending.sum(axis=0)
    few = n // 10
    if not np.all((total > 0.0) & (descending[:few].sum(axis=0) >= 0.99 * total)):
        return ""
    return (
        f"the integrand looks like a likelihood: no value is negative, and {few} of {n} make 99 % of their sum. If it "
        "is one, pass its logarithm to `fwbq.evidence`, which finds such a peak with far fewer evaluations"
    )


def endless_tail(warp: Warp | None, points: FloatArray, values: FloatArray) -> str:
    """Return a remark if |f| grows so fast along a tail of the measure that the integral cannot exist.

    Let s be the probability beyond a point. If |f| grows as s^-gamma, the tail gives int s^-gamma ds, which is finite
    for gamma < 1 only. The exponent is found by least squares of log |f| on -log s; two standard errors are subtracted,
    because f depends on other coordinates too, which make log |f| scatter about the line.

    Parameters
    ----------
    warp : Warp or None
        Coordinates of a measure with heavy tails; with None there are no such tails.
    points : (n, d) array
    values : (n,) or (n, m) array

    Examples
    --------
    >>> from scipy import stats
    >>> from fwbq import Product
    >>> x = np.array([[-1e5], [-1e3], [-50.0], [1.0], [50.0], [300.0], [1e3], [1e5], [1e6]])
    >>> endless_tail(Warp.of(Product(stats.cauchy())), x, x[:, 0])[:44]
    'the integral does not exist, or nearly all o'
    >>> endless_tail(Warp.of(Product(stats.cauchy())), x, np.sqrt(np.abs(x[:, 0])))
    ''
    """
    if warp is None:
        return ""
    columns = np.abs(values.reshape(len(values), -1))
    for i in warp.warped:
        for level, side in zip(warp.levels(points[:, i], int(i)), ("lower", "upper"), strict=True):
            if not np.isinf(getattr(warp.measure, side)[i]):
                continue
            outer = np.flatnonzero((level < _TAIL) & (level > 0.0))
            outer = outer[np.argsort(level[outer])]
            outer = outer[: max(_FEWEST, len(outer) // 2)]
            for f in columns.T:
                rows = outer[f[outer] > 0.0]
                exponent = _least_exponent(level[rows], f[rows])
                if exponent >= ENDLESS:
                    return (
                        f"the integral does not exist, or nearly all of it lies beyond the points: along the {side} "
                        f"tail of coordinate {i + 1} of the measure, |f| grows as the probability beyond a point to "
                        f"the power -{exponent:.2f}, and from -1 on no integral is finite. Do not use the answer: "
                        "choose an f that grows more slowly, or a measure with a lighter tail"
                    )
    return ""


def _least_exponent(level: FloatArray, f: FloatArray) -> float:
    """Return the slope of log f on -log(level), less two standard errors; 0 when there are too few points."""
    if len(level) < _FEWEST:
        return 0.0
    t, y = -np.log(level), np.log(f)
    t, y = t - t.mean(), y - y.mean()
    spread = float(t @ t)
    if not spread > 0.0:
        return 0.0
    slope = float(t @ y) / spread
    rest = y - slope * t
    return slope - 2.0 * float(np.sqrt(rest @ rest / (len(t) - 2) / spread))
