"""``fwbq network``: who regulates whom, from a table of phosphorylated levels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import _files, plots
from ..chema import Network, network
from ..chema.hpn_insilico import read_graph
from ..chema.odds import read_inclusion
from . import outputs
from .console import NOT_CERTAIN, say, say_json, say_wrapped, table
from .workers import executor

_SHOWN = 15


def infer_and_write(
    data: Path,
    out: Path,
    *,
    report: bool,
    truth: Path | None,
    workers: int,
    dask: str | None,
    as_json: bool,
    inclusion: Path | None = None,
    **options: Any,
) -> int:
    """Infer the network, print its leading edges, write tables, graphs and figures, and return the exit code."""
    if not data.is_file():
        raise ValueError(f"`data` {str(data)!r} is not a file: check its name and the directory")
    outputs.directory(out, "out")
    if inclusion is not None:
        stated = read_inclusion(inclusion)
        options["inclusion"] = {e if s is None else (e, s): p for (s, e), p in stated.items()}
    true = None if truth is None else read_graph(truth)
    with executor(workers, dask) as where:
        found = network(data, executor=where, **options)
    area = None if true is None else found.auroc(true.edges(found.proteins))
    written = write(found, out)
    if report:
        written.append(found.report(out / "report.html"))
    if as_json:
        edges = found.to_frame().to_dict(orient="records")
        say_json(
            {"status": found.status, "auroc": area, "settings": found.settings, "edges": edges}
            | {"files": [str(path) for path in written]}
        )
    else:
        print_edges(found)
        if area is not None:
            say(f"AUROC of the edges against {truth}, self loops left out: {area:.3f}")
        say_wrapped(f"written to {out}: {', '.join(path.name for path in written)}")
    return 0 if found.success else NOT_CERTAIN


def write(found: Network, out: Path) -> list[Path]:
    """Write tables, graphs and the figure of a network into a directory."""
    for name, frame in (("edges", found.to_frame()), ("substrates", found.substrates_frame())):
        _files.write_table(out / f"{name}.csv", frame)
    found.to_graphml(out / "network.graphml")
    found.to_sif(out / "network.sif")
    plots.save(found.plot(), out / "network.png")
    return [out / name for name in ("edges.csv", "substrates.csv", "network.graphml", "network.sif", "network.png")]


def print_edges(found: Network) -> None:
    """Print the summary and the leading edges."""
    for line in found.summary().split("\n"):
        say_wrapped(line)
    say()
    rows = [
        [
            e.source, e.target, f"{e.probability:.3f}", f"{e.lower:.3f} to {e.upper:.3f}",
            f"{e.least:.2f} to {e.most:.2f}", f"{e.q2:.2f}", e.doubt,
        ]
        for e in found.edges[:_SHOWN]
    ]  # fmt: skip
    columns = ["enzyme", "substrate", "probability", "numerical", "other priors", "Q2", "doubt"]
    table(f"The leading {len(rows)} of {len(found.edges):,} edges", columns, rows)
    say()
