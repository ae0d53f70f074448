"""Integrals with known values: the source of tests, benchmarks and coverage studies.

A `Problem` is an integrand, the measure and the exact integral. A `Family` draws problems at random, so that a claimed
95 % interval can be checked on hundreds of truths. `all` is a fixed, seeded table made of one draw (or a few) of every
family in every dimension; `select` filters it by tags.

>>> import numpy as np
>>> from studies import problems
>>> problem = problems.draw("genz-gaussian", 2, rng=0)
>>> x = problem.measure.sample(20_000, rng=1)
>>> bool(abs(problem.f(x).mean() - problem.value) < 0.02)
True
>>> sorted({p.dim for p in problems.select("genz", "smooth")})
[1, 2, 3, 5]
"""

from functools import cache

import numpy as np

from fwbq import _validate

from . import bayes, genz, mixtures, rough, simple
from .problem import Family, Problem

__all__ = ["FAMILIES", "Family", "Problem", "all", "draw", "select"]

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (*genz.FAMILIES, *rough.FAMILIES, *mixtures.FAMILIES, *bayes.FAMILIES, *simple.FAMILIES)
}
"""Every family by name."""

_SEED = 20151207  # of the fixed table: changing it changes every problem in it


def draw(family: str, dim: int, rng: np.random.Generator | int | None = None) -> Problem:
    """Draw one problem of a family at random.

    Parameters
    ----------
    family : str
        A name in `FAMILIES`.
    dim : int
        Dimension, one of ``FAMILIES[family].dims``.
    rng : Generator or int, optional
        Source of the problem's parameters.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        For an unknown family, or a dimension in which it has no exact value.

    Examples
    --------
    >>> draw("genz-oscillatory", 3, rng=4).name
    'genz-oscillatory-d3'
    """
    chosen = FAMILIES[_validate.choice(family, "family", tuple(FAMILIES))]
    if dim not in chosen.dims:
        raise ValueError(f"`dim` must be one of {chosen.dims} for the family {family!r}, got {dim}.")
    return chosen.draw(dim, _validate.generator(rng))


@cache
def all() -> tuple[Problem, ...]:
    """Return the fixed table: one seeded draw of every family in every dimension it has.

    Returns
    -------
    tuple of Problem
        With unique names; always the same problems.

    Examples
    --------
    >>> len(all()) >= 30
    True
    """
    seeds = np.random.SeedSequence(_SEED)
    table = []
    for family in FAMILIES.values():
        for dim in family.dims:
            # Keyed by the name, not by the position: a new family leaves the others' problems as they are.
            key = (*family.name.encode(), dim)
            table.append(family.draw(dim, np.random.default_rng(np.random.SeedSequence(seeds.entropy, spawn_key=key))))
    return tuple(table)


def select(*tags: str) -> tuple[Problem, ...]:
    """Return the problems of the table that carry every one of the tags.

    Parameters
    ----------
    *tags : str
        A dimension as ``"d=2"``; a smoothness (``"analytic"``, ``"smooth"``, ``"rough"``, ``"matern12"``, ``"kink"``,
        ``"step"``); a kind (``"genz"``, ``"evidence"``, ``"oscillatory"``, ``"peak"``, ...); or a family's name.

    Returns
    -------
    tuple of Problem

    Raises
    ------
    ValueError
        For a tag that no problem carries.

    Examples
    --------
    >>> {p.dim for p in select("step", "d=1")}
    {1}
    """
    known = sorted({tag for problem in all() for tag in problem.tags})
    for tag in tags:
        _validate.choice(tag, "tag", tuple(known))
    return tuple(problem for problem in all() if problem.tags.issuperset(tags))
