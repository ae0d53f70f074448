"""Which points come next: evenly spread ones first, then those that the fitted kernel needs most."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._reason import Reason
from ..designs import QMC, SBQ, Design, PointSet, made_design
from ..designs.qmc import sobol_points
from ..designs.refinement import bayes_weights, descend
from ..embeddings import Embedding, embed
from ..kernels import ExpQuad, Sum
from ..measures import Empirical, Measure
from ..rules import PriorMean

FloatArray = NDArray[np.float64]
DesignFactory = Callable[..., Design | PointSet]

#: Points the default design chooses among: a power of two, for the balance of Sobol points. Measured in one to five
#: dimensions: more of them lower the error of smooth integrands by less than a refit does. With 512 for the first 32
#: points errors of smooth integrands at n = 20 were 1.2 times as large (140 problems).
CANDIDATES = 2048
#: Under a kernel that is ExpQuad but for a remainder of at most `LARGEST_REMAINDER`, a batch is moved together by
#: `MOVES` steps of L-BFGS-B, with up to `MOST_TO_MOVE` points in all. On eight analytic functions under N(0, I) in two
#: dimensions, six seeds each, errors at n = 49 were half as large (0.2 to 1.1 times, by function) for 15 % more time;
#: 30 steps gained no more. A remainder of 0.4 %, as for 1 / (1 + x^2 + y^2), made errors twice as large. To move the
#: batches before the last one too gained nothing at n = 24, 49 and 100 (six functions, six seeds each).
LARGEST_REMAINDER, MOVES, MOST_TO_MOVE = 1e-3, 15, 150
#: Points of the first batch of `integrate`, at least.
FIRST_BATCH = 8
#: The kernel for the choice of points is fitted anew when the number of values has grown by this factor since the last
#: fit: all fits together then cost little more than the last one, however many batches there are. On 184 problems (all
#: families of `studies.coverage`) errors with a factor of 4, and no batches in between, were 0.90 (n = 20) and
#: 0.97 (n = 100) times those with a factor of 2 (geometric means, uncertain by 0.1), and coverage was the same.
REFIT_GROWTH = 4
#: That a fitted kernel cannot tell further points apart ends a run from this many points on. With fewer the kernel may
#: have been fitted where f happens to be a polynomial: of |x - c| |x - e| on [0, 1] eleven points missed everything
#: between c and e, and the error was 44 times the half-width of the interval.
FEWEST_BEFORE_RANK = 32
#: It does not end a run whose interval is wider than this part of the standard deviation of the values (half the width
#: of the 95 % interval): the kernel was then found to be too smooth, and points are chosen under a rougher one. For 53
#: analytic functions in one and two dimensions it was 3e-8 to 2e-5 when the kernel could tell no further points apart,
#: and points under a rougher kernel gained nothing, or made it wider. For the sum of (x y)^2i, i = 1 to 5, on [-1, 1]^2
#: it was 0.15 at n = 153, and 0.012 at n = 200 with such points.
WIDE = 1e-4


def spread(embedding: Embedding, n: int, seed: np.random.SeedSequence) -> FloatArray:
    """Return n distinct points spread evenly under the measure: scrambled Sobol points; a larger n begins with them."""
    measure = embedding.measure
    if isinstance(measure, Empirical):
        support = np.unique(measure.points, axis=0)
        order = np.random.default_rng(seed).permutation(len(support))
        return np.asarray(support[order[:n]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Sobol points lose balance when n is not a power of two
        return QMC(embedding, rng=np.random.default_rng(seed)).take(n)


def next_points(
    embedding: Embedding,
    known: FloatArray,
    n: int,
    seed: np.random.SeedSequence,
    factory: DesignFactory | None,
    prior_mean: PriorMean,
    wanted: FloatArray,
    *,
    together: bool = True,
) -> tuple[FloatArray, Reason | None, str]:
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
        ``factory(embedding, rng=...)`` gives a design, whose first points that are new are taken. By default the points
        `wanted`, some `witnesses`, then sequential Bayesian quadrature, continued from all points there are.
    prior_mean : {"zero", "constant"}
        Mean of the process whose error the default design lowers.
    wanted : (at most n, d) array
        Points that the default begins with, if they are not known.
    together : bool
        Whether the default moves the points to where they are best together, if the kernel is smooth.

    Returns
    -------
    points : (at most n, d) array
    reason : Reason or None
        None when there are n points.
    status : str
        What the design of the factory says of its end.
    """
    if factory is not None:
        return _fresh(made_design(factory, embedding, np.random.default_rng(seed)), known, n)
    measure = embedding.measure
    if isinstance(measure, Empirical):
        candidates = np.unique(measure.points, axis=0)
        first = known[:0]
    else:
        candidates = measure.from_uniform(
            sobol_points(measure.uniform_dim, max(CANDIDATES, 4 * n), np.random.default_rng(seed))
        )
        first = np.concatenate([wanted, witnesses(measure, len(known), n, seed)])[:n]
        first = first[~np.array([bool((known == point).all(axis=1).any()) for point in first], dtype=bool)]
    there = np.concatenate([known, first])
    design = SBQ(embedding, candidates, rng=0, prior_mean=prior_mean, known=there)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a design has ended is said in the status
        rest = design.take(n - len(first)) if n > len(first) else known[:0]
    smooth = _smooth_part(embedding) if together and len(rest) and len(there) + len(rest) <= MOST_TO_MOVE else None
    if smooth is not None and len(first) + len(rest) == n:
        rest = _moved(smooth, there, rest, candidates, prior_mean)
    points = np.concatenate([first, rest])
    if len(points) == n:
        return points, None, ""
    exhausted = isinstance(measure, Empirical) and len(there) + len(rest) >= len(candidates)
    return points, Reason.EXHAUSTED if exhausted else Reason.RANK, design.status


