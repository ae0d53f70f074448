"""Models under one measure, which are evaluated together."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from ..inference import Evidence
from ..measures import Measure
from .coordinates import Coordinates
from .model import Model

Array = NDArray[np.float64]
#: From a function and points to its values, and whether each point has them. Where the function returns gradients a row
#: is the value and its gradient.
Evaluate = Callable[[Any, Array], tuple[Array, NDArray[np.bool_]]]


class Family(Protocol):
    """Models under one measure, evaluated together."""

    @property
    def measure(self) -> Measure:
        """The measure."""

    @property
    def coordinates(self) -> Coordinates | None:
        """Where the log integrands are smooth."""

    @property
    def names(self) -> Sequence[Hashable]:
        """What the models are called."""

    @property
    def alike(self) -> bool:
        """Whether the log integrands resemble each other, so that one set of length-scales is found from them all."""

    def log_integrands(self, x: Array, which: NDArray[np.intp]) -> Array:
        """Return the log integrands (n, len(which)) of the models `which` at points (n, d)."""

    def identity(self) -> Any:
        """Return what tells this family's functions from others, JSON-able, for a journal."""


@dataclass(frozen=True, eq=False)
class ModelFamily:
    """Models given one by one as functions."""

    names: tuple[Hashable, ...]
    models: tuple[Model, ...]
    tag: str | None = None

    @property
    def measure(self) -> Measure:
        """The measure they share."""
        measure = self.models[0].measure
        if measure is None:
            raise ValueError(
                f"model {self.names[0]!r} is a log joint density, without a prior to spread shared points over: leave "
                "out `evidence`, or give every model a `measure`"
            )
        return measure

    @property
    def joint(self) -> bool:
        """Whether they are log joint densities, without a measure."""
        return self.models[0].measure is None

    @property
    def gradient(self) -> bool:
        """Whether they return gradients."""
        return self.models[0].gradient

    @property
    def coordinates(self) -> Coordinates | None:
        """The coordinates they share."""
        return self.models[0].coordinates

    @property
    def alike(self) -> bool:
        """False: functions given one by one may be of any kind."""
        return False

    def log_integrands(self, x: Array, which: NDArray[np.intp]) -> Array:
        """Return the log integrands (n, len(which))."""
        columns = []
        for i in which:
            try:
                columns.append(self.models[i](x))
            except Exception as error:
                if len(which) > 1:  # of one model alone the caller says it
                    error.add_note(f"in model {self.names[i]!r}")
                raise
        return np.column_stack(columns)

    def identity(self) -> Any:
        """Return what makes the functions these and no others: code and what it refers to, or the tag given for it."""
        from ..evaluation import function_identity

        functions = []
        for name, model in zip(self.names, self.models, strict=True):
            try:
                function: Any = function_identity(model.log_integrand) if self.tag is None else self.tag
            except TypeError as error:
                error.add_note(f"in model {name!r}")
                raise
            many = model.vectorized is not False  # found out, or said
            slopes = {"gradient": True} if model.gradient else {}
            functions.append({"name": repr(name), "function": function, "vectorized": many, **slopes})
        return functions


def families(models: Mapping[Any, Model], tag: str | None = None, vectorized: bool | None = None) -> list[Family]:
    """Group models that share a measure (the same object, or one with an equal specification) and coordinates.

    Log joint densities without a measure are grouped by their number of parameters. Models with gradients and models
    without are in different groups.

    `tag` is a name by which a journal identifies the log integrands; `vectorized`, if given, takes the place of what
    the models say.
    """
    tag = None if tag is None else _validate.text(tag, "tag")
    groups: dict[Any, list[tuple[Hashable, Model]]] = {}
    for name, model in models.items():
        _validate.instance(model, f"models[{name!r}]", Model, _remedy(model))
        try:
            key: Any = model.dim if model.measure is None else json.dumps(model.measure.spec(), sort_keys=True)
        except ValueError:
            key = id(model.measure)
        if vectorized is not None:
            model = replace(model, vectorized=vectorized)
        shared = key, model.coordinates and model.coordinates.key, model.gradient
        groups.setdefault(shared, []).append((name, model))
    return [ModelFamily(tuple(n for n, _ in group), tuple(m for _, m in group), tag) for group in groups.values()]


def log_integrands(family: Family, x: Array, which: NDArray[np.intp]) -> Array:
    """Return the log integrands (n, len(which)) of the models `which` at points (n, d), each finite or -inf."""
    values = np.asarray(family.log_integrands(x, which), dtype=float)
    bad = np.isnan(values) | (values == np.inf)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(
            f"the log integrand of model {family.names[int(which[j])]!r} is {values[i, j]} at {x[i].tolist()}: it must "
            "be finite, or -inf where the likelihood is zero"
        )
    return values


def check_evaluated(n: int, name: Hashable) -> None:
    """Check that at least one of the points at which a model was to be evaluated has a value."""
    if n == 0:
        raise ValueError(
            f'model {name!r} failed at every point at which it was evaluated: see why with on_error="raise", or leave '
            "it out"
        )


def _remedy(given: Any) -> str:
    """Return what to do with something that is not a model, by what it is."""
    if isinstance(given, Evidence):
        return "compare evidences that you already have by fwbq.compare({name: evidence, ...})"
    if type(given).__module__.partition(".")[0] == "pymc":
        return "give fwbq.Model.from_pymc(model)"
    return "give fwbq.Model(log_integrand, measure)"
