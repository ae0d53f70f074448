"""Every error about kinetic data is worded here, for the person who measured them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

# Squares of levels enter the likelihood; beyond these they would leave the range of float64.
LARGEST_LEVEL = 1e100
# Two increments: with one the noise cannot be told from the rates.
MINIMUM_TIMES = 3


def fail(message: str) -> NoReturn:
    """Raise ValueError with this text."""
    raise ValueError(message)


def listed(items: Iterable[object], most: int = 6) -> str:
    """Quote some of the items for a message, and say how many more there are."""
    every = [repr(item) for item in items]
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")


def numbers(x: ArrayLike, name: str, ndim: int, *, missing: bool = False) -> FloatArray:
    """Finite numbers with `ndim` axes; NaN too, where values may be missing."""
    if np.ma.is_masked(x):
        fail(f"`{name}` has masked values: pass `{name}.filled(np.nan)`, where NaN stands for a missing level")
    try:
        array = np.array(x, dtype=np.float64)
    except (TypeError, ValueError):
        fail(f"`{name}` must be numbers; at least one entry cannot be read as a number, or rows differ in length")
    if array.ndim != ndim:
        shape = "(T,): one value per time" if ndim == 1 else "(T, E): one row per time, one column per enzyme"
        fail(f"`{name}` must have shape {shape}; got shape {array.shape}")
    bad = np.argwhere(np.isinf(array) if missing else ~np.isfinite(array))
    if len(bad):
        where = f"row {bad[0][0]}" + (f", column {bad[0][1]}" if ndim == 2 else "")
        what = "infinite" if missing else "missing or infinite"
        remedy = "; write NaN for a level that was not measured" if missing else ""
        fail(f"`{name}` has {len(bad)} {what} value(s), the first in {where} (counting from 0){remedy}")
    return np.ascontiguousarray(array)


def levels(x: ArrayLike, name: str, ndim: int, n_times: int, *, missing: bool = False) -> FloatArray:
    """Levels: numbers, one row per time, not negative, not absurdly large; NaN where they may be missing."""
    array = numbers(x, name, ndim, missing=missing)
    if len(array) != n_times:
        fail(f"`{name}` has {len(array)} rows but there are {n_times} times; every time needs one value")
    negative = np.argwhere(array < 0)
    if len(negative):
        at = tuple(negative[0])
        fail(
            f"`{name}` has {len(negative)} negative value(s), the first {array[at]:g} in row {at[0]} (counting "
            "from 0); levels cannot be negative (are these logarithms, or is a background subtracted?)"
        )
    if np.any(array > LARGEST_LEVEL):
        fail(f"`{name}` has values above {LARGEST_LEVEL:g}; use another unit")
    return array


def names(given: Sequence[str] | None, n_enzymes: int) -> tuple[str, ...]:
    """Enzyme names: given, or E1, E2, ..."""
    if given is None:
        return tuple(f"E{j + 1}" for j in range(n_enzymes))
    if isinstance(given, str):
        fail(f"`names` must be a sequence of names, one per enzyme; got the single text {given!r}")
    result = tuple(given)
    if len(result) != n_enzymes:
        fail(f"`names` has {len(result)} names for {n_enzymes} enzymes")
    for name in result:
        if not isinstance(name, str):
            raise TypeError(f"`names` must be text; got {name!r} of type {type(name).__name__}")
    distinct(result, "names")
    return tuple(str(name) for name in result)


def distinct(items: Sequence[str], name: str) -> None:
    """Refuse repetitions."""
    if len(set(items)) != len(items):
        twice = [item for item, count in Counter(items).items() if count > 1]
        fail(f"`{name}` repeats {listed(twice)}; every name must be different")


def known_names(given: Sequence[str], known: Sequence[str], name: str) -> tuple[str, ...]:
    """Names that must be among the known ones."""
    if isinstance(given, str):
        fail(f"`{name}` must be a sequence of names; got the single text {given!r} (write [{given!r}])")
    wanted, options = tuple(given), set(known)
    unknown = [item for item in wanted if item not in options]
    if unknown:
        fail(f"`{name}` names {listed(unknown)}, which the data do not have; they have {listed(known, 40)}")
    distinct(wanted, name)
    return wanted


def columns(model: Iterable[str | int], known: Sequence[str]) -> tuple[int, ...]:
    """Column indices of enzymes given by name or index."""
    if isinstance(model, str):
        fail(f"a model is a tuple of enzymes; got the text {model!r} (write ({model!r},) for that single enzyme)")
    index: list[int] = []
    for item in model:
        if isinstance(item, str):
            if item not in known:
                fail(f"no enzyme is called {item!r}; the data have {listed(known, 40)}")
            index.append(known.index(item))
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            if not 0 <= item < len(known):
                fail(f"enzyme index {item} is out of range; the data have {len(known)} enzymes, counted from 0")
            index.append(int(item))
        else:
            raise TypeError(f"an enzyme is given by its name or its column index; got {item!r}")
    if len(set(index)) != len(index):
        fail(f"the model {tuple(known[j] for j in index)!r} has an enzyme twice")
    return tuple(index)


def row_labels(given: Sequence[str] | None, n_times: int, name: str) -> tuple[str, ...]:
    """One label per row; a single one without a name by default."""
    if given is None:
        return ("",) * n_times
    result = tuple(str(item) for item in given) if not isinstance(given, str) else (given,) * n_times
    if len(result) != n_times:
        fail(f"`{name}` has {len(result)} entries for {n_times} rows; every row needs its {name.replace('_', ' ')}")
    return result


def nested(condition: tuple[str, ...], cell_line: tuple[str, ...]) -> None:
    """Refuse a condition with rows of several cell lines."""
    line: dict[str, str] = {}
    for name, own in zip(condition, cell_line, strict=True):
        if line.setdefault(name, own) != own:
            fail(
                f"the condition {name!r} has rows of the cell lines {line[name]!r} and {own!r}; give the conditions of "
                "each cell line names of their own"
            )


def two_forms(given: Sequence[str]) -> tuple[str, str]:
    """Names of the substrate and of its phosphorylated form."""
    forms = (given,) if isinstance(given, str) else tuple(map(str, given))
    if len(forms) != 2 or forms[0] == forms[1]:
        fail(f"`forms` must be two different names, of the substrate and its phosphorylated form; got {given!r}")
    return forms[0], forms[1]


def time_courses(times: FloatArray, condition: tuple[str, ...]) -> None:
    """Refuse times that do not increase within every condition, or are too few."""
    labels = np.array(condition, dtype=object)
    if not len(times):
        fail("there are no times: a data set needs at least three")
    for label in dict.fromkeys(condition):
        t = times[labels == label]
        where = f" in condition {label!r}" if label else ""
        different, counts = np.unique(t, return_counts=True)
        repeated = different[counts > 1]
        if len(repeated):
            fail(
                f"time {repeated[0]:g} appears more than once{where}; average replicates first "
                '(`replicates="mean"` when reading a file)'
            )
        if np.any(np.diff(t) <= 0):
            first = int(np.flatnonzero(np.diff(t) <= 0)[0])
            fail(f"times must increase{where}; {t[first + 1]:g} comes after {t[first]:g}")
        if len(t) < MINIMUM_TIMES:
            fail(
                f"too few times{where}: {len(t)}; at least {MINIMUM_TIMES} are needed (two increments), and with "
                "fewer than five the models hardly differ"
            )


def enough_increments(conditions: Sequence[str], increments: Sequence[int], missing: str) -> None:
    """Refuse conditions of which missing values leave too few increments."""
    for name, count in zip(conditions, increments, strict=True):
        if count < MINIMUM_TIMES - 1:
            where = f" in condition {name!r}" if name else ""
            fail(
                f"missing values ({missing}) leave {count} increment{'' if count == 1 else 's'}{where}, and two are "
                "needed: leave out the enzymes that were seldom measured (`enzymes`), or the condition (`conditions`)"
            )


def combinable(names_of_each: Sequence[tuple[str, ...]], labels: Sequence[str] | None) -> None:
    """Refuse to stack data sets with different enzymes, or labels that are not one for each."""
    if not names_of_each:
        fail("`datasets` is empty; there is nothing to combine")
    if any(each != names_of_each[0] for each in names_of_each):
        fail("`datasets` must have the same enzymes in the same order; use select(enzymes=...) first")
    if labels is not None and len(labels) != len(names_of_each):
        fail(f"`labels` has {len(labels)} names for {len(names_of_each)} data sets")
