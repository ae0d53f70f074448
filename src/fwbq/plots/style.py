"""One style for every figure: the colours of Okabe and Ito, which colour-blind readers can tell apart.

Each method has its own colour, dash and name everywhere.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from .. import _files, _numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

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


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Draw under the style of the project, whatever the reader's own settings are."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> T:
        with style():
            return draw(*args, **kwargs)

    return drawn


def panels(
    axes: Any, count: int, size: tuple[float, float], *, columns: int | None = None, **kwargs: Any
) -> list[Axes]:
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


def method(name: str, position: int) -> tuple[str, str]:
    """Colour and dash of a method; unknown names take the spare ones in turn."""
    return METHODS.get(name, (SPARE[position % len(SPARE)], "-"))


def field(ax: Axes, frame: pd.DataFrame, value: str, **kwargs: Any) -> Any:
    """Draw a table of (x, y, value) on a grid as filled contours."""
    table = frame.pivot(index="y", columns="x", values=value)
    drawn = ax.contourf(table.columns, table.index, table.to_numpy(), **kwargs)
    ax.set_aspect("equal")
    ax.grid(False)
    return drawn


def outer_labels(axes: Sequence[Axes], columns: int, x: str, y: str) -> None:
    """Label the outer axes of a grid of panels."""
    for i, ax in enumerate(axes):
        if i + columns >= len(axes):
            ax.set_xlabel(x)
        if i % columns == 0:
            ax.set_ylabel(y)


def short(name: object, length: int = 24) -> str:
    """Return a label that fits on an axis: one line of what a font has; the dollar sign would start mathematics."""
    text = "".join(c for c in " ".join(str(name).split()) if c.isprintable()).replace("$", r"\$")
    return text if len(text) <= length else text[: length - 1] + "…"


def plus_minus(mean: float, sd: float) -> str:
    """Return a mean with the digits that its standard deviation leaves."""
    return _numbers.with_error(mean, sd) if sd > 0.0 else f"{mean:.4g}"


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
