"""Names of functions that stay the same from run to run."""

import functools
import hashlib
import sys
from pathlib import Path
from types import CodeType
from typing import Any


def function_tag(f: Any) -> str:
    """Name a function, for the identity of a journal.

    ``module:qualname``; the module of a script is the script's name, not ``__main__``. A lambda or a function inside a
    function gets a digest of its code appended, because its name is not its own. What a function takes from elsewhere
    (closures, attributes of an object, arguments of a `functools.partial`) is not seen: where it matters, give a tag.

    Examples
    --------
    >>> import math
    >>> function_tag(math.exp)
    'math:exp'
    >>> function_tag(lambda x: x) == function_tag(lambda x: x + 1)
    False
    """
    if isinstance(f, functools.partial):
        return f"partial({function_tag(f.func)})"
    named = f if hasattr(f, "__qualname__") or hasattr(f, "__name__") else type(f)
    name = getattr(named, "__qualname__", None) or named.__name__
    module = getattr(named, "__module__", None) or type(named).__module__
    if module == "__main__":
        main = sys.modules["__main__"]
        spec = getattr(main, "__spec__", None)
        file = getattr(main, "__file__", None)
        module = spec.name if spec is not None else Path(file).stem if file else module
    code = getattr(f, "__code__", None)
    digest = f"#{_code_digest(code)[:12]}" if code is not None and "<" in name else ""
    return f"{module}:{name}{digest}"


def _code_digest(code: CodeType) -> str:
    parts = [code.co_code.hex(), repr(code.co_names)]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            parts.append(_code_digest(constant))
        elif isinstance(constant, frozenset):  # its order changes from process to process
            parts.append(repr(sorted(map(repr, constant))))
        else:
            parts.append(repr(constant))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
