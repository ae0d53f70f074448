"""``fwbq integrate``: a function of the user's under a measure."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import _validate
from ..integration import integrate
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
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = import_module(module)
    except Exception as error:  # a module of the user's may raise anything
        raise ValueError(f"`function` {name!r}: {_why_not_imported(module, error)}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"`function` {name!r}: module {module!r} has no {attribute!r}")
        found = getattr(found, part)
    return _validate.function(found, "function")


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
    *,
    n: int | None,
    tol: float | None,
    method: Literal["auto", "process", "net"],
    kernel: str | None,
    level: float,
    journal: Path | None,
    workers: int,
    dask: str | None,
    vectorized: bool | None,
    on_error: Literal["raise", "skip"],
    timeout: float | None,
    seed: int,
    as_json: bool,
    progress: bool | None,
) -> int:
    """Integrate, print the result, and return the exit code."""
    f = load_function(function) if dask is None else Travelling(load_function(function))
    where = expressions.measure(measure)
    chosen = None if kernel is None else expressions.kernel(kernel)
    _validate.probability(level, "level")
    with executor(workers, dask) as where_evaluated:
        result = integrate(
            f, where, n=n, tol=tol, method=method, kernel=chosen, journal=journal, executor=where_evaluated,
            vectorized=vectorized,
            on_error=on_error, timeout=timeout, tag=function, rng=seed, progress=progress,
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
        means, sds = np.atleast_1d(result.mean), np.atleast_1d(result.sd)
        lows, highs = np.atleast_1d(low), np.atleast_1d(high)
        rows = [
            [str(i + 1), f"{m:.10g}", f"{s:.3g}", f"[{a:.10g}, {b:.10g}]"]
            for i, (m, s, a, b) in enumerate(zip(means, sds, lows, highs, strict=True))
        ]
        table(f"{function} under {measure}", ["integral", "mean", "sd", f"{level:.0%} interval"], rows)
        say(in_flags(result.reason.with_count(result.n_evaluations, result.status), {"n": "--n", "tol": "--tol"}))
    return 0 if result.success else NOT_CERTAIN
