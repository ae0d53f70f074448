"""One-dimensional scipy.stats distributions as measures: the coordinates of products and copulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from .._validate import Array
from .base import Measure
from .distributions import Frozen, parameters
from .standard_normal import normal_score

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


@dataclass(frozen=True, eq=False)
class Univariate(Measure):
    """A frozen continuous distribution of scipy.stats as a measure of one coordinate; moments are computed once."""

    distribution: Any

    @property
    def dim(self) -> int:
        """One."""
        return 1

    @cached_property
    def expectation(self) -> Array:
        """The expectation, shape (1,); NaN or infinite where there is none."""
        return np.array([_quietly(self.distribution.mean)])

    @cached_property
    def mean(self) -> Array:
        """The expectation, or the median where there is none, shape (1,)."""
        exists = np.isfinite(self.expectation)[0]
        return self.expectation if exists else np.array([float(self.distribution.ppf(0.5))])

    @cached_property
    def scale(self) -> Array:
        """The standard deviation, or one from quantiles where it is not finite, shape (1,)."""
        sd = _quietly(self.distribution.std)
        if not (np.isfinite(sd) and sd > 0.0):
            low, high = (float(self.distribution.ppf(ndtr(z))) for z in (-1.0, 1.0))
            sd = 0.5 * (high - low)
        return np.array([sd])

    @cached_property
    def lower(self) -> Array:
        """The lower end of the support, shape (1,)."""
        return np.array([float(self.distribution.support()[0])])

    @cached_property
    def upper(self) -> Array:
        """The upper end of the support, shape (1,)."""
        return np.array([float(self.distribution.support()[1])])

    @property
    def uniform_dim(self) -> int:
        """One."""
        return 1

    @property
    def factors(self) -> tuple[Measure, ...]:
        """The measure itself."""
        return (self,)

    @property
    def invertible(self) -> bool:
        """True: there are normal scores."""
        return True

    @cached_property
    def _least_levels(self) -> tuple[float, float]:
        """Levels from either end of the support of the number next to it, which the end itself is given too."""
        p, (low, high) = self.distribution, (self.lower[0], self.upper[0])
        below = float(p.cdf(np.nextafter(low, high))) if np.isfinite(low) else 0.0
        above = float(p.sf(np.nextafter(high, low))) if np.isfinite(high) else 0.0
        return below, above

    def _to_normal(self, x: Array) -> Array:
        levels = (np.asarray(level(x)) for level in (self.distribution.cdf, self.distribution.sf))
        return normal_score(*map(np.maximum, levels, self._least_levels))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.reshape(self.distribution.rvs(size=n, random_state=rng), (n, 1))

    def _transform(self, u: Array, v: Array) -> Array:
        return quantiles(self.distribution, u, v)

    def _log_density(self, x: Array) -> Array:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.asarray(self.distribution.logpdf(x[:, 0]), dtype=np.float64)

    def _score(self, x: Array) -> Array:
        return _score(self.distribution, x)

    def spec(self) -> dict[str, Any]:
        """Return name and parameters of the distribution."""
        return distribution_spec(self.distribution)


def shown(p: Any) -> str:
    """Return a distribution as it is written in code."""
    if isinstance(p, Frozen):
        return p.name
    given = [*map(str, p.args), *(f"{key}={value}" for key, value in p.kwds.items())]
    return f"{p.dist.name or type(p.dist).__name__}({', '.join(given)})"


def quantiles(p: Any, u: Array, v: Array) -> Array:
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
            f"the score of the distribution {shown(p)} is not known; known are {', '.join(sorted(_SCORES))}: "
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


def distribution_spec(p: Any) -> dict[str, Any]:
    """Return the name and the parameters of a distribution as strict JSON can hold them."""
    name = _name(p)
    if name is None:
        raise ValueError(
            f"the distribution {shown(p)} cannot be saved, because it has no name in scipy.stats: use one of the "
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


def from_distribution_spec(entry: dict[str, Any]) -> Any:
    """Return the frozen distribution that `distribution_spec` describes; nothing but families of scipy.stats."""
    from scipy import stats

    family = getattr(stats, str(entry["name"]), None)
    if not isinstance(family, stats.rv_continuous):
        raise ValueError(f"`spec` names {entry['name']!r}, which is no continuous distribution of scipy.stats")
    return family(*entry["args"], **entry["kwds"])
