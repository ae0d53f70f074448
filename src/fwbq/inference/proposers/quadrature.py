"""Which points come next: sequential Bayesian quadrature under the surrogate posterior."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...designs import made_design
from ...embeddings import embed
from ...kernels import Kernel
from ...measures import Empirical
from ...process import RemainingCovariance, choose
from ..surrogate import Surrogate
from ..tuning import TUNING

Array = NDArray[np.float64]
DesignFactory = Callable[..., Any]

#: A candidate with this part of its variance left, or less, is as good as known.
_LEAST_LEFT = 1e-9


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
    surrogate: Surrogate,
    batch: int,
    seed: np.random.SeedSequence,
    design: DesignFactory | None = None,
    failed: Array | None = None,
) -> Array:
    r"""Return up to `batch` points (k, d) that lower the error of the log evidence most.

    To first order :math:`\mathrm{d} \log Z = \int \pi\, (\ell - m)`, and its variance under the process is the squared
    worst-case error of a rule under the measure :math:`\pi`, with the posterior covariance of the process, given all
    values so far, as kernel. The candidates are nodes of :math:`\pi`, and the design is sequential Bayesian quadrature
    over them, or the one given. Uncertainty about where the likelihood is zero adds the covariance of its sign.

    Parameters
    ----------
    surrogate : Surrogate
    batch : int
    seed : SeedSequence
    design : callable, optional
        ``design(embedding, rng=...)`` with ``take(n)``; its points are numbers of candidates.
    failed : (k, d) array, optional
        Points where the function failed. They count as known, so that the choice moves on instead of coming back.
    """
    rng = np.random.default_rng(seed)
    nodes, chart = surrogate.nodes, surrogate.chart
    evaluated, values = surrogate.evaluated
    failed = np.empty((0, chart.dim)) if failed is None else failed
    rows, mass = chart.candidates(nodes, TUNING.sizes.candidates, TUNING.sizes.wide, np.vstack([evaluated, failed]))
    z = nodes.points[rows]
    if not len(z):
        return np.empty((0, chart.dim))
    share = mass[rows] / max(float(mass[rows].sum()), 1e-300)
    settled = chart.settled(failed, evaluated[~np.isfinite(values)])
    C = covariance(surrogate, np.vstack([z, settled]), rng)
    for i in range(len(z), len(C)):
        C = _given(C, i)
    C = C[: len(z), : len(z)]
    left = RemainingCovariance.of_matrix(C, _LEAST_LEFT)
    wanted = min(int(np.ceil(TUNING.quadrature.share * batch)), len(z))
    if design is None:
        with_integral = C @ share
        # By a power of two, which changes no choice: squares of likelihoods of any depth stay finite.
        with_integral = np.ldexp(with_integral, -np.frexp(np.max(np.abs(with_integral)))[1])
        chosen = choose(left, lambda variance: with_integral**2 / variance, wanted, with_integral)
    else:
        chosen = _designed(design, C, share, wanted, rng)
        for i in chosen:
            left.add(i)
    density = np.exp(nodes.log_joint[rows] - nodes.log_joint[rows].max())
    chosen += choose(left, lambda variance: density * np.expm1(np.minimum(variance, 50.0)), batch - len(chosen))
    chosen += chart.rest(chosen, len(z), batch)
    return np.asarray(z[chosen])


def _designed(
    design: DesignFactory, covariance: Array, share: Array, wanted: int, rng: np.random.Generator
) -> list[int]:
    """Return candidates chosen by a design under their covariance (q, q) and shares (q,) of the mass."""
    if not (share.sum() > 0.0 and np.diagonal(covariance).max() > 0.0):
        return []
    numbers = np.arange(len(share), dtype=float)[:, None]
    embedding = embed(_Table(covariance), Empirical(numbers, share))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a design that ends early leaves its places to the others
        taken = made_design(design, embedding, rng).take(wanted)
    return list(dict.fromkeys(int(i) for i in taken[:, 0]))


def covariance(surrogate: Surrogate, z: Array, rng: np.random.Generator) -> Array:
    """Return the covariance of the relative error of the integrand at points z (q, d), (q, q)."""
    process = surrogate.process
    C = process.amplitude * process.predict(z).covariance(process.covariance(z))
    if surrogate.sign is not None:
        signs = surrogate.sign.draw(process.whitening.forward(z), TUNING.sizes.draws, rng).astype(float)
        chance = signs.mean(axis=0)
        relative = (signs - chance) / np.maximum(chance, 1e-3)
        C = C + relative.T @ relative / TUNING.sizes.draws
    return np.asarray(C)


def _given(C: Array, i: int) -> Array:
    """Return the covariance once point i is known."""
    if C[i, i] <= 0.0:
        return C
    column = C[:, i] / np.sqrt(C[i, i])
    return C - np.outer(column, column)
