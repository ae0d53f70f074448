"""MIDAS files: treatments (TR:), times (DA:) and values (DV:) in one row per experiment."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from . import _checks
from .tidy import column_of_numbers, read_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["is_midas", "read_midas"]


def is_midas(path: str | PathLike[str]) -> bool:
    """Whether the columns of a file begin with TR:, DA: or DV:, as those of MIDAS do; False when it cannot be read."""
    try:
        with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
            header = file.readline()
    except (OSError, TypeError):
        return False
    return any(column.strip().strip('"').upper().startswith(("DA:", "DV:", "TR:")) for column in header.split(","))


def read_midas(path: str | PathLike[str]) -> pd.DataFrame:
    """Read a MIDAS file (Saez-Rodriguez et al., Bioinformatics 24, 2008) as a tidy table.

    The condition of a row is named by its cell line (a column ``TR:name:CellLine``) and the other treatments
    whose cell is not 0, joined by ``+``; a row without any is called ``none``. Times come from ``DA:ALL`` or from
    ``DA:x`` for the variable x. Rows that repeat a condition and a time are numbered replicates. Empty cells are
    missing measurements and left out.

    Returns
    -------
    pandas.DataFrame
        Columns time, variable, value, condition, replicate, cell_line.
    """
    import pandas as pd

    table = read_text(path)
    names = [str(name).strip() for name in table.columns]
    table.columns = pd.Index(names)
    treatments = [n for n in names if n.upper().startswith("TR:")]
    clocks = [n for n in names if n.upper().startswith("DA:")]
    values = [n for n in names if n.upper().startswith("DV:")]
    kinds = ((treatments, "TR:", "treatments"), (clocks, "DA:", "times"), (values, "DV:", "values"))
    for found, prefix, meaning in kinds:
        if not found:
            _checks.fail(f"{path} is not a MIDAS file: no column begins with {prefix!r} ({meaning})")
    _checks.distinct(names, "columns")
    for column in (*treatments, *clocks, *values):
        table[column] = column_of_numbers(table[column], column, str(path), empty_allowed=column not in clocks)
    label, line = _labels(table, treatments)
    shared = next((c for c in clocks if c[3:].upper() == "ALL"), None)
    parts = []
    for column in values:
        variable = column[3:]
        clock = next((c for c in clocks if c[3:] == variable), shared)
        if clock is None:
            _checks.fail(f"{path} has values of {variable!r}, but neither 'DA:ALL' nor 'DA:{variable}' for their times")
        part = pd.DataFrame({"time": table[clock], "variable": variable, "value": table[column], "condition": label})
        part["cell_line"] = line
        part["replicate"] = (part.groupby(["condition", "time"]).cumcount() + 1).astype(str)
        parts.append(part[part["value"].notna()])
    return pd.concat(parts, ignore_index=True)


def _labels(table: pd.DataFrame, treatments: list[str]) -> tuple[pd.Series, pd.Series]:
    """One readable name per row, and its cell line; no two conditions share one: the names of treatments differ."""
    import pandas as pd

    labels, cell_lines = [], []
    pieces = [(name, name.split(":")) for name in treatments]
    for row in table[treatments].fillna(0).to_numpy():
        lines: list[str] = []
        others: list[str] = []
        for level, (_, parts) in zip(row, pieces, strict=True):
            if level == 0:
                continue
            is_line = len(parts) > 2 and parts[-1].lower() == "cellline"
            word = ":".join(parts[1:-1]) if len(parts) > 2 else ":".join(parts[1:])
            (lines if is_line else others).append(word if level == 1 else f"{word}={level:g}")
        labels.append(" ".join([*lines, "+".join(others) or "none"]))
        cell_lines.append(" ".join(lines))
    index = table.index
    return pd.Series(labels, index=index, dtype=object), pd.Series(cell_lines, index=index, dtype=object)
