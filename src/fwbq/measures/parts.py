"""What a product is made of: distributions as people have them, or an error with the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from .. import _validate
from .base import Measure
from .discrete import Discrete
from .distributions import (
    Frozen,
    as_frozen,
    frozen,
    is_discrete,
    is_distribution,
    is_frozen_multivariate,
    is_new_discrete,
    is_unfrozen,
)
from .gaussian import Gaussian
from .multivariate_t import MultivariateT
from .truncated import TruncatedGaussian
from .uniform import Uniform
from .univariate import Univariate

_EXPECTED = "distributions of scipy.stats or measures of fwbq, one for each input or block of inputs"
_REMEDY = "write e.g. [stats.gamma(2.0), stats.norm(0.0, 1.0)]"


def named(given: Any, names: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
    """Return distributions and their names: of a dict its values, and its keys where no names are given."""
    if not isinstance(given, dict):
        return given, names
    return list(given.values()), list(given) if names is None else names


def parts_of(given: Any, name: str) -> tuple[Measure, ...]:
    """Return the independent parts that a list of distributions describes, each a measure.

    Parameters
    ----------
    given : sequence
        Frozen distributions of scipy.stats and measures.
    name : str
        What the list is called in errors.
    """
    if isinstance(given, (str, dict, np.ndarray)) or is_unfrozen(given):
        raise not_a_distribution(given, name)
    try:
        listed = tuple(given)
    except TypeError:
        raise TypeError(f"`{name}` must be a sequence of {_EXPECTED}, got {type(given).__name__}: {_REMEDY}") from None
    if not listed:
        raise ValueError(f"`{name}` must be a sequence of {_EXPECTED}, got none: {_REMEDY}")
    parts: list[Measure] = []
    for i, each in enumerate(listed):
        part = part_of(each, f"{name}[{i}]")
        parts.extend(getattr(part, "parts", (part,)))  # a product within a product
    return tuple(parts)


def part_of(x: Any, name: str) -> Measure:
    """Return one entry of a product as a measure."""
    if isinstance(x, Measure):
        return _block(x, name)
    if is_distribution(x):
        return Univariate(frozen(as_frozen(x), name))
    found = other_distribution(x, name)
    if found is None:
        raise not_a_distribution(x, name)
    return found


def other_distribution(x: Any, name: str) -> Measure | None:
    """Return a discrete or multivariate frozen distribution of scipy.stats as a measure; None for anything else."""
    if is_discrete(x) or is_new_discrete(x):
        return Discrete.of(Frozen(x) if is_new_discrete(x) else as_frozen(x), name)
    if is_frozen_multivariate(x, "multivariate_normal"):
        return Gaussian(x.mean, x.cov)
    if is_frozen_multivariate(x, "multivariate_t"):
        if np.isinf(x.df):
            return Gaussian(x.loc, x.shape)
        return MultivariateT(x.loc, x.shape, x.df)
    return None


def not_a_distribution(x: Any, name: str) -> TypeError:
    """Return the error for what is no distribution, with the remedy for what it seems to be."""
    if is_unfrozen(x):
        family = getattr(x, "name", None) or getattr(x, "__name__", None) or type(x).__name__.removesuffix("_gen")
        return TypeError(
            f"`{name}` must be a distribution with its parameters, got the family stats.{family}: call it, e.g. "
            f"stats.{family}(...) with its shapes, loc and scale"
        )
    if isinstance(x, Number):
        return TypeError(
            f"`{name}` must be a distribution, got the number {_validate.shown(x)}: an input that is known is no part "
            "of the measure, put it into f; a list of values is fwbq.Discrete(values), a sample "
            "fwbq.Empirical(points), bounds are stats.uniform(low, high - low) or fwbq.Uniform(lower, upper)"
        )
    if isinstance(x, np.ndarray):
        return TypeError(
            f"`{name}` must be a measure or a distribution, got an array of shape {x.shape}: a sample of inputs (n, d) "
            "is fwbq.Empirical(points), bounds are fwbq.Uniform(lower, upper)"
        )
    if callable(getattr(x, "resample", None)):
        return TypeError(
            f"`{name}` must be a measure or a distribution, got a {type(x).__name__}, which has no quantiles: pass the "
            "sample that it was made from, fwbq.Empirical(points), or a fwbq.GaussianMixture"
        )
    if isinstance(x, (list, tuple)):
        return TypeError(
            f"`{name}` must be a distribution, got a {type(x).__name__} within the list: pass one flat list, with "
            "inputs that depend on each other as one block, fwbq.Gaussian(mean, cov) or fwbq.Copula(marginals, "
            "correlation); bounds (low, high) are stats.uniform(low, high - low)"
        )
    return TypeError(
        f"`{name}` must be a measure, a distribution of scipy.stats or a list of them, got {_validate.shown(x)} of "
        f"type {type(x).__name__}: pass e.g. fwbq.Gaussian(0.0, 1.0), stats.gamma(2.0), or [stats.gamma(2.0), "
        "stats.norm(0.0, 1.0)]"
    )


def marginals_of(part: Measure) -> tuple[Any, ...] | None:
    """Return the distributions of the coordinates of a part, if they are independent; None if they are not.

    Univariate parts give their own, discrete ones themselves, and boxes and Gaussians those of scipy.stats.
    """
    from scipy import stats

    if isinstance(part, Univariate):
        return (part.distribution,)
    if isinstance(part, Discrete):
        return (part,)
    if isinstance(part, Uniform):
        return tuple(stats.uniform(a, b - a) for a, b in zip(part.lower, part.upper, strict=True))
    if isinstance(part, TruncatedGaussian):
        sd = np.sqrt(part.variance)
        bounds = ((part.lower - part.mean) / sd, (part.upper - part.mean) / sd)
        return tuple(stats.truncnorm(a, b, m, s) for a, b, m, s in zip(*bounds, part.mean, sd, strict=True))
    if isinstance(part, Gaussian) and part.factors is not None:
        return tuple(stats.norm(m, s) for m, s in zip(part.mean, part.scale, strict=True))
    return None


def _block(measure: Measure, name: str) -> Measure:
    """Return a measure that can be a block: its points must be those of the normal distribution, one to one."""
    if isinstance(measure, Discrete) or measure.invertible or all(map(_known, getattr(measure, "parts", [None]))):
        return measure
    raise TypeError(
        f"`{name}` is a {type(measure).__name__}, which cannot be a block of a product, because it has no coordinates "
        "that are independent: integrate under it alone, for each of its components or points, or pass a block that "
        "is a Gaussian, a Copula, a multivariate_t or fwbq.Discrete"
    )


def _known(part: Measure | None) -> bool:
    return part is not None and (part.invertible or isinstance(part, Discrete))
