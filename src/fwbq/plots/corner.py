"""The posterior of an evidence: every parameter, and every pair of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLACK, BLUE, SKY, VERMILLION, panels, plus_minus, short, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..inference import Evidence

#: Shares of the posterior mass that the contours of `corner` enclose, the outer one first.
CONTOURS = (0.9, 0.5)
#: Cells of the grid on which `corner` smooths a pair of parameters, and how far it reaches, in standard deviations.
_CELLS, _REACH = 160, 5.0


@styled
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
    labels = [short(name) for name in found._names(names)]
    d = len(labels)
    drawn = _triangle(axes, d)
    ranges = [_range(column, posterior.weights) for column in posterior.points.T]
    zero = np.isneginf(found.values)
    for (i, j), ax in drawn.items():
        ax.grid(False)
        ax.set_xlim(*ranges[j])
        if i == j:
            x = posterior.points[:, i]
            ax.hist(x, bins=40, range=ranges[i], weights=posterior.weights, color=SKY, histtype="stepfilled", alpha=0.7)
            ax.plot(found.points[:, i], np.zeros(found.n_evaluations), "|", color=BLACK, markersize=4, alpha=0.4)
            for mode in found.modes:
                ax.axvline(mode.place[i], color=VERMILLION, linestyle="--", linewidth=0.9)
            ax.set_title(f"{labels[i]} = {plus_minus(posterior.mean[i], posterior.sd[i])}", fontsize=8)
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
        _explain(drawn[0, 0].figure, bool(zero.any()))
    return list(drawn.values())


def _triangle(axes: Any, d: int) -> dict[tuple[int, int], Axes]:
    """Return the panels (row, column) on and below the diagonal, those given or those of a new figure."""
    places = [(i, j) for i in range(d) for j in range(i + 1)]
    if axes is not None:
        return dict(zip(places, panels(axes, len(places), (0.0, 0.0)), strict=True))
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
