"""Records of rules on disk: one JSON file, or NPZ without pickle. Exact to the bit, version-tagged, written at once.

A record is a dictionary with the entries of `HEADER` (JSON values) and of `ARRAYS` (arrays). This module knows the
files; `rules` knows what a record means.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import uuid
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from .. import _validate

FORMAT = "fwbq-rule"
VERSION = 1
HEADER = ("kind", "prior_mean", "status", "rank", "mmd2", "floor", "kernel", "measure")
ARRAYS = ("points", "weights", "index")

Record = dict[str, Any]


def write(path: str | os.PathLike[str], record: Record) -> None:
    """Write `record` to `path`, as JSON or NPZ by its suffix.

    The file is written under another name beside it and then renamed, so that `path` holds the old file or the whole
    new one, whatever happens meanwhile.
    """
    target = Path(path)
    header = {"format": FORMAT, "version": VERSION, **{name: record[name] for name in HEADER}}
    if _suffix(target) == ".json":
        content = {**header, **{name: record[name].tolist() for name in ARRAYS}}
        content["checksum"] = _checksum(content)
        data = json.dumps(content, indent=1).encode()
    else:
        buffer = io.BytesIO()
        np.savez(buffer, header=np.array(json.dumps(header)), **{name: record[name] for name in ARRAYS})
        data = buffer.getvalue()
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str]) -> Record:
    """Read the record in `path`; a file that is damaged, foreign or too new is a ValueError that says which."""
    source = Path(path)
    suffix = _suffix(source)
    data = source.read_bytes()
    record = _read_json(data, source) if suffix == ".json" else _read_npz(data, source)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise _validate.not_a_rule_file(source, f"is not a saved rule: its format is not {FORMAT!r}")
    version = record.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _validate.not_a_rule_file(source, f"is damaged: its version is {version!r}")
    if version > VERSION:
        raise _validate.not_a_rule_file(source, f"has version {version}, newer than the known {VERSION}: update fwbq")
    missing = [name for name in (*HEADER, *ARRAYS) if name not in record]
    if missing:
        raise _validate.not_a_rule_file(source, f"is damaged: {', '.join(missing)} missing")
    if "checksum" in record and suffix == ".json":
        expected = record.pop("checksum")
        if expected != _checksum(record):
            raise _validate.not_a_rule_file(source, "is damaged: its checksum does not fit its content")
    return {name: record[name] for name in HEADER} | {name: _array(record[name], name, source) for name in ARRAYS}


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (".json", ".npz"):
        raise _validate.not_a_rule_file(path, "does not end in .json or .npz")
    return suffix


def _checksum(content: Record) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read_json(data: bytes, source: Path) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _validate.not_a_rule_file(source, f"is not JSON, or is cut off: {error}") from None


def _read_npz(data: bytes, source: Path) -> Record:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            content: Record = {
                name.removesuffix(".npy"): np.lib.format.read_array(archive.open(name), allow_pickle=False)
                for name in archive.namelist()
            }
    except (ValueError, OSError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise _validate.not_a_rule_file(source, f"is not an NPZ file, or is damaged: {error}") from None
    header = content.pop("header", None)
    try:
        return {**json.loads(str(header)), **content}
    except (ValueError, TypeError):
        raise _validate.not_a_rule_file(source, "is not a saved rule: it has no readable header") from None


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
        raise _validate.not_a_rule_file(source, f"is damaged: {name} is not a {dims}-dimensional array")
    array = array.astype(np.intp if whole else np.float64)
    if not np.all(np.isfinite(array)):
        raise _validate.not_a_rule_file(source, f"is damaged: {name} has entries that are not finite")
    return array
