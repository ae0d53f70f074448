"""What a way remembers between its proposals, as plain values that a file holds exactly."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._whitening import Whitening
from ..integration.state import require
from .data import Data
from .draws import Draws, Region
from .gradient_way import GradientWay
from .gradients.judge import Proposal
from .gradients.surrogate import GradientSurrogate, Shape
from .joint_process import FittedProcesses, JointProcess, mean_of
from .modes import Mode
from .proposers.ascent import Ascent, Top
from .proposers.climb import Climb
from .proposers.curvature import Curvature
from .proposers.exchange import Exchange
from .quadratic import Quadratic
from .surrogate import Surrogate, surrogate_of
from .value_way import ValueWay

Array = NDArray[np.float64]


def plain(value: Any) -> Any:
    """Return a value as strict JSON can hold it, exact to the bit.

    Numbers that are not finite become texts; a matrix whose columns are contiguous is marked, because products with it
    round otherwise than with its copy; the entries of a dictionary, and the fields of a dataclass, are pairs.

    Examples
    --------
    >>> plain({"a": np.array([1.0, np.inf])})
    [['a', [1.0, 'inf']]]
    """
    if isinstance(value, np.ndarray):
        turned = value.ndim == 2 and value.flags.f_contiguous and not value.flags.c_contiguous
        return {"columns": plain(value.T.tolist())} if turned else plain(value.tolist())
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else str(float(value))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return [[plain(key), plain(each)] for key, each in value.items()]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


def array(record: Any) -> Array:
    """Return the array that `plain` wrote down."""
    if isinstance(record, dict):
        return np.array(record["columns"], dtype=float).T
    return np.array(record, dtype=float)


def _shaped(record: Any, dim: int, axes: tuple[int, ...]) -> Array:
    """Return an array of which each axis has `dim` entries, and of which there may be so many."""
    found = array(record)
    require(found.ndim in axes and set(found.shape) <= {dim}, f"an array of shape {found.shape} has the wrong size")
    require(bool(np.isfinite(found).all()), "a place or a shape is not finite")
    return found


def _typed(kind: type[Any], made: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dataclass, of which truth values and whole numbers are what they should be."""
    for field in fields(kind):
        if field.name in made and field.type in ("bool", "int"):
            wanted = bool if field.type == "bool" else int
            require(type(made[field.name]) is wanted, f"{field.name.strip('_')} is of another type")
    return made


def record(way: ValueWay | GradientWay) -> dict[str, Any]:
    """Return what a way remembers."""
    return _gradient_record(way) if isinstance(way, GradientWay) else _value_record(way)


def recall(way: ValueWay | GradientWay, content: dict[str, Any], data: Data) -> Data:
    """Give a way that has just begun the memory of another; return the data in the coordinates that it uses."""
    if isinstance(way, GradientWay):
        _gradient_recall(way, content, data)
        return data
    metric = content["metric"]
    if metric is not None and way.metric is not None:
        way.metric.steps = array(metric["steps"])
        way.metric.asked = [(int(row), int(size)) for row, size in metric["asked"]]
        way.metric.open = np.array(metric["open"], dtype=np.intp)
        way.metric.paired = bool(metric["paired"])
        if way.metric.ended:
            way.use_units(way.metric.steps)
            data = replace(data, chart=way.chart)
    _value_recall(way, content, data)
    return data


def _gradient_record(way: GradientWay) -> dict[str, Any]:
    names = ("start", "root", "budget", "further", "tops", "wide", "rows", "counted")
    return {
        "ascents": [{name: plain(getattr(ascent, name)) for name in names} for ascent in way.ascents],
        **_draws_record(way.draws),
    }


def _draws_record(draws: Draws) -> dict[str, Any]:
    return {
        "regions": [
            {
                "top": plain(r.top), "climbs": r.climbs, "whitening": plain(r.whitening), "shape": plain(r.shape),
                "masses": plain(r.masses), "rows": plain(r.rows),
                "density": None if r.density is None else {
                    "whitening": plain(r.density.whitening), "tau": r.density.tau,
                    "log_constant": plain(r.density.log_constant), "lowered": r.density.surrogate.reach.lowered,
                    "base": plain(r.density.surrogate.base), "shape": plain(r.density.surrogate.shape),
                    "numbers": plain(r.density.surrogate.numbers),
                },
            }
            for r in draws.regions
        ],
        "rounds": draws.rounds,
    }  # fmt: skip


