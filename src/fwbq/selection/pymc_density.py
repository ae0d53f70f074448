"""The log joint density of a PyMC model on its unconstrained parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _extras

Array = NDArray[np.float64]

_IMPROPER = ("FlatRV", "HalfFlatRV")


@dataclass(frozen=True, eq=False)
class PyMCDensity:
    """Compiled functions of a PyMC model, on points (n, d): its unconstrained parameters one after the other.

    Parameters
    ----------
    shapes : dict
        Shape of each unconstrained parameter, by name, in the order of the columns.
    log_density : callable
        The unconstrained parameters to a list: the log joint density, and its gradient (d,) where there is one.
    outputs : callable
        The unconstrained parameters to the variables of the model.
    names : tuple of str
        Names of these variables.
    gradient : bool
        Whether `log_density` returns the gradient too.
    """

    shapes: dict[str, tuple[int, ...]]
    log_density: Any
    outputs: Any
    names: tuple[str, ...]
    gradient: bool

    @classmethod
    def compiled(cls, model: Any, *, gradient: bool) -> Self:
        """Return the density of a PyMC model, with its gradient or without."""
        pm = _extras.load("pymc", "pymc", "a model from PyMC")
        if not isinstance(model, pm.Model):
            raise TypeError(
                f"`model` must be a pymc.Model, got {type(model).__name__}: pass the m of `with pm.Model() as m`"
            )
        free, values = model.free_RVs, model.value_vars
        if not values:
            raise ValueError("`model` has no free variables, so that there is nothing to integrate over")
        if model.discrete_value_vars:
            raise ValueError(
                f"`model` has the discrete variable {model.discrete_value_vars[0].name!r}, and the density must be one "
                "on R^d: sum over it by hand, e.g. with pm.Mixture"
            )
        improper = [each.name for each in free if type(each.owner.op).__name__ in _IMPROPER]
        if improper:
            raise ValueError(
                f"`model` has no proper prior for {improper[0]!r}, and then no evidence: give it one, e.g. pm.Normal"
            )
        # Constrained values and deterministic variables; those that the density is a function of have a name with an
        # underscore at the end, unless they are not transformed at all.
        first = model.initial_point()
        named = {each.name: each for each in model.unobserved_value_vars}
        wanted = {each.name: named[each.name] for each in (*free, *model.deterministics)}
        return cls(
            {each.name: np.shape(first[each.name]) for each in values},
            model.compile_fn([model.logp(), *_gradient(model, gradient)], inputs=values, point_fn=False),
            model.compile_fn(list(wanted.values()), inputs=values, point_fn=False),
            tuple(wanted),
            gradient,
        )

    def __call__(self, x: Array) -> Array | tuple[Array, Array]:
        """Return the log joint density at points (n, d), (n,); with gradients, the pair of it and these, (n, d)."""
        found = [self.log_density(*self._values(row)) for row in x]
        out = np.array([float(each[0]) for each in found])
        for i in np.flatnonzero(np.isnan(out)):
            # Where a parameter itself overflows (a logarithm of 800) PyMC has no number for a density that is zero.
            if not all(np.isfinite(each).all() for each in self.outputs(*self._values(x[i]))):
                out[i] = -np.inf
        return (out, np.array([each[1] for each in found], dtype=float)) if self.gradient else out

    def variables(self, x: Array) -> dict[str, Array]:
        """Return the model's variables at points (n, d): free ones in their own units, and deterministic ones."""
        rows = [self.outputs(*self._values(row)) for row in np.asarray(x, dtype=float)]
        return {name: np.array([row[i] for row in rows]) for i, name in enumerate(self.names)}

    def _values(self, row: Array) -> list[Array]:
        """Return one point (d,) as PyMC's parameters."""
        values, start = [], 0
        for shape in self.shapes.values():
            size = math.prod(shape)
            values.append(np.reshape(row[start : start + size], shape))
            start += size
        return values


def _gradient(model: Any, wanted: bool) -> list[Any]:
    """Return the gradient of the log density with respect to all parameters, one after the other, in a list."""
    if not wanted:
        return []
    try:
        return [model.dlogp()]
    except Exception as error:
        raise ValueError(
            f"PyMC cannot derive the gradient of `model` ({type(error).__name__}: {str(error)[:120]}): pass "
            "`gradient=False` to find the evidence from values alone"
        ) from error


def starting_values(model: Any, given: Mapping[str, ArrayLike] | None = None) -> Array:
    """Return where to begin, (d,): values of the model's variables, and where PyMC begins for those not given."""
    known = {each.name: each for each in model.free_RVs}
    for name in given or {}:
        if name not in known:
            raise ValueError(f"`start` names {name!r}, but the free variables of `model` are {', '.join(known)}")
    make = _extras.load("pymc.initial_point", "pymc", "a model from PyMC").make_initial_point_fn
    chosen = {known[name]: np.asarray(value, dtype=float) for name, value in (given or {}).items()}
    point = make(model=model, overrides=chosen)(None)
    return np.concatenate([np.ravel(point[each.name]) for each in model.value_vars]).astype(float)
