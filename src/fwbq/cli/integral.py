"""``fwbq integrate``: a function of the user's under a measure."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Literal

from .. import _validate
from ..evaluation import Evaluation
from ..integration import integrate
from ..posterior import written
from . import expressions
from .console import NOT_CERTAIN, in_flags, say, say_json, table
from .workers import Travelling, executor


def load_function(name: str) -> Any:
    """Return the function that ``package.module:function`` names, looking in the current directory first."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise ValueError(f"`function` {name!r} must be package.module:function, e.g. scipy.special:j0")
    if module.endswith(".py") or "/" in module or "\\" in module:
        stem = Path(module.replace("\\", "/")).stem
        raise ValueError(f"`function` {name!r} names a file: change to its directory and write {stem}:{attribute}")
    try:
        with _path_for(module.partition(".")[0]):
            found: Any = import_module(module)
    except Exception as error:  # a module of the user's may raise anything
        raise ValueError(f"`function` {name!r}: {_why_not_imported(module, error)}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"`function` {name!r}: module {module!r} has no {attribute!r}")
        found = getattr(found, part)
    return _validate.function(found, "function")


@contextmanager
def _path_for(name: str) -> Iterator[None]:
    """Put the current directory first on the import path while a module that lies in it is imported, afterwards last.

    What that module imports later, here and in the processes of an executor, is then found in the directory, while no
    file there takes the place of a package that is installed. For a module that does not lie in it the path stays.
    """
    own = str(Path.cwd())
    spec = PathFinder.find_spec(name, [own])
    installed = PathFinder.find_spec(name)
    # A folder without __init__.py is a package only where no other has its name.
    if own in sys.path or spec is None or (spec.loader is None and installed is not None):
        yield
        return
    sys.path.insert(0, own)
    try:
        yield
    finally:
        sys.path.remove(own)
        sys.path.append(own)


def _why_not_imported(module: str, error: Exception) -> str:
    """Return what went wrong while a module was imported, and what to do."""
    told = f"module {module!r} cannot be imported: "
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        if module == error.name or module.startswith(error.name + "."):
            file = f"{error.name.replace('.', '/')}.py"
            return f"{told}there is no {file} here and no installed package of this name; change to its directory"
        return f"{told}it imports {error.name!r}, which is not installed"
    if isinstance(error, SyntaxError):
        return f"{told}line {error.lineno} of {error.filename} is not valid Python ({error.msg})"
    return f"{told}it raised {type(error).__name__}: {error}"


def integrate_and_print(
    function: str,
    measure: str,
    how: Evaluation,
    *,
    n: int | None,
    tol: float | None,
    method: Literal["auto", "process", "net"],
    kernel: str | None,
    level: float,
    workers: int,
    dask: str | None,
    seed: int,
    as_json: bool,
) -> int:
    """Integrate, print the result, and return the exit code."""
    f = load_function(function) if dask is None else Travelling(load_function(function))
    where = expressions.measure(measure)
    chosen = None if kernel is None else expressions.kernel_or_class(kernel)
    _validate.probability(level, "level")
    with executor(workers, dask) as where_evaluated:
        result = integrate(
            f, where, n=n, tol=tol, method=method, kernel=chosen, rng=seed,
            **replace(how, executor=where_evaluated).keywords,
        )  # fmt: skip
    low, high = result.interval(level)
    facts = {
        "mean": result.mean,
        "sd": result.sd,
        "interval": [low, high],
        "level": level,
        "n_evaluations": result.n_evaluations,
        "n_skipped": result.n_skipped,
        "status": result.status,
        "kernel": repr(result.kernel),
    }
    if as_json:
        say_json(facts)
    else:
        found = enumerate(written(result.mean, result.sd, low, high))
        rows = [[str(i + 1), m, s, f"[{a}, {b}]"] for i, (m, s, a, b) in found]
        table(f"{function} under {measure}", ["integral", "mean", "sd", f"{level:.0%} interval"], rows)
        say(in_flags(result.reason.with_count(result.n_evaluations, result.status), {"n": "--n", "tol": "--tol"}))
    return 0 if result.success else NOT_CERTAIN
