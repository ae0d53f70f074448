"""The file that holds a run: its arguments, its data and what its proposers remember, as JSON with a checksum."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _files, _validate, measures
from ..integration.files import design_record, kernel_record, recorded_design, recorded_kernel
from ..integration.state import require, whole_numbers
from ..posterior import checked_amplitude
from .chart import Chart
from .data import Data
from .memory import array, plain
from .parts import PARTS
from .tuning import TUNING

Array = NDArray[np.float64]

FORMAT = "fwbq evidence run 3"
#: The format of earlier versions: a list of what happened to the run.
EVENTS = "fwbq evidence run 2"
SETTINGS = ("prior", "n", "start", "scale", "kernel", "design", "amplitude", "quick")
_ENTRIES = ("without", "gradient", "entropy", "data", "batch", "memory")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run as it was at one moment.

    Attributes
    ----------
    settings : dict
        Arguments of `EvidenceRun`.
    entropy : list of int
        Seed of all points.
    data : dict
        Columns of `Data`, as `data_record` returns them; of an older file only points and values.
    batch : dict or None
        The points that are waited for.
    memory : dict or None
        What the proposers remember; None in a file of an older version, whose runs go on with points of their own.
    """

    settings: dict[str, Any]
    entropy: list[int]
    data: dict[str, Any]
    batch: dict[str, Any] | None
    memory: dict[str, Any] | None


def data_record(data: Data) -> dict[str, Any]:
    """Return the columns of data as strict JSON can hold them, exact to the bit."""
    return {
        "x": plain(data.x),
        "z": plain(data.z),
        "values": plain(data.values),
        "gradient": None if np.isnan(data.gradient).all() else plain(data.gradient),
        "noise": None if not data.noise.any() else plain(data.noise),
        "failed": np.flatnonzero(data.failed).tolist(),
    }


def recorded_data(record: dict[str, Any], chart: Chart) -> Data:
    """Return the data of a `data_record`, every column of which is checked.

    Raises
    ------
    ValueError
        When a column is not what `data_record` could have written.
    """
    names = ("x", "z", "values", "gradient", "noise", "failed")
    require(isinstance(record, dict) and all(name in record for name in names), "data is incomplete")
    x, z = (_points(record[name], chart.dim) for name in ("x", "z"))
    n = len(x)
    values = _numbers(record["values"], "values")
    gradient = np.full((n, chart.dim), np.nan)
    if record["gradient"] is not None:
        gradient = _numbers(record["gradient"], "gradient")
    noise = np.zeros(n) if record["noise"] is None else _numbers(record["noise"], "noise")
    require(len(z) == n and values.shape == (n,) == noise.shape, "the numbers of points and values differ")
    require(gradient.shape == (n, chart.dim), "the numbers of points and gradients differ")
    require(not np.any(values == np.inf), "a value is plus infinity")
    failed = np.zeros(n, dtype=bool)
    failed[whole_numbers(record["failed"], "failed", max(n, 1))] = True
    require(bool(np.isnan(values[failed]).all()), "a point that failed has a value")
    return Data(chart, x, z, values, gradient, noise, failed)


def older_data(record: dict[str, Any], chart: Chart) -> Data:
    """Return the data of a file of the older format: values, and where the function failed, without coordinates."""
    x, values = _points(record["x"], chart.dim), array(record["values"])
    failed = np.isnan(values)
    values = np.where(values < TUNING.depth.zero, -np.inf, values)
    told = Data.nothing(chart).told(x[~failed], values[~failed])
    return told.asked(chart.from_user(x[failed])).given_up_all() if failed.any() else told


def write(path: str | os.PathLike[str], snapshot: Snapshot) -> None:
    """Write a snapshot; the file is replaced at once."""
    settings = snapshot.settings
    arrays = {name: None if settings[name] is None else np.asarray(settings[name]).tolist() for name in SETTINGS[2:4]}
    record = {name: settings[name] for name in SETTINGS} | arrays | {
        "prior": None if settings["prior"] is None else settings["prior"].spec(),
        "kernel": kernel_record(settings["kernel"]),
        "design": design_record(settings["design"]),
        "without": sorted(settings["without"]),
        "gradient": settings["gradient"],
    }  # fmt: skip
    rest = {"entropy": snapshot.entropy, "data": snapshot.data, "batch": snapshot.batch, "memory": snapshot.memory}
    _files.write(path, _files.seal({"format": FORMAT, **record, **rest}))


