"""The bounds beside the error of a run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate

if TYPE_CHECKING:
    import pandas as pd

    from ..designs import Design

from .bounds import gap_bound, theorem_1
from .polytope import PAIRS, diameter, diameter_bound, radius_bound

FloatArray = NDArray[np.float64]

# Squared MMD, relative to the squared diameter, below which the iterate is the mean element to rounding.
ROUNDING = 1e-14
# R is taken to tend to zero when its upper bound fell below this part of its value at a quarter of the run. With line
# search to n = 200 in two dimensions that part was 0.34 to 0.49 for ExpQuad and Matern32, whose R is zero, and 0.97 and
# 1 with 5 and 3 random features, whose R is not.
FALLING = 0.9


@dataclass(frozen=True, eq=False)
class BoundsTable:
    """The error of a run beside its bounds, one entry per number of points.

    Attributes
    ----------
    n : (N,) array of int
        Number of points.
    mmd : (N,) array
        Worst-case error of the design's own rule.
    gap : (N,) array
        sqrt(gap), the sharp bound from the duality gap over the candidates.
    root_n : (N,) array
        D n^-1/2.
    radius : (N,) array
        Upper bound on R seen so far.
    herding, herding_sharp : (N,) array
        Theorem 1 for FWBQ with this upper bound for R: the least that the theorem can claim.
    line_search, line_search_sharp : (N,) array
        The same for FWLSBQ.
    diameter : float
        D, or an upper bound on it.
    void : bool
        Whether the exponential bound says nothing: the upper bound on R is still falling at the last n, or even with
        it the bound is no better than D n^-1/2.
    verdict : str
        The same in a sentence.
    """

    n: NDArray[np.intp]
    mmd: FloatArray
    gap: FloatArray
    root_n: FloatArray
    radius: FloatArray
    herding: FloatArray
    herding_sharp: FloatArray
    line_search: FloatArray
    line_search_sharp: FloatArray
    diameter: float
    void: bool
    verdict: str

    def __len__(self) -> int:
        return len(self.n)

    def __repr__(self) -> str:
        return f"BoundsTable(n=1..{len(self)}, mmd={self.mmd[-1]:.3g}, root_n={self.root_n[-1]:.3g}; {self.verdict})"

    def to_frame(self) -> pd.DataFrame:
        """Return the columns as a pandas DataFrame, one row per n."""
        import pandas as pd

        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        return pd.DataFrame({k: v for k, v in columns.items() if isinstance(v, np.ndarray)})


def compare(design: Design, n: int, *, points: ArrayLike | None = None) -> BoundsTable:
    """Lay the error of a design's first `n` rules beside the bounds.

    Parameters
    ----------
    design : Design
        Any design; extended to `n` points if need be.
    n : int
        Number of points.
    points : (M, d) array, optional
        The set over which D is taken: by default the design's candidates, or its points where it has none. Beyond
        20,000 of them D is replaced by :func:`diameter_bound`.

    Returns
    -------
    BoundsTable
        As many entries as the design has points, at most `n`.

    Notes
    -----
    R is not known, only bounded from above by the run, so that the bounds of Theorem 1 are the least that it can claim.
    In a space of infinite dimension R = 0: the upper bound tends to 0 with n, and `verdict` says that the exponential
    bound is void.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]))
    >>> table = compare(fwbq.FrankWolfe(embedding, candidates=500, rng=0), 50)
    >>> table.void, bool((table.mmd <= table.root_n).all())
    (True, True)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a design that ends before n gives a shorter table
        own = design.take(n)
    reached, trace = len(own), design.trace
    over = getattr(design, "candidates", own) if points is None else _validate.points(points, "points", own.shape[1])
    d = diameter(design.embedding.kernel, over) if len(over) <= PAIRS else diameter_bound(design.embedding, over)
    count = np.arange(1, reached + 1)
    mmd2, gap = trace.mmd2[:reached], trace.gap[:reached]
    # Where the MMD is rounding error, mu - g has no meaningful direction along which to bound R.
    radius = radius_bound(np.where(mmd2 > ROUNDING * d * d, gap, np.nan), mmd2)
    # A ball of radius R has diameter 2 R; NaN as long as the run has no gap to bound R with.
    radius = np.where(np.isinf(radius), np.nan, np.minimum(radius, d / 2))
    root_n, exponential = d / np.sqrt(count), theorem_1(count, d, radius, "line-search", False)
    void, verdict = _verdict(radius, exponential, root_n, d)
    return BoundsTable(
        n=count,
        mmd=np.sqrt(mmd2),
        gap=gap_bound(gap, sharp=True),
        root_n=root_n,
        radius=radius,
        herding=theorem_1(count, d, radius, "herding", False),
        herding_sharp=theorem_1(count, d, radius, "herding", True),
        line_search=exponential,
        line_search_sharp=theorem_1(count, d, radius, "line-search", True),
        diameter=d,
        void=void,
        verdict=verdict,
    )


def _verdict(radius: FloatArray, exponential: FloatArray, root_n: FloatArray, d: float) -> tuple[bool, str]:
    n, last = len(radius), radius[-1]
    if d == 0.0:
        return True, "D = 0, a single point: the bounds say nothing, only the error itself does"
    if np.isnan(last):
        return False, "this design has no duality gap to bound R with"
    earlier = -(-n // 4)
    seen = f"R <= {last:.3g} (R/D <= {last / d:.3g}) at n = {n}"
    if last < FALLING * radius[earlier - 1]:
        return (
            True,
            f"{seen}, from {radius[earlier - 1]:.3g} at n = {earlier}: R tends to 0, the exponential bound is void",
        )
    if exponential[-1] >= root_n[-1]:
        return True, f"{seen}: the exponential bound is void, no better than D n^-1/2 up to n = {n}"
    return False, f"{seen} and steady: the exponential bound is below D n^-1/2 if R is near this"
