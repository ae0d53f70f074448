"""The file that holds a run: JSON with a checksum, of which every entry is checked before it is used."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _files, _validate, designs, kernels, measures
from .._reason import Reason
from ..designs import Design, PointSet
from ..kernels import ExpQuad, Kernel, Matern12, Matern32, Matern52, Stationary
from ..measures import Measure
from ..rules import PRIOR_MEANS
from .model import AMPLITUDES

FORMAT = "fwbq integration 2"
WITHOUT_CHECKSUM = "fwbq integration 1"

ENTRIES = (
    "measure", "kernel", "design", "amplitude", "prior_mean", "entropy", "asked", "waiting", "known", "width", "counts",
    "search", "ended",
)  # fmt: skip
# What a file may name; nothing else is looked up.
_KERNELS = {cls.__name__: cls for cls in (ExpQuad, Matern12, Matern32, Matern52)}
_DESIGNS = {
    name: cls
    for name, cls in vars(designs).items()
    if isinstance(cls, type) and issubclass(cls, (Design, PointSet)) and not inspect.isabstract(cls)
}


def write(path: str | os.PathLike[str], record: dict[str, Any]) -> None:
    """Write the record; the file is replaced at once."""
    _files.write(path, _files.seal({"format": FORMAT, **record}))


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a record: kernel, measure and design as objects, points and values as arrays, the rest as plain values."""
    try:
        document = _files.parsed(Path(path).read_bytes())
        if document.get("format") not in (FORMAT, WITHOUT_CHECKSUM):
            raise ValueError(f"is not of the format {FORMAT!r}")
        content = document if document["format"] == WITHOUT_CHECKSUM else _files.unsealed(document)
        if content is None:
            raise ValueError("is damaged, or was edited: its checksum is missing or does not fit its content")
        missing = [name for name in ENTRIES if name not in content]
        if missing:
            raise ValueError(f"is damaged: {', '.join(missing)} missing")
        return _checked(content)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`path` {os.fspath(path)!r} {error}; pass a file written by Integration.save(path)"
        ) from error


def kernel_record(kernel: Kernel | type[Stationary] | None) -> Any:
    """Return None, the name of a class, or a kernel's spec."""
    if kernel is None:
        return None
    if isinstance(kernel, Kernel):
        return kernel.spec()
    name = kernel.__name__
    if _KERNELS.get(name) is not kernel:
        raise ValueError(
            f"`kernel` {kernel!r:.60} cannot be saved: of classes only {', '.join(_KERNELS)} can be written to a file"
        )
    return name


def design_record(design: Callable[..., Design | PointSet] | None) -> str | None:
    """Return the name of a design class of the package."""
    if design is None:
        return None
    name = getattr(design, "__name__", "")
    if _DESIGNS.get(name) is not design:
        raise ValueError(
            f"`design` {design!r:.60} cannot be saved: only None or a design class of fwbq can be written to a file"
        )
    return name


def _checked(content: dict[str, Any]) -> dict[str, Any]:
    measure = measures.from_spec(content["measure"])
    asked = _asked(content["asked"], measure)
    known = _known(content["known"], measure, content["width"])
    return {
        "measure": measure,
        "kernel": _kernel(content["kernel"]),
        "design": _design(content["design"]),
        "amplitude": _amplitude(content["amplitude"]),
        "prior_mean": _validate.choice(content["prior_mean"], "prior_mean", PRIOR_MEANS),
        "entropy": _whole_numbers(content["entropy"], "entropy", 2**63, 2),
        "asked": asked,
        "waiting": _waiting(content["waiting"], asked, known),
        "known": known,
        "width": content["width"],
        "counts": _whole_numbers(content["counts"], "counts", 2**63, 3),
        "search": _search(content["search"]),
        "leading": _leading(content.get("leading")),  # this and the reason were not in the first format
        "ended": _ended(content["ended"]),
        "reason": _reason(content.get("reason")),
    }


def _amplitude(record: Any) -> Any:
    known = isinstance(record, str)
    return _validate.choice(record, "amplitude", AMPLITUDES) if known else _validate.positive(record, "amplitude")


def _kernel(record: Any) -> Any:
    if record is None or isinstance(record, dict):
        return None if record is None else kernels.from_spec(record)
    _require(isinstance(record, str) and record in _KERNELS, f"its kernel {record!r:.60} is unknown")
    return _KERNELS[record]


def _design(record: Any) -> Any:
    if record is None:
        return None
    _require(isinstance(record, str) and record in _DESIGNS, f"its design {record!r:.60} is unknown")
    return _DESIGNS[record]


def _asked(record: Any, measure: Measure) -> list[NDArray[np.float64]]:
    _require(isinstance(record, list), "asked is not a list of points")
    if not record:
        return []
    points = _validate.points(record, "asked", measure.dim) + 0.0
    outside = np.any((points < measure.lower) | (points > measure.upper), axis=1)
    _require(
        not outside.any(), f"the point {points[outside.argmax()].tolist()} lies outside the support of the measure"
    )
    return [point.copy() for point in points]


def _known(record: Any, measure: Measure, width: Any) -> dict[bytes, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    pairs = isinstance(record, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in record)
    _require(pairs, "known is not a list of points with their values")
    _require((width is None) == (not record), "width and known values do not fit")
    if not record:
        return {}
    _require(type(width) is int and width >= 0, "width is not a whole number")
    points = _validate.points([point for point, _ in record], "known", measure.dim) + 0.0
    values = _validate.values([value for _, value in record], "known values", len(points))
    _require(values.shape[1:] == ((width,) if width else ()), "known values do not have the width that is given")
    known = {point.tobytes(): (point.copy(), np.array(value)) for point, value in zip(points, values, strict=True)}
    _require(len(known) == len(points), "a known point comes twice")
    return known


def _waiting(record: Any, asked: list[NDArray[np.float64]], known: dict[bytes, Any]) -> dict[bytes, int]:
    rows = _whole_numbers(record, "waiting", len(asked))
    waiting = {asked[row].tobytes(): row for row in rows}
    _require(
        len(waiting) == len(rows) and not waiting.keys() & known.keys(), "waiting has a point that is not waited for"
    )
    return waiting


def _search(record: Any) -> tuple[int, Kernel] | None:
    if record is None:
        return None
    _require(isinstance(record, list) and len(record) == 2, "search is not a number of values and a kernel")
    return _validate.count(record[0], "search"), kernels.from_spec(record[1])


def _leading(record: Any) -> Kernel | None:
    _require(record is None or isinstance(record, dict), "leading is not a kernel")
    return None if record is None else kernels.from_spec(record)


def _ended(record: Any) -> str | None:
    _require(record is None or isinstance(record, str), "ended is not a text")
    return None if record is None else str(record)


def _reason(record: Any) -> Reason | None:
    known = record is None or (isinstance(record, str) and record in Reason.__members__)
    _require(known, f"its reason {record!r:.60} is unknown")
    return None if record is None else Reason[record]


def _whole_numbers(record: Any, name: str, limit: int, length: int | None = None) -> list[int]:
    fits = isinstance(record, list) and all(type(each) is int and 0 <= each < limit for each in record)
    number = "" if length is None else f"{length} "
    _require(
        fits and length in (None, len(record)), f"{name} is not a list of {number}whole numbers from 0 to {limit - 1}"
    )
    return list(record)


def _require(good: bool, problem: str) -> None:
    if not good:
        raise ValueError(f"is damaged: {problem}")
