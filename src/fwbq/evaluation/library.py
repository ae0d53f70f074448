"""What belongs to installed libraries, and is identified by their version."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import sys
import sysconfig
from pathlib import Path
from typing import Any


def library(module: str) -> str | None:
    """Return name and version of the installed library or Python that a module belongs to; None for a user's own code.

    Examples
    --------
    >>> library("math").startswith("python 3."), library("__main__")
    (True, None)
    """
    top = module.partition(".")[0]
    if top == "__main__":
        return None
    if top in sys.stdlib_module_names or top == "builtins":
        return f"python {sys.version_info.major}.{sys.version_info.minor}"
    if top == __name__.partition(".")[0]:
        return f"{top} {_version(top)}"
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not _installed(Path(file)):
        return None
    return f"{top} {_version(top)}"


def of_library(x: Any) -> bool:
    """Whether a function or class stands under its own name in an installed module, and is known by that."""
    value: Any = sys.modules.get(x.__module__ or "")
    for part in x.__qualname__.split("."):
        value = getattr(value, part, None)
    return value is x and library(x.__module__) is not None


class Library:
    """An installed module that need not be imported to be named."""

    def __init__(self, name: str, version: str) -> None:
        self.name = name
        self.version = version


def library_constant(x: Any) -> tuple[str, ...] | None:
    """Return (module, name, version) of an object that an installed module keeps under a name, such as a ufunc."""
    kind = type(x)
    if library(kind.__module__) is None:
        return None
    name = getattr(x, "__name__", None)
    for module in (sys.modules.get(kind.__module__), *(list(sys.modules.values()) if isinstance(name, str) else ())):
        if module is None:
            continue
        own = getattr(module, "__dict__", {})
        names = [name] if isinstance(name, str) else list(own)
        for each in names:
            if own.get(each) is x and (version := library(module.__name__)) is not None:
                return module.__name__, str(each), version
    return None


@functools.cache
def _version(top: str) -> str:
    version = getattr(sys.modules.get(top), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        return ", ".join(
            f"{name} {importlib.metadata.version(name)}"
            for name in sorted(set(importlib.metadata.packages_distributions().get(top, ())))
        )


@functools.cache
def _installed(file: Path) -> bool:
    """Whether a file lies where packages are installed; an editable installation is the user's own code."""
    places = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib", "platstdlib")}
    parents = file.resolve().parents
    return any(place in parents for place in places) or any(
        parent.name in ("site-packages", "dist-packages") for parent in parents
    )
