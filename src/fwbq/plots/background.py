"""The density of a measure, drawn behind points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .style import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..measures import Measure

Array = NDArray[np.float64]

#: How far a picture of a measure reaches from its expectation, in standard deviations.
REACH = 2.4


def extent(measure: Measure, coordinate: int, size: int, points: Array | None = None, reach: float = REACH) -> Array:
    """Return a grid along one coordinate: the bulk of the measure and the points, within the support."""
    middle, scale = float(measure.expectation[coordinate]), float(measure.scale[coordinate])
    if not (np.isfinite(middle) and np.isfinite(scale)):
        middle, scale = float(np.median(points[:, coordinate])) if points is not None else 0.0, 1.0
    low, high = middle - reach * scale, middle + reach * scale
    if points is not None and len(points):
        margin = 0.05 * (np.ptp(points[:, coordinate]) or scale)
        low = min(low, float(points[:, coordinate].min()) - margin)
        high = max(high, float(points[:, coordinate].max()) + margin)
    return np.linspace(max(low, float(measure.lower[coordinate])), min(high, float(measure.upper[coordinate])), size)


def density(measure: Measure, coordinates: tuple[int, ...], grids: list[Array]) -> Array | None:
    """Return the density of the measure in one or two of its coordinates on a grid; None when it has none to show."""
    if len(coordinates) == measure.dim:
        marginals = None
    elif measure.factors is not None:
        marginals = [measure.factors[i] for i in coordinates]
    else:
        return None
    mesh = np.stack(np.meshgrid(*grids), axis=-1).reshape(-1, len(grids))
    try:
        if marginals is None:
            logs = measure.log_density(mesh[:, np.argsort(coordinates)])
        else:
            logs = np.sum([part.log_density(mesh[:, [i]]) for i, part in enumerate(marginals)], axis=0)
    except NotImplementedError:
        return None
    found = np.exp(np.asarray(logs)).reshape([len(g) for g in reversed(grids)])
    return found if np.all(np.isfinite(found)) else None


def shade(ax: Axes, measure: Measure, coordinates: tuple[int, int], points: Array) -> None:
    """Shade the density of a measure in two coordinates; the points of a sample are drawn as grey dots."""
    from ..measures import Empirical

    i, j = coordinates
    if isinstance(measure, Empirical):
        ax.plot(measure.points[:, i], measure.points[:, j], ".", color="0.8", markersize=2, zorder=0)
    x, y = (extent(measure, c, 81, points) for c in coordinates)
    found = density(measure, coordinates, [x, y])
    if found is not None and found.max() > found.min():
        ax.contourf(x, y, found, levels=10, cmap="Greys", vmax=1.6 * found.max(), zorder=0)
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), xlabel=name(i, measure), ylabel=name(j, measure))
    ax.grid(False)


def name(coordinate: int, measure: Measure) -> str:
    """Return the label of a coordinate: the name that the measure was given for it, or a symbol."""
    given = measure.names[coordinate]
    if given != f"x{coordinate + 1}":
        return short(given)
    return "$x$" if measure.dim == 1 else f"$x_{{{coordinate + 1}}}$"


def pair(coordinates: Any, dim: int) -> tuple[int, int]:
    """Return two different coordinates of `dim`, after checking them; the first two by default."""
    if coordinates is None:
        return 0, 1
    try:
        i, j = (int(c) for c in coordinates)
    except (TypeError, ValueError):
        i = j = -1
    if i == j or not (0 <= i < dim and 0 <= j < dim):
        raise ValueError(f"`coordinates` must be two different numbers from 0 to {dim - 1}, got {coordinates!r}")
    return i, j
