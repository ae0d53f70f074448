"""What a problem and a family of problems are."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fwbq.measures import Measure

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """An integral with its exact value.

    Attributes
    ----------
    name : str
        Unique within the table.
    measure : Measure
        The probability measure p.
    f : callable
        The integrand, (n, d) -> (n,); it can be pickled.
    value : float
        p[f], exact to rounding.
    tags : frozenset of str
        Dimension, smoothness, kind and family.

    Examples
    --------
    >>> from studies import problems
    >>> p = problems.select("constant")[0]
    >>> bool(p.f(p.measure.sample(3, rng=0))[0] == p.value)
    True
    """

    name: str
    measure: Measure
    f: Callable[[Array], Array]
    value: float
    tags: frozenset[str]

    @property
    def dim(self) -> int:
        """Dimension of the integration variable."""
        return self.measure.dim

    def __repr__(self) -> str:
        return f"<Problem {self.name}: {', '.join(sorted(self.tags))}>"


@dataclass(frozen=True, eq=False)
class Family:
    """A distribution over problems.

    Attributes
    ----------
    name : str
        Also a tag of every problem of the family.
    dims : tuple of int
        Dimensions in which it draws.
    tags : tuple of str
        Smoothness and kind.
    make : callable
        (dim, generator) -> (measure, f, value).
    """

    name: str
    dims: tuple[int, ...]
    tags: tuple[str, ...]
    make: Callable[[int, np.random.Generator], tuple[Measure, Callable[[Array], Array], float]]

    def draw(self, dim: int, rng: np.random.Generator) -> Problem:
        """Draw one problem in `dim` dimensions."""
        measure, f, value = self.make(dim, rng)
        return Problem(f"{self.name}-d{dim}", measure, f, float(value), frozenset({self.name, f"d={dim}", *self.tags}))
