"""The figures of the paper, from the tables that its studies return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .designs import mmd
from .rules import weights
from .style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    VERMILLION,
    field,
    outer_labels,
    panels,
    styled,
)  # fmt: skip
from .style import (
    method as method_style,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@styled
def mean_elements(frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw approximations of the mean element, one panel per n, with the truth last.

    Parameters
    ----------
    frame : DataFrame
        Columns ``panel``, ``x``, ``y``, ``value``, as :func:`fwbq.paper.simulation.mean_elements` returns.
    axes : sequence of Axes, optional
        One per panel.
    """
    names = list(dict.fromkeys(frame["panel"]))
    drawn = panels(axes, len(names), (6.9, 4.6), columns=3, sharex=True, sharey=True)
    levels = np.linspace(0, frame.loc[frame["panel"] == names[-1], "value"].max() * 1.05, 13)
    for ax, panel in zip(drawn, names, strict=True):
        part = frame[frame["panel"] == panel]
        shown = field(ax, part, "value", levels=levels, cmap="viridis", extend="max")
        ax.set_title(panel)
        ax.set(xticks=[-4, 0, 4], yticks=[-4, 0, 4])
    outer_labels(drawn, 3, "$x_1$", "$x_2$")
    figure = drawn[0].figure
    figure.colorbar(shown, ax=drawn, label="mean element", shrink=0.8, format="%.3f", ticks=levels[::3])
    return drawn


@styled
def design_points(points: pd.DataFrame, density: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw a density with the first points of several designs, one panel each.

    Parameters
    ----------
    points : DataFrame
        Columns ``method``, ``order``, ``x``, ``y``.
    density : DataFrame
        Columns ``x``, ``y``, ``density`` on a grid.
    """
    methods = list(dict.fromkeys(points["method"]))
    drawn = panels(axes, len(methods), (6.9, 2.6), sharex=True, sharey=True)
    for i, (ax, method) in enumerate(zip(drawn, methods, strict=True)):
        field(ax, density, "density", levels=12, cmap="Greys")
        part = points[points["method"] == method]
        ax.scatter(
            part["x"], part["y"], s=22, color=method_style(method, i)[0], edgecolor="white", linewidth=0.6, zorder=3
        )
        ax.set_title(f"{method}, first {len(part)} points")
        ax.set(xticks=[-4, 0, 4], yticks=[-4, 0, 4])
    outer_labels(drawn, len(methods), "$x_1$", "$x_2$")
    return drawn


@styled
def estimates(frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw estimates of an integral against n with 68 % and 95 % bands and the truth, one panel per method.

    Parameters
    ----------
    frame : DataFrame
        Columns ``method``, ``n``, ``mean``, ``lower68``, ``upper68``, ``lower95``, ``upper95``, ``truth``.
    """
    methods = list(dict.fromkeys(frame["method"]))
    drawn = panels(axes, len(methods), (6.9, 2.8), sharey=True, sharex=True)
    for i, (ax, method) in enumerate(zip(drawn, methods, strict=True)):
        colour, _ = method_style(method, i)
        part = frame[frame["method"] == method].sort_values("n")
        ax.fill_between(
            part["n"], part["lower95"], part["upper95"], color=colour, alpha=0.18, linewidth=0, label="95 %"
        )
        ax.fill_between(
            part["n"], part["lower68"], part["upper68"], color=colour, alpha=0.35, linewidth=0, label="68 %"
        )
        ax.plot(part["n"], part["mean"], color=colour, label="estimate")
        ax.axhline(part["truth"].iloc[0], color=BLACK, linewidth=1, linestyle="--", label="truth")
        ax.set(title=method, xscale="log", xlabel="number of points $n$")
        ax.margins(x=0)
    drawn[-1].legend(loc="upper right")
    # The first few points say little and would squeeze the rest into a line.
    tail = frame[frame["n"] >= 10]
    low, high, truth = tail["lower68"].min(), tail["upper68"].max(), frame["truth"].iloc[0]
    reach = 1.3 * max(high - truth, truth - low, 1e-12)
    drawn[0].set_ylim(truth - reach, truth + reach)
    drawn[0].set_ylabel("integral")
    return drawn


#: Colour of each curve of :func:`bounds`.
CURVES: dict[str, tuple[str, str]] = {
    "measured": (BLACK, "-"),
    "duality gap": (BLUE, "-"),
    r"$D\,n^{-1/2}$": (GREEN, "-."),
    "Theorem 1": (VERMILLION, "--"),
    "Theorem 1, sharp": (ORANGE, "--"),
}


@styled
def bounds(frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw the measured MMD of each run beside the bounds that the theorems give for it.

    Parameters
    ----------
    frame : DataFrame
        Columns ``run``, ``curve``, ``n``, ``value``; of the curves, those named in ``CURVES`` are drawn.
    """
    runs = list(dict.fromkeys(frame["run"]))
    drawn = panels(axes, len(runs), (6.9, 2.9))
    for ax, run in zip(drawn, runs, strict=True):
        part = frame[frame["run"] == run]
        for curve, (colour, dash) in CURVES.items():
            line = part[part["curve"] == curve].sort_values("n")
            ax.plot(line["n"], line["value"], dash, color=colour, label=curve)
        ax.set(xscale="log", yscale="log", title=run, xlabel="number of points $n$")
    drawn[0].set_ylabel("MMD")
    drawn[0].figure.legend(*drawn[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(CURVES))
    return drawn


@styled
def features(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw MMD^2 under the exact kernel of rules made with random Fourier features; colour by kernel, dash by weights.

    Parameters
    ----------
    frame : DataFrame
        Columns ``method``, ``kernel``, ``n``, ``mmd2``.
    """
    (ax,) = panels(ax, 1, (4.9, 3.4))
    colours = dict(zip(dict.fromkeys(frame["kernel"]), (BLACK, BLUE, VERMILLION, GREEN, PURPLE), strict=False))
    dashes = dict(zip(dict.fromkeys(frame["method"]), ("--", "-", ":"), strict=False))
    for (kernel, method), line in frame.groupby(["kernel", "method"], sort=False):
        ax.plot(line["n"], line["mmd2"], dashes[method], color=colours[kernel], label=f"{method}, {kernel}")
    # Above the error of no points at all a rule is worth nothing; how far above does not matter.
    ax.set(xscale="log", yscale="log", ylim=(frame["mmd2"].min() / 3, 3.0))
    ax.set(xlabel="number of points $n$", ylabel="MMD$^2$ under the exact kernel")
    ax.legend(loc="lower left", fontsize=7)
    return ax


@styled
def mmd_and_weights(curves: pd.DataFrame, frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw MMD^2 against n and, beside it, the distribution of the weights of the same methods."""
    left, right = panels(axes, 2, (6.9, 3.2))
    return [mmd(curves, left), weights(frame, right)]