def read(path: str | os.PathLike[str]) -> Snapshot:
    """Read a snapshot, or what a file of an older version tells of a run."""
    try:
        older = _files.parsed(_files.read(path)).get("format") == EVENTS
        if older:
            return _of_events(_files.content(path, EVENTS, (*SETTINGS, "entropy", "events")))
        content = _files.content(path, FORMAT, (*SETTINGS, *_ENTRIES))
        require(isinstance(content["gradient"], bool), "gradient is not a truth value")
        settings = _settings(content, content["without"]) | {"gradient": content["gradient"]}
        for name in ("data", "memory"):
            require(isinstance(content[name], dict), f"{name} is not a record")
        batch = content["batch"]
        require(batch is None or isinstance(batch, dict), "batch is not a record")
        entropy = whole_numbers(content["entropy"], "entropy", 2**63, 2)
        return Snapshot(settings, entropy, content["data"], batch, content["memory"])
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`path` {os.fspath(path)!r} {error}; pass a file written by EvidenceRun.save(path)"
        ) from error


def _settings(content: dict[str, Any], without: Any) -> dict[str, Any]:
    prior = None if content["prior"] is None else measures.from_spec(content["prior"])
    require(isinstance(content["quick"], bool), "quick is not a truth value")
    require(isinstance(without, list) and all(name in PARTS for name in without), "without has an unknown part")
    require(prior is not None or isinstance(content["start"], list), "it has neither a prior nor a start")
    return {
        "prior": prior,
        "n": _validate.count(content["n"], "n"),
        "start": content["start"],
        "scale": content["scale"],
        "kernel": recorded_kernel(content["kernel"]),
        "design": recorded_design(content["design"]),
        "amplitude": checked_amplitude(content["amplitude"]),
        "quick": content["quick"],
        "without": tuple(without),
    }


def _of_events(content: dict[str, Any]) -> Snapshot:
    """Return the values and failures that a file of the older format holds; its points in coordinates are not kept."""
    settings = _settings(content, [])
    dim = settings["prior"].dim if settings["prior"] is not None else len(settings["start"])
    require(isinstance(content["events"], list), "events is not a list")
    told: dict[bytes, tuple[Array, float]] = {}
    for event in content["events"]:
        require(isinstance(event, dict) and {"kind", "x", "values"} <= event.keys(), "an event is incomplete")
        require(event["kind"] in ("plan", "tell", "skip"), f"an event of kind {event['kind']!r:.40} is unknown")
        if event["kind"] == "plan":
            continue
        x = _points(event["x"], dim)
        values = np.full(len(x), np.nan)
        if event["kind"] == "tell":
            require(isinstance(event["values"], list), "values is not a list")
            values = np.array([-np.inf if value is None else value for value in event["values"]], dtype=float)
            values = _validate.log_values(values, "values", len(x))
        for row, value in zip(x + 0.0, values, strict=True):
            if row.tobytes() not in told or np.isnan(told[row.tobytes()][1]):
                told[row.tobytes()] = row, float(value)
    x = np.array([row for row, _ in told.values()]).reshape(-1, dim)
    values = np.array([value for _, value in told.values()])
    data = {"x": plain(x), "values": plain(values)}
    return Snapshot(settings, whole_numbers(content["entropy"], "entropy", 2**63, 2), data, None, None)


def _points(record: Any, dim: int) -> Array:
    require(isinstance(record, list), "points are not a list")
    return _validate.points(record, "points", dim) if record else np.empty((0, dim))


def _numbers(record: Any, name: str) -> Array:
    require(isinstance(record, list), f"{name} is not a list")
    return array(record)
