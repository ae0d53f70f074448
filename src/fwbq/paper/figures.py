"""Every figure of the paper by one call: each is a study that returns tables and a function that draws them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _files, _validate, plots
from ..chema.compare import Method
from ..evaluation import in_order
from ..plots import paper as drawings
from . import appendix, models, simulation

if TYPE_CHECKING:
    import pandas as pd

Tables = dict[str, "pd.DataFrame"]


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of the paper.

    Attributes
    ----------
    number : int
        Its place in the list.
    title : str
        What it shows.
    study : callable
        Seed to tables; each table is saved as CSV beside the figure.
    draw : callable
        Tables to Axes.
    """

    number: int
    title: str
    study: Callable[[int], Tables]
    draw: Callable[[Tables], Any]


FIGURES: dict[str, Figure] = {
    "mean-elements": Figure(
        1,
        "mean element approximations by FWLS at n = 1, 2, 5, 10, 50, with the truth",
        simulation.mean_elements,
        lambda tables: drawings.mean_elements(tables["field"]),
    ),
    "points": Figure(
        2,
        "mixture density with the first 25 points of FW, FWLS and SBQ",
        simulation.design_points,
        lambda tables: drawings.design_points(tables["points"], tables["density"]),
    ),
    "mmd": Figure(
        3,
        "MMD² against n for FW, FWLS, FWBQ, FWLSBQ, SBQ, MC and QMC over five mixtures",
        lambda seed: simulation.mmd_against_n(tuple(range(seed, seed + 5))),
        lambda tables: plots.mmd(tables["mmd2"]),
    ),
    "estimates": Figure(
        4,
        "integral estimates of FWLS and FWLSBQ with 68 % and 95 % bands and the truth",
        simulation.integral_estimates,
        lambda tables: drawings.estimates(tables["estimates"]),
    ),
    "models": Figure(
        5,
        "posterior probabilities of the first 50 of 352 models, by rank, at n = 10, 50, 100, 200",
        models.model_probabilities,
        lambda tables: plots.model_probabilities(tables["probabilities"], log=True),
    ),
    "truncated": Figure(
        6,
        "MMD² and the distribution of the weights on the truncated Gaussian",
        appendix.truncated_gaussian,
        lambda tables: drawings.mmd_and_weights(tables["mmd2"], tables["weights"]),
    ),
    "features": Figure(
        7,
        "random Fourier features, D = 1000 and 5000, against the exact kernel",
        appendix.random_features,
        lambda tables: drawings.features(tables["mmd2"]),
    ),
    "bounds": Figure(
        8,
        "measured MMD beside the bounds of the theorems",
        appendix.theorem_bounds,
        lambda tables: drawings.bounds(tables["bounds"]),
    ),
}


def tables(name: str, *, seed: int = 0, method: Method = "log") -> Tables:
    """Compute the tables of one figure; `method` is for the figure of models (see :func:`fwbq.chema.compare`)."""
    if name == "models":
        return models.model_probabilities(seed, method=method)
    return FIGURES[name].study(seed)


def make(name: str, out: str | Path, *, seed: int = 0, method: Method = "log") -> list[Path]:
    """Compute one figure of the paper, and save it with its tables: `fwbq.paper.make_each` for one name."""
    return next(make_each([name], out, seed=seed, method=method))[1]


def make_each(
    names: Sequence[str],
    out: str | Path,
    *,
    seed: int = 0,
    method: Method = "log",
    executor: Executor | None = None,
) -> Iterator[tuple[str, list[Path]]]:
    """Compute figures of the paper, and save each with its tables.

    Parameters
    ----------
    names : sequence of str
        Of ``FIGURES``.
    out : path
        Directory, made when it is not there. A figure is saved as ``<number>-<name>.png`` and ``.pdf``, each table as
        ``<number>-<name>-<table>.csv``; that of models by another method than ``"log"`` has it in its name.
    seed : int, optional
        Fixes everything random.
    method : {"log", "fwbq", "fwlsbq", "sbq"}, optional
        For the figure of models.
    executor : concurrent.futures.Executor, optional
        Where tables are computed, one figure a task.

    Yields
    ------
    name : str
        The figure, in the order of `names`.
    files : list of Path
        What was written, the picture first.
    """
    for name in names:
        _validate.choice(name, "name", tuple(FIGURES))
    directory = Path(out)
    directory.mkdir(parents=True, exist_ok=True)
    for name, computed in in_order(executor, partial(tables, seed=seed, method=method), names):
        figure = FIGURES[name]
        stem = f"{figure.number}-{name}" + (f"-{method}" if name == "models" and method != "log" else "")
        written = [directory / f"{stem}-{key}.csv" for key in computed]
        for path, table in zip(written, computed.values(), strict=True):
            _files.write(path, table.to_csv(index=False))
        pictures = [directory / f"{stem}.png", directory / f"{stem}.pdf"]
        plots.save(figure.draw(computed), *pictures)
        yield name, pictures + written
