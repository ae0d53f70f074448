"""Tidy tables: one row per measurement, with columns time, variable, value, condition, replicate, cell_line."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from . import _checks
from .dataset import Dataset
from .replicates import Replicates, of_course

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_tidy", "read_tidy", "to_tidy"]

_NEEDED = ("time", "variable", "value")
_OPTIONAL = ("condition", "replicate", "cell_line")


def read_tidy(path: str | PathLike[str]) -> pd.DataFrame:
    """Read a tidy CSV file and check its columns and cells.

    Names are text whatever they look like (``NA``, ``1e5`` and ``=SUM(A1)`` are names); an empty cell in
    ``value`` is a missing measurement.

    Returns
    -------
    pandas.DataFrame
        Columns time and value (float64), variable, condition, replicate and cell_line (str).
    """
    return check_tidy(read_text(path), str(path))


def read_text(path: str | PathLike[str], *, header: bool = True) -> pd.DataFrame:
    """Read a CSV file without interpreting its cells; its first line has the names of the columns, if it has any."""
    import pandas as pd

    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False, na_filter=False, header="infer" if header else None)
    except pd.errors.EmptyDataError:
        _checks.fail(f"{path} is empty")
    except pd.errors.ParserError as error:
        _checks.fail(f"{path} is not a regular table: {error}")
    except UnicodeDecodeError:
        _checks.fail(f"{path} is not text in UTF-8; is it a spreadsheet? Save it as CSV")


def check_tidy(frame: pd.DataFrame, source: str = "the table") -> pd.DataFrame:
    """Return the six columns in their types, or fail and name the first wrong line."""
    import pandas as pd

    table = frame.rename(
        columns=lambda name: str(name).strip().removeprefix("\ufeff").lower().replace("cell line", "cell_line")
    )
    absent = [name for name in _NEEDED if name not in table.columns]
    if absent:
        _checks.fail(
            f"{source} has no column {_checks.listed(absent)}; a tidy table has one row per measurement, with the "
            f"columns time, variable, value and optionally condition, replicate, cell_line. It has "
            f"{_checks.listed(frame.columns)}{_other_separator(frame)}"
        )
    # Pandas calls the second of two columns of one name value.1.
    columns = [name.removesuffix(".1") for name in table.columns]
    repeated = [name for name in (*_NEEDED, *_OPTIONAL) if columns.count(name) > 1]
    if repeated:
        _checks.fail(f"{source} has the column {_checks.listed(repeated)} more than once")
    result = pd.DataFrame(
        {
            "time": column_of_numbers(table["time"], "time", source, empty_allowed=False),
            "variable": table["variable"].astype(str),
            "value": column_of_numbers(table["value"], "value", source, empty_allowed=True),
        }
    )
    for name in _OPTIONAL:
        result[name] = table[name].fillna("").astype(str) if name in table.columns else ""
    if not len(result):
        _checks.fail(f"{source} has no measurements")
    return result.reset_index(drop=True)


def _other_separator(frame: pd.DataFrame) -> str:
    if len(frame.columns) == 1:
        for mark, name in ((";", "semicolons"), ("\t", "tabs")):
            if mark in str(frame.columns[0]):
                return f"; its columns are separated by {name}: save it with commas (and decimal points)"
    return ""


def column_of_numbers(column: pd.Series, name: str, source: str, *, empty_allowed: bool) -> pd.Series:
    """Turn a column of text into float64, empty cells into NaN; what is not a number is named with its line."""
    import pandas as pd

    text = column.astype(str).str.strip()
    empty = column.isna() | text.isin(["", "NA", "NaN", "nan", "<NA>", "None"])
    parsed = pd.to_numeric(text.where(~empty), errors="coerce").astype(np.float64)
    bad = parsed.isna() & (~empty if empty_allowed else True)
    bad |= np.isinf(parsed)
    if bad.any():
        first = int(np.flatnonzero(bad.to_numpy())[0])
        # Line 1 is the header.
        _checks.fail(f"{source}, line {first + 2}: {str(column.iloc[first])!r} in column {name!r} is not a number")
    # Reading through Python's float is exact to the last bit, which to_numeric's fast parser does not promise.
    return text.where(~empty, "nan").map(float).astype(np.float64)


def from_tidy(
    frame: pd.DataFrame,
    substrate: str = "S",
    *,
    phospho: str | None = None,
    enzymes: Sequence[str] | None = None,
    total: float | None = None,
    conditions: Sequence[str] | None = None,
    replicates: str | None = None,
) -> Dataset:
    """Build a :class:`Dataset` from a tidy table; see :meth:`Dataset.from_csv` for the parameters."""
    table = _named_apart(check_tidy(frame))
    if conditions is not None:
        known = list(dict.fromkeys(table["condition"]))
        if known == [""]:
            _checks.fail("`conditions` were given, but the table has no column 'condition', or it is empty")
        wanted = _checks.known_names(conditions, known, "conditions")
        table = table[table["condition"].isin(wanted)]
    starred = f"{substrate}*" if phospho is None else phospho
    variables = list(dict.fromkeys(table["variable"]))
    if starred == substrate:
        _checks.fail(f"`phospho` and `substrate` are both {substrate!r}: name the two forms of the substrate")
    if total is None:
        _need(
            substrate, variables, "unphosphorylated substrate", "substrate",
            "; if only the phosphorylated form was measured, state the total amount with `total`",
        )  # fmt: skip
    alike = [name for name in variables if substrate in name and name != substrate]
    _need(starred, variables, "phosphorylated substrate", "phospho", f"; is it {alike[0]!r}?" if alike else "")
    chosen = (
        [v for v in variables if v not in (substrate, starred)]
        if enzymes is None
        else list(_checks.known_names(enzymes, variables, "enzymes"))
    )
    if not chosen:
        _checks.fail("the table has no enzymes: nothing but the substrate was measured")
    for name in (starred, *([substrate] if total is None else [])):
        if name in chosen:
            _checks.fail(f"{name!r} is the substrate and cannot be one of the `enzymes` as well")
    needed = [starred, *([substrate] if total is None else []), *chosen]
    table = table[table["variable"].isin(needed) & table["value"].notna()]
    single = _single(table[table["variable"] == starred], replicates)
    table = _average(table)
    lines = dict(zip(table["condition"], table["cell_line"], strict=True))
    rows, times, condition, scatter = [], [], [], []
    for label in dict.fromkeys(table["condition"]):
        wide = table[table["condition"] == label].pivot(index="time", columns="variable", values="value")
        wide = wide.reindex(columns=needed).sort_index()
        rows.append(wide.to_numpy())
        times.append(wide.index.to_numpy(dtype=np.float64))
        condition += [label] * len(wide)
        scatter.append(_scatter(single, label, times[-1]))
    values, clock = np.concatenate(rows), np.concatenate(times)
    y_p = _levels_of(values[:, 0], starred, clock)
    y_s = _levels_of(values[:, 1], substrate, clock) if total is None else _rest(total, y_p)
    y_e = values[:, len(needed) - len(chosen) :]
    for j, name in enumerate(chosen):
        _levels_of(y_e[:, j], name, clock)
    return Dataset(
        clock, y_s, y_p, y_e, chosen, condition=condition, cell_line=[lines[label] for label in condition],
        forms=(substrate, starred), replicates=Replicates.stacked(scatter),
    )  # fmt: skip


def _named_apart(table: pd.DataFrame) -> pd.DataFrame:
    """Call conditions by cell line and condition where several cell lines have a condition of one name."""
    lines = table.groupby("condition", sort=False)["cell_line"].nunique()
    if (lines <= 1).all():
        return table
    return table.assign(condition=(table["cell_line"] + " " + table["condition"]).str.strip())


def _levels_of(values: np.ndarray, name: str, times: np.ndarray) -> np.ndarray:
    if np.any(values < 0):
        first = int(np.argmax(values < 0))
        _checks.fail(
            f"{name!r} has the negative level {values[first]:g} at time {times[first]:g}; levels cannot be negative "
            "(are these logarithms, or is a background subtracted?)"
        )
    return values


def _rest(total: float, y_p: np.ndarray) -> np.ndarray:
    largest = float(np.nanmax(y_p, initial=0.0))
    if not (np.isfinite(total) and total >= largest):
        _checks.fail(
            f"`total` substrate is {total:g}, but the phosphorylated form alone reaches {largest:g}; the total "
            "must be at least that"
        )
    rest: np.ndarray = total - y_p
    return rest


def _need(name: str, variables: list[str], what: str, parameter: str, advice: str = "") -> None:
    if name not in variables:
        _checks.fail(
            f"no variable is called {name!r} (the {what}, set by `{parameter}`); the table has "
            f"{_checks.listed(variables, 40)}{advice}"
        )


_KEY = ["condition", "cell_line", "time", "variable"]


def _single(table: pd.DataFrame, replicates: str | None) -> pd.DataFrame | None:
    """Return the measurements of the phosphorylated form, replicate by replicate; None when they are averaged."""
    if replicates not in (None, "each", "mean"):
        _checks.fail(f'`replicates` must be "each" or "mean"; got {replicates!r}')
    return None if replicates == "mean" or not table.duplicated(_KEY).any() else table


def _average(table: pd.DataFrame) -> pd.DataFrame:
    """Return the means over replicates."""
    twice = table.duplicated([*_KEY, "replicate"])
    if twice.any():
        row = table[twice].iloc[0]
        where = f" in condition {row['condition']!r}" if row["condition"] else ""
        _checks.fail(
            f"{row['variable']!r} has more than one value at time {row['time']:g}{where}; if these are replicates, "
            "number them in a column `replicate`"
        )
    if not table.duplicated(_KEY).any():
        return table[[*_KEY, "value"]]
    return table.groupby(_KEY, sort=False)["value"].mean().reset_index()


def _scatter(single: pd.DataFrame | None, condition: str, times: np.ndarray) -> Replicates:
    """Return what the replicates of a condition say of its rates."""
    if single is None:
        return Replicates.single(len(times))
    wide = single[single["condition"] == condition].pivot(index="time", columns="replicate", values="value")
    return of_course(times, wide.reindex(index=times).to_numpy(dtype=np.float64))


def to_tidy(data: Dataset, substrate: str | None = None, phospho: str | None = None) -> pd.DataFrame:
    """Make the tidy table of a data set; see :meth:`Dataset.to_frame`."""
    import pandas as pd

    plain, starred = data.forms if substrate is None else (substrate, f"{substrate}*")
    starred = starred if phospho is None else phospho
    _checks.distinct([plain, starred, *data.names], "names with those of the substrate")
    variables = np.array([plain, starred, *data.names], dtype=object)
    levels = np.column_stack([data.substrate, data.phospho, data.enzymes])
    table = pd.DataFrame(
        {
            "time": np.repeat(data.times, len(variables)),
            "variable": np.tile(variables, len(data.times)),
            "value": levels.ravel(),
        }
    )
    for column, labels in (("condition", data.condition), ("cell_line", data.cell_line)):
        if any(labels):
            table[column] = np.repeat(np.array(labels, dtype=object), len(variables))
    return table.dropna(subset="value", ignore_index=True) if data.n_missing else table
