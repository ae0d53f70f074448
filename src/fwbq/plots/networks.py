"""Networks: proteins on a circle, with an arrow for every edge that is probable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .style import BLACK, BLUE, ORANGE, SKY, panels, short, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..chema import Network

#: Arrows that can be told apart in one figure.
_MOST = 80
#: Labels that have room side by side.
_LEVEL = 24


@styled
def network(found: Network, ax: Axes | None = None, *, least: float = 0.5) -> Axes:
    """Draw the edges of at least this probability, from enzyme to substrate; wider arrows are more probable.

    Edges with a sign of doubt (no model predicts the rates of the substrate, the prior decides, the numerical error is
    large, an enzyme is in proportion to another) are dashed and orange. At most the 80 most probable edges are drawn.

    Parameters
    ----------
    found : Network
        What :func:`fwbq.chema.network` returns.
    ax : Axes, optional
        Where to draw; a new figure by default.
    least : float, optional
        Least probability of an edge that is drawn.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyArrowPatch

    (ax,) = panels(ax, 1, (6.0, 5.4))
    count = len(found.proteins)
    angle = np.pi / 2 - 2 * np.pi * np.arange(count) / count
    place = dict(zip(found.proteins, np.column_stack([np.cos(angle), np.sin(angle)]).tolist(), strict=True))
    size = 60.0 if count > 30 else 140.0
    gap = 0.6 * size**0.5
    for edge in [e for e in found.edges if e.probability >= least][:_MOST][::-1]:
        width = 0.5 + 1.8 * (edge.probability - least) / max(1.0 - least, 1e-9)
        ax.add_patch(
            FancyArrowPatch(
                place[edge.source], place[edge.target], connectionstyle="arc3,rad=0.14", arrowstyle="-|>",
                mutation_scale=10, linewidth=width, color=ORANGE if edge.doubt else BLUE, alpha=0.85,
                linestyle=(0, (4, 2)) if edge.doubt else "-", shrinkA=gap, shrinkB=gap, zorder=2,
            )
        )  # fmt: skip
    points = np.array(list(place.values()))
    ax.scatter(points[:, 0], points[:, 1], s=size, color=SKY, edgecolor=BLACK, linewidth=0.6, zorder=3)
    for name, (x, y) in place.items():
        # Level where there is room for it; along the radius, and never upside down, where there are many.
        turned = np.degrees(np.arctan2(y, x)) if count > _LEVEL else 0.0
        side = "center" if count <= _LEVEL and abs(x) < 0.1 else "left" if x > -1e-9 else "right"
        ax.text(
            1.09 * x, 1.09 * y, short(name, 18), rotation=turned + 180.0 if x < -1e-9 and turned else turned,
            rotation_mode="anchor", ha=side, va="center", fontsize=8,
        )  # fmt: skip
    reach = 1.3 if count <= _LEVEL else 1.65
    ax.set(xlim=(-reach - 0.2, reach + 0.2), ylim=(-reach - 0.1, reach), aspect="equal")
    ax.axis("off")
    lines = [Line2D([], [], color=BLUE, linewidth=1.8), Line2D([], [], color=ORANGE, linewidth=1.8, linestyle="--")]
    ax.legend(lines, [f"probability {least:g} or more", "the same, with a sign of doubt"], loc="lower left", fontsize=7)
    return ax
