"""Comparisons on disk: JSON with a checksum, of which every entry is checked before it is used."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _files, _validate
from .evidence import Evidences

if TYPE_CHECKING:
    from .comparison import Comparison

FORMAT = "fwbq-comparison"
VERSION = 2
ENTRIES = ("names", "log_prior", "points", "evidences", "stages", "status", "settings", "rest")
_STAGE = ("n", "evaluations", "contenders", "best", "map_probability", "evidences")
_KINDS = ("log", "positive")
_FIELDS = ("centre", "scale", "df", "offset")


def write(path: str | os.PathLike[str], comparison: Comparison) -> None:
    """Write a comparison; the file is replaced at once."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "names": [_saved_name(name) for name in comparison.names],
        "log_prior": comparison.log_prior.tolist(),
        "points": comparison.points.tolist(),
        "evidences": _encoded(comparison.evidences),
        "stages": [
            {name: getattr(s, name) for name in _STAGE[:-1]} | {"evidences": _encoded(s.evidences)}
            for s in comparison.stages
        ],
        "status": comparison.status,
        "settings": comparison.settings,
        "rest": None if comparison.rest is None else [comparison.rest.count, comparison.rest.log_weight],
    }
    _files.write(path, _files.seal(document))


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a comparison; `stages` and `rest` as tuples of the arguments of Stage and Rest."""
    try:
        document = _files.parsed(_files.read(path))
        if document.get("format") != FORMAT:
            raise ValueError("is no saved comparison of fwbq")
        version = document.get("version")
        if version != VERSION:
            raise ValueError(f"has version {version!r:.60}; this fwbq reads version {VERSION}")
        content = _files.unsealed(document)
        if content is None:
            raise ValueError("is damaged, or was edited: its checksum is missing or does not fit its content")
        _complete(content, ENTRIES, "")
        return _checked(content)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`path` {os.fspath(path)!r} {error}; pass a .json file written by Comparison.save(path)"
        ) from error


def _checked(content: dict[str, Any]) -> dict[str, Any]:
    _require(isinstance(content["names"], list), "names is not a list")
    names = tuple(_name(name) for name in content["names"])
    _require(len(set(names)) == len(names), "two models have the same name")
    m = len(names)
    _require(isinstance(content["stages"], list), "stages is not a list")
    _require(isinstance(content["status"], str), "status is not a text")
    _require(isinstance(content["settings"], dict), "settings is not a dictionary")
    seed = content["settings"].get("seed", 0)
    _require(type(seed) is int and seed >= 0, "the seed is not a whole number")
    points = content["points"]
    _require(
        isinstance(points, list) and len(points) == m and all(type(n) is int and n >= 0 for n in points),
        "points is not a number of evaluations for each model",
    )
    return {
        "names": names,
        "evidences": _decoded(content["evidences"], m, ""),
        "log_prior": _validate.vector(content["log_prior"], "log_prior", m),
        "points": np.array(points, dtype=np.intp),
        "stages": tuple(_stage(record, m, i) for i, record in enumerate(content["stages"])),
        "status": content["status"],
        "settings": content["settings"],
        "rest": _rest(content["rest"]),
    }


def _stage(record: Any, m: int, i: int) -> tuple[Any, ...]:
    where = f" of stage {i}"
    _complete(record, _STAGE, where)
    for name in ("n", "evaluations", "contenders", "best"):
        _require(type(record[name]) is int and record[name] >= 0, f"{name}{where} is not a whole number")
    _require(
        record["best"] < m and record["contenders"] <= m, f"best or contenders{where} names a model that is not there"
    )
    chance = record["map_probability"]
    _require(type(chance) in (int, float) and not chance < 0.0 and not chance > 1.0, f"map_probability{where} is none")
    evidences = _decoded(record["evidences"], m, where)
    return record["n"], record["evaluations"], record["contenders"], evidences, record["best"], float(chance)


def _rest(record: Any) -> tuple[int, float] | None:
    if record is None:
        return None
    fits = isinstance(record, list) and len(record) == 2 and type(record[0]) is int and record[0] >= 0
    _require(fits and type(record[1]) in (int, float), "rest is not a number of models and their weight")
    return record[0], float(record[1])


def _encoded(evidences: Evidences) -> dict[str, list[Any]]:
    return {name: getattr(evidences, name).tolist() for name in ("kind", *_FIELDS)}


def _decoded(record: Any, m: int, where: str) -> Evidences:
    _complete(record, ("kind", *_FIELDS), f" of the evidences{where}")
    kind = record["kind"]
    known = isinstance(kind, list) and len(kind) == m and all(isinstance(k, str) and k in _KINDS for k in kind)
    _require(known, f"kind of the evidences{where} is not one of {', '.join(_KINDS)} for each model")
    arrays: list[NDArray[np.float64]] = []
    for name in _FIELDS:
        numbers = record[name]
        fits = isinstance(numbers, list) and len(numbers) == m and all(type(x) in (int, float) for x in numbers)
        _require(fits, f"{name} of the evidences{where} is not a number for each model")
        arrays.append(np.array(numbers, dtype=float))
    centre, scale, df, offset = arrays
    _require(not (scale < 0.0).any() and not (df <= 0.0).any(), f"scale or df of the evidences{where} is negative")
    # Minus infinity is the log evidence of a likelihood of zero, and infinite degrees of freedom are a Gaussian.
    possible = (centre < np.inf) & (offset < np.inf) & np.isfinite(scale) & ~np.isnan(df)
    _require(bool(possible.all()), f"a posterior of the evidences{where} is none: it has NaN or infinity")
    return Evidences(np.array(kind, dtype="<U8"), *arrays)


def _saved_name(name: Hashable) -> Any:
    """Return a model's name as JSON can hold it: a string, a number, or a tuple of these (as a list)."""
    if isinstance(name, tuple):
        return [_saved_name(each) for each in name]
    if not isinstance(name, (str, int, float)):
        raise TypeError(
            f"models can be saved when their names are strings, numbers or tuples of these, got {name!r:.60} of type "
            f"{type(name).__name__}: rename them"
        )
    return name


def _name(saved: Any) -> Hashable:
    if isinstance(saved, list):
        return tuple(_name(each) for each in saved)
    _require(isinstance(saved, (str, int, float)), f"{saved!r:.60} is not the name of a model")
    return saved  # type: ignore[no-any-return]


def _complete(record: Any, names: tuple[str, ...], where: str) -> None:
    _require(isinstance(record, dict), f"a part{where} is not a dictionary")
    missing = [name for name in names if name not in record]
    _require(not missing, f"{', '.join(missing)}{where} missing")


def _require(good: bool, problem: str) -> None:
    if not good:
        raise ValueError(f"is damaged: {problem}")
