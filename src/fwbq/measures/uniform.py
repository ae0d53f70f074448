"""The uniform measure on a box."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _frozen, _validate
from .._validate import Array
from .base import Measure
from .standard_normal import normal_score


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Uniform(Measure):
    """Uniform measure on the box of points between `lower` and `upper`.

    p(x) = prod_i 1 / (upper_i - lower_i) on the box, zero outside.

    Parameters
    ----------
    lower, upper : float or array_like, shape (d,)
        Finite, lower < upper. A scalar is repeated for every coordinate; two scalars mean d = 1.

    Examples
    --------
    >>> Uniform(0.0, [1.0, 4.0]).scale.round(4)
    array([0.2887, 1.1547])
    """

    lower: Array
    upper: Array

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        checked = _validate.per_coordinate(lower=lower, upper=upper)
        _validate.ordered(checked["lower"], checked["upper"])
        with np.errstate(over="ignore"):
            _validate.moderate(checked["upper"] - checked["lower"], "upper", "widths upper - lower")
        _frozen.freeze(self, **{name: _frozen.readonly(x) for name, x in checked.items()})

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.lower.size)

    @property
    def mean(self) -> Array:
        """The centre of the box, shape (d,)."""
        return 0.5 * self.lower + 0.5 * self.upper

    @property
    def expectation(self) -> Array:
        """The centre of the box, shape (d,)."""
        return self.mean

    @property
    def scale(self) -> Array:
        """The standard deviation of each coordinate, (upper - lower) / sqrt(12), shape (d,)."""
        return np.asarray((self.upper - self.lower) / np.sqrt(12.0))

    @property
    def uniform_dim(self) -> int:
        """The dimension d."""
        return self.dim

    @property
    def factors(self) -> tuple[Measure, ...]:
        """The sides of the box."""
        return tuple(Uniform(float(a), float(b)) for a, b in zip(self.lower, self.upper, strict=True))

    @property
    def invertible(self) -> bool:
        """True: levels are positions between the bounds."""
        return True

    def _to_normal(self, x: Array) -> Array:
        width = self.upper - self.lower
        return normal_score((x - self.lower) / width, (self.upper - x) / width)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        u = rng.random((n, self.dim))
        return self._transform(u, 1.0 - u)

    def _transform(self, u: Array, v: Array) -> Array:
        return np.clip(self.lower * v + self.upper * u, self.lower, self.upper)

    def _inside(self, x: Array) -> Any:
        return ((x >= self.lower) & (x <= self.upper)).all(axis=1)

    def _log_density(self, x: Array) -> Array:
        return np.where(self._inside(x), -np.sum(np.log(self.upper - self.lower)), -np.inf)

    def _score(self, x: Array) -> Array:
        return np.zeros_like(x)

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""
        return {"type": "Uniform", "lower": self.lower.tolist(), "upper": self.upper.tolist()}