def _gradient_recall(way: GradientWay, content: dict[str, Any], data: Data) -> None:
    for each in content["ascents"]:
        root = None if each["root"] is None else array(each["root"])
        tops = tuple(_top(top) for top in each["tops"])
        kinds = bool(each["further"]), tops, bool(each["wide"])
        ascent = Ascent(array(each["start"]), root, int(each["budget"]), *kinds)
        rows = [int(row) for row in each["rows"]]
        while rows:
            some, rows = rows[: len(ascent.points)], rows[len(ascent.points) :]
            ascent.tell(some, *way.draws.replies(data, some))
        ascent.counted = bool(each["counted"])
        way.ascents.append(ascent)
    _draws_recall(way.draws, content, data)


def _draws_recall(draws: Draws, content: dict[str, Any], data: Data) -> None:
    for each in content["regions"]:
        region = Region(_top(each["top"]), int(each["climbs"]))
        region.whitening, region.shape = _whitening(each["whitening"], draws.chart.dim), Shape(**each["shape"])
        region.masses = [float(mass) for mass in each["masses"]]
        region.rows = int(each["rows"][0]), int(each["rows"][1])
        if each["density"] is not None:
            region.density = _density(draws, each["density"], data)
        draws.regions.append(region)
    draws.rounds = int(content["rounds"])


def _density(draws: Draws, content: dict[str, Any], data: Data) -> Proposal:
    """Return the density of the last draws: its surrogate is fitted to the rows it was fitted to."""
    numbers = np.array(content["numbers"], dtype=np.intp)
    rows = draws.some_rows(data, numbers)
    base, shape = _whitening(content["base"], draws.chart.dim), Shape(**content["shape"])
    surrogate = GradientSurrogate.fit(rows, np.arange(len(numbers)), base, shape)
    lowered = float(content["lowered"])
    require(0.0 <= lowered < np.inf, "by how much a surrogate is lowered is no number")
    surrogate = replace(surrogate, reach=replace(surrogate.reach, lowered=lowered))
    whitening = _whitening(content["whitening"], draws.chart.dim)
    return Proposal(surrogate, whitening, float(content["tau"]), float(content["log_constant"]))


def _whitening(content: dict[str, Any], dim: int) -> Whitening:
    return Whitening(_shaped(content["centre"], dim, (1,)), _shaped(content["root"], dim, (1, 2)))


def _top(content: dict[str, Any]) -> Top:
    gradient, root = array(content["gradient"]), array(content["root"])
    return Top(array(content["place"]), float(content["value"]), gradient, root)


def _value_record(way: ValueWay) -> dict[str, Any]:
    climbs, last = way.climbs, way.surrogate
    return {
        "metric": None if way.metric is None else plain(way.metric),
        "climbs": [_climb_record(climb) for climb in climbs.each],
        "register": plain(climbs.register()),
        "probes": plain(way.probes.asked),
        "predictions": plain(way.predictions.squares),
        "rounds": way.rounds,
        "explored": way.explored,
        "images": plain(way.images),
        "curvatures": plain(way.curvatures),
        "draws": None if way.draws is None else _draws_record(way.draws),
        "surrogate": None if last is None else {
            "n": len(last.evaluated[1]),
            "whitening": plain(last.whitening),
            "kind": last.fitted.kind,
            "families": [member.family.name for member in last.fitted.members],
            "members": plain([member.theta for member in last.fitted.members]),
            "weights": plain(last.fitted.weights),
            "thetas": plain(last.fitted.thetas),
            "modes": plain(last.modes),
            "fitted_at": last.fitted_at,
        },
    }  # fmt: skip


