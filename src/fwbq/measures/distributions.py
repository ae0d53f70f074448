"""The two kinds of distribution objects that scipy.stats has, through one interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _validate
from .._validate import Array


@dataclass(frozen=True, eq=False)
class Frozen:
    """A distribution of scipy's newer kind (``stats.Normal(mu=0.0, sigma=1.0)``) with the methods of a frozen one.

    It is its own family (``dist``), without shapes, location or scale.
    """

    distribution: Any

    args = ()
    shapes = None

    @property
    def kwds(self) -> dict[str, Any]:
        """Parameters by name: none."""
        return {}

    @property
    def dist(self) -> Frozen:
        """The family: the distribution itself."""
        return self

    @property
    def name(self) -> str:
        """The distribution as scipy writes it."""
        return str(self.distribution)

    def support(self) -> tuple[float, float]:
        """Return the ends of the support."""
        lower, upper = self.distribution.support()
        return float(lower), float(upper)

    def ppf(self, q: Any) -> Array:
        """Return the quantiles."""
        return np.asarray(self.distribution.icdf(q))

    def isf(self, q: Any) -> Array:
        """Return the quantiles, levels counted from above."""
        return np.asarray(self.distribution.iccdf(q))

    def cdf(self, x: Any) -> Array:
        """Return the probability of values up to x."""
        return np.asarray(self.distribution.cdf(x))

    def sf(self, x: Any) -> Array:
        """Return the probability of values above x."""
        return np.asarray(self.distribution.ccdf(x))

    def pdf(self, x: Any) -> Array:
        """Return the density."""
        return np.asarray(self.distribution.pdf(x))

    def pmf(self, x: Any) -> Array:
        """Return the probabilities of the values of a discrete distribution."""
        return np.asarray(self.distribution.pmf(x))

    def logpdf(self, x: Any) -> Array:
        """Return the logarithm of the density."""
        return np.asarray(self.distribution.logpdf(x))

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Return independent draws."""
        return np.asarray(self.distribution.sample(size, rng=random_state))

    def mean(self) -> float:
        """Return the expectation."""
        return float(self.distribution.mean())

    def std(self) -> float:
        """Return the standard deviation."""
        return float(self.distribution.standard_deviation())


def is_new(x: Any) -> bool:
    """Whether `x` is one of scipy's newer distribution objects, and continuous."""
    return not isinstance(x, type) and _has_new_methods(x) and not is_new_discrete(x)


def is_new_discrete(x: Any) -> bool:
    """Whether `x` is one of scipy's newer distribution objects, and discrete: ``stats.Binomial(n=3, p=0.5)``."""
    return any(base.__name__ == "DiscreteDistribution" for base in type(x).__mro__) and _has_new_methods(x)


def _has_new_methods(x: Any) -> bool:
    return all(callable(getattr(x, name, None)) for name in ("icdf", "logpdf", "sample", "support"))


def is_distribution(x: Any) -> bool:
    """Whether `x` is a frozen scipy.stats distribution, a histogram, or one of the newer objects."""
    frozen = hasattr(x, "dist") and all(callable(getattr(x, name, None)) for name in ("ppf", "logpdf", "rvs"))
    return frozen or is_new(x) or _is_complete(x, "rv_histogram")


def as_frozen(x: Any) -> Any:
    """Return a frozen distribution for one made from data, or one of the newer objects; anything else as it is.

    Gaussian and uniform ones become ``norm`` and ``uniform``, for which there are closed forms.

    Examples
    --------
    >>> from scipy import stats
    >>> float(as_frozen(stats.norm(1.0, 2.0)).mean())
    1.0
    """
    if _is_complete(x):
        return x()
    if not is_new(x):
        return x
    from scipy import stats

    def scalar(*names: str) -> list[float] | None:
        values = [getattr(x, name) for name in names]
        return [float(value) for value in values] if all(np.ndim(value) == 0 for value in values) else None

    kind = type(x).__name__
    if kind in ("Normal", "StandardNormal") and (moments := scalar("mu", "sigma")):
        return stats.norm(*moments)
    if kind == "Uniform" and (ends := scalar("a", "b")):
        return stats.uniform(ends[0], ends[1] - ends[0])
    return Frozen(x)


def parameters(p: Any) -> tuple[list[float], float, float]:
    """Return shapes, location and scale of a frozen distribution.

    Examples
    --------
    >>> from scipy import stats
    >>> parameters(stats.gamma(2.0, scale=3.0))
    ([2.0], 0.0, 3.0)
    """
    names = [*(p.dist.shapes.replace(" ", "").split(",") if p.dist.shapes else []), "loc", "scale"]
    given = {"loc": 0.0, "scale": 1.0, **dict(zip(names, p.args, strict=False)), **p.kwds}
    *shapes, loc, scale = (float(given[name]) for name in names)
    return shapes, loc, scale


def is_discrete(x: Any) -> bool:
    """Whether `x` is a frozen discrete distribution of scipy.stats, such as ``stats.poisson(3.0)``."""
    frozen = hasattr(x, "dist") and all(callable(getattr(x, name, None)) for name in ("ppf", "pmf", "rvs"))
    return frozen or _is_complete(x, "rv_sample")


def _is_complete(x: Any, *kinds: str) -> bool:
    """Whether `x` is a family of scipy.stats that was made from data and has no parameters left to give.

    These are ``stats.rv_histogram(...)`` and ``stats.rv_discrete(values=...)``, an ``rv_sample``.
    """
    named = kinds or ("rv_histogram", "rv_sample")
    return any(base.__name__ in named for base in type(x).__mro__) and callable(getattr(x, "freeze", None))


def is_unfrozen(x: Any) -> bool:
    """Whether `x` is a family of distributions (``stats.norm``) where one with parameters (``stats.norm()``) is due."""
    family = callable(x) and not isinstance(x, type) and callable(getattr(x, "rvs", None)) and not hasattr(x, "dist")
    return (family and not _is_complete(x)) or (isinstance(x, type) and _has_new_methods(x))


def is_frozen_multivariate(x: Any, name: str) -> bool:
    """Whether `x` is a frozen distribution of the family ``stats.<name>`` of several coordinates."""
    if type(x).__name__ != f"{name}_frozen":
        return False
    from scipy import stats

    return isinstance(x, type(getattr(stats, name)()))


def frozen(p: Any, label: str) -> Any:
    """Return a frozen continuous scipy.stats distribution with scalar parameters, checked.

    Parameters
    ----------
    p : object
        The distribution.
    label : str
        What it is called in errors.
    """
    parameters = (*p.args, *p.kwds.values())
    if any(np.ndim(parameter) != 0 for parameter in parameters):
        raise ValueError(
            f"`{label}` must have scalar parameters, got {_validate.shown(parameters)}: pass one distribution per "
            "coordinate"
        )
    if p.dist.name == "vonmises":  # scipy gives its density on the whole line, once per period
        raise ValueError(
            f"`{label}` is vonmises, whose density repeats itself and integrates to infinity: pass "
            "stats.vonmises_line with the same parameters"
        )
    if p.dist.name in ("levy_stable", "studentized_range"):  # one value takes scipy milliseconds to seconds
        raise ValueError(
            f"`{label}` is {p.dist.name}, whose density and quantiles scipy finds by an integration for each value, "
            "too slowly for a measure: pass fwbq.Empirical(distribution.rvs(10_000)[:, None])"
        )
    if not np.isfinite(p.ppf(0.5)):
        raise ValueError(
            f"`{label}` must be a proper distribution, but its median is not finite: check its parameters "
            f"{_validate.shown(parameters)}"
        )
    return p
