"""A few values with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from .. import _frozen, _validate
from .._validate import Array
from .base import Measure, pick

#: Most values of one coordinate. An integral under it is a sum over them for each kernel value, 128 of them cost as
#: much as a twentieth of the quadrature of a continuous coordinate.
MOST_VALUES = 128
#: Values of a distribution without end are taken up to this probability beyond them: a quarter of a rounding of one.
_BEYOND = 2.0**-55


@dataclass(frozen=True, eq=False, init=False)
class Discrete(Measure):
    """One coordinate with a few values, sum_j probabilities_j delta(values_j).

    Integrals over it are sums over the values with their exact probabilities. As an entry of a `fwbq.Product` it stands
    beside continuous coordinates; f is evaluated at these values only.

    Parameters
    ----------
    values : array_like, shape (K,)
        Different from each other, at most 128. Whole numbers, levels of a factor, ages.
    probabilities : array_like, shape (K,), optional
        At least zero, summing to one; 1/K each by default.
    names : sequence of str, optional
        The name of the coordinate, in a list of one.

    Examples
    --------
    >>> p = Discrete([1.0, 2.0, 4.0], [0.5, 0.25, 0.25])
    >>> float(p.expectation[0])
    2.0
    >>> import numpy as np, fwbq
    >>> result = fwbq.integrate(lambda x: x[:, 0] ** 2, p, rng=0)
    >>> float(result.mean), result.n_evaluations
    (5.5, 3)
    """

    values: Array
    probabilities: Array
    _names: tuple[str, ...] | None

    def __init__(
        self, values: ArrayLike, probabilities: ArrayLike | None = None, *, names: Sequence[str] | None = None
    ) -> None:
        x = _validate.vector(values, "values")
        if not 1 <= x.size <= MOST_VALUES:
            raise ValueError(
                f"`values` must have 1 to {MOST_VALUES} entries, got {x.size}: use fwbq.Empirical for a sample, or a "
                "continuous distribution that comes close"
            )
        w = (
            np.full(x.size, 1.0 / x.size)
            if probabilities is None
            else _validate.simplex(probabilities, "probabilities", x.size)
        )
        _validate.different(x.tolist(), "values")
        held = w > 0.0
        order = np.argsort(x[held])
        _frozen.freeze(
            self,
            values=_frozen.readonly(x[held][order]),
            probabilities=_frozen.readonly(w[held][order]),
            _names=None if names is None else _validate.parameter_names(names, 1),
        )

    @classmethod
    def of(cls, p: Any, label: str = "distribution") -> Discrete:
        """Return a frozen discrete distribution of scipy.stats with its values written out.

        Of endless ones, such as ``stats.poisson(3.0)``, the values are those that hold all but 3e-17 of the
        probability at either end.

        Parameters
        ----------
        p : frozen discrete scipy.stats distribution
        label : str, optional
            What it is called in the error.

        Raises
        ------
        ValueError
            When it has more than 128 values.

        Examples
        --------
        >>> from scipy import stats
        >>> Discrete.of(stats.binom(3, 0.5)).probabilities
        array([0.125, 0.375, 0.375, 0.125])
        """
        name = p.dist.name or type(p.dist).__name__
        parameters = (*p.args, *p.kwds.values())
        if any(np.ndim(each) != 0 for each in parameters):
            raise ValueError(
                f"`{label}` must have scalar parameters, got {_validate.shown(parameters)}: pass one distribution per "
                "coordinate"
            )
        lower, upper = (float(end) for end in p.support())
        # scipy finds quantiles near one from the level below them, which has no digits there.
        low = max(lower, float(p.ppf(_BEYOND)))
        ahead = low + np.arange(MOST_VALUES)
        seen = ahead[(ahead >= upper) | (np.asarray(p.sf(ahead)) <= _BEYOND)]
        listed = getattr(p.dist, "xk", None)
        if listed is not None:
            values = np.asarray(listed, dtype=np.float64) + (lower - float(np.min(listed)))
        elif seen.size:
            values = np.arange(low, seen[0] + 1.0)
        else:
            mean, sd = float(p.mean()), float(p.std())
            close = f", e.g. stats.norm({mean:.6g}, {sd:.6g})," if np.isfinite([mean, sd]).all() else ""
            raise ValueError(
                f"`{label}` is {name} with more than the {MOST_VALUES} values that can be summed over: pass a "
                f"continuous distribution that comes close{close} and round inside f, or fwbq.Empirical of a sample"
            )
        mass = np.asarray(p.pmf(values), dtype=np.float64)
        return cls(values, mass / mass.sum())

    def __repr__(self) -> str:
        if self.values.size > 8:
            return f"Discrete({self.values.size} values from {self.values[0]:g} to {self.values[-1]:g})"
        return f"Discrete({_listed(self.values)}, {_listed(self.probabilities)})"

    @property
    def dim(self) -> int:
        """One."""
        return 1

    @property
    def mean(self) -> Array:
        """The expectation, shape (1,)."""
        return np.array([float(self.probabilities @ self.values)])

    @property
    def expectation(self) -> Array:
        """The expectation, shape (1,)."""
        return self.mean

    @property
    def scale(self) -> Array:
        """The standard deviation, shape (1,); zero for one value."""
        return np.array([float(np.sqrt(self.probabilities @ (self.values - self.mean) ** 2))])

    @property
    def lower(self) -> Array:
        """The least value, shape (1,)."""
        return self.values[:1]

    @property
    def upper(self) -> Array:
        """The largest value, shape (1,)."""
        return self.values[-1:]

    @property
    def uniform_dim(self) -> int:
        """One: the coordinate picks a value."""
        return 1

    @property
    def factors(self) -> tuple[Measure, ...]:
        """The measure itself."""
        return (self,)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.values[rng.choice(self.values.size, size=n, p=self.probabilities)][:, None])

    def _transform(self, u: Array, v: Array) -> Array:
        return np.asarray(self.values[pick(self.probabilities, u[:, 0])][:, None])

    def _nearest(self, x: Array) -> Array:
        middles = 0.5 * (self.values[1:] + self.values[:-1])
        return np.asarray(self.values[np.searchsorted(middles, x)])

    def _log_density(self, x: Array) -> NoReturn:
        raise NotImplementedError("a Discrete measure has no density: use a continuous measure, e.g. Gaussian")

    def _score(self, x: Array) -> NoReturn:
        raise NotImplementedError("a Discrete measure has no score: use a continuous measure, e.g. Gaussian")

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""
        content = {"values": self.values.tolist(), "probabilities": self.probabilities.tolist()}
        return {"type": "Discrete", **content, "names": None if self._names is None else list(self._names)}


def _listed(x: Array) -> str:
    return f"[{', '.join(f'{each:.4g}' for each in x)}]"
