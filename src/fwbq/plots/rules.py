"""Rules: their points and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .background import density, extent, pair, shade
from .style import BLACK, BLUE, VERMILLION, method, panels, styled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..rules import Rule


@styled
def rule(
    rule: Rule,
    ax: Axes | None = None,
    *,
    coordinates: tuple[int, int] | None = None,
    title: str | None = None,
    largest: float | None = None,
) -> Axes:
    """Draw the points of a rule over the density of its measure.

    In one dimension the weight is the height of a line; in more, area is weight and colour is sign.

    Parameters
    ----------
    rule : Rule
        With its embedding.
    ax : Axes, optional
        Where to draw; a new figure by default.
    coordinates : pair of int, optional
        The two coordinates drawn of a rule in more than two dimensions; the first two by default.
    title : str, optional
        Above the figure.
    largest : float, optional
        The absolute weight that is drawn largest; by default the rule's own.
    """
    if rule.embedding is None:
        raise ValueError("`rule` has no embedding, and so no measure to be drawn over: make it again with fwbq.embed")
    (ax,) = panels(ax, 1, (3.4, 3.2))
    measure = rule.embedding.measure
    most = largest or float(np.abs(rule.weights).max())
    colours = np.where(rule.weights >= 0.0, BLUE, VERMILLION)
    if measure.dim == 1:
        x = extent(measure, 0, 201, rule.points)
        found = density(measure, (0,), [x])
        if found is not None and found.max() > 0.0:
            ax.fill_between(x, most * found / found.max(), color="0.85", linewidth=0, zorder=0)
        ax.vlines(rule.points[:, 0], 0.0, rule.weights, colors=list(colours), linewidth=1.2)
        ax.scatter(rule.points[:, 0], rule.weights, s=14, c=colours, zorder=3)
        ax.axhline(0.0, color=BLACK, linewidth=0.8)
        ax.set(xlabel="$x$", ylabel="weight", title=title or "", xlim=(x[0], x[-1]))
        return ax
    i, j = pair(coordinates, measure.dim)
    shade(ax, measure, (i, j), rule.points)
    area = 4.0 + float(np.clip(2000.0 / len(rule), 20.0, 80.0)) * np.abs(rule.weights) / most
    ax.scatter(rule.points[:, i], rule.points[:, j], s=area, c=colours, edgecolor="white", linewidth=0.5, zorder=3)
    ax.set_title(title or "")
    return ax


@styled
def weights(rules: Rule | Mapping[str, Rule] | pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the weights of one or several rules, each as dots.

    Parameters
    ----------
    rules : Rule, mapping of name to Rule, or DataFrame
        A table has the columns ``method``, ``weight``.
    ax : Axes, optional
        Where to draw; a new figure by default.
    """
    import pandas as pd

    if isinstance(rules, pd.DataFrame):
        columns = {str(name): part["weight"].to_numpy() for name, part in rules.groupby("method", sort=False)}
    else:
        named: Mapping[str, Any] = rules if isinstance(rules, Mapping) else {rules.kind: rules}
        columns = {name: each.weights for name, each in named.items()}
    (ax,) = panels(ax, 1, (4.6, 3.2))
    rng = np.random.default_rng(0)  # horizontal jitter only, so that dots do not hide each other
    for i, (name, values) in enumerate(columns.items()):
        x = i + rng.uniform(-0.25, 0.25, len(values))
        ax.scatter(x, values, s=6, color=method(name, i)[0], alpha=0.6, linewidth=0)
    ax.axhline(0, color=BLACK, linewidth=0.8)
    ax.set_yscale("symlog", linthresh=1e-2)
    ax.set_xticks(range(len(columns)), list(columns))
    ax.set(ylabel="weight", xlabel="method")
    return ax
