"""Every figure of the project, as data in and Matplotlib Axes out.

The functions take the tidy tables that the studies and results return, draw on the Axes they are given (or on a new
figure of the right size) and return the Axes. One style for all: the colours of Okabe and Ito, which colour-blind
readers can tell apart, each method with its own colour, dash and name everywhere.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from . import _files, _validate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from .inference import Evidence
    from .rules import Rule

P = ParamSpec("P")
T = TypeVar("T")

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip

#: Colour and dash of each method, the same in every figure.
METHODS: dict[str, tuple[str, str]] = {
    "MC": ("#999999", ":"),
    "QMC": ("#666666", "-."),
    "FW": (SKY, "--"),
    "FWLS": (ORANGE, "--"),
    "FWBQ": (BLUE, "-"),
    "FWLSBQ": (VERMILLION, "-"),
    "SBQ": (GREEN, "-"),
}

STYLE: dict[str, Any] = {
    "figure.dpi": 150,
    "savefig.dpi": 150,
    "savefig.bbox": "tight",
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.which": "major",
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


def style() -> Any:
    """Context manager under which every figure of the project is drawn.

    Examples
    --------
    >>> from fwbq import plots
    >>> with plots.style():
    ...     pass
    """
    from matplotlib import rc_context

    return rc_context(STYLE)  # type: ignore[arg-type, unused-ignore]


def _styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Draw under the style of the project, whatever the reader's own settings are."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> T:
        with style():
            return draw(*args, **kwargs)

    return drawn


def _axes(axes: Any, count: int, size: tuple[float, float], *, columns: int | None = None, **kwargs: Any) -> list[Axes]:
    """Return the Axes given, or those of a new figure, as a list."""
    if axes is not None:
        given = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(given) < count:
            raise ValueError(f"`axes` holds {len(given)} Axes; this figure needs {count}.")
        return given[:count]
    import matplotlib.pyplot as plt

    columns = columns or count
    rows = -(-count // columns)
    _, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, **kwargs)
    flat = list(grid.ravel())
    for unused in flat[count:]:
        unused.remove()
    return flat[:count]


#: Colours for names that are not in METHODS: none of theirs, so that the two can stand in one figure.
SPARE = (PURPLE, BLACK, "#882255", "#999933", "#332288")


def _method(name: str, position: int) -> tuple[str, str]:
    """Colour and dash of a method; unknown names take the spare ones in turn."""
    return METHODS.get(name, (SPARE[position % len(SPARE)], "-"))


def _field(ax: Axes, frame: pd.DataFrame, value: str, **kwargs: Any) -> Any:
    """Draw a table of (x, y, value) on a grid as filled contours."""
    table = frame.pivot(index="y", columns="x", values=value)
    drawn = ax.contourf(table.columns, table.index, table.to_numpy(), **kwargs)
    ax.set_aspect("equal")
    ax.grid(False)
    return drawn


@_styled
def mean_elements(frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw approximations of the mean element, one panel per n, with the truth last.

    Parameters
    ----------
    frame : DataFrame
        Columns ``panel``, ``x``, ``y``, ``value``, as :func:`fwbq.studies.simulation.mean_elements` returns.
    axes : sequence of Axes, optional
        One per panel.
    """
    panels = list(dict.fromkeys(frame["panel"]))
    drawn = _axes(axes, len(panels), (6.9, 4.6), columns=3, sharex=True, sharey=True)
    levels = np.linspace(0, frame.loc[frame["panel"] == panels[-1], "value"].max() * 1.05, 13)
    for ax, panel in zip(drawn, panels, strict=True):
        part = frame[frame["panel"] == panel]
        field = _field(ax, part, "value", levels=levels, cmap="viridis", extend="max")
        ax.set_title(panel)
        ax.set(xticks=[-4, 0, 4], yticks=[-4, 0, 4])
    _outer_labels(drawn, 3, "$x_1$", "$x_2$")
    figure = drawn[0].figure
    figure.colorbar(field, ax=drawn, label="mean element", shrink=0.8, format="%.3f", ticks=levels[::3])
    return drawn