def _smooth_part(embedding: Embedding) -> Embedding | None:
    """Return the embedding of the ExpQuad part of a kernel that is hardly anything else, if points can move."""
    kernel, measure = embedding.kernel, embedding.measure
    if isinstance(measure, Empirical) or not isinstance(kernel, Sum):
        return None
    for part in kernel.kernels:
        if isinstance(part, ExpQuad) and part.variance >= 1.0 - LARGEST_REMAINDER:
            return embed(part, measure)
    return None


def _moved(
    smooth: Embedding, known: FloatArray, start: FloatArray, candidates: FloatArray, prior_mean: PriorMean
) -> FloatArray:
    """Return points that lower the error together, by a local search from those that lower it one after the other.

    They stay within the box of the candidates, so that none comes to lie on the boundary of the support.
    """
    box = candidates.min(axis=0), candidates.max(axis=0)
    return descend(smooth, start, bayes_weights(prior_mean), MOVES, known=known, box=box).points


def filling(
    rough: Embedding, known: FloatArray, n: int, seed: np.random.SeedSequence, prior_mean: PriorMean
) -> FloatArray:
    """Return up to n points (n, d) that lower the error most under a rough kernel, which tells far more points apart.

    The arguments are those of `next_points`; `rough` is the embedding of the rough kernel.
    """
    measure = rough.measure
    candidates = measure.from_uniform(
        sobol_points(measure.uniform_dim, max(CANDIDATES, 4 * n), np.random.default_rng(seed))
    )
    design = SBQ(rough, candidates, rng=0, prior_mean=prior_mean, known=known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a design has ended is said in the status
        return design.take(n)


def witnesses(measure: Measure, known: int, n: int, seed: np.random.SeedSequence) -> FloatArray:
    """Return a few points close to the faces of the support, for a batch of n after `known` others.

    Points that minimise the error of a stationary kernel keep half a spacing from the edge of the support, and what f
    does beyond them stays unknown: of 95 % intervals for sqrt(x), x^0.3 and log(x) on [0, 1] with 20 and 40 points six
    in ten held the truth. With points a quarter of a spacing from the faces nearly all did, and the errors were half as
    large.

    There are some in every batch up to 32 points, and then whenever the number of points passes a power of four: they
    come closer to the faces as the others do, but do not form a cluster there, which a stationary kernel can explain by
    a large amplitude only. (With such points in every batch sqrt(x) was known to 1e-3 after 176 evaluations, with those
    described here after 62; with none in the batches between 16 and 32, coverage was 60 to 80 %.) At most every fourth
    point is one of them. Each is the image of a point of the unit cube of which one coordinate is 1 / (4 total) or one
    minus that, and the others are random.
    """
    total = known + n
    if known >= 32 and math.floor(math.log2(total) / 2.0) == math.floor(math.log2(known) / 2.0):
        return np.empty((0, measure.dim))
    generator = np.random.default_rng(seed)
    faces = generator.permutation(_faces(measure))[: total // 4 - known // 4]
    u = generator.random((len(faces), measure.uniform_dim))
    depth = 0.25 / total
    for row, (i, side) in zip(u, faces, strict=True):
        row[i] = 1.0 - depth if side else depth
    return measure.from_uniform(u)


def _faces(measure: Measure) -> NDArray[np.intp]:
    """Return (coordinate, side) of the faces at which the support ends, (F, 2); none where it is unbounded.

    Between the quantiles 2^-27 and 2^-53 a distribution with a bound moves by less than a thousandth of its standard
    deviation (1e-4 if the density falls to zero linearly), the Gaussian by 2.6 of them.
    """
    dim = measure.uniform_dim
    if dim != measure.dim:
        return np.empty((0, 2), dtype=np.intp)
    faces = []
    for i in range(dim):
        for side in (0, 1):
            u = np.full((2, dim), 0.5)
            u[:, i] = np.abs(side - np.array([2.0**-27, 2.0**-53]))
            far, near = measure.from_uniform(u)
            if np.all(np.abs(far - near) <= 1e-3 * measure.scale):
                faces.append((i, side))
    return np.array(faces, dtype=np.intp).reshape(-1, 2)


def _candidates(measure: Measure, n: int, seed: np.random.SeedSequence) -> FloatArray:
    """Return the points among which n are chosen."""
    u = sobol_points(measure.uniform_dim, max(CANDIDATES, 4 * n), np.random.default_rng(seed))
    return measure.from_uniform(u)


def _fresh(design: Design | PointSet, known: FloatArray, n: int) -> tuple[FloatArray, Reason | None, str]:
    seen = {point.tobytes() for point in known + 0.0}
    wanted = n
    # A design under another kernel may begin with known points: ask for more until enough are new, eight times at most
    # (it then repeats itself).
    for _ in range(1 if isinstance(design, PointSet) else 8):  # a larger set would be another one, not a longer one
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            points = design.take(wanted)
        fresh = list({p.tobytes(): p for p in points + 0.0 if p.tobytes() not in seen}.values())
        if len(fresh) >= n or len(points) < wanted:
            break
        wanted += 2 * (n - len(fresh)) + 8
    chosen = np.array(fresh[:n]).reshape(-1, known.shape[1])
    return chosen, None if len(chosen) == n else Reason.DESIGN, design.status


def chosen_together(remedy: str) -> ValueError:
    """Return the error for a set of points that is asked for in portions."""
    return ValueError(
        "`design` gives a set of points that were chosen together, and the set for a larger n does not contain them: "
        f"{remedy}, or pass a nested design such as fwbq.SBQ"
    )


def first_points(dim: int) -> int:
    """Return the number of points before the first fit: two for each length-scale, and two more.

    In more than two dimensions one for each and five more, because the prior ties the length-scales to each other.
    """
    return 2 * dim + 2 if dim <= 2 else dim + 5


def fitted_at(dim: int, most: int) -> list[int]:
    """Return the numbers of points at which `integrate` fits a kernel to choose further points, up to `most`."""
    sizes = [max(first_points(dim), FIRST_BATCH)]
    while REFIT_GROWTH * sizes[-1] <= most:
        sizes.append(REFIT_GROWTH * sizes[-1])
    return sizes


def next_total(asked: int, first: int, steps: tuple[float, ...]) -> int:
    """Return how many points there are after the next batch, if `asked` were asked for so far.

    Parameters
    ----------
    asked : int
        Zero, or more.
    first : int
        Points before the first fit.
    steps : tuple of float
        Between a fit and the next the totals are these multiples of the points of the fit, so that each fit finds the
        points of the one before among its first and goes on from there.
    """
    size = max(first, FIRST_BATCH)
    while asked >= REFIT_GROWTH * size:
        size *= REFIT_GROWTH
    return next(total for step in (1.0, *steps, REFIT_GROWTH) if (total := math.ceil(step * size)) > asked)
