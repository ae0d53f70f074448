"""The empirical measure of given points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from .. import _frozen, _validate
from .._validate import Array
from .base import Measure, pick


@dataclass(frozen=True, eq=False, init=False)
class Empirical(Measure):
    """Discrete measure sum_i weights_i delta(points_i), for instance a sample of a posterior.

    Parameters
    ----------
    points : array_like, shape (n, d)
    weights : array_like, shape (n,), optional
        At least zero, summing to one; 1/n each by default.
    names : sequence of str, optional
        A name for each coordinate, for tables and figures.

    Examples
    --------
    >>> p = Empirical([[0.0], [1.0]], [0.25, 0.75])
    >>> float(p.mean[0])
    0.75
    """

    points: Array
    weights: Array
    _names: tuple[str, ...] | None

    def __init__(
        self, points: ArrayLike, weights: ArrayLike | None = None, *, names: Sequence[str] | None = None
    ) -> None:
        checked = _validate.points(points, "points")
        n = checked.shape[0]
        if n == 0:
            raise ValueError("`points` must have at least one row, got none: pass an array of shape (n, d)")
        w = np.full(n, 1.0 / n) if weights is None else _validate.simplex(weights, "weights", n)
        _frozen.freeze(
            self,
            points=_frozen.readonly(checked),
            weights=_frozen.readonly(w),
            _names=None if names is None else _validate.parameter_names(names, checked.shape[1]),
        )

    def __repr__(self) -> str:
        return f"Empirical({self.weights.size} point(s), dim={self.dim})"

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.points.shape[1])

    @property
    def mean(self) -> Array:
        """The weighted mean of the points, shape (d,)."""
        return np.asarray(self.weights @ self.points)

    @property
    def expectation(self) -> Array:
        """The weighted mean of the points, shape (d,)."""
        return self.mean

    @property
    def scale(self) -> Array:
        """The standard deviation of each coordinate, shape (d,); zero when all points are the same."""
        return np.asarray(np.sqrt(self.weights @ (self.points - self.mean) ** 2))

    @property
    def lower(self) -> Array:
        """The least of each coordinate, shape (d,)."""
        return np.asarray(self.points.min(axis=0))

    @property
    def upper(self) -> Array:
        """The largest of each coordinate, shape (d,)."""
        return np.asarray(self.points.max(axis=0))

    @property
    def uniform_dim(self) -> int:
        """One: the coordinate picks a point."""
        return 1

    @property
    def factors(self) -> None:
        """None: the coordinates depend on each other."""

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.points[rng.choice(self.weights.size, size=n, p=self.weights)]

    def _transform(self, u: Array, v: Array) -> Array:
        return self.points[pick(self.weights, u[:, 0])]

    def _log_density(self, x: Array) -> NoReturn:
        raise NotImplementedError("an Empirical measure has no density: use a continuous measure, e.g. Gaussian")

    def _score(self, x: Array) -> NoReturn:
        raise NotImplementedError("an Empirical measure has no score: use a continuous measure, e.g. Gaussian")

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""
        content = {"type": "Empirical", "points": self.points.tolist(), "weights": self.weights.tolist()}
        return content if self._names is None else content | {"names": list(self._names)}
