"""The file that holds a run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import _validate, designs, kernels, measures
from ..designs import Design, PointSet
from ..kernels import Kernel, Stationary
from ..measures import Measure

FORMAT = "fwbq integration 1"


def write(path: str | os.PathLike[str], record: dict[str, Any]) -> None:
    """Write the record as JSON; the file appears whole or not at all."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    temporary.write_text(json.dumps({"format": FORMAT, **record}, allow_nan=False))
    os.replace(temporary, target)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a record."""
    try:
        record = json.loads(Path(path).read_text())
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise _validate.not_a_run_file(path, f"is not JSON ({error})") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise _validate.not_a_run_file(path, f"is not of the format {FORMAT!r}")
    return record


def kernel_record(kernel: Kernel | type[Stationary] | None) -> Any:
    """Return None, the name of a class, or a kernel's spec."""
    if kernel is None:
        return None
    return kernel.spec() if isinstance(kernel, Kernel) else kernel.__name__


def kernel_from(record: Any) -> Any:
    """Return what `kernel_record` was given."""
    if record is None:
        return None
    return getattr(kernels, record) if isinstance(record, str) else kernels.from_spec(record)


def measure_from(record: Any) -> Measure:
    """Return a measure from its spec."""
    return measures.from_spec(record)


def design_record(design: Callable[..., Design | PointSet] | None) -> str | None:
    """Return the name of a design class of the package."""
    if design is None:
        return None
    name = getattr(design, "__name__", "")
    if getattr(designs, name, None) is not design:
        raise _validate.cannot_be_saved(design)
    return name


def design_from(record: str | None) -> Any:
    """Return what `design_record` was given."""
    return None if record is None else getattr(designs, record)
