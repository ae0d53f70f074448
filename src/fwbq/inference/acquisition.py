"""Which points come next: sequential Bayesian quadrature under the surrogate posterior."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..designs import SBQ, made_design
from ..embeddings import embed
from ..kernels import Kernel
from ..measures import Empirical
from .belief import Belief
from .nodes import Nodes, resample

Array = NDArray[np.float64]
DesignFactory = Callable[..., Any]

#: Candidates: nodes drawn from the surrogate posterior, and from its square root, which reaches into the tails. Their
#: covariances cost as much as 550 points; on the nine evidences of benchmarks/constants.py (n = 60) half and twice as
#: many of either gave errors and widths within the noise of choosing other points, a factor of 1.4.
_CANDIDATES = 400
_WIDE = 150
#: Draws of the sign process from which its covariance on the candidates is taken: a standard deviation is then known to
#: 4 %. Half and twice as many changed widths by 1 and 5 % there.
_DRAWS = 400
#: Share of a batch chosen by sequential quadrature. The rest goes where density times variance is largest, because
#: quadrature takes the surrogate as given, and does not evaluate where its errors would show. With 1/3 and all of the
#: batch widths were 0.96 and 1.02 times as large there: the share itself hardly matters.
_QUADRATURE = 2.0 / 3.0


class _Table(Kernel):
    """The covariance of the integrand on a finite set of nodes, which are numbered: the points are (n, 1) numbers."""

    def __init__(self, covariance: Array) -> None:
        self._covariance = covariance

    @property
    def dim(self) -> int:
        """One: the number of the node."""
        return 1

    def _gram(self, x: Array, y: Array) -> Array:
        return np.asarray(self._covariance[np.ix_(x[:, 0].astype(int), y[:, 0].astype(int))])

    def _diagonal(self, x: Array) -> Array:
        return np.asarray(np.diagonal(self._covariance)[x[:, 0].astype(int)])

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        raise TypeError("a table of covariances has no derivative: its points are numbers of nodes")

    def spec(self) -> dict[str, Any]:
        """Raise: a table lives for one choice of points."""
        raise ValueError("a table of covariances cannot be saved: it is made anew for every choice of points")


def next_points(
    belief: Belief,
    nodes: Nodes,
    batch: int,
    seed: np.random.SeedSequence,
    design: DesignFactory | None = None,
    lost: Array | None = None,
) -> Array:
    r"""Return up to `batch` points (k, d) that lower the error of the log evidence most.

    To first order :math:`\mathrm{d} \log Z = \int \pi\, (\ell - m)`, and its variance under the process is the squared
    worst-case error of a rule under the measure :math:`\pi`, with the posterior covariance of the process, given all
    values so far, as kernel. The candidates are nodes of :math:`\pi`, and the design is sequential Bayesian quadrature
    over them, or the one given. Uncertainty about where the likelihood is zero adds the covariance of its sign.

    Parameters
    ----------
    belief : Belief
    nodes : Nodes
        Of the surrogate posterior.
    batch : int
    seed : SeedSequence
    design : callable, optional
        ``design(embedding, rng=...)`` with ``take(n)``; its points are numbers of candidates.
    lost : (k, d) array, optional
        Points where the function failed. They count as known, so that the choice moves on instead of coming back.
    """
    rng = np.random.default_rng(seed)
    mass: Array = np.bincount(resample(nodes, 5 * _CANDIDATES), minlength=len(nodes.points)).astype(float)
    rows = np.unique(np.concatenate([resample(nodes, _CANDIDATES), resample(nodes, _WIDE, power=0.5)]))
    z = nodes.points[rows]
    if belief.space.support is not None:
        # Of a sample every point that is not known yet is a candidate, the most probable ones first.
        evaluated = belief.surrogate.points if belief.known is None else belief.known[0]
        known = {point.tobytes() for point in (evaluated if lost is None else np.vstack([evaluated, lost])) + 0.0}
        fresh = np.array([point.tobytes() not in known for point in nodes.points + 0.0])
        order = np.argsort(-nodes.log_ratio, kind="stable")
        rows = order[fresh[order]][: _CANDIDATES + _WIDE]
        z, mass = nodes.points[rows], nodes.weights
    if not len(z):
        return np.empty((0, nodes.points.shape[1]))
    share = mass[rows] / max(float(mass[rows].sum()), 1e-300)
    C = covariance(belief, z if lost is None else np.vstack([z, lost]), rng)
    for i in range(len(z), len(C)):
        C = _given(C, i)
    C = C[: len(z), : len(z)]
    variance = np.diagonal(C).copy()
    numbers = np.arange(len(z), dtype=float)[:, None]
    chosen: list[int] = []
    if share.sum() > 0.0 and variance.max() > 0.0:
        embedding = embed(_Table(C), Empirical(numbers, share))
        wanted = int(np.ceil(_QUADRATURE * batch))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a design that ends early leaves its places to the others
            taken = SBQ(embedding, numbers, rng=rng) if design is None else made_design(design, embedding, rng)
            chosen = list(dict.fromkeys(int(i) for i in taken.take(wanted)[:, 0]))
    for i in chosen:
        C = _given(C, i)
    log_joint = nodes.log_joint[rows]
    while len(chosen) < min(batch, len(z)):
        left = np.diagonal(C)
        usable = left > 1e-9 * np.maximum(variance, 1e-300)
        usable[chosen] = False
        if not usable.any():
            if belief.space.support is not None:
                chosen += [i for i in range(len(z)) if i not in chosen][: batch - len(chosen)]
            break
        with np.errstate(divide="ignore"):
            score = log_joint + np.log(np.expm1(np.clip(left, 1e-300, 50.0)))
        i = int(np.argmax(np.where(usable, score, -np.inf)))
        chosen.append(i)
        C = _given(C, i)
    if belief.space.support is not None:
        chosen += [i for i in range(len(z)) if i not in chosen][: batch - len(chosen)]
    return np.asarray(z[chosen])


def covariance(belief: Belief, z: Array, rng: np.random.Generator) -> Array:
    """Return the covariance of the relative error of the integrand at points z (q, d), (q, q)."""
    surrogate = belief.surrogate
    C = surrogate.amplitude * surrogate.predict(z).covariance(surrogate.covariance(z))
    if belief.sign is not None:
        signs = belief.sign.draw(surrogate.whitening.forward(z), _DRAWS, rng).astype(float)
        chance = signs.mean(axis=0)
        relative = (signs - chance) / np.maximum(chance, 1e-3)
        C = C + relative.T @ relative / _DRAWS
    return np.asarray(C)


def _given(C: Array, i: int) -> Array:
    """Return the covariance once point i is known."""
    if C[i, i] <= 0.0:
        return C
    column = C[:, i] / np.sqrt(C[i, i])
    return C - np.outer(column, column)