def _outer_labels(axes: Sequence[Axes], columns: int, x: str, y: str) -> None:
    for i, ax in enumerate(axes):
        if i + columns >= len(axes):
            ax.set_xlabel(x)
        if i % columns == 0:
            ax.set_ylabel(y)


@_styled
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
    drawn = _axes(axes, len(methods), (6.9, 2.6), sharex=True, sharey=True)
    for i, (ax, method) in enumerate(zip(drawn, methods, strict=True)):
        _field(ax, density, "density", levels=12, cmap="Greys")
        part = points[points["method"] == method]
        ax.scatter(part["x"], part["y"], s=22, color=_method(method, i)[0], edgecolor="white", linewidth=0.6, zorder=3)
        ax.set_title(f"{method}, first {len(part)} points")
        ax.set(xticks=[-4, 0, 4], yticks=[-4, 0, 4])
    _outer_labels(drawn, len(methods), "$x_1$", "$x_2$")
    return drawn


@_styled
def rule(rule: Rule, ax: Axes | None = None, *, title: str | None = None, largest: float | None = None) -> Axes:
    """Draw a rule in two dimensions over the density of its measure: area is weight, colour is sign.

    Parameters
    ----------
    rule : Rule
        With its embedding, of a measure that has a density in two dimensions.
    largest : float, optional
        The absolute weight that is drawn largest; by default the rule's own.
    """
    if rule.embedding is None or rule.points.shape[1] != 2:
        raise ValueError("`rule` must have its embedding and points in two dimensions to be drawn over its measure.")
    (ax,) = _axes(ax, 1, (3.4, 3.2))
    measure = rule.embedding.measure
    reach = 2.4 * measure.scale
    middle = measure.expectation
    x, y = (np.linspace(middle[i] - reach[i], middle[i] + reach[i], 81) for i in range(2))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    density = np.exp(measure.log_density(grid.reshape(-1, 2))).reshape(len(y), len(x))
    ax.contourf(x, y, density, levels=10, cmap="Greys", vmax=1.6 * density.max())
    size = np.abs(rule.weights) / (largest or np.abs(rule.weights).max())
    colours = np.where(rule.weights >= 0.0, BLUE, VERMILLION)
    area = 4.0 + float(np.clip(2000.0 / len(rule), 20.0, 80.0)) * size
    ax.scatter(rule.points[:, 0], rule.points[:, 1], s=area, c=colours, edgecolor="white", linewidth=0.5, zorder=3)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", title=title or "")
    ax.grid(False)
    return ax


