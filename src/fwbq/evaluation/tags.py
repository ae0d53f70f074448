"""The identity of a function in a journal: the same from run to run, another when anything changes its values."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CellType, FunctionType, MethodType
from typing import Any

from .fingerprint import Unidentified, digest, references
from .library import of_library

_SHOWN = 40  # characters up to which a plain value is written out instead of digested


def function_identity(f: Any) -> dict[str, str]:
    """Return what makes f this function and no other, by parts, so that two identities can be compared in words.

    The name; the code with its constants; default arguments, closure variables and the module-level names that the code
    refers to, each by value: numbers, strings, arrays and containers of them; functions, methods and classes of one's
    own by their code in turn; objects by their class and pickled state; functions of installed libraries by name and
    version. Comments, docstrings and line numbers do not count. Files, databases and programs that f reads when it is
    called are not seen.

    Parameters
    ----------
    f : callable

    Raises
    ------
    TypeError
        When some part cannot be read; the message names it.

    Examples
    --------
    >>> def power(a):
    ...     return lambda x: x[:, 0] ** a
    >>> function_identity(power(2.0))["closure a"], function_identity(power(3.0))["closure a"]
    ('2.0', '3.0')
    """
    try:
        return {"name": _name(f), **{part: _written(value, part) for part, value in _parts(f)}}
    except Unidentified as error:
        raise TypeError(
            f"`f` ({_name(f)}) cannot be identified for the journal: {error}. Pass `tag`, a name of your own for f, "
            "and change it (or `version`) whenever f or what it uses changes"
        ) from error


def function_tag(f: Any) -> str:
    """Return the identity of a function as one short text, ``module:qualname#digest``.

    Examples
    --------
    >>> import math
    >>> function_tag(math.exp).partition("#")[0]
    'math:exp'
    >>> function_tag(lambda x: x) == function_tag(lambda x: x + 1)
    False
    """
    identity = function_identity(f)
    return f"{identity['name']}#{hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24]}"


def _parts(f: Any) -> Iterator[tuple[str, Any]]:
    if type(f) is functools.partial:
        yield from ((f"function: {part}", value) for part, value in _parts(f.func))
        yield from ((f"argument {i}", value) for i, value in enumerate(f.args))
        yield from ((f"argument {name}", value) for name, value in sorted(f.keywords.items()))
    elif isinstance(f, MethodType):
        yield from _parts(f.__func__)
        yield "object", f.__self__
    elif isinstance(f, FunctionType) and not of_library(f):
        yield "code", f.__code__
        code = f.__code__
        positional = code.co_varnames[: code.co_argcount]
        defaults = f.__defaults__ or ()
        yield from (
            (f"default {name}", value)
            for name, value in zip(positional[len(positional) - len(defaults) :], defaults, strict=True)
        )
        yield from ((f"default {name}", value) for name, value in sorted((f.__kwdefaults__ or {}).items()))
        yield from ((f"attribute {name}", value) for name, value in sorted(f.__dict__.items()))
        yield from references(f)
    else:
        yield "object", f


def _written(value: Any, part: str) -> str:
    contents = value
    if isinstance(value, CellType):
        try:
            contents = value.cell_contents
        except ValueError:
            return "not defined"
    if type(contents) in (bool, int, float, str, bytes, type(None)) and len(repr(contents)) <= _SHOWN:
        return repr(contents)
    return digest(value, part)


def _name(f: Any) -> str:
    if isinstance(f, functools.partial):
        return f"partial({_name(f.func)})"
    named = f if hasattr(f, "__qualname__") or hasattr(f, "__name__") else type(f)
    name = getattr(named, "__qualname__", None) or named.__name__
    module = getattr(named, "__module__", None) or type(named).__module__
    if module == "__main__":  # the name of the script says more, and is the same when the script is imported
        main = sys.modules["__main__"]
        spec = getattr(main, "__spec__", None)
        file = getattr(main, "__file__", None)
        module = spec.name if spec is not None else Path(file).stem if file else module
    return f"{module}:{name}"
