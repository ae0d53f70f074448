"""Kinetic models: the data, and what a fitted model says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLACK, BLUE, SKY, panels, short, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..chema import KineticFit


@styled
def kinetic_fit(found: KineticFit, axes: Any = None, *, condition: str | None = None) -> list[Axes]:
    """Draw the measured course of the phosphorylated substrate and its rates of change beside the fitted ones.

    Left: measured levels, and those that the draws of the parameters give from the first level on (median and 90 %).
    Right: measured rates, and 90 % of what the model predicts for them, noise included.

    Parameters
    ----------
    found : KineticFit
        What :func:`fwbq.chema.fit` returns.
    axes : sequence of two Axes, optional
        Where to draw; a new figure by default.
    condition : str, optional
        Which condition; the first by default.
    """
    names = [course.condition for course in found.courses]
    if condition is not None and condition not in names:
        raise ValueError(f"`condition` must be one of {names}, got {condition!r}")
    course = found.courses[0 if condition is None else names.index(condition)]
    left, right = panels(axes, 2, (6.9, 2.8))
    low, middle, high = np.quantile(course.levels, [0.05, 0.5, 0.95], axis=0)
    left.fill_between(course.times, low, high, color=SKY, alpha=0.4, linewidth=0, label="90 % of the parameters")
    left.plot(course.times, middle, color=BLUE, label="{" + short(", ".join(found.model)) + "}")
    left.plot(course.times, course.phospho, "o", color=BLACK, markersize=3, label="measured")
    left.set(xlabel="time", ylabel="phosphorylated substrate")
    left.legend()
    between = 0.5 * (course.times[1:] + course.times[:-1])
    low, high = np.quantile(course.predicted, [0.05, 0.95], axis=0)
    right.fill_between(between, low, high, color=SKY, alpha=0.4, linewidth=0, label="90 % with noise")
    right.plot(between, np.median(course.rates, axis=0), color=BLUE)
    right.plot(between, course.observed, "o", color=BLACK, markersize=3)
    right.set(xlabel="time", ylabel="rate of change")
    right.legend()
    return [left, right]