@_styled
def mmd(frame: pd.DataFrame, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Draw squared worst-case error against n for several methods; runs are summarised by their median and range.

    Parameters
    ----------
    frame : DataFrame
        Columns ``method``, ``n``, ``mmd2`` and, for several runs, ``run``.
    """
    (ax,) = _axes(ax, 1, (4.6, 3.4))
    for i, method in enumerate(dict.fromkeys(frame["method"])):
        colour, dash = _method(method, i)
        runs = frame[frame["method"] == method].groupby("n")["mmd2"]
        middle = runs.median()
        ax.plot(middle.index, middle, dash, color=colour, label=method)
        if runs.size().max() > 1:
            ax.fill_between(middle.index, runs.min(), runs.max(), color=colour, alpha=0.15, linewidth=0)
    ax.set(xscale="log", yscale="log", xlabel="number of points $n$", ylabel="MMD$^2$", title=title or "")
    ax.legend(ncols=2)
    return ax


@_styled
def estimates(frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw estimates of an integral against n with 68 % and 95 % bands and the truth, one panel per method.

    Parameters
    ----------
    frame : DataFrame
        Columns ``method``, ``n``, ``mean``, ``lower68``, ``upper68``, ``lower95``, ``upper95``, ``truth``.
    """
    methods = list(dict.fromkeys(frame["method"]))
    drawn = _axes(axes, len(methods), (6.9, 2.8), sharey=True, sharex=True)
    for i, (ax, method) in enumerate(zip(drawn, methods, strict=True)):
        colour, _ = _method(method, i)
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


@_styled
def model_probabilities(
    frame: pd.DataFrame, axes: Any = None, *, first: int = 50, named: bool = False, log: bool = False
) -> list[Axes]:
    """Draw box plots of the posterior probability of each model, one panel per number of points.

    Parameters
    ----------
    frame : DataFrame
        Columns ``n``, ``position``, ``model`` and the quantiles of the draws ``q05``, ``q25``, ``q50``, ``q75``,
        ``q95``.
    first : int, optional
        How many models to show, in the order of ``position``.
    named : bool, optional
        Whether the models' names stand under their boxes; for few models.
    log : bool, optional
        Whether probabilities are drawn on a logarithmic axis, down to what is known of the last model shown.
    """
    counts = sorted(set(frame["n"]))
    height = 2.6 * -(-len(counts) // 2) + (0.8 if named else 0.0)
    drawn = _axes(axes, len(counts), (6.9, height), columns=min(2, len(counts)), sharex=True, sharey=True)
    shown = frame[(frame["n"] == counts[-1]) & (frame["position"] < first)]
    lowest = max(shown["q05"].min() / 10.0, 1e-15)
    for ax, n in zip(drawn, counts, strict=True):
        part = frame[(frame["n"] == n) & (frame["position"] < first)].sort_values("position")
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
            ax.set_xticks(part["position"] + 1, [_short(name, 18) for name in part["model"]], rotation=60, ha="right")
            ax.tick_params(axis="x", labelbottom=True)
    _outer_labels(drawn, 2, "" if named else "model, by rank", "posterior probability")
    return drawn


@_styled
def weights(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the weights of several rules, each as sorted dots.

    Parameters
    ----------
    frame : DataFrame
        Columns ``method``, ``weight``.
    """
    (ax,) = _axes(ax, 1, (4.6, 3.2))
    methods = list(dict.fromkeys(frame["method"]))
    rng = np.random.default_rng(0)  # horizontal jitter only, so that dots do not hide each other
    for i, method in enumerate(methods):
        values = frame.loc[frame["method"] == method, "weight"].to_numpy()
        ax.scatter(
            i + rng.uniform(-0.25, 0.25, len(values)), values, s=6, color=_method(method, i)[0], alpha=0.6, linewidth=0
        )
    ax.axhline(0, color=BLACK, linewidth=0.8)
    ax.set_yscale("symlog", linthresh=1e-2)
    ax.set_xticks(range(len(methods)), methods)
    ax.set(ylabel="weight", xlabel="method")
    return ax


#: Colour of each curve of :func:`bounds`.
CURVES: dict[str, tuple[str, str]] = {
    "measured": (BLACK, "-"),
    "duality gap": (BLUE, "-"),
    r"$D\,n^{-1/2}$": (GREEN, "-."),
    "Theorem 1": (VERMILLION, "--"),
    "Theorem 1, sharp": (ORANGE, "--"),
}


@_styled
def bounds(frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw the measured MMD of each run beside the bounds that the theorems give for it.

    Parameters
    ----------
    frame : DataFrame
        Columns ``run``, ``curve``, ``n``, ``value``; of the curves, those named in ``CURVES`` are drawn.
    """
    runs = list(dict.fromkeys(frame["run"]))
    drawn = _axes(axes, len(runs), (6.9, 2.9))
    for ax, run in zip(drawn, runs, strict=True):
        part = frame[frame["run"] == run]
        for curve, (colour, dash) in CURVES.items():
            line = part[part["curve"] == curve].sort_values("n")
            ax.plot(line["n"], line["value"], dash, color=colour, label=curve)
        ax.set(xscale="log", yscale="log", title=run, xlabel="number of points $n$")
    drawn[0].set_ylabel("MMD")
    drawn[0].figure.legend(*drawn[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(CURVES))
    return drawn


@_styled
def features(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw MMD^2 under the exact kernel of rules made with random Fourier features; colour by kernel, dash by weights.

    Parameters
    ----------
    frame : DataFrame
        Columns ``method``, ``kernel``, ``n``, ``mmd2``.
    """
    (ax,) = _axes(ax, 1, (4.9, 3.4))
    colours = dict(zip(dict.fromkeys(frame["kernel"]), (BLACK, BLUE, VERMILLION, GREEN, PURPLE), strict=False))
    dashes = dict(zip(dict.fromkeys(frame["method"]), ("--", "-", ":"), strict=False))
    for (kernel, method), line in frame.groupby(["kernel", "method"], sort=False):
        ax.plot(line["n"], line["mmd2"], dashes[method], color=colours[kernel], label=f"{method}, {kernel}")
    # Above the error of no points at all a rule is worth nothing; how far above does not matter.
    ax.set(xscale="log", yscale="log", ylim=(frame["mmd2"].min() / 3, 3.0))
    ax.set(xlabel="number of points $n$", ylabel="MMD$^2$ under the exact kernel")
    ax.legend(loc="lower left", fontsize=7)
    return ax


@_styled
def map_probability(frame: pd.DataFrame, ax: Axes | None = None, *, level: float | None = None) -> Axes:
    """Draw P(the leading model is the true MAP) against the evaluations spent.

    Parameters
    ----------
    frame : DataFrame
        Columns ``evaluations``, ``map_probability``.
    level : float, optional
        The level at which the run stops, drawn as a line.
    """
    (ax,) = _axes(ax, 1, (4.6, 3.0))
    ax.plot(frame["evaluations"], frame["map_probability"], "o-", color=BLUE, markersize=4)
    if level is not None:
        ax.axhline(level, color=VERMILLION, linestyle="--", linewidth=1, label=f"stop at {level:g}")
        ax.legend()
    ax.set(xlabel="evaluations of the likelihood", ylabel="P(MAP)", ylim=(0, 1.03))
    if frame["evaluations"].max() > 10 * frame["evaluations"].min():
        ax.set_xscale("log")
    return ax


@_styled
def inclusion(frame: pd.DataFrame, ax: Axes | None = None, *, first: int = 30) -> Axes:
    """Draw the inclusion probability of each enzyme with its numerical error.

    Parameters
    ----------
    frame : DataFrame
        Columns ``name``, ``probability``, ``lower``, ``upper``.
    """
    part = frame.sort_values("probability", ascending=False).head(first)
    (ax,) = _axes(ax, 1, (4.6, 0.6 + 0.19 * max(len(part), 6)))
    position = np.arange(len(part))[::-1]
    middle = part["probability"].to_numpy()
    error = np.abs(np.stack([middle - part["lower"].to_numpy(), part["upper"].to_numpy() - middle]))
    ax.barh(position, middle, color=SKY, height=0.7)
    ax.errorbar(middle, position, xerr=error, fmt="none", ecolor=BLACK, elinewidth=1, capsize=2)
    ax.set_yticks(position, [_short(name) for name in part["name"]])
    ax.set(xlabel="inclusion probability", xlim=(0, 1.02))
    return ax


def _short(name: object, length: int = 24) -> str:
    """Return a label that fits on an axis; the dollar sign would start mathematics."""
    text = str(name).replace("$", r"\$")
    return text if len(text) <= length else text[: length - 1] + "…"


@_styled
def mmd_and_weights(curves: pd.DataFrame, frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw MMD^2 against n and, beside it, the distribution of the weights of the same methods."""
    left, right = _axes(axes, 2, (6.9, 3.2))
    return [mmd(curves, left), weights(frame, right)]


#: Shares of the posterior mass that the contours of `corner` enclose, the outer one first.
CONTOURS = (0.9, 0.5)
#: Cells of the grid on which `corner` smooths a pair of parameters, and how far it reaches, in standard deviations.
_CELLS, _REACH = 160, 5.0


@_styled
def corner(found: Evidence, axes: Any = None, *, names: Sequence[str] | None = None) -> list[Axes]:
    """Draw the posterior of an evidence: each parameter's on the diagonal, every pair of parameters below.

    Contours enclose 50 and 90 % of the mass. Dots are the points evaluated, small crosses those where the likelihood
    is zero, plus signs and dashed lines the modes. Points far outside of the posterior are not shown.

    Parameters
    ----------
    found : Evidence
        What :func:`fwbq.evidence` returns.
    axes : sequence of Axes, optional
        One for each of the d (d + 1) / 2 panels, row by row; a new figure by default.
    names : sequence of str, optional
        Names of the parameters; ``x1``, ``x2``, ... by default.

    Returns
    -------
    list of Axes
        The panels, row by row: (1, 1), (2, 1), (2, 2), (3, 1), ...
    """
    posterior = found._some_posterior()
    labels = [_short(name) for name in _validate.parameter_names(names, found.points.shape[1])]
    d = len(labels)
    panels = _triangle(axes, d)
    ranges = [_range(column, posterior.weights) for column in posterior.points.T]
    zero = np.isneginf(found.values)
    for (i, j), ax in panels.items():
        ax.grid(False)
        ax.set_xlim(*ranges[j])
        if i == j:
            x = posterior.points[:, i]
            ax.hist(x, bins=40, range=ranges[i], weights=posterior.weights, color=SKY, histtype="stepfilled", alpha=0.7)
            ax.plot(found.points[:, i], np.zeros(found.n_evaluations), "|", color=BLACK, markersize=4, alpha=0.4)
            for mode in found.modes:
                ax.axvline(mode.place[i], color=VERMILLION, linestyle="--", linewidth=0.9)
            ax.set_title(f"{labels[i]} = {_plus_minus(posterior.mean[i], posterior.sd[i])}", fontsize=8)
            ax.set_yticks([])
            ax.spines["left"].set_visible(False)
        else:
            _contours(ax, posterior.points[:, [j, i]], posterior.weights)
            ax.plot(found.points[~zero, j], found.points[~zero, i], ".", color=BLACK, markersize=2, alpha=0.5)
            ax.plot(found.points[zero, j], found.points[zero, i], "x", color=BLACK, markersize=3, alpha=0.4)
            for mode in found.modes:
                ax.plot(mode.place[j], mode.place[i], "+", color=VERMILLION, markersize=9, markeredgewidth=1.6)
            ax.set_ylim(*ranges[i])
            ax.locator_params(axis="y", nbins=3)
        ax.locator_params(axis="x", nbins=3)
        if i == d - 1:
            ax.set_xlabel(labels[j])
        else:
            ax.tick_params(labelbottom=False)
        if j == 0 and i > 0:
            ax.set_ylabel(labels[i])
        elif i > 0:
            ax.tick_params(labelleft=False)
    if axes is None and d > 1:
        _explain(panels[0, 0].figure, bool(zero.any()))
    return list(panels.values())


def _triangle(axes: Any, d: int) -> dict[tuple[int, int], Axes]:
    """Return the panels (row, column) on and below the diagonal, those given or those of a new figure."""
    places = [(i, j) for i in range(d) for j in range(i + 1)]
    if axes is not None:
        return dict(zip(places, _axes(axes, len(places), (0.0, 0.0)), strict=True))
    import matplotlib.pyplot as plt

    side = 3.4 if d == 1 else max(4.6, 1.35 * d)
    figure, grid = plt.subplots(d, d, figsize=(side, 0.8 * side if d == 1 else side), squeeze=False)
    for i in range(d):
        for j in range(i + 1, d):
            figure.delaxes(grid[i, j])
    return {place: grid[place] for place in places}


def _range(x: Any, weights: Any) -> tuple[float, float]:
    """Return where a weighted sample has its mass, with a margin."""
    order = np.argsort(x, kind="stable")
    edges = np.cumsum(weights[order])
    low, high = (float(x[order[min(int(np.searchsorted(edges, q)), len(x) - 1)]]) for q in (0.001, 0.999))
    margin = 0.08 * (high - low) or 0.5 * max(abs(low), 1.0)
    return low - margin, high + margin


def _contours(ax: Axes, points: Any, weights: Any) -> None:
    """Draw the contours that enclose the shares `CONTOURS` of a weighted sample in two dimensions.

    The sample is binned and smoothed in coordinates in which its covariance is the identity, so that a narrow ridge
    is smoothed along itself and not across.
    """
    from scipy.ndimage import gaussian_filter

    middle = weights @ points
    shifted = points - middle
    cov = (shifted * weights[:, None]).T @ shifted
    sizes = np.sqrt(np.diagonal(cov))
    if not np.all(sizes > 0.0):
        return
    ridge = np.clip(cov[0, 1] / sizes.prod(), -0.9999, 0.9999)
    root = np.array([[sizes[0], 0.0], [ridge * sizes[1], np.sqrt(1.0 - ridge**2) * sizes[1]]])
    white = np.linalg.solve(root, shifted.T)
    edges = np.linspace(-_REACH, _REACH, _CELLS + 1)
    mass = np.histogram2d(white[0], white[1], bins=[edges, edges], weights=weights)[0]
    # Two thirds of Scott's width: the nodes fill the posterior evenly, and two modes or a bend must stay visible.
    width = 0.67 * float(np.sum(weights**2)) ** (1.0 / 6.0)
    mass = gaussian_filter(mass, width * _CELLS / (2.0 * _REACH), mode="constant")
    descending = np.sort(mass, axis=None)[::-1]
    enclosed = np.cumsum(descending) / descending.sum()
    levels = [float(descending[np.searchsorted(enclosed, share)]) for share in CONTOURS]
    if not 0.0 < levels[0] < levels[1] < descending[0]:
        return
    centres = 0.5 * (edges[1:] + edges[:-1])
    u, v = np.meshgrid(centres, centres, indexing="ij")
    x, y = middle[:, None, None] + np.einsum("ab,bij->aij", root, np.stack([u, v]))
    ax.contourf(x, y, mass, levels=[*levels, descending[0]], colors=[SKY, BLUE], alpha=0.45)
    ax.contour(x, y, mass, levels=levels, colors=[BLUE], linewidths=0.8)


def _plus_minus(mean: float, sd: float) -> str:
    """Return a mean with the digits that its standard deviation leaves."""
    if not sd > 0.0:
        return f"{mean:.4g}"
    digits = 1 - int(np.floor(np.log10(sd)))
    if not -3 <= digits <= 6:
        return f"{mean:.3g} ± {sd:.2g}"
    shown = round(mean, digits) + 0.0  # no "-0.00"
    return f"{shown:.{max(digits, 0)}f} ± {sd:.{max(digits, 0)}f}"


def _explain(figure: Any, zeros: bool) -> None:
    """Put the key in the empty corner above the diagonal."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks = [
        Patch(facecolor=BLUE, alpha=0.55, label="50 % of the mass"),
        Patch(facecolor=SKY, alpha=0.45, label="90 % of the mass"),
        Line2D([], [], color=BLACK, marker=".", markersize=3, linestyle="none", label="points evaluated"),
        Line2D([], [], color=VERMILLION, marker="+", markersize=8, linestyle="none", label="mode"),
    ]
    if zeros:
        marks.insert(
            3, Line2D([], [], color=BLACK, marker="x", markersize=4, linestyle="none", label="likelihood zero")
        )
    figure.legend(handles=marks, loc="upper right")


@_styled
def coverage(frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw how often 95 % intervals hold the truth (top) and the median error beside Monte Carlo's (bottom), by group.

    Parameters
    ----------
    frame : DataFrame
        What `fwbq.studies.coverage.run` returns: columns ``group``, ``family``, ``d``, ``n``, ``method``,
        ``covered95`` and ``error``. Dots are single families in single dimensions, of the method ``integrate``.
    """
    groups = list(dict.fromkeys(frame["group"]))
    panels = _axes(axes, 2 * len(groups), (2.5 * len(groups), 4.8), columns=len(groups), sharex=True, sharey="row")
    cells = frame.groupby(["group", "family", "d", "n", "method"], sort=False)
    cell = cells.agg(covered=("covered95", "mean"), error=("error", "median")).reset_index()
    reference = cell[cell["method"] == "Monte Carlo"].set_index(["family", "d", "n"])["error"]
    keys = list(zip(cell["family"], cell["d"], cell["n"], strict=True))
    cell["ratio"] = cell["error"].to_numpy() / reference.reindex(keys).to_numpy()
    for j, group in enumerate(groups):
        top, bottom = panels[j], panels[len(groups) + j]
        top.axhspan(0.92, 0.98, color=BLACK, alpha=0.08, linewidth=0)
        top.axhline(0.95, color=BLACK, linewidth=0.8)
        for i, method in enumerate(dict.fromkeys(frame["method"])):
            colour, dash = _method(method, i)
            part = cell[(cell["group"] == group) & (cell["method"] == method)]
            pooled = frame[(frame["group"] == group) & (frame["method"] == method)].groupby("n")["covered95"].mean()
            top.plot(pooled.index, pooled, dash, color=colour, marker="o", markersize=3, label=method)
            if method == "integrate":
                top.plot(part["n"], part["covered"], ".", color=colour, markersize=3, alpha=0.4)
            ratio = part[part["ratio"] > 0.0].groupby("n")["ratio"].median()
            bottom.plot(ratio.index, ratio, dash, color=colour, marker="o", markersize=3, label=method)
        top.set(title=group, ylim=(0.0, 1.03), xscale="log")
        bottom.set(yscale="log", xlabel="evaluations $n$")
        ticks = sorted(set(frame["n"]))
        bottom.set_xticks(ticks, [str(n) for n in ticks])
        bottom.minorticks_off()
    panels[0].set_ylabel("coverage of 95 % intervals")
    panels[len(groups)].set_ylabel("median error / Monte Carlo's")
    panels[-1].legend()
    return panels


def evidence_study(frame: pd.DataFrame, axes: Any = None) -> list[Axes]:
    """Draw the error of each log evidence against its stated standard deviation, a panel for each n.

    Parameters
    ----------
    frame : DataFrame
        What `fwbq.studies.evidence.run` returns: columns ``n``, ``sd``, ``error``, ``covered``. Points above the line
        are errors of more than two standard deviations.
    """
    sizes = sorted(set(frame["n"]))
    panels = _axes(axes, len(sizes), (2.8 * len(sizes), 2.8), columns=len(sizes), sharex=True, sharey=True)
    floor = 1e-9  # exact answers have no logarithm
    for panel, n in zip(panels, sizes, strict=True):
        part = frame[(frame["n"] == n) & np.isfinite(frame["sd"])]
        sd, error = np.maximum(part["sd"], floor), np.maximum(part["error"], floor)
        panel.plot([floor, 10.0], [2.0 * floor, 20.0], color=BLACK, linewidth=0.8)
        for held, marker in ((True, "."), (False, "x")):
            at = part["covered"] == held
            panel.plot(sd[at], error[at], marker, color=_method("", 0)[0] if held else BLACK, markersize=4, alpha=0.7)
        panel.set(title=f"$n = {n}$, {100 * part['covered'].mean():.0f} % held", xscale="log", yscale="log")
        panel.set_xlabel("stated sd")
    panels[0].set_ylabel("|error| of the log evidence")
    return panels


def save(axes: Axes | Iterable[Axes], *paths: str | Path) -> None:
    """Save the figure that holds the Axes, once for each path, and close it."""
    import matplotlib.pyplot as plt

    first = next(iter(axes)) if isinstance(axes, Iterable) else axes
    figure = first.figure.figure
    for path in paths:
        drawn = io.BytesIO()
        figure.savefig(drawn, format=Path(path).suffix.removeprefix(".").lower() or None)
        _files.write(path, drawn.getvalue())
    plt.close(figure)
