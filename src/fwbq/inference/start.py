"""Where the search for the mass of a model begins."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate
from ..measures import Empirical, Measure

Array = NDArray[np.float64]


def starting_point(
    prior: Measure | None, dim: int | None, start: ArrayLike | None, *, called: str = "prior"
) -> Array | None:
    """Return the point to begin at: `start`, or the origin of R^d when only `dim` is given; None with a prior alone.

    Parameters
    ----------
    prior : Measure or None
        None for a log joint density.
    dim : int, optional
        Number of parameters.
    start : array_like, shape (d,), optional
    called : str, optional
        What the caller calls the prior, for errors.

    Examples
    --------
    >>> starting_point(None, 2, None)
    array([0., 0.])
    """
    begin = None if start is None else _validate.vector(start, "start")
    if prior is None and begin is None:
        if dim is None:
            raise ValueError(
                f"`{called}` is missing: pass a measure such as fwbq.Gaussian(mean, cov), or for a log joint density "
                "on R^d its dimension `dim` and, better, a `start`"
            )
        return np.zeros(_validate.count(dim, "dim"))
    size = prior.dim if prior is not None else len(begin) if begin is not None else 0
    if dim is not None and _validate.count(dim, "dim") != size:
        given = f"`{called}`" if prior is not None else "`start`"
        raise ValueError(f"`dim` is {dim}, but {given} has {size} coordinates: leave `dim` out")
    if begin is not None and len(begin) != size:
        raise ValueError(f"`start` must have a number for each of the {size} parameters, got {len(begin)}")
    if prior is not None and begin is not None:
        refuse_outside(prior, begin, called=called)
    return begin


def refuse_outside(prior: Measure, start: Array, *, called: str = "prior") -> None:
    """Refuse a start (d,) where the prior has no mass.

    Raises
    ------
    ValueError
        For a start beyond the bounds of the support, where the density is zero within them, or that is no point of a
        prior that is a sample.
    """
    if isinstance(prior, Empirical):
        if not np.any(np.all(prior.points == start, axis=1) & (prior.weights > 0.0)):
            raise ValueError(
                f"`start` must be a point of the sample that is the `{called}`, got {start.tolist()}: pass one of its "
                "points, or leave `start` out"
            )
        return
    beyond = np.flatnonzero((start < prior.lower) | (start > prior.upper))
    if len(beyond):
        i = int(beyond[0])
        raise ValueError(
            f"`start` must lie in the support of the `{called}`: coordinate {i} of it is {start[i]:g}, outside "
            f"[{prior.lower[i]:g}, {prior.upper[i]:g}]. Pass a point inside, or leave `start` out"
        )
    at_end = np.any((start == prior.lower) | (start == prior.upper))
    if not at_end and np.isneginf(prior.log_density(start[None])[0]):
        raise ValueError(
            f"`start` must lie in the support of the `{called}`, whose density is zero at {start.tolist()}: pass a "
            "point of positive density, or leave `start` out"
        )
