"""Products of one-dimensional scipy.stats distributions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import ndtr

from .. import _frozen
from .._validate import Array
from .base import Measure
from .distributions import Frozen, as_frozen, frozen_distributions, is_distribution, parameters

# d log p / dt of the standard distributions (loc 0, scale 1), by scipy's name; the shapes come in scipy's order.
_SCORES: dict[str, Callable[..., Array]] = {
    "norm": lambda t: -t,
    "uniform": lambda t: np.zeros_like(t),
    "expon": lambda t: np.full_like(t, -1.0),
    "laplace": lambda t: -np.sign(t),
    "logistic": lambda t: -np.tanh(0.5 * t),
    "gumbel_r": lambda t: np.expm1(-t),
    "gumbel_l": lambda t: -np.expm1(t),
    "halfnorm": lambda t: -t,
    "rayleigh": lambda t: 1.0 / t - t,
    "cauchy": lambda t: -2.0 * t / (1.0 + t * t),
    "t": lambda t, df: -(df + 1.0) * t / (df + t * t),
    "gamma": lambda t, a: (a - 1.0) / t - 1.0,
    "chi2": lambda t, df: (0.5 * df - 1.0) / t - 0.5,
    "invgamma": lambda t, a: -(a + 1.0) / t + 1.0 / (t * t),
    "beta": lambda t, a, b: (a - 1.0) / t - (b - 1.0) / (1.0 - t),
    "lognorm": lambda t, s: -(1.0 + np.log(t) / s**2) / t,
    "weibull_min": lambda t, c: (c - 1.0) / t - c * t ** (c - 1.0),
    "pareto": lambda t, b: -(b + 1.0) / t,
    "truncnorm": lambda t, a, b: -t,
}


@dataclass(frozen=True, eq=False, init=False)
class Product(Measure):
    """Independent coordinates with frozen continuous scipy.stats distributions.

    p(x) = prod_i p_i(x_i)

    Parameters
    ----------
    distributions : frozen scipy.stats distribution, or a sequence of them
        One per coordinate, e.g. ``[stats.gamma(2.0), stats.beta(0.5, 0.5)]``; parameters must be scalars. The objects
        that SciPy has since version 1.15 (``stats.Normal(mu=0.0, sigma=1.0)``, mixtures and transformations of them)
        are taken too.

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
    """

    distributions: tuple[Any, ...]

    def __init__(self, distributions: Any) -> None:
        given = (distributions,) if is_distribution(distributions) else distributions
        if isinstance(given, Iterable) and not isinstance(given, str):
            given = tuple(map(as_frozen, given))
        _frozen.freeze(self, distributions=frozen_distributions(given))

    def __repr__(self) -> str:
        return f"Product([{', '.join(map(_shown, self.distributions))}])"

    @property
    def dim(self) -> int:
        """The number of distributions."""
        return len(self.distributions)

    @property
    def mean(self) -> Array:
        """The expectation of each coordinate, or its median where there is none, shape (d,)."""
        expectation = self.expectation
        return np.where(np.isfinite(expectation), expectation, self._quantile(0.5))

    @property
    def expectation(self) -> Array:
        """The expectation of each coordinate, shape (d,); NaN or infinite where there is none."""
        return np.array([_quietly(p.mean) for p in self.distributions])

    @property
    def scale(self) -> Array:
        """The standard deviation of each coordinate, or a quantile-based one where it is not finite, shape (d,)."""
        sd = np.array([_quietly(p.std) for p in self.distributions])
        spread = 0.5 * (self._quantile(ndtr(1.0)) - self._quantile(ndtr(-1.0)))
        return np.where(np.isfinite(sd) & (sd > 0.0), sd, spread)

    @property
    def lower(self) -> Array:
        """The lower ends of the supports, shape (d,)."""
        return np.array([float(p.support()[0]) for p in self.distributions])

    @property
    def upper(self) -> Array:
        """The upper ends of the supports, shape (d,)."""
        return np.array([float(p.support()[1]) for p in self.distributions])

    @property
    def uniform_dim(self) -> int:
        """The dimension d."""
        return self.dim

    @property
    def factors(self) -> tuple[Measure, ...]:
        """The coordinates, each a one-dimensional Product."""
        return (self,) if self.dim == 1 else tuple(Product([p]) for p in self.distributions)

    def _quantile(self, level: float) -> Array:
        return np.array([float(p.ppf(level)) for p in self.distributions])

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.column_stack([p.rvs(size=n, random_state=rng) for p in self.distributions])

    def _transform(self, u: Array, v: Array) -> Array:
        return np.column_stack([_from_nearer_end(p, u[:, i], v[:, i]) for i, p in enumerate(self.distributions)])

    def _log_density(self, x: Array) -> Array:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.asarray(sum(p.logpdf(x[:, i]) for i, p in enumerate(self.distributions)), dtype=np.float64)

    def _score(self, x: Array) -> Array:
        return np.column_stack([_score(p, x[:, i]) for i, p in enumerate(self.distributions)])

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""
        return {"type": "Product", "distributions": [_distribution_spec(p) for p in self.distributions]}

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        from scipy import stats

        rebuilt = []
        for entry in spec["distributions"]:
            family = getattr(stats, str(entry["name"]), None)
            if not isinstance(family, stats.rv_continuous):
                raise ValueError(f"`spec` names {entry['name']!r}, which is no continuous distribution of scipy.stats")
            rebuilt.append(family(*entry["args"], **entry["kwds"]))
        return cls(rebuilt)


def _shown(p: Any) -> str:
    """Return a distribution as it is written in code."""
    if isinstance(p, Frozen):
        return p.name
    given = [*map(str, p.args), *(f"{key}={value}" for key, value in p.kwds.items())]
    return f"{p.dist.name or type(p.dist).__name__}({', '.join(given)})"


def _from_nearer_end(p: Any, u: Array, v: Array) -> Array:
    """Return the quantiles of p at levels u, with v = 1 - u: counted from below or from above, whichever is nearer."""
    x = np.empty_like(u)
    below = u <= v
    x[below], x[~below] = p.ppf(u[below]), p.isf(v[~below])
    return x


def _quietly(moment: Callable[[], Any]) -> float:
    """Return a moment; scipy warns when its integral diverges, which here is an answer."""
    import warnings

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return float(moment())


def _score(p: Any, x: Array) -> Array:
    name = _name(p)
    if name not in _SCORES:
        raise NotImplementedError(
            f"the score of the distribution {_shown(p)} is not known; known are {', '.join(sorted(_SCORES))}: "
            "write the score by hand where it is needed"
        )
    shapes, loc, scale = parameters(p)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return _SCORES[name]((x - loc) / scale, *shapes) / scale


def _name(p: Any) -> str | None:
    """Return the name under which scipy.stats holds the family of p; None for a custom one."""
    from scipy import stats

    name = getattr(getattr(p, "dist", None), "name", None)
    family = getattr(stats, name, None) if isinstance(name, str) else None
    return name if family is not None and type(family) is type(p.dist) else None


def _distribution_spec(p: Any) -> dict[str, Any]:
    name = _name(p)
    if name is None:
        raise ValueError(
            f"the distribution {_shown(p)} cannot be saved, because it has no name in scipy.stats: use one of the "
            "named families, or rebuild the measure in code"
        )
    return {
        "name": name,
        "args": [_plain(a) for a in p.args],
        "kwds": {key: _plain(value) for key, value in p.kwds.items()},
    }


def _plain(x: Any) -> Any:
    """Return a scalar as a Python number."""
    return np.asarray(x).item()
