"""``fwbq select`` and ``fwbq demo``: choose among kinetic models and write what was found."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .. import _files, _validate, plots
from ..chema import Dataset, KineticFamily, compare
from ..selection import Comparison, label
from ..studies import models
from .console import NOT_CERTAIN, say, say_json, shorten, table

_SHOWN = 10


def read_data(
    path: Path,
    substrate: str,
    *,
    phospho: str | None,
    enzymes: Sequence[str] | None,
    total: float | None,
    conditions: Sequence[str] | None,
    replicates: str | None,
) -> Dataset:
    """Read a tidy CSV or, when its columns begin with TR:, DA: or DV:, a MIDAS file."""
    if not path.exists():
        raise ValueError(f"`data` {str(path)!r} does not exist")
    if not path.is_file():
        raise ValueError(f"`data` {str(path)!r} must be a file that can be read twice: save the table to a file first")
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header = file.readline()
    columns = [column.strip().strip('"') for column in header.split(",")]
    reader = Dataset.from_midas if any(c.startswith(("DA:", "DV:", "TR:")) for c in columns) else Dataset.from_csv
    return reader(
        path, substrate, phospho=phospho, enzymes=enzymes, total=total, conditions=conditions, replicates=replicates
    )


def compare_and_write(
    dataset: Dataset,
    out: Path,
    *,
    n: int,
    stop: float | None,
    max_enzymes: int,
    truncated: bool,
    seed: int,
    journal: Path | None,
    workers: int,
    report: bool,
    as_json: bool,
    progress: bool | None,
    command: str,
) -> int:
    """Compare, print the ranking, write tables and figures, and return the exit code."""
    out.mkdir(parents=True, exist_ok=True)
    largest = min(max_enzymes, dataset.n_enzymes)
    coordinates = KineticFamily(dataset, (tuple(dataset.names[:largest]),)).coordinates
    error = models.design_error(1 + largest, n, coordinates)
    curve = [[int(size), float(value) ** 0.5] for size, value in zip(error["n"], error["mmd2"], strict=True)]
    settings = {"command": command, "mmd": curve}
    with ExitStack() as stack:
        pool = stack.enter_context(ProcessPoolExecutor(_validate.count(workers, "workers"))) if workers != 1 else None
        found = compare(
            dataset, max_enzymes=max_enzymes, truncated=truncated, stages=models.rounds(n), stop=stop, executor=pool,
            journal=journal, rng=seed, progress=progress, settings=settings,
        )  # fmt: skip
    written = write(found, error, out, stop)
    if report:
        written.append(found.report(out / "report.html"))
    if as_json:
        say_json(summary(found) | {"files": [str(path) for path in written]})
    else:
        print_ranking(found, stop)
        say(f"written to {out}: {', '.join(path.name for path in written)}")
    return NOT_CERTAIN if stop is not None and found.map_probability < stop else 0


def write(found: Comparison, error: Any, out: Path, stop: float | None) -> list[Path]:
    """Write the tables and figures of a comparison into a directory."""
    inclusion, history, boxes = found.inclusion(), found.history(), models.probability_table(found, ranked=True)
    found.save(out / "comparison.json")
    tables = {
        "ranking": found.to_frame(),
        "history": history,
        "inclusion": inclusion,
        "probabilities": boxes,
        "design-error": error,
    }
    for name, frame in tables.items():
        _files.write(out / f"{name}.csv", frame.to_csv(index=False))
    figures: dict[str, Any] = {
        "model-probabilities": plots.model_probabilities(boxes, first=_SHOWN, named=True),
        "map-probability": plots.map_probability(history, level=stop),
        "inclusion": plots.inclusion(inclusion),
        "mmd": plots.mmd(error, title="worst-case error of the design"),
    }
    for name, axes in figures.items():
        plots.save(axes, out / f"{name}.png")
    return [out / "comparison.json", *(out / f"{t}.csv" for t in tables), *(out / f"{f}.png" for f in figures)]


def summary(found: Comparison) -> dict[str, Any]:
    """Return the decision and the ranking as JSON values."""
    frame = found.to_frame()
    return {
        "best": list(found.best),
        "map_probability": found.map_probability,
        "n_models": found.n_models,
        "n_evaluations": found.n_evaluations,
        "status": found.status,
        "forecast": found.forecast(),
        "settings": found.settings,
        "ranking": frame.head(100).to_dict(orient="records"),
    }


def print_ranking(found: Comparison, stop: float | None) -> None:
    """Print the leading models with their uncertainty, and the decision."""
    frame = found.to_frame().head(_SHOWN)
    rows = [
        [
            shorten(str(r.model)),
            f"{r.log_evidence:.2f} ± {r.log_evidence_sd:.2g}",
            f"{r.probability:.3f}",
            f"[{r.q05:.3f}, {r.q95:.3f}]",
            f"{r.map_probability:.3f}",
            f"{r.evaluations}",
        ]
        for r in frame.itertuples()
    ]
    columns = ["model", "log evidence", "probability", "5 % to 95 %", "P(MAP)", "points"]
    table(f"The leading {len(rows)} of {found.n_models:,} models", columns, rows)
    say()
    say(
        f"{shorten(label(found.best))} is the MAP with probability {found.map_probability:.3g} given the numerical "
        "error; "
        f"{found.n_evaluations:,} evaluations; {found.status}."
    )
    if stop is not None and found.map_probability < stop:
        say(f"For more certainty: {found.forecast(stop)}.")
    if found.settings.get("rank_deficient_models"):
        say(f"{found.settings['rank_deficient_models']} models have enzymes that the data cannot tell apart.")
    say(f"Likelihood: {found.settings['likelihood']}.")
