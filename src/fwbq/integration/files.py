"""The file that holds a run: JSON with a checksum, of which every entry is checked before it is used."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from .. import _files, _validate, designs, kernels, measures
from ..designs import Design, PointSet
from ..kernels import Kernel, Stationary
from ..posterior import checked_amplitude
from ..rules import PRIOR_MEANS
from .state import ENTRIES, State, require

FORMAT = "fwbq integration 2"

SETTINGS = ("measure", "kernel", "design", "amplitude", "prior_mean")
# What a file may name, beside the kernels that are registered; nothing else is looked up.
_DESIGNS = {
    name: cls
    for name, cls in vars(designs).items()
    if isinstance(cls, type) and issubclass(cls, (Design, PointSet)) and not inspect.isabstract(cls)
}


def write(path: str | os.PathLike[str], settings: dict[str, Any], state: State) -> None:
    """Write the arguments of a run, named in `SETTINGS`, and its state; the file is replaced at once."""
    record = {name: settings[name] for name in SETTINGS} | {
        "measure": settings["measure"].spec(),
        "kernel": kernel_record(settings["kernel"]),
        "design": design_record(settings["design"]),
    }
    _files.write(path, _files.seal({"format": FORMAT, **record, **state.record()}))


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], State]:
    """Read the arguments of a run and its state."""
    try:
        content = _files.content(path, FORMAT, (*SETTINGS, *ENTRIES))
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
    name, known = kernel.__name__, kernels.classes(Stationary)
    if known.get(name) is not kernel:
        raise ValueError(
            f"`kernel` {kernel!r:.60} cannot be saved: of classes only {', '.join(known)} can be written to a file"
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


def _checked(content: dict[str, Any]) -> tuple[dict[str, Any], State]:
    measure = measures.from_spec(content["measure"])
    settings = {
        "measure": measure,
        "kernel": recorded_kernel(content["kernel"]),
        "design": recorded_design(content["design"]),
        "amplitude": checked_amplitude(content["amplitude"]),
        "prior_mean": _validate.choice(content["prior_mean"], "prior_mean", PRIOR_MEANS),
    }
    return settings, State.of_record(content, measure)


def recorded_kernel(record: Any) -> Any:
    """Return the kernel, or class of kernels, that `kernel_record` has written down."""
    if record is None or isinstance(record, dict):
        return None if record is None else kernels.from_spec(record)
    known = kernels.classes(Stationary)
    require(isinstance(record, str) and record in known, f"its kernel {record!r:.60} is unknown")
    return known[record]


def recorded_design(record: Any) -> Any:
    """Return the class of designs that `design_record` has written down."""
    if record is None:
        return None
    require(isinstance(record, str) and record in _DESIGNS, f"its design {record!r:.60} is unknown")
    return _DESIGNS[record]
