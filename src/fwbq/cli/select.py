"""``fwbq select`` and ``fwbq demo``: choose among kinetic models and write what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _extras, _files, plots
from ..chema import Dataset, compare
from ..chema.compare import Method
from ..chema.dataset import Sharing
from ..chema.midas import is_midas
from ..chema.odds import read_inclusion
from ..chema.units import UnitChoice
from ..evaluation import Evaluation
from ..paper import models
from ..report import words
from ..report.decision import decision
from ..selection import Comparison, label
from . import outputs
from .console import NOT_CERTAIN, say, say_json, say_wrapped, shorten, table
from .workers import executor

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10
#: Probabilities below this are said to be so: the priors of the constants are not known to a part in a thousand.
_SMALL = 1e-3


def read_data(
    path: Path,
    substrate: str,
    *,
    phospho: str | None,
    enzymes: Sequence[str] | None,
    total: float | None,
    conditions: Sequence[str] | None,
    replicates: str | None,
    inhibitors: Sequence[str] | None = None,
) -> Dataset:
    """Read a tidy CSV or, when its columns begin with TR:, DA: or DV:, a MIDAS file."""
    if not path.exists():
        raise ValueError(f"`data` {str(path)!r} does not exist: check its name and the directory")
    if not path.is_file():
        raise ValueError(f"`data` {str(path)!r} must be a file that can be read twice: save the table to a file first")
    reader = Dataset.from_midas if _reader(path) == "from_midas" else Dataset.from_csv
    found = reader(
        path, substrate, phospho=phospho, enzymes=enzymes, total=total, conditions=conditions, replicates=replicates
    )
    return found.inhibited(inhibitors) if inhibitors else found


def _reader(path: Path) -> str:
    """Return which method of `Dataset` reads a file, by its first line; a tidy table when it cannot be opened."""
    return "from_midas" if is_midas(path) else "from_csv"


def data_source(path: Path, substrate: str, inhibitors: Sequence[str] | None = None, **options: Any) -> str:
    """Return Python that reads the same data as :func:`read_data` with these options.

    Examples
    --------
    >>> data_source(Path("data.csv"), "S", total=3.0, phospho=None)
    "fwbq.chema.Dataset.from_csv('data.csv', 'S', total=3.0)"
    """
    given = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
    then = f".inhibited({list(inhibitors)!r})" if inhibitors else ""
    return f"fwbq.chema.Dataset.{_reader(path)}({str(path)!r}, {substrate!r}{given}){then}"


def compare_and_write(
    dataset: Dataset,
    out: Path,
    how: Evaluation,
    *,
    n: int,
    stop: float | None,
    max_enzymes: int,
    units: UnitChoice,
    rates: Sharing | None,
    method: Method,
    truncated: bool | None,
    seed: int,
    workers: int,
    dask: str | None,
    report: bool,
    as_json: bool,
    command: str,
    source: str,
    basal: bool = False,
    inclusion: Path | None = None,
    optional_report: bool = False,
) -> int:
    """Compare, print the ranking, write tables and figures, and return the exit code.

    `source` is Python that makes the data set, for the report. An optional report is left out, with a word, where the
    package that draws it is not installed; any other is refused before anything is computed.
    """
    outputs.directory(out, "out")
    missing = _missing_for_report() if report else ""
    if missing and not optional_report:
        raise ImportError(missing)
    settings = {"command": command, "data": source}
    options: dict[str, Any] = {"basal": True} if basal else {}
    if inclusion is not None:
        # A row with a substrate is about that one alone, and counts before one without.
        stated = {k: p for k, p in read_inclusion(inclusion).items() if k[0] in (None, *dataset.forms)}
        order = sorted(stated, key=lambda key: key[0] is not None)
        options["inclusion"] = {key[1]: stated[key] for key in order}
    with executor(workers, dask) as where:
        found = compare(
            dataset, max_enzymes=max_enzymes, units=units, rates=rates, method=method, truncated=truncated, n=n,
            stop=stop, rng=seed, settings=settings, **options, **replace(how, executor=where).keywords,
        )  # fmt: skip
    written = write(found, out)
    if report and not missing:
        written.append(found.report(out / "report.html", dataset))
    if as_json:
        say_json(summary(found) | {"files": [str(path) for path in written]})
    else:
        print_ranking(found)
        say_wrapped(f"written to {out}: {', '.join(path.name for path in written)}")
        if missing:
            say_wrapped(f"The report was not written: {missing}")
    return NOT_CERTAIN if stop is not None and found.map_probability < stop else 0


def _missing_for_report() -> str:
    """Return what to install for the report; nothing when it is there."""
    try:
        _extras.load("plotly.offline", "report", "the report")
    except ImportError as error:
        return str(error)
    return ""


def write(found: Comparison, out: Path) -> list[Path]:
    """Write the tables and figures of a comparison into a directory."""
    boxes = models.probability_table(found, ranked=True)
    found.save(out / "comparison.json")
    tables = {
        "ranking": found.to_frame(),
        "history": found.history(),
        "inclusion": found.inclusion(level=0.9),
        "probabilities": boxes,
        "numerical-error": found.error_history(),
    }
    if "checks" in found.settings:
        tables["checks"] = checks_table(found)
    if "factors" in found.settings:
        tables["units"] = units_table(found)
    for name, frame in tables.items():
        _files.write_table(out / f"{name}.csv", frame)
    figures: dict[str, Any] = {
        "model-probabilities": plots.model_probabilities(boxes, first=_SHOWN, named=True),
        "map-probability": plots.map_probability(found),
        "inclusion": plots.inclusion(tables["inclusion"]),
        "numerical-error": plots.evidence_error(tables["numerical-error"]),
    }
    for name, axes in figures.items():
        plots.save(axes, out / f"{name}.png")
    return [out / "comparison.json", *(out / f"{t}.csv" for t in tables), *(out / f"{f}.png" for f in figures)]


def checks_table(found: Comparison) -> pd.DataFrame:
    """Return a row for each leading model: how it predicts, its best fit, and under which priors it is first."""
    import pandas as pd

    checks = found.settings["checks"]
    first = {change: tuple(model) for change, model in checks["sensitivity"].items()}
    rows = [
        {"model": label(tuple(row["model"]))}
        | {key: value for key, value in row.items() if key != "model"}
        | {"first_with": "; ".join(change for change, model in first.items() if model == tuple(row["model"]))}
        for row in checks["models"]
    ]
    return pd.DataFrame(rows)


def units_table(found: Comparison) -> pd.DataFrame:
    """Return the unit of each variable in which the priors are meant, in the units of the data."""
    import pandas as pd

    factors, forms = found.settings["factors"], found.settings["forms"]
    named = {"time": factors["time"], forms[0]: factors["substrate"], forms[1]: factors["phospho"]}
    return pd.DataFrame(
        {"variable": [*named, *factors["enzymes"]], "unit": [*named.values(), *factors["enzymes"].values()]}
    )


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


def _share(p: float) -> str:
    """Return a probability in a column of the table."""
    return "< 0.001" if p < _SMALL else "> 0.999" if p > 1.0 - _SMALL else f"{p:.3f}"


def print_ranking(found: Comparison) -> None:
    """Print the decision, and the leading models with their uncertainty."""
    for sentence in decision(found).sentences:
        say_wrapped(sentence)
    say()
    frame = found.to_frame().head(_SHOWN)
    leading = frame.to_dict(orient="records")
    evidences = map(words.log_evidence, frame["log_evidence"].tolist(), frame["log_evidence_sd"].tolist())
    rows = [
        [
            shorten(str(row["model"])),
            _share(row["probability"]),
            _share(row["q95"]) if row["q95"] < _SMALL else f"{row['q05']:.3f} to {row['q95']:.3f}",
            _share(row["map_probability"]),
            evidence,
            f"{row['evaluations']}",
        ]
        for row, evidence in zip(leading, evidences, strict=True)
    ]
    columns = ["model", "probability", "90 % range", "P(MAP)", "log evidence", "points"]
    table(f"The leading {len(rows)} of {found.n_models:,} models", columns, rows)
    say()
    if found.settings.get("rank_deficient_models"):
        say(f"{found.settings['rank_deficient_models']} models have enzymes that the data cannot tell apart.")
    say(f"Likelihood: {found.settings['likelihood']}.")
    for note in found.settings.get("notes", []):
        say_wrapped(f"Data: {note}.")
