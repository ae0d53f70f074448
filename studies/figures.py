"""Figures of the studies, from the tables that they return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fwbq.plots.style import BLACK, panels, styled
from fwbq.plots.style import method as method_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@styled
def coverage(frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw how often 95 % intervals hold the truth (top) and the median error beside Monte Carlo's (bottom), by group.

    Three groups stand side by side, further ones below them.

    Parameters
    ----------
    frame : DataFrame
        What `studies.coverage.run` returns: columns ``group``, ``family``, ``d``, ``n``, ``method``,
        ``covered95`` and ``error``. Dots are single families in single dimensions, of the method ``integrate``.
    """
    groups = list(dict.fromkeys(frame["group"]))
    columns = min(3, len(groups))  # three fill a page of text with labels that can be read
    rows = 2 * -(-len(groups) // columns)
    drawn = panels(axes, rows * columns, (2.3 * columns, 1.9 * rows + 0.4), columns=columns, sharex=True)
    places = [(2 * (j // columns) * columns + j % columns) for j in range(len(groups))]
    tops, bottoms = [drawn[i] for i in places], [drawn[i + columns] for i in places]
    for empty in set(drawn) - {*tops, *bottoms}:
        empty.set_axis_off()
    cells = frame.groupby(["group", "family", "d", "n", "method"], sort=False)
    cell = cells.agg(covered=("covered95", "mean"), error=("error", "median")).reset_index()
    reference = cell[cell["method"] == "Monte Carlo"].set_index(["family", "d", "n"])["error"]
    keys = list(zip(cell["family"], cell["d"], cell["n"], strict=True))
    cell["ratio"] = cell["error"].to_numpy() / reference.reindex(keys).to_numpy()
    for j, group in enumerate(groups):
        top, bottom = tops[j], bottoms[j]
        top.axhspan(0.92, 0.98, color=BLACK, alpha=0.08, linewidth=0)
        top.axhline(0.95, color=BLACK, linewidth=0.8)
        for i, method in enumerate(dict.fromkeys(frame["method"])):
            colour, dash = method_style(method, i)
            part = cell[(cell["group"] == group) & (cell["method"] == method)]
            pooled = frame[(frame["group"] == group) & (frame["method"] == method)].groupby("n")["covered95"].mean()
            top.plot(pooled.index, pooled, dash, color=colour, marker="o", markersize=3, label=method)
            if method == "integrate":
                top.plot(part["n"], part["covered"], ".", color=colour, markersize=3, alpha=0.4)
            ratio = part[part["ratio"] > 0.0].groupby("n")["ratio"].median()
            bottom.plot(ratio.index, ratio, dash, color=colour, marker="o", markersize=3, label=method)
        top.set(title=group, ylim=(0.0, 1.03), xscale="log")
        bottom.set(yscale="log", xlabel="evaluations $n$" if j + columns >= len(groups) else "")
        ticks = sorted(set(frame["n"]))
        bottom.set_xticks(ticks, [str(n) for n in ticks])
        bottom.minorticks_off()
    ends = [end for bottom in bottoms for end in bottom.get_ylim()]
    for j, (top, bottom) in enumerate(zip(tops, bottoms, strict=True)):
        bottom.set_ylim(min(ends), max(ends))
        if j % columns == 0:
            top.set_ylabel("coverage, 95 %")
            bottom.set_ylabel("error / Monte Carlo's")
        else:
            top.tick_params(labelleft=False)
            bottom.tick_params(labelleft=False)
    if axes is None:
        names = bottoms[0].get_legend_handles_labels()
        tops[0].figure.legend(*names, loc="outside lower center", ncols=2 * columns - 1)
    else:
        drawn[-1].legend()
    return drawn


@styled
def evidence_study(frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw the error of each log evidence against its stated standard deviation, a panel for each n.

    Parameters
    ----------
    frame : DataFrame
        What `studies.evidence.run` returns: columns ``n``, ``sd``, ``error``, ``covered``. Points above the line
        are errors of more than two standard deviations. Values above 1e3, of runs that say they know nothing, are
        drawn at 1e3, smaller ones than 1e-9 at 1e-9.
    """
    sizes = sorted(set(frame["n"]))
    drawn = panels(axes, len(sizes), (6.9, 2.8 * -(-len(sizes) // 2)), columns=2, sharex=True, sharey=True)
    floor, ceiling = 1e-9, 1e3  # exact answers have no logarithm
    for panel, n in zip(drawn, sizes, strict=True):
        part = frame[(frame["n"] == n) & np.isfinite(frame["sd"])]
        sd, error = np.clip(part["sd"], floor, ceiling), np.clip(part["error"], floor, ceiling)
        panel.plot([floor, 10.0], [2.0 * floor, 20.0], color=BLACK, linewidth=0.8)
        for held, marker in ((True, "."), (False, "x")):
            at = part["covered"] == held
            panel.plot(
                sd[at], error[at], marker, color=method_style("", 0)[0] if held else BLACK, markersize=4, alpha=0.7
            )
        panel.set(title=f"$n = {n}$, {100 * part['covered'].mean():.0f} % held", xscale="log", yscale="log")
    for panel in drawn[-2:]:
        panel.set_xlabel("stated sd")
    for panel in drawn[::2]:
        panel.set_ylabel("|error| of the log evidence")
    return drawn
