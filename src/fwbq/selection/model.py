"""A model to compare: a log integrand under a measure."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from ..measures import Measure
from .coordinates import Coordinates

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Model:
    r"""A model whose evidence is :math:`Z = \int \exp(\ell(x))\, p(\mathrm{d}x)`.

    Parameters
    ----------
    log_integrand : callable
        The log likelihood: points (n, d) to values (n,). Minus infinity is a likelihood of zero.
    measure : Measure
        The prior p over the parameters of the model. Models with the same measure share the design.
    coordinates : Coordinates, optional
        Where the log likelihood is smooth; by default the measure's own, standardised.
    vectorized : bool, optional
        False when `log_integrand` takes one point (d,) at a time.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> prior = fwbq.Gaussian([0.0], [[1.0]])
    >>> model = fwbq.Model(lambda x: -0.5 * x[:, 0] ** 2, prior)
    >>> bool(abs(fwbq.compare_models({"m": model}, n=20, rng=0).log_evidence("m") + 0.5 * np.log(2)) < 0.01)
    True
    """

    log_integrand: Callable[[Array], Any]
    measure: Measure
    coordinates: Coordinates | None = None
    vectorized: bool = True

    def __post_init__(self) -> None:
        _validate.function(self.log_integrand, "log_integrand")
        _validate.instance(
            self.measure, "measure", Measure, "give one of fwbq's measures, e.g. fwbq.Gaussian(mean, cov)"
        )
        if self.coordinates is not None:
            _validate.instance(
                self.coordinates, "coordinates", Coordinates, "give e.g. fwbq.selection.LogScale(offset)"
            )

    def __call__(self, x: Array) -> Array:
        """Return the log integrand at points (n, d), (n,)."""
        given = self.log_integrand(x) if self.vectorized else [self.log_integrand(row) for row in x]
        return _validate.log_values(given, "log_integrand", len(x))


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
        """Whether the log integrands resemble each other, so that all of them tell the length-scales of each."""

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
        return self.models[0].measure

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
            functions.append({"name": repr(name), "function": function, "vectorized": model.vectorized})
        return functions


def families(models: Mapping[Any, Model], tag: str | None = None) -> list[Family]:
    """Group models that share a measure (the same object, or one with an equal specification) and coordinates.

    `tag` is a name for the log integrands, which a journal then knows them by.
    """
    tag = None if tag is None else _validate.text(tag, "tag")
    groups: dict[Any, list[tuple[Hashable, Model]]] = {}
    for name, model in models.items():
        _validate.instance(model, f"models[{name!r}]", Model, "give fwbq.Model(log_integrand, measure)")
        try:
            key: Any = json.dumps(model.measure.spec(), sort_keys=True)
        except ValueError:
            key = id(model.measure)
        groups.setdefault((key, model.coordinates and model.coordinates.key), []).append((name, model))
    return [ModelFamily(tuple(n for n, _ in group), tuple(m for _, m in group), tag) for group in groups.values()]
