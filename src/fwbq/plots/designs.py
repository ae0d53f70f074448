"""Designs: where their points lie, and how fast their error falls."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .background import density, extent, pair, shade
from .style import method, panels, styled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..designs import Design
    from ..designs.point_set import PointSet

#: Points drawn of a design of which none have been asked for yet.
_FIRST = 25
#: Sizes at which the worst-case error is measured: enough for a smooth curve.
_SIZES = 16


@styled
def design(
    design: Design | PointSet,
    n: int | None = None,
    ax: Axes | None = None,
    *,
    coordinates: tuple[int, int] | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the first points of a design over the density of its measure; colour is the order in which they came.

    Parameters
    ----------
    design : Design or PointSet
        For example `fwbq.FrankWolfe` or `fwbq.SBQ`.
    n : int, optional
        How many points; by default those there are, or 25.
    ax : Axes, optional
        Where to draw; a new figure by default.
    coordinates : pair of int, optional
        The two coordinates drawn of points in more than two dimensions; the first two by default.
    title : str, optional
        Above the figure; by default the design's name and the number of points.
    """
    existing = len(design) if hasattr(design, "__len__") else 0
    points = design.take(n if n is not None else existing or _FIRST)
    measure = design.embedding.measure
    (ax,) = panels(ax, 1, (3.4, 3.2))
    order = np.arange(1, len(points) + 1)
    if measure.dim == 1:
        x = extent(measure, 0, 201, points)
        found = density(measure, (0,), [x])
        if found is not None and found.max() > 0.0:
            ax.fill_between(x, len(points) * found / found.max(), color="0.88", linewidth=0, zorder=0)
        ax.scatter(points[:, 0], order, s=14, c=order, cmap="viridis", zorder=3)
        ax.set(xlabel="$x$", ylabel="order", xlim=(x[0], x[-1]))
    else:
        i, j = pair(coordinates, measure.dim)
        shade(ax, measure, (i, j), points)
        ax.scatter(
            points[:, i], points[:, j], s=26, c=order, cmap="viridis", edgecolor="white", linewidth=0.5, zorder=3
        )
    ax.set_title(f"{type(design).__name__}, {len(points)} points" if title is None else title)
    return ax


@styled
def mmd(
    designs: Design | PointSet | Mapping[str, Any] | pd.DataFrame,
    ax: Axes | None = None,
    *,
    n: int | None = None,
    title: str | None = None,
) -> Axes:
    """Draw squared worst-case error against n for one or several designs, each with its own weights.

    Parameters
    ----------
    designs : Design, PointSet, mapping of name to them, or DataFrame
        A table has the columns ``method``, ``n``, ``mmd2`` and, for several runs, ``run``; runs are summarised by their
        median and range.
    ax : Axes, optional
        Where to draw; a new figure by default.
    n : int, optional
        The largest number of points, for designs; by default what they have, or 25.
    title : str, optional
        Above the figure.
    """
    import pandas as pd

    frame = designs if isinstance(designs, pd.DataFrame) else _errors(designs, n)
    (ax,) = panels(ax, 1, (4.6, 3.4))
    for i, name in enumerate(dict.fromkeys(frame["method"])):
        colour, dash = method(name, i)
        runs = frame[frame["method"] == name].groupby("n")["mmd2"]
        middle = runs.median()
        ax.plot(middle.index, middle, dash, color=colour, label=name)
        if runs.size().max() > 1:
            ax.fill_between(middle.index, runs.min(), runs.max(), color=colour, alpha=0.15, linewidth=0)
    ax.set(xscale="log", yscale="log", xlabel="number of points $n$", ylabel="MMD$^2$", title=title or "")
    ax.legend(ncols=2)
    return ax


def _errors(designs: Any, n: int | None) -> pd.DataFrame:
    """Return the squared worst-case error of the rules of designs at several n."""
    import pandas as pd

    named = designs if isinstance(designs, Mapping) else {type(designs).__name__: designs}
    rows = []
    for name, each in named.items():
        most = n if n is not None else (len(each) if hasattr(each, "__len__") else 0) or _FIRST
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a design that ended is drawn as far as it went
            most = min(most, len(each.take(most)))
            sizes = sorted({round(size) for size in np.geomspace(1, most, _SIZES).tolist()})
            rows += [(name, size, each.rule(size).mmd2) for size in sizes]
    return pd.DataFrame(rows, columns=["method", "n", "mmd2"])
