"""What the inputs do to f: main effects with bands, and Sobol indices as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLACK, BLUE, ORANGE, SKY, panels, short, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..integration.functionals.sobol import MainEffects, SobolIndices

#: Panels in a row of main effects.
_COLUMNS = 4


@styled
def effects(found: MainEffects, axes: Any = None) -> list[Axes]:
    """Draw the mean of f against each input while the others vary, with 95 % bands, all on one scale.

    Parameters
    ----------
    found : MainEffects
        What :meth:`fwbq.IntegrationResult.plot_effects` computes.
    axes : sequence of Axes, optional
        One for each input; a new figure by default.
    """
    count = len(found.names)
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    drawn = panels(axes, count, (1.9 * columns + 0.4, 1.8 * rows + 0.2), columns=columns, sharey=True)
    for i, (ax, x, effect) in enumerate(zip(drawn, found.places, found.effects, strict=True)):
        low, high = effect.interval(0.95)
        ax.fill_between(x, low, high, color=SKY, alpha=0.4, linewidth=0)
        ax.plot(x, effect.mean, color=BLUE)
        ax.set_xlabel(short(found.names[i]))
        ax.locator_params(axis="x", nbins=4)
        if i % columns == 0:
            ax.set_ylabel("mean of f")
    return drawn


@styled
def sobol(found: SobolIndices, ax: Axes | None = None) -> Axes:
    """Draw first-order and total Sobol indices of each input as bars, with their 95 % intervals.

    Parameters
    ----------
    found : SobolIndices
        Of one integrand: what :meth:`fwbq.IntegrationResult.sobol` returns.
    ax : Axes, optional
        Where to draw; a new figure by default.
    """
    if np.ndim(found.first.mean) > 1:
        raise ValueError(
            f"these indices are of {len(found.first.mean)} integrals: draw those of one, by integrating one column"
        )
    count = len(found.names)
    (ax,) = panels(ax, 1, (max(3.2, 0.55 * count + 1.4), 2.8))
    place = np.arange(count)
    bars = (("first order", found.first, -0.2, BLUE), ("total", found.total, 0.2, ORANGE))
    for label, estimate, shift, colour in bars:
        low, high = estimate.interval(0.95)
        error = [np.maximum(estimate.mean - low, 0.0), np.maximum(high - estimate.mean, 0.0)]
        ax.bar(place + shift, estimate.mean, 0.38, color=colour, alpha=0.8, label=label)
        ax.errorbar(place + shift, estimate.mean, yerr=error, fmt="none", ecolor=BLACK, elinewidth=1, capsize=2)
    ax.set_xticks(place, [short(name, 12) for name in found.names])
    ax.set_ylim(0.0, None)
    ax.set_ylabel("part of the variance of f")
    ax.grid(axis="x", visible=False)
    ax.legend()
    return ax
