"""What makes two runs the same problem: an identity of JSON values, its text, and where two of them differ."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any


def canonical(identity: Mapping[str, Any]) -> str:
    """Return an identity as the one JSON text that it has."""
    try:
        return json.dumps(identity, sort_keys=True, separators=(",", ":"))
    except TypeError as error:
        raise TypeError(f"`identity` must consist of JSON values (str, float, int, list, dict): {error}") from error


def _short(value: Any, limit: int = 80) -> str:
    text = json.dumps(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def differences(there: Any, here: Any, path: str = "") -> Iterator[str]:
    """Say where two JSON values differ, as `path: theirs, not ours`."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted(there.keys() | here.keys()):
            name = f"{path}.{key}" if path else key
            if key not in here:
                yield f"{name}: {_short(there[key])} in the journal, absent here"
            elif key not in there:
                yield f"{name}: absent in the journal, {_short(here[key])} here"
            else:
                yield from differences(there[key], here[key], name)
    elif (
        isinstance(there, list)
        and isinstance(here, list)
        and len(there) == len(here)
        and all(isinstance(each, dict) for each in (*there, *here))
    ):
        for i, (one, other) in enumerate(zip(there, here, strict=True)):
            yield from differences(one, other, f"{path}[{i}]")
    elif canonical({"": there}) != canonical({"": here}):
        yield f"{path}: {_short(there)} in the journal, {_short(here)} here"


def digest(identity: Mapping[str, Any]) -> str:
    """Return the checksum of an identity."""
    return hashlib.sha256(canonical(identity).encode()).hexdigest()
