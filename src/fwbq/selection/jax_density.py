"""A log density written in JAX, with its gradient, on many points."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _extras, _validate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JaxDensity:
    """Values and gradients of a log density in JAX, in double precision.

    It is compiled at the first call, anew in every process that it travels to; only the log density itself travels.

    Parameters
    ----------
    log_density : callable
        One point (d,) to a number, by functions of JAX.
    """

    log_density: Callable[[Any], Any]

    @classmethod
    def checked(cls, log_density: Any) -> Self:
        """Return the density of a function; JAX must be there."""
        _load()
        return cls(_validate.function(log_density, "log_density"))

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Return values (n,) and gradients (n, d) at points x (n, d)."""
        n = len(x)
        # JAX compiles for every number of points: with powers of two that is a few times.
        size = 1 << (n - 1).bit_length()
        padded = np.concatenate([x, np.repeat(x[-1:], size - n, axis=0)])
        with _double_precision():
            values, gradients = self._compiled(padded)
            return np.array(values, dtype=float)[:n], np.array(gradients, dtype=float)[:n]

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to other processes: compiled functions do not."""
        return {"log_density": self.log_density}

    @cached_property
    def _compiled(self) -> Any:
        jax = _load()
        return jax.jit(jax.vmap(jax.value_and_grad(self.log_density)))


def _load(module: str = "jax") -> Any:
    return _extras.load(module, "jax", "a model from JAX")


def _double_precision() -> AbstractContextManager[Any]:
    """Return a context in which JAX computes in double precision, whatever it is set to: single is its default."""
    jax = _load()
    made: AbstractContextManager[Any]
    if hasattr(jax, "enable_x64"):
        made = jax.enable_x64(True)
    else:  # before JAX 0.8
        made = _load("jax.experimental").enable_x64()
    return made
