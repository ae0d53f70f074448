"""Where a command writes: refused before anything is computed for it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path


def directory(path: Path, option: str) -> Path:
    """Make a directory for results, unless a file has its name.

    Parameters
    ----------
    path : Path
    option : str
        Name of the parameter that it was given as, for messages.
    """
    taken = next((each for each in (path, *path.parents) if each.exists() and not each.is_dir()), None)
    if taken is not None:
        raise ValueError(
            f"`{option}` {str(path)!r} must be a directory, but {str(taken)!r} is a file: choose another name"
        )
    path.mkdir(parents=True, exist_ok=True)
    return path


def file(path: Path, option: str, kinds: Collection[str], examples: str) -> None:
    """Refuse a file whose suffix is not of a kind that can be written, or whose directory does not exist.

    Parameters
    ----------
    path : Path
    option : str
        Name of the parameter that it was given as, for messages.
    kinds : collection of str
        Suffixes without their dots.
    examples : str
        The suffixes in words.
    """
    if path.suffix.lower().removeprefix(".") not in kinds:
        raise ValueError(f"`{option}` {str(path)!r} must end in {examples}")
    if path.is_dir():
        raise ValueError(f"`{option}` {str(path)!r} is a directory: name a file in it")
    if not path.parent.is_dir():
        raise ValueError(
            f"`{option}` {str(path)!r}: the directory {str(path.parent)!r} does not exist; create it first"
        )
