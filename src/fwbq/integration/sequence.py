"""Which points come next: evenly spread ones first, then those that the fitted kernel needs most."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..designs import QMC, SBQ, Design, PointSet
from ..embeddings import Embedding
from ..measures import Empirical

FloatArray = NDArray[np.float64]
DesignFactory = Callable[..., Design | PointSet]

#: Points the default design chooses among. Measured in one to five dimensions: more of them lower the error of smooth
#: integrands by less than a refit does.
CANDIDATES = 3000


def spread(embedding: Embedding, n: int, seed: np.random.SeedSequence) -> FloatArray:
    """Return n distinct points spread evenly under the measure: scrambled Sobol points, the first ones of any more."""
    measure = embedding.measure
    if isinstance(measure, Empirical):
        support = np.unique(measure.points, axis=0)
        order = np.random.default_rng(seed).permutation(len(support))
        return np.asarray(support[order[:n]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Sobol points lose balance when n is not a power of two
        return QMC(embedding, rng=np.random.default_rng(seed)).take(n)


def next_points(
    embedding: Embedding, known: FloatArray, n: int, seed: np.random.SeedSequence, factory: DesignFactory | None
) -> tuple[FloatArray, str | None]:
    """Return up to n points that are not among the known ones, and why there are fewer, if so.

    Parameters
    ----------
    embedding : Embedding
        Of the fitted kernel.
    known : (N, d) array
        Points evaluated or about to be.
    n : int
        How many are wanted.
    seed : SeedSequence
        For the candidates.
    factory : callable, optional
        ``factory(embedding, rng=...)`` gives a design, whose first points that are new are taken. By default
        sequential Bayesian quadrature, continued from the known points.
    """
    if factory is not None:
        return _fresh(factory(embedding, rng=np.random.default_rng(seed)), known, n)
    measure = embedding.measure
    if isinstance(measure, Empirical):
        candidates = np.unique(measure.points, axis=0)
    else:
        candidates = spread(embedding, max(CANDIDATES, 4 * n), seed)
    design = SBQ(embedding, candidates, rng=0, known=known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a design has ended is said in the status
        points = design.take(n)
    if len(points) == n:
        return points, None
    known_count = len(known) + len(points)
    return points, f"numerical rank: under the fitted kernel further points add nothing to {known_count} evaluations"


def _fresh(design: Design | PointSet, known: FloatArray, n: int) -> tuple[FloatArray, str | None]:
    seen = {point.tobytes() for point in known + 0.0}
    wanted = n
    for _ in range(1 if isinstance(design, PointSet) else 8):  # a larger set would be another one, not a longer one
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            points = design.take(wanted)
        fresh = list({p.tobytes(): p for p in points + 0.0 if p.tobytes() not in seen}.values())
        if len(fresh) >= n or len(points) < wanted:
            break
        wanted += 2 * (n - len(fresh)) + 8
    chosen = np.array(fresh[:n]).reshape(-1, known.shape[1])
    return chosen, None if len(chosen) == n else f"the design gives no new points ({design.status})"


def chosen_together(remedy: str) -> ValueError:
    """Return the error for a set of points that is asked for in portions."""
    return ValueError(
        "`design` gives a set of points that were chosen together, and the set for a larger n does not contain them: "
        f"{remedy}, or pass a nested design such as fwbq.SBQ"
    )


def first_points(dim: int) -> int:
    """Return the number of points before the first fit: enough to see every length-scale at all."""
    return 2 * dim + 2 if dim <= 2 else dim + 5
