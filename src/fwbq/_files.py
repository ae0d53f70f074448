"""Files that hold the old content or the whole new one, whatever happens while they are written; their checksums."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import uuid
from collections.abc import Iterable, Iterator
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: The entry of a sealed document that holds its checksum.
CHECKSUM = "checksum"
#: How a cell begins that a spreadsheet calculates.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
#: Largest whole number of a file, far above every seed; larger ones are no float64.
_LARGEST = 2**128


def write(path: str | os.PathLike[str], content: bytes | str) -> None:
    r"""Replace a file at once: it holds its old content until the new one is whole and on the disk.

    The content goes to a new file in the same folder, under a name that no other writer uses, reaches the disk (fsync
    of file and folder) and is then renamed. When anything fails the new file is removed and the old one is as it was.
    A symbolic link is followed; permissions of an existing file are kept.

    Parameters
    ----------
    path : path-like
        Its folder must exist.
    content : bytes or str
        Text is written as UTF-8, newlines as they are.

    Raises
    ------
    OSError
        With the path that was asked for and the system's reason.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
    >>> write(path, "x,weight\n0.5,1\n")
    >>> path.read_text().split(), [each.name for each in path.parent.iterdir()]
    (['x,weight', '0.5,1'], ['table.csv'])
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        target = Path(os.path.realpath(path))
        mode = _mode(target)
        temporary = target.with_name(f".{uuid.uuid4().hex}.tmp")  # short: the name may be as long as the system allows
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                temporary.chmod(mode)
            os.replace(temporary, target)
        except BaseException as error:
            try:
                temporary.unlink(missing_ok=True)
            except OSError as second:
                error.add_note(f"The unfinished file {str(temporary)!r} could not be removed either: {second}")
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise _explained(error, path) from error


def write_table(path: str | os.PathLike[str], frame: pd.DataFrame) -> None:
    """Write a table as CSV of which spreadsheets calculate nothing: texts that are formulas get an apostrophe in front.

    Examples
    --------
    >>> import pandas as pd, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
    >>> write_table(path, pd.DataFrame({"name": ["=cmd()", "AKT"], "value": [-1.5, 2.0]}))
    >>> path.read_text().split()
    ['name,value', "'=cmd(),-1.5", 'AKT,2.0']
    """

    def safe(cell: Any) -> Any:
        return cell if isinstance(cell, Number) or not str(cell).startswith(_FORMULAS) else f"'{cell}"

    write(path, frame.map(safe).rename(columns=safe).to_csv(index=False))


def read(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file; a pipe or a device, which might never end, is refused.

    Examples
    --------
    >>> read(os.devnull)
    Traceback (most recent call last):
    ...
    ValueError: is a device or a pipe, not a file
    """
    source = Path(path)
    mode = source.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a folder says so by itself
        raise ValueError("is a device or a pipe, not a file")
    return source.read_bytes()


def seal(document: dict[str, Any]) -> str:
    """Return a document as JSON text with a checksum of its content.

    Examples
    --------
    >>> unsealed(json.loads(seal({"n": 3})))
    {'n': 3}
    >>> unsealed({**json.loads(seal({"n": 3})), "n": 4}) is None
    True
    """
    plain = json.loads(json.dumps(document))  # as a reader will see it: lists for tuples, texts for keys
    return json.dumps({**plain, CHECKSUM: _checksum(plain)}, indent=1)


def unsealed(document: dict[str, Any]) -> dict[str, Any] | None:
    """Return the content of a sealed document; None when its checksum is missing or does not fit."""
    content = {key: value for key, value in document.items() if key != CHECKSUM}
    try:
        return content if document.get(CHECKSUM) == _checksum(content) else None
    except RecursionError:  # nested more deeply than anything that `seal` wrote
        return None


def parsed(data: bytes) -> dict[str, Any]:
    """Return a JSON object; anything else is a ValueError whose text continues "the file ..."."""
    try:
        document = json.loads(data, parse_int=_whole_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON, or is damaged or cut off ({error})") from None
    if not isinstance(document, dict):
        raise ValueError("is not a file of fwbq: it holds no JSON object")
    return document


def _whole_number(text: str) -> int:
    number = int(text)
    if abs(number) > _LARGEST:
        raise ValueError(f"it holds a whole number of {len(text)} digits")
    return number


def content(path: str | os.PathLike[str], form: str, names: Iterable[str]) -> dict[str, Any]:
    """Return the content of a sealed file.

    Parameters
    ----------
    path : path
        A file that holds what `seal` returned.
    form : str
        Value of its entry ``format``.
    names : iterable of str
        Entries that it must have.

    Raises
    ------
    ValueError
        With a text that continues "the file ...".
    """
    document = parsed(read(path))
    if document.get("format") != form:
        raise ValueError(f"is not of the format {form!r}")
    found = unsealed(document)
    if found is None:
        raise ValueError("is damaged, or was edited: its checksum is missing or does not fit its content")
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"is damaged: {', '.join(missing)} missing")
    return found


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _mode(target: Path) -> int | None:
    """Return the permissions of an existing file, None when there is none; refuse devices, pipes and folders."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "it is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise OSError(22, "it is a device or a pipe, not a file")
    return stat.S_IMODE(mode)


def _sync_folder(folder: Path) -> None:
    """Bring a renaming to the disk, where the system lets a folder be opened (not on Windows)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _explained(error: OSError, path: str | os.PathLike[str]) -> OSError:
    reason = error.strerror or str(error)
    if isinstance(error, FileNotFoundError):
        reason = "its folder does not exist; create it first"
    explained = type(error)(error.errno, f"cannot be written: {reason}", os.fspath(path))
    for note in getattr(error, "__notes__", ()):
        explained.add_note(note)
    return explained


@contextlib.contextmanager
def reading_spec(noun: str, name: str) -> Iterator[None]:
    """Say of a saved kernel or measure that cannot be rebuilt what is wrong with it."""
    try:
        yield
    except KeyError as missing:
        raise ValueError(f"`spec` of the {noun} {name} lacks the entry {missing}") from None
    except (TypeError, AttributeError) as error:
        raise ValueError(f"`spec` of the {noun} {name} is damaged: {error}") from error


def spec_type(spec: Any, noun: str, known: Iterable[str]) -> str:
    """Return the ``type`` entry of a saved kernel or measure."""
    if not isinstance(spec, dict) or "type" not in spec:
        raise ValueError(
            f"`spec` must be a dict with a 'type' entry made by a {noun}'s spec(), got {type(spec).__name__}"
        )
    name = spec["type"]
    listed = sorted(known)
    if name not in listed:
        raise ValueError(f"`spec` names the unknown {noun} {name!r}; known are {', '.join(listed)}")
    return str(name)
