"""Records of rules on disk: JSON or NPZ without pickle, exact to the bit and with a checksum; CSV for other programs.

A record is a dictionary with the entries of `HEADER` (JSON values) and of `ARRAYS` (arrays). This module knows the
files; `rule` knows what a record means.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from .. import _files

FORMAT = "fwbq-rule"
VERSION = 1
HEADER = ("kind", "prior_mean", "status", "rank", "mmd2", "floor", "kernel", "measure")
ARRAYS = ("points", "weights", "index")

Record = dict[str, Any]


def write(path: str | os.PathLike[str], record: Record) -> None:
    """Write `record` to `path`, as JSON, NPZ or CSV by its suffix; the file is replaced at once.

    A CSV has the columns x1, ..., xd and weight, with 17 digits, which is every float64 exactly.
    """
    suffix = _suffix(Path(path), (".json", ".npz", ".csv"))
    header = {"format": FORMAT, "version": VERSION, **{name: record[name] for name in HEADER}}
    if suffix == ".json":
        _files.write(path, _files.seal({**header, **{name: record[name].tolist() for name in ARRAYS}}))
    elif suffix == ".npz":
        buffer = io.BytesIO()
        arrays = {name: np.ascontiguousarray(record[name]) for name in ARRAYS}
        sealed = json.dumps({**header, _files.CHECKSUM: _checksum(header, arrays)})
        np.savez(buffer, header=np.array(sealed), **arrays)  # type: ignore[arg-type]
        _files.write(path, buffer.getvalue())
    else:
        names = [*(f"x{i + 1}" for i in range(record["points"].shape[1])), "weight"]
        rows = np.column_stack([record["points"], record["weights"]]).tolist()
        lines = [",".join(names), *(",".join(f"{number:.17g}" for number in row) for row in rows)]
        _files.write(path, "\n".join(lines) + "\n")


def read(path: str | os.PathLike[str]) -> Record:
    """Read the record in `path`; a file that is damaged, foreign or too new is a ValueError that says which."""
    source = Path(path)
    if source.suffix.lower() == ".csv":
        raise not_a_rule_file(source, "holds points and weights only, without kernel and measure")
    suffix = _suffix(source, (".json", ".npz"))
    try:
        data = _files.read(source)
    except ValueError as error:
        raise not_a_rule_file(source, str(error)) from None
    record = _read_json(data, source) if suffix == ".json" else _read_npz(data, source)
    if record.get("format") != FORMAT:
        raise not_a_rule_file(source, f"is not a saved rule: its format is not {FORMAT!r}")
    version = record.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise not_a_rule_file(source, f"is damaged: its version is {version!r}")
    if version > VERSION:
        raise not_a_rule_file(source, f"has version {version}, newer than the known {VERSION}: update fwbq")
    missing = [name for name in (*HEADER, *ARRAYS) if name not in record]
    if missing:
        raise not_a_rule_file(source, f"is damaged: {', '.join(missing)} missing")
    if not _sealed(record, suffix):
        raise not_a_rule_file(source, "is damaged, or was edited: its checksum is missing or does not fit its content")
    return {name: record[name] for name in HEADER} | {name: _array(record[name], name, source) for name in ARRAYS}


def not_a_rule_file(path: str | os.PathLike[str], problem: str) -> ValueError:
    """Return the error for a file that does not hold a rule."""
    return ValueError(f"`path` {os.fspath(path)!r} {problem}; pass a .json or .npz file written by rule.save(path)")


def _checksum(header: Record, arrays: dict[str, np.ndarray[Any, Any]]) -> str:
    """Return a checksum of an NPZ file: of its header, and of the bytes, types and shapes of its arrays."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in ARRAYS:
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()


def _sealed(record: Record, suffix: str) -> bool:
    """Whether the checksum of a record is there and fits its content."""
    if suffix == ".json":
        return _files.unsealed(record) is not None
    header = {name: value for name, value in record.items() if name not in (*ARRAYS, _files.CHECKSUM)}
    try:
        return bool(record.get(_files.CHECKSUM) == _checksum(header, {name: record[name] for name in ARRAYS}))
    except RecursionError:
        return False


def _suffix(path: Path, known: tuple[str, ...]) -> str:
    suffix = path.suffix.lower()
    if suffix not in known:
        listed = f"{', '.join(known[:-1])} or {known[-1]}"
        raise ValueError(f"`path` {str(path)!r} does not end in {listed}, which say the format: rename it")
    return suffix


def _read_json(data: bytes, source: Path) -> Record:
    try:
        return _files.parsed(data)
    except ValueError as error:
        raise not_a_rule_file(source, str(error)) from None


def _read_npz(data: bytes, source: Path) -> Record:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            names = [entry.filename for entry in entries]
            if sorted(names) != sorted(f"{name}.npy" for name in ("header", *ARRAYS)):
                raise ValueError(f"it holds {', '.join(names[:5]) or 'nothing'}")
            # Rules are stored as they are: what is compressed could grow without bounds when it is read.
            if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(data) for entry in entries):
                raise ValueError("its entries are compressed, or larger than the file")
            content: Record = {name.removesuffix(".npy"): _npy(archive.read(name)) for name in names}
    except (ValueError, OSError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise not_a_rule_file(source, f"is not an NPZ file of a rule, or is damaged: {error}") from None
    header = content.pop("header")
    try:
        return {**_files.parsed(str(header).encode()), **content}
    except ValueError:
        raise not_a_rule_file(source, "is not a saved rule: it has no readable header") from None


def _npy(data: bytes) -> np.ndarray[Any, Any]:
    """Return an array whose declared size is that of the bytes which are there."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    reader = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if reader is None:
        raise ValueError(f"an array has the unknown version {version}")
    shape, by_columns, dtype = reader(file)
    size = dtype.itemsize
    for length in shape:
        size *= length
    if dtype.hasobject or size != len(data) - file.tell():
        raise ValueError("an array declares another size than it has")
    return np.frombuffer(data, dtype, offset=file.tell()).reshape(shape, order="F" if by_columns else "C")


def _array(value: Any, name: str, source: Path) -> np.ndarray[Any, Any]:
    """Check one array: numbers of the expected kind and number of dimensions, finite."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, dtype=object)
    whole = name == "index"
    dims = 2 if name == "points" else 1
    kinds = "iu" if whole else "fiu"
    if array.dtype.kind not in kinds or array.ndim != dims or array.size == 0:
        raise not_a_rule_file(source, f"is damaged: {name} is not a {dims}-dimensional array")
    array = array.astype(np.intp if whole else np.float64)
    if not np.all(np.isfinite(array)):
        raise not_a_rule_file(source, f"is damaged: {name} has entries that are not finite")
    return array