def _value_recall(way: ValueWay, content: dict[str, Any], data: Data) -> None:
    climbs = way.climbs
    climbs.each = [_climb(each, way) for each in content["climbs"]]
    register = {name: value for name, value in content["register"]}
    climbs.restore(
        modes=[_mode(each, way.chart.dim) for each in register["modes"]],
        exchanges=[_exchange(each) for each in register["exchanges"]],
        finished=register["finished"],
        racing=register["racing"],
        starts=register["starts"],
        around=register["around"],
        surrounded=register["surrounded"],
    )
    way.probes.asked = [(float(width), array(z)) for width, z in content["probes"]]
    way.predictions.squares = [(float(square), float(weight)) for square, weight in content["predictions"]]
    way.rounds, way.explored = int(content["rounds"]), int(content["explored"])
    images = content["images"]
    way.images = None if images is None else [(_exchange(exchange), array(z)) for exchange, z in images]
    way.surrogate = None if content["surrogate"] is None else _surrogate(way, content["surrogate"], data)
    way.curvatures = [_curvature(each) for each in content["curvatures"]]
    if content["draws"] is not None:
        way.draws = Draws(way.chart, way.settings, gradients=False)
        _draws_recall(way.draws, content["draws"], data)


def _quadratic(content: dict[str, Any], dim: int) -> Quadratic:
    slope, curvature = _shaped(content["slope"], dim, (1,)), _shaped(content["curvature"], dim, (2,))
    return Quadratic(_shaped(content["centre"], dim, (1,)), float(content["constant"]), slope, curvature)


def _mode(content: dict[str, Any], dim: int) -> Mode:
    return Mode(_quadratic(content["peak"], dim), int(content["climbs"]))


def _curvature(content: dict[str, Any]) -> Curvature:
    """Return a curvature from its record: every field that is no number is an array."""
    numbers = {name: content[name] for name in ("most", "tries", "pairing", "ended")}
    arrays = ("centre", "axes", "began", "slopes", "curvatures", "correlations")
    made: dict[str, Any] = {name: array(content[name]) for name in arrays}
    return Curvature(value=float(content["value"]), **_typed(Curvature, numbers), **made)


def _exchange(content: dict[str, Any]) -> Exchange:
    return Exchange(array(content["shift"]), array(content["turn"]))


def _climb_record(climb: Climb) -> dict[str, Any]:
    return {name: value for name, value in plain(climb).items() if name not in ("parts", "_bends")}


def _climb(content: dict[str, Any], way: ValueWay) -> Climb:
    """Return a climb from its record: every field that is no number or text is made anew."""
    made = dict(content)
    for name in ("best", "shape", "_predicted", "_errors"):
        made[name] = array(content[name])
    made["toward"] = None if content["toward"] is None else array(content["toward"])
    made["model"] = None if content["model"] is None else _quadratic(content["model"], way.chart.dim)
    made["_thetas"] = {float(bend): array(theta) for bend, theta in content["_thetas"]}
    for name in ("_falls", "_tops"):
        made[name] = [float(value) for value in content[name]]
    for name in ("value", "radius", "_length", "_least"):
        made[name] = float(content[name])
    made["height"] = None if content["height"] is None else float(content["height"])
    shape = made.pop("shape")
    climb = Climb(**_typed(Climb, made), parts=way.settings.parts)
    climb.shape = shape
    return climb


def _surrogate(way: ValueWay, content: dict[str, Any], data: Data) -> Surrogate:
    """Return the surrogate that the last round was planned on: its length-scales are known, nothing is searched for."""
    known = data.evaluated.rows(slice(0, int(content["n"])))
    points, values = known.z[known.positive], known.bounded[known.positive]
    whitening = _whitening(content["whitening"], way.chart.dim)
    modes = [_mode(each, way.chart.dim) for each in content["modes"]]
    families = {family.name: family for family in way.settings.families}
    require(content["kind"] in ("quadratic", "gaussian", "modes"), "its kind of mean is unknown")
    offset, basis = mean_of(content["kind"], whitening, modes, falls_off=not way.chart.discrete)
    members = tuple(
        JointProcess(points, values, whitening, offset, basis, families[name], array(theta), way.settings.amplitude)
        for name, theta in zip(content["families"], content["members"], strict=True)
    )
    thetas = {(str(kind), str(family)): array(theta) for (kind, family), theta in content["thetas"]}
    fitted = FittedProcesses(members, array(content["weights"]), content["kind"], thetas)
    seed = way.settings.seed("surrogate", len(known))
    return surrogate_of(known, modes, fitted, seed, int(content["fitted_at"]), way.settings.parts)
