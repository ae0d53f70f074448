"""What is no number: flags, texts, names, functions, one of several options, random generators."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .arrays import shown


def flag(x: Any, name: str) -> bool:
    """Return True or False."""
    if not isinstance(x, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be True or False, got {shown(x)} of type {type(x).__name__}")
    return bool(x)


def text(x: Any, name: str) -> str:
    """Return a text."""
    if not isinstance(x, str):
        raise TypeError(f"`{name}` must be a text (str), got {shown(x)} of type {type(x).__name__}")
    return x


def function(f: Any, name: str) -> Any:
    """Something that can be called."""
    if not callable(f):
        raise TypeError(f"`{name}` must be a function of points, got {shown(f)} of type {type(f).__name__}")
    return f


def instance(x: Any, name: str, kind: type, remedy: str) -> None:
    """``x`` is an instance of ``kind``."""
    if not isinstance(x, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(
            f"`{name}` must be {article} {kind.__name__}, got {shown(x)} of type {type(x).__name__}: {remedy}"
        )


def choice(x: Any, name: str, options: Iterable[Any]) -> Any:
    """Return one of the options."""
    listed = list(options)
    if not any(type(x) is type(option) and x == option for option in listed):
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, listed))}, got {shown(x)}")
    return x


def generator(rng: Any = None) -> np.random.Generator:
    """Return a NumPy generator from None, a seed, or a generator (SPEC 7)."""
    if isinstance(rng, np.random.Generator):
        return rng
    try:
        if isinstance(rng, (bool, str, float)):
            raise TypeError
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise TypeError(
            f"`rng` must be None, a whole number >= 0 or a numpy.random.Generator, got {shown(rng)}: "
            "pass e.g. rng=np.random.default_rng(0)"
        ) from None


def different(x: Iterable[Any], name: str) -> None:
    """Names of which no two are the same."""
    seen: set[Any] = set()
    for each in x:
        if each in seen:
            raise ValueError(f"`{name}` must be different, but {each!r} comes twice")
        seen.add(each)


def parameter_names(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """Names of d parameters, no two the same; ``x1``, ``x2``, ... when there are none."""
    if names is None:
        return tuple(f"x{i + 1}" for i in range(d))
    if isinstance(names, str) or len(names) != d or not all(isinstance(name, str) for name in names):
        raise ValueError(f"`names` must be {d} strings, one for each parameter; got {names!r}")
    different(names, "names")
    return tuple(names)
