"""Comparisons of models: probabilities, certainty, members, numerical error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLACK, BLUE, SKY, VERMILLION, outer_labels, panels, short, styled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..selection import Comparison

#: Probability of the ranges drawn: that of the boxes' whiskers.
_LEVEL = 0.9


@styled
def model_probabilities(
    found: Comparison | pd.DataFrame,
    axes: Any = None,
    *,
    first: int | None = None,
    named: bool | None = None,
    log: bool | None = None,
) -> list[Axes]:
    """Draw box plots of the posterior probability of each model: what the numerical error leaves open.

    The box holds the middle half of the draws, the whiskers 90 %, the line is the median.

    Parameters
    ----------
    found : Comparison or DataFrame
        Of a comparison the most probable models are drawn, in one panel. A table has the columns ``n``, ``position``,
        ``model`` and the quantiles ``q05``, ``q25``, ``q50``, ``q75``, ``q95``, and is drawn in one panel for each n.
    axes : sequence of Axes, optional
        One for each panel; a new figure by default.
    first : int, optional
        How many models to show; 10 of a comparison and 50 of a table by default.
    named : bool, optional
        Whether the models' names stand under their boxes; by default for a comparison.
    log : bool, optional
        Whether probabilities are drawn on a logarithmic axis, down to what is known of the last model shown. By default
        when more than half of a comparison's boxes would be flat lines otherwise.
    """
    import pandas as pd

    given = isinstance(found, pd.DataFrame)
    most = first if first is not None else 50 if given else 10
    frame = found if isinstance(found, pd.DataFrame) else _table(found, most)
    named = (not given) if named is None else named
    counts = sorted(set(frame["n"]))
    shown = frame[(frame["n"] == counts[-1]) & (frame["position"] < most)]
    if log is None:
        log = not given and bool((shown["q95"] < 0.02 * shown["q95"].max()).mean() > 0.5)
    height = 2.6 * -(-len(counts) // 2) + (0.8 if named else 0.0)
    width = 6.9 if len(counts) > 1 else 4.6
    drawn = panels(axes, len(counts), (width, height), columns=min(2, len(counts)), sharex=True, sharey=True)
    lowest = max(shown["q05"].min() / 10.0, 1e-15)
    for ax, n in zip(drawn, counts, strict=True):
        part = frame[(frame["n"] == n) & (frame["position"] < most)].sort_values("position")
        boxes = [
            {"med": r.q50, "q1": r.q25, "q3": r.q75, "whislo": r.q05, "whishi": r.q95, "fliers": []}
            for r in part.itertuples()
        ]
        ax.bxp(
            boxes,
            positions=part["position"] + 1,
            widths=0.7,
            showfliers=False,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": SKY, "edgecolor": BLUE, "linewidth": 0.6},
            medianprops={"color": VERMILLION, "linewidth": 1.2},
            whiskerprops={"color": BLUE, "linewidth": 0.6},
            capprops={"color": BLUE, "linewidth": 0.6},
        )
        ax.set_title(f"$n = {n}$")
        if log:
            ax.set(yscale="log", ylim=(lowest, 2.0))
        else:
            ax.set_ylim(bottom=0)
        if named:
            ax.set_xticks(part["position"] + 1, [short(name, 18) for name in part["model"]], rotation=60, ha="right")
            ax.tick_params(axis="x", labelbottom=True)
    outer_labels(drawn, 2, "" if named else "model, by rank", "posterior probability")
    return drawn


def _table(found: Comparison, most: int) -> pd.DataFrame:
    """Return the most probable models with the quantiles of their probabilities."""
    frame = found.to_frame().head(most)
    return frame.assign(n=found.stages[-1].n if found.stages else int(found.points.max()), position=range(len(frame)))


@styled
def map_probability(found: Comparison | pd.DataFrame, ax: Axes | None = None, *, level: float | None = None) -> Axes:
    """Draw P(the leading model is the true MAP) against the evaluations spent.

    Parameters
    ----------
    found : Comparison or DataFrame
        A table has the columns ``evaluations``, ``map_probability``.
    ax : Axes, optional
        Where to draw; a new figure by default.
    level : float, optional
        The level at which the run stops, drawn as a line; by default that of the comparison.
    """
    import pandas as pd

    if isinstance(found, pd.DataFrame):
        frame = found
    else:
        frame = found.history()
        level = found.settings.get("stop") if level is None else level
    (ax,) = panels(ax, 1, (4.6, 3.0))
    ax.plot(frame["evaluations"], frame["map_probability"], "o-", color=BLUE, markersize=4)
    if level is not None:
        ax.axhline(level, color=VERMILLION, linestyle="--", linewidth=1, label=f"stop at {level:g}")
        ax.legend()
    ax.set(xlabel="evaluations of the likelihood", ylabel="P(MAP)", ylim=(0, 1.03))
    if frame["evaluations"].max() > 10 * frame["evaluations"].min():
        ax.set_xscale("log")
    return ax


@styled
def inclusion(found: Comparison | pd.DataFrame, ax: Axes | None = None, *, first: int = 30) -> Axes:
    """Draw the inclusion probability of each member (enzyme) of the models; the bars hold 90 % of the numerical error.

    Parameters
    ----------
    found : Comparison or DataFrame
        A table has the columns ``name``, ``probability``, ``lower``, ``upper``.
    ax : Axes, optional
        Where to draw; a new figure by default.
    first : int, optional
        How many members to show, the most probable first.
    """
    import pandas as pd

    frame = found if isinstance(found, pd.DataFrame) else found.inclusion(level=_LEVEL)
    part = frame.sort_values("probability", ascending=False).head(first)
    (ax,) = panels(ax, 1, (4.6, 0.6 + 0.19 * max(len(part), 6)))
    position = np.arange(len(part))[::-1]
    middle = part["probability"].to_numpy()
    error = np.abs(np.stack([middle - part["lower"].to_numpy(), part["upper"].to_numpy() - middle]))
    ax.barh(position, middle, color=SKY, height=0.7)
    ax.errorbar(middle, position, xerr=error, fmt="none", ecolor=BLACK, elinewidth=1, capsize=2)
    ax.set_yticks(position, [short(name) for name in part["name"]])
    ax.set(xlabel="inclusion probability", xlim=(0, 1.02))
    return ax


@styled
def evidence_error(found: Comparison | pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the standard deviation of the log evidence against the points of a model, round by round.

    Parameters
    ----------
    found : Comparison or DataFrame
        A table has the columns ``n``, ``leading`` and ``median``, as :meth:`fwbq.Comparison.error_history` returns.
    ax : Axes, optional
        Where to draw; a new figure by default.
    """
    import pandas as pd

    frame = found if isinstance(found, pd.DataFrame) else found.error_history()
    (ax,) = panels(ax, 1, (4.6, 3.0))
    for column, label, colour, dash in (
        ("leading", "leading model", BLUE, "o-"),
        ("median", "median of all models", "#666666", "o:"),
    ):
        known = frame[np.isfinite(frame[column]) & (frame[column] > 0.0)]
        if len(known):
            ax.plot(known["n"], known[column], dash, color=colour, markersize=4, label=label)
    ax.set(xscale="log", yscale="log", xlabel="points for each model", ylabel="sd of the log evidence")
    ax.set_xticks(frame["n"], [str(n) for n in frame["n"]])
    ax.minorticks_off()
    _few_decades(ax)
    if ax.lines:
        ax.legend()
    return ax


def _few_decades(ax: Axes) -> None:
    """Mark 1, 2 and 5 of each power of ten on a vertical axis that has fewer than three powers of ten."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator

    low, high = ax.get_ylim()
    if high < 100.0 * low:
        ax.set_ylim(low / 1.5, 1.5 * high)  # so that a mark is inside, however close the values are
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FormatStrFormatter("%g"))
