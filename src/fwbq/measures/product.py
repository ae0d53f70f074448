"""Products of independent distributions and blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Self

import numpy as np

from .. import _frozen, _validate
from .._validate import Array
from .base import Measure
from .dependent import Dependent
from .discrete import Discrete
from .distributions import is_discrete, is_distribution, is_new_discrete
from .empirical import Empirical
from .gaussian import Gaussian
from .parts import marginals_of, named, parts_of
from .univariate import Univariate, from_distribution_spec, shown


@dataclass(frozen=True, eq=False, init=False)
class Product(Measure):
    """Independent inputs: distributions of scipy.stats, discrete values, and blocks of dependent inputs.

    p(x) = prod_i p_i(x_i)

    Parameters
    ----------
    distributions : frozen scipy.stats distribution, or a sequence or dict of distributions and measures
        In the order of the inputs, e.g. ``[stats.gamma(2.0), stats.beta(0.5, 0.5)]``; parameters must be scalars. The
        keys of a dict are the names of the inputs. The objects that SciPy has since version 1.15
        (``stats.Normal(mu=0.0, sigma=1.0)``, mixtures and transformations of them) and ``stats.rv_histogram(...)`` are
        taken too. A measure of several coordinates is a block: `fwbq.Gaussian`, `fwbq.Copula`, `fwbq.Uniform`,
        ``stats.multivariate_t(...)``. `fwbq.Discrete` values and discrete distributions with few values
        (``stats.poisson(3.0)``, ``stats.rv_discrete(values=(x, p))``) are summed over exactly.
    names : sequence of str, optional
        A name for each coordinate, for tables and figures; ``x1``, ``x2``, ... by default.

    Notes
    -----
    Where an expectation does not exist or is infinite (Cauchy) ``mean`` holds the median; where the standard deviation
    does not, ``scale`` holds half the distance between the 15.9 % and 84.1 % quantiles, which is the standard deviation
    of a Gaussian.

    Examples
    --------
    >>> from scipy import stats
    >>> p = Product([stats.gamma(2.0), stats.uniform(0.0, 3.0)])
    >>> p.mean
    array([2. , 1.5])
    >>> p.sample(4, rng=0).shape
    (4, 2)

    A lognormal input, a correlated pair, and an input between 0 and 1:

    >>> import numpy as np, fwbq
    >>> pair = fwbq.Gaussian([1.0, 2.0], [[1.0, 0.6], [0.6, 1.0]])
    >>> p = Product([stats.lognorm(0.5), pair, stats.uniform()], names=["dose", "k1", "k2", "share"])
    >>> result = fwbq.integrate(lambda x: x[:, 0] * x[:, 1] * x[:, 2] * x[:, 3], p, n=60, rng=0)
    >>> low, high = result.interval(0.999)
    >>> bool(low < np.exp(0.125) * 2.6 * 0.5 < high)
    True
    """

    distributions: tuple[Any, ...]
    _names: tuple[str, ...] | None = field(repr=False)
    _parts: tuple[Measure, ...] = field(repr=False)

    def __init__(self, distributions: Any, *, names: Sequence[str] | None = None) -> None:
        given, names = named(distributions, names)
        alone = is_distribution(given) or is_discrete(given) or is_new_discrete(given) or isinstance(given, Measure)
        self._build(parts_of((given,) if alone else given, "distributions"), names)

    def _build(self, parts: tuple[Measure, ...], names: Sequence[str] | None) -> None:
        dim = sum(part.dim for part in parts)
        _frozen.freeze(
            self,
            distributions=tuple(part.distribution if isinstance(part, Univariate) else part for part in parts),
            _names=None if names is None else _validate.parameter_names(names, dim),
            _parts=parts,
        )

    @classmethod
    def of(cls, distributions: Any, name: str) -> Self:
        """Return the product of a list, or of a dict by names, that errors call `name`."""
        given, names = named(distributions, None)
        made = cls.__new__(cls)
        made._build(parts_of(given, name), names)
        return made

    def __repr__(self) -> str:
        listed = [" ".join(repr(p).split()) if isinstance(p, Measure) else shown(p) for p in self.distributions]
        names = "" if self._names is None else f", names={list(self._names)}"
        return f"Product([{', '.join(listed)}]{names})"

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The independent parts, each a measure."""
        return self._parts

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return sum(part.dim for part in self._parts)

    @cached_property
    def mean(self) -> Array:
        """The expectation of each coordinate, or its median where there is none, shape (d,)."""
        return _joined(part.mean for part in self._parts)

    @cached_property
    def expectation(self) -> Array:
        """The expectation of each coordinate, shape (d,); NaN or infinite where there is none."""
        return _joined(part.expectation for part in self._parts)

    @cached_property
    def scale(self) -> Array:
        """The standard deviation of each coordinate, or a quantile-based one where it is not finite, shape (d,)."""
        return _joined(part.scale for part in self._parts)

    @cached_property
    def lower(self) -> Array:
        """The lower ends of the supports, shape (d,)."""
        return _joined(part.lower for part in self._parts)

    @cached_property
    def upper(self) -> Array:
        """The upper ends of the supports, shape (d,)."""
        return _joined(part.upper for part in self._parts)

    @property
    def uniform_dim(self) -> int:
        """The dimension d."""
        return self.dim

    @cached_property
    def factors(self) -> tuple[Measure, ...] | None:
        """The coordinates, each a one-dimensional measure; None when a block has coordinates that depend on each other.

        Those with a distribution of scipy.stats are one-dimensional Products.
        """
        factors: list[Measure] = []
        for part in self._parts:
            if isinstance(part, Univariate):
                factors.append(self if self.dim == 1 else Product([part.distribution]))
            elif part.factors is None:
                return None
            else:
                factors.extend(part.factors)
        return tuple(factors)

    @cached_property
    def latent(self) -> Product | None:
        """The product of the latent coordinates of all blocks; None when every part is one-dimensional.

        A correlated Gaussian is whitened; coordinates that are independent already stay as they are.
        """
        if all(isinstance(part, (Univariate, Discrete)) for part in self._parts):
            return None
        return Product([p for marginals in self._latent_marginals for p in marginals])

    @cached_property
    def tails(self) -> tuple[tuple[Any, ...], ...]:
        """For each latent coordinate the distributions whose tails are met along it."""
        tails: list[tuple[Any, ...]] = []
        for part, marginals in zip(self._parts, self._latent_marginals, strict=True):
            tails.extend(part.tails if isinstance(part, Dependent) else ((p,) for p in marginals))
        return tuple(tails)

    @cached_property
    def _latent_marginals(self) -> tuple[tuple[Any, ...], ...]:
        """The distributions of the latent coordinates of every part."""
        return tuple(map(_latent_marginals, self._parts))

    def _to_latent(self, x: Array) -> Array:
        return self._apply(x, _to_latent)

    def _from_latent(self, y: Array) -> Array:
        return self._apply(y, _from_latent)

    def _latent_slopes(self, x: Array) -> Array:
        slopes = np.zeros((len(x), self.dim, self.dim))
        for part, where in self._places():
            if _whitened(part):
                slopes[:, where, where] = np.linalg.inv(part.whitening.root)
            else:
                slopes[:, where, where] = part._latent_slopes(x[:, where])
        return slopes

    @property
    def invertible(self) -> bool:
        """Whether no part is discrete."""
        return all(part.invertible for part in self._parts)

    def _to_normal(self, x: Array) -> Array:
        return self._apply(x, lambda part, block: part._to_normal(block))

    def _nearest(self, x: Array) -> Array:
        return self._apply(x, lambda part, block: part._nearest(block))

    def finite(self, most: int) -> Empirical | None:
        """Return all combinations of discrete values with their probabilities; None if there are others, or > most."""
        discrete = [part for part in self._parts if isinstance(part, Discrete)]
        if len(discrete) < len(self._parts) or prod(part.values.size for part in discrete) > most:
            return None
        points = np.array(list(product(*(part.values.tolist() for part in discrete))))
        weights = np.array([prod(each) for each in product(*(part.probabilities.tolist() for part in discrete))])
        return Empirical(points, weights, names=self._names)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.column_stack([part._sample(n, rng) for part in self._parts])

    def _transform(self, u: Array, v: Array) -> Array:
        return np.column_stack([part._transform(u[:, where], v[:, where]) for part, where in self._places()])

    def _log_density(self, x: Array) -> Array:
        return np.asarray(sum(part._log_density(x[:, where]) for part, where in self._places()), dtype=np.float64)

    def _score(self, x: Array) -> Array:
        return self._apply(x, lambda part, block: part._score(block))

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""
        content: dict[str, Any] = {"type": "Product", "distributions": [part.spec() for part in self._parts]}
        return content if self._names is None else content | {"names": list(self._names)}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        from . import from_spec

        entries = [from_spec(e) if "type" in e else from_distribution_spec(e) for e in spec["distributions"]]
        return cls(entries, names=spec.get("names"))

    def _places(self) -> Iterator[tuple[Measure, slice]]:
        """Yield every part with its columns."""
        start = 0
        for part in self._parts:
            yield part, slice(start, start + part.dim)
            start += part.dim

    def _apply(self, x: Array, function: Any) -> Array:
        """Return what a function of a part and its columns makes of each part, side by side."""
        return np.column_stack([function(part, x[:, where]) for part, where in self._places()])


def _joined(vectors: Iterator[Array]) -> Array:
    """Return vectors one after the other, read-only, because they are kept."""
    return _frozen.readonly(np.concatenate(list(vectors)))


def _whitened(part: Measure) -> bool:
    return isinstance(part, Gaussian) and part.factors is None


def _latent_marginals(part: Measure) -> tuple[Any, ...]:
    """Return the distributions of the latent coordinates of a part."""
    if _whitened(part):
        from scipy import stats

        return (stats.norm(0.0, 1.0),) * part.dim
    found = marginals_of(part)
    if found is None:
        assert isinstance(part.latent, Product)
        found = part.latent.distributions
    return found


def _to_latent(part: Measure, x: Array) -> Array:
    return part.whitening.forward(x) if _whitened(part) else part._to_latent(x)


def _from_latent(part: Measure, y: Array) -> Array:
    if _whitened(part):
        return part.whitening.back(y)
    # The bounds of boxes are those of scipy's distributions but for rounding.
    return np.clip(part._from_latent(y), part.lower, part.upper)
