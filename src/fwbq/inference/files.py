"""The file that holds a run: its arguments and all that it was told, as JSON with a checksum."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _files, _validate, measures
from ..integration.files import design_record, kernel_record, recorded_design, recorded_kernel
from ..integration.state import require, whole_numbers
from ..posterior import checked_amplitude

Array = NDArray[np.float64]

FORMAT = "fwbq evidence run 2"
SETTINGS = ("prior", "n", "start", "scale", "kernel", "design", "amplitude", "quick")
_KINDS = ("plan", "tell", "skip")


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happened to a run and decides how it goes on.

    Attributes
    ----------
    kind : str
        ``"plan"`` (points were chosen), ``"tell"`` or ``"skip"``.
    x : (k, d) array
        The points, in the user's parameters.
    z : (k, d) array
        The points of a plan, in the run's own coordinates; elsewhere empty.
    values : (k,) array
        The log likelihoods told; elsewhere empty.
    purpose : str
        What a plan was made for.
    """

    kind: str
    x: Array
    z: Array
    values: Array
    purpose: str = ""


@dataclass(frozen=True, eq=False)
class History:
    """All that a run was told, in order: with its arguments, this determines the run.

    Attributes
    ----------
    entropy : list of int
        Seed of all points.
    events : sequence of Event
    asked : int
        Points of the last plan that were handed out.
    """

    entropy: list[int]
    events: Sequence[Event]
    asked: int


def write(path: str | os.PathLike[str], settings: dict[str, Any], history: History) -> None:
    """Write the arguments of a run, named in `SETTINGS`, and its history; the file is replaced at once."""
    arrays = {name: None if settings[name] is None else np.asarray(settings[name]).tolist() for name in SETTINGS[2:4]}
    record = {name: settings[name] for name in SETTINGS} | arrays | {
        "prior": None if settings["prior"] is None else settings["prior"].spec(),
        "kernel": kernel_record(settings["kernel"]),
        "design": design_record(settings["design"]),
    }  # fmt: skip
    events = [
        {
            "kind": event.kind, "purpose": event.purpose, "x": event.x.tolist(), "z": event.z.tolist(),
            # JSON has no infinity.
            "values": [None if np.isneginf(value) else value for value in event.values.tolist()],
        }
        for event in history.events
    ]  # fmt: skip
    _files.write(
        path,
        _files.seal({"format": FORMAT, **record, "entropy": history.entropy, "events": events, "asked": history.asked}),
    )


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], History]:
    """Read the arguments of a run and its history."""
    try:
        content = _files.content(path, FORMAT, (*SETTINGS, "entropy", "events", "asked"))
        return _checked(content)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`path` {os.fspath(path)!r} {error}; pass a file written by EvidenceRun.save(path)"
        ) from error


def _checked(content: dict[str, Any]) -> tuple[dict[str, Any], History]:
    prior = None if content["prior"] is None else measures.from_spec(content["prior"])
    require(isinstance(content["quick"], bool), "quick is not a truth value")
    settings = {
        "prior": prior,
        "n": _validate.count(content["n"], "n"),
        "start": content["start"],
        "scale": content["scale"],
        "kernel": recorded_kernel(content["kernel"]),
        "design": recorded_design(content["design"]),
        "amplitude": checked_amplitude(content["amplitude"]),
        "quick": content["quick"],
    }
    require(prior is not None or isinstance(content["start"], list), "it has neither a prior nor a start")
    dim = prior.dim if prior is not None else len(content["start"])
    require(isinstance(content["events"], list), "events is not a list")
    events = [_event(record, dim) for record in content["events"]]
    plans = [event for event in events if event.kind == "plan"]
    (asked,) = whole_numbers([content["asked"]], "asked", 1 + (len(plans[-1].x) if plans else 0))
    return settings, History(whole_numbers(content["entropy"], "entropy", 2**63, 2), events, asked)


def _event(record: Any, dim: int) -> Event:
    names = ("kind", "purpose", "x", "z", "values")
    require(isinstance(record, dict) and all(name in record for name in names), "an event is incomplete")
    require(record["kind"] in _KINDS, f"an event of kind {record['kind']!r:.40} is unknown")
    require(isinstance(record["purpose"], str), "the purpose of a plan is not a text")
    x, z = (_points(record[name], dim) for name in ("x", "z"))
    require(len(z) == (len(x) if record["kind"] == "plan" else 0), "a plan lacks its points in both coordinates")
    values = record["values"]
    require(isinstance(values, list), "values is not a list")
    told = np.array([-np.inf if value is None else value for value in values], dtype=float)
    require(len(told) == (len(x) if record["kind"] == "tell" else 0), "the numbers of points and values differ")
    return Event(record["kind"], x, z, _validate.log_values(told, "values", len(told)), record["purpose"])


def _points(record: Any, dim: int) -> Array:
    require(isinstance(record, list), "points are not a list")
    return _validate.points(record, "points", dim) if record else np.empty((0, dim))
