"""The points a design searches: candidate sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from ..measures import Empirical
from .base import FloatArray

if TYPE_CHECKING:
    from ..embeddings import Embedding

DEFAULT_CANDIDATES = 10_000  # the lower end of what the paper uses (10,000 to 50,000)


def candidate_points(
    embedding: Embedding, candidates: int | ArrayLike | None = None, rng: np.random.Generator | int | None = None
) -> FloatArray:
    """Return the candidates of a design.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    candidates : int or (M, d) array, optional
        The candidates, or how many to draw from the measure (10,000 by default). Of an `Empirical` measure the
        default is every sample point, and a number M smaller than the sample takes M of its points at random without
        replacement, in the order of the sample.
    rng : numpy.random.Generator or int, optional
        Where the draws come from.

    Returns
    -------
    (M, d) array
        Read-only, C-contiguous.
    """
    measure = embedding.measure
    if candidates is None and isinstance(measure, Empirical):
        points = measure.points
    elif candidates is None or np.ndim(candidates) == 0:
        m = _validate.count(DEFAULT_CANDIDATES if candidates is None else candidates, "candidates")
        rng = _validate.generator(rng)
        if not isinstance(measure, Empirical):
            points = measure.sample(m, rng)
        elif m >= len(measure.points):
            points = measure.points
        else:
            points = measure.points[np.sort(rng.choice(len(measure.points), m, replace=False))]
    else:
        points = _validate.points(candidates, "candidates", embedding.dim)
    return _validate.readonly(points)
