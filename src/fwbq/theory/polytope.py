"""The polytope that Frank-Wolfe moves in: its diameter, and the ball around the mean element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate

if TYPE_CHECKING:
    from ..embeddings import Embedding
    from ..kernels import Kernel


FloatArray = NDArray[np.float64]

PAIRS = 20_000  # points up to which `compare` looks at all pairs: some seconds
BLOCK = 1024  # rows of the kernel matrix held at once


def diameter(kernel: Kernel, points: ArrayLike) -> float:
    r"""Diameter D of the convex hull of the features of finitely many points.

    .. math:: D^2 = \max_{x, y} \; k(x, x) + k(y, y) - 2 k(x, y),

    which is 2 (1 - min k) for a kernel with unit diagonal. The hull has the diameter of the set that spans it.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    points : (M, d) array
        The set, for instance the candidates of a design. All M^2 / 2 pairs are looked at, in blocks: O(M) memory.

    Returns
    -------
    float
        D; 0 for a single point.

    Examples
    --------
    >>> import fwbq
    >>> round(diameter(fwbq.ExpQuad(1.0), [[0.0], [1.0], [50.0]]), 12)
    1.414213562373
    """
    points = _validate.points(points, "points", kernel.dim)
    diagonal = kernel.diag(points)
    largest = 0.0
    for start in range(0, len(points), BLOCK):
        rows = slice(start, start + BLOCK)
        squared = kernel(points[rows], points[start:])
        squared *= -2.0
        squared += diagonal[rows, None]
        squared += diagonal[start:]
        largest = max(largest, float(squared.max(initial=0.0)))
    return float(np.sqrt(largest))


def diameter_bound(embedding: Embedding, points: ArrayLike) -> float:
    r"""Upper bound on the diameter D in O(M): twice the largest distance of a feature from the mean element.

    .. math:: D \le 2 \max_x \| k(\cdot, x) - \mu \|, \qquad
        \| k(\cdot, x) - \mu \|^2 = k(x, x) - 2 \mu(x) + k_{PP}.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    points : (M, d) array
        The set.

    Returns
    -------
    float
        At most twice D when mu lies in the hull of the features.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    >>> x = [[-2.0], [0.0], [2.0]]
    >>> diameter(embedding.kernel, x) <= diameter_bound(embedding, x)
    True
    """
    points = _validate.points(points, "points", embedding.dim)
    squared = embedding.kernel.diag(points) - 2.0 * embedding.mean(points) + embedding.variance
    return 2.0 * float(np.sqrt(squared.max(initial=0.0)))


def radius_bound(gap: ArrayLike, mmd2: ArrayLike) -> FloatArray:
    r"""Upper bounds on the radius R from a run: the least seen so far.

    For every unit v, R is at most :math:`\max_x \langle v, k(\cdot, x) - \mu \rangle`. With v along mu - g,
    g the mean element of a rule, that is

    .. math:: R \le \big( \text{gap} - \text{MMD}^2 \big) / \text{MMD},

    gap being the duality gap :math:`\max_x \langle \mu - g, k(\cdot, x) - g \rangle` of the rule.

    Parameters
    ----------
    gap : (n,) array
        Duality gaps of the iterates, over the set that spans M (`design.trace.gap`).
    mmd2 : (n,) array
        Their squared errors (`design.trace.mmd2`).

    Returns
    -------
    (n,) array
        Running minimum; not below 0, where mu lies on the boundary of M or outside. Iterates without a gap, or without
        an error, bound nothing (infinity until the first that does).

    Examples
    --------
    >>> radius_bound([1.25, 0.5, 0.24], [1.0, 0.25, 0.16])
    array([0.25, 0.25, 0.2 ])
    """
    squared = np.asarray(mmd2, dtype=float)
    mmd = np.sqrt(squared)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = (np.asarray(gap, dtype=float) - squared) / mmd
    bound = np.where(np.isnan(bound) | (mmd == 0.0), np.inf, bound)
    return np.minimum.accumulate(np.maximum(bound, 0.0))
