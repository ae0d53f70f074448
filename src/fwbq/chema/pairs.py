r"""All pairs among thousands of enzymes: fifty million models on a laptop.

With E = 10^4 enzymes there are 50,005,001 models with at most two of them. Two facts make them affordable.

1. At one design point K the columns x_a(K_1) and x_b(K_2), made orthogonal to column 0, give all pairs by one matrix
   product of cosines c and a closed form. With unit columns, lengths l, rates r = direction'Y and
   u = q'(Y - x_0 - x_a),

   .. math::
       2(N+1) b_N = A_a + B_b - 2 u_a\, q'x_b + 2 c\, l_a l_b - N \frac{(r_b - c\, r_a)^2}{1 - c^2},

   where A depends on a only and B on b only. The part linear in c is a second matrix product, and what remains are a
   dozen passes over a block of pairs that fits in the cache.
2. Most models are hopeless, and ten design points show it.

So :func:`screen` races: every pair is evaluated at a few points of the design; those that may still be among the best
are evaluated at more, and the last few at all points, by the same comparison as any other set of models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, stdtrit

from .. import _validate
from .._gauss import tensor_grid
from .._linalg import CholeskyFactor
from .._threads import one_blas_thread
from ..designs import Spread
from ..evaluation import Progress
from ..kernels import Kernel
from ..process import Regression
from ..selection import Comparison, LogScale, Rest, compare_families
from ..selection.log_process import _EXPANDED, _RISE, LogProcess
from ..selection.nodes import Nodes, nodes
from . import _checks
from .compare import KineticFamily, prior
from .dataset import Dataset
from .gauss import gauss_rule
from .kinetics import Base, Columns, FloatArray, Increments, increments
from .likelihood import block_at

__all__ = ["screen"]

IntArray = NDArray[np.intp]

# Pairs of a block: (10 points) x 64 x 64 float64 are 330 kB, below a second-level cache.
_ROWS, _COLUMNS = 64, 64
# Rows of a task: the unit that an executor receives. Fixed, so that the answer does not depend on the executor.
_STRIP = 256
# Rows, of the enzymes best alone, whose pairs are tried first to learn how good the best are.
_PILOT = 32
# Gauss nodes per coordinate in the first round and in the others. On the shipped example at n = 20 the log evidences
# are within 0.03 and 0.002 of those of the full rule of the comparison; how far they are on the data is measured.
_NODES, _MORE_NODES = 6, 12
# 1 - c^2 below this is rounding: such pairs are not judged by the fast formula but kept.
_COLLINEAR = 1e-9
# Pairs judged at a time: their values at some hundred points take a few megabytes.
_PAIRS_AT_ONCE = 2_000
# Pairs whose nodes are summed at a time: 216 x 512 float32 are 432 kB.
_CHUNK = 512
# Models that decide the kernel of the race: the leading ones.
_LEADING = 200
# Added to the Gram matrix of the judge, relative to its diagonal: sums are in float32, which sees nothing below 1e-7.
_JITTER = 1e-10
# Added to every upper bound, in log evidence, for the rounding of sums in float32.
_MARGIN = 1e-3
_HIGHEST = np.float32(_RISE)


@dataclass(frozen=True, eq=False)
class _Factors:
    """Both sides of the matrix products of one condition, at n points."""

    n: int
    cosine: FloatArray  # (n, rows, N) or (n, N, columns)
    linear: FloatArray  # (n, rows, N + 3) or (n, N + 3, columns)
    rate: FloatArray  # (n, rows) or (n, columns), times sqrt(N)
    penalty: FloatArray  # (n, rows) or (n, columns): log(N+1)/2 for an independent column


def _left(part: Increments, points: FloatArray, enzymes: IntArray) -> _Factors:
    base = Base.at(part, points[:, 0])
    side = Columns.at(part, base, points[:, 1], enzymes)
    across = side.rate - side.length
    u = base.along[:, None] - side.along
    rest = base.rest[:, :, None] - side.direction * side.rate[:, None, :]
    outside = np.einsum("ntu,ntu->nu", rest, rest)
    direction = np.ascontiguousarray(side.direction.transpose(0, 2, 1))
    own = (part.n + 1) * outside + across**2 + u**2
    linear = np.concatenate(
        [2 * side.length[:, :, None] * direction, -2 * u[:, :, None], own[:, :, None], np.ones((*u.shape, 1))], axis=2
    )
    penalty = 0.5 * np.log(part.n + 1) * (side.live.astype(np.float64) + base.live[:, None])
    return _Factors(part.n, direction, linear, np.sqrt(part.n) * side.rate, penalty)


def _right(part: Increments, points: FloatArray, enzymes: IntArray) -> _Factors:
    base = Base.at(part, points[:, 0])
    side = Columns.at(part, base, points[:, 2], enzymes)
    own = side.length * (side.length - 2 * side.rate) + side.along**2
    ones = np.ones((len(own), 1, own.shape[1]))
    linear = np.concatenate([side.length[:, None, :] * side.direction, side.along[:, None], ones, own[:, None]], axis=1)
    penalty = 0.5 * np.log(part.n + 1) * side.live
    return _Factors(part.n, side.direction, linear, np.sqrt(part.n) * side.rate, penalty)


class _Kernel:
    """Evaluates blocks of pairs in buffers of its own: fresh memory for every block would cost more than the sums."""

    def __init__(self, left: Sequence[_Factors], right: Sequence[_Factors], constant: float) -> None:
        self._left, self._right, self._constant = left, right, constant
        self._buffers = np.empty((4, len(left[0].rate) * _ROWS * _COLUMNS))

    def __call__(self, rows: slice, columns: slice) -> tuple[FloatArray, NDArray[np.bool_] | None]:
        """Log likelihoods (n, pairs) up to rounding, and which pairs are collinear somewhere (None: none).

        The values are overwritten by the next call.
        """
        shape = (len(self._left[0].rate), rows.stop - rows.start, columns.stop - columns.start)
        total, c, value, t = (buffer[: np.prod(shape)].reshape(shape) for buffer in self._buffers)
        collinear: NDArray[np.bool_] | None = None
        total.fill(self._constant)
        for a, b in zip(self._left, self._right, strict=True):
            np.matmul(a.cosine[:, rows], b.cosine[:, :, columns], out=c)
            np.matmul(a.linear[:, rows], b.linear[:, :, columns], out=value)
            np.multiply(c, a.rate[:, rows, None], out=t)
            np.subtract(b.rate[:, None, columns], t, out=t)
            np.multiply(t, t, out=t)
            np.multiply(c, c, out=c)
            np.subtract(1.0, c, out=c)
            if c.min() < _COLLINEAR:
                somewhere = np.asarray((c < _COLLINEAR).any(axis=0)).ravel()
                collinear = somewhere if collinear is None else collinear | somewhere
                np.maximum(c, _COLLINEAR, out=c)
            np.divide(t, c, out=t)
            np.subtract(value, t, out=value)
            # Rounding may take the residual of an exact fit to zero or below; it is kept here and computed exactly
            # later.
            np.maximum(value, np.finfo(float).tiny, out=value)
            np.log(value, out=value)
            value *= -0.5 * a.n
            value -= a.penalty[:, rows, None]
            value -= b.penalty[:, None, columns]
            total += value
        return total.reshape(len(total), -1), collinear


def _constant(parts: Sequence[Increments]) -> float:
    """Return what log L adds to -N/2 log(2(N+1) b_N) - r/2 log(N+1), all conditions together."""
    return float(
        sum(gammaln(p.n / 2) - np.log(2) - p.n / 2 * np.log(2 * np.pi) + p.n / 2 * np.log(2 * (p.n + 1)) for p in parts)
    )


@dataclass(frozen=True, eq=False)
class _Judge:
    """Bounds of log evidences from values at the first points of the design.

    Attributes
    ----------
    points, where : (n, 3) array
        The points, and their coordinates.
    nodes : Nodes
        Where the modelled log likelihood is exponentiated.
    level : float
        Probability that an evidence leaves its interval on one side.
    kernel : Kernel or None
        Of the process; None until it is fitted.
    allowance : float
        For the error of the nodes, which the process knows nothing of.
    """

    points: FloatArray
    where: FloatArray
    nodes: Nodes
    level: float
    kernel: Kernel | None = None
    allowance: float = 0.0

    def fitted(self, values: FloatArray, full: Nodes) -> _Judge:
        """Return a judge whose kernel fits the values (n, m) of the leading models.

        On these it also measures its error against the full rule, and allows for twice the largest.
        """
        best = values[:, np.argsort(-values.max(axis=0), kind="stable")[:_LEADING]]
        process = LogProcess.fit(self.where, best, full)
        quick = LogProcess.fit(self.where, best, self.nodes, process.kernel)
        error = np.abs(quick.evidences.centre - process.evidences.centre).max()
        return replace(self, kernel=process.kernel, allowance=2.0 * float(error))

    @property
    def reach(self) -> float:
        """Half the width of an interval in units of the scale."""
        return float(stdtrit(len(self.where) - 1, 1 - self.level))

    def __call__(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log evidences (m,) of values (n, m), and half the widths of their intervals."""
        evidences = LogProcess.fit(self.where, values, self.nodes, self.kernel).evidences
        return evidences.centre, self.reach * evidences.scale + self.allowance


class _Sieve:
    r"""A quick look at many pairs: intervals of log evidences that hold those of the judge.

    Given the kernel, the process mean at the nodes and its residuals are linear in the values. The variance of the
    integral of a process with covariance a c under a density pi is at most a times the mean of c(x, x) under pi
    (Cauchy-Schwarz), which spares the double sum over nodes. Let V be that bound and f <= V the variance that the judge
    would find. With the second-order term s = (min(V, 4) - f) / 2 or less, and r the reach, the judge's interval is
    s +- r sqrt(f + s^2) from the sieve's log evidence. Its lower end is at least -r sqrt(V). Its upper end is a convex
    function of f for V >= 1, hence the largest of r sqrt(V) and (r + 1) min(V, 4) / 2; for V < 1 it is at most
    r sqrt(V) + V / 2.
    """

    def __init__(self, judge: _Judge) -> None:
        assert judge.kernel is not None
        kernel, n = judge.kernel, len(judge.where)
        factor = CholeskyFactor.with_jitter(kernel(judge.where), _JITTER)
        # The columns of the identity are the values: what comes out is linear in those of any model.
        unit = Regression(factor, np.eye(n), np.ones((n, 1)))
        errors, variances = unit.leave_one_out()
        at_nodes = unit.predict(kernel(judge.where, judge.nodes.points), np.ones((len(judge.nodes.points), 1)))
        spread = at_nodes.variance(kernel.diag(judge.nodes.points))
        self._reach, self._allowance = judge.reach, judge.allowance
        self._residual = unit.residual / np.sqrt(n - 1)
        self._left_out = errors / np.sqrt(variances)[:, None]
        # Single precision at the nodes is three times as fast, and its errors are far below the margin.
        self._mean = at_nodes.mean.astype(np.float32)
        self._log_weights = judge.nodes.log_weights[:, None].astype(np.float32)
        self._lowest = np.float32(-80.0) - self._log_weights.min()
        self._sums = np.stack([np.ones_like(spread), spread]).astype(np.float32)
        self._buffer = np.empty((len(spread), _CHUNK), dtype=np.float32)
        self._small = np.empty((n, _CHUNK))

    def __call__(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log evidences (m,) of values (n, m), and half the widths; the values are overwritten."""
        m = values.shape[1]
        centre, width = np.empty(m), np.empty(m)
        for start in range(0, m, _CHUNK):
            some = slice(start, min(start + _CHUNK, m))
            f = values[:, some]
            top = f.max(axis=0)
            f -= top
            node, small = self._buffer[:, : f.shape[1]], self._small[:, : f.shape[1]]
            np.matmul(self._mean, f.astype(np.float32), out=node)
            # As for the judge, the mean is not believed where it rises far above the largest value seen; and what is
            # nothing at all is kept from the slow arithmetic of numbers near the smallest.
            np.clip(node, self._lowest, _HIGHEST, out=node)
            node += self._log_weights
            np.exp(node, out=node)
            total, spread = (self._sums @ node).astype(np.float64)
            np.matmul(self._residual, f, out=small)
            amplitude = np.einsum("nm,nm->m", small, small)
            np.matmul(self._left_out, f, out=small)
            small *= small
            f *= 0.5
            np.maximum(f, -100.0, out=f)
            np.exp(f, out=f)
            np.maximum(amplitude, np.einsum("nm,nm->m", small, f) / f.sum(axis=0), out=amplitude)
            variance = amplitude * spread / total
            half = 0.5 * np.minimum(variance, _EXPANDED)
            below = self._reach * np.sqrt(variance)
            above = np.where(variance < 1.0, below + half, np.maximum(below, (self._reach + 1.0) * half))
            centre[some] = top + np.log(total) + 0.5 * (above - below)
            width[some] = 0.5 * (above + below) + self._allowance
        return centre, width


@dataclass(frozen=True, eq=False)
class _Found:
    """Pairs that may be among the best, and the weight of those that may not."""

    pairs: IntArray  # (m, 2)
    centre: FloatArray  # (m,)
    width: FloatArray  # (m,)
    dropped: int
    log_dropped: float
    capped: bool = False  # whether pairs were dropped for their number alone

    @staticmethod
    def merge(found: Iterable[_Found]) -> _Found:
        every = list(found)
        return _Found(
            np.concatenate([f.pairs for f in every]),
            np.concatenate([f.centre for f in every]),
            np.concatenate([f.width for f in every]),
            sum(f.dropped for f in every),
            float(logsumexp([f.log_dropped for f in every])),
            any(f.capped for f in every),
        )

    def keep(self, top: int, most: int) -> _Found:
        """Drop pairs whose upper bound is below the lower bounds of `top` others; of the rest keep `most` at most."""
        upper = self.centre + self.width
        kept = upper >= threshold(self.centre - self.width, top)
        excess = int(np.count_nonzero(kept)) > most
        if excess:
            best = np.argsort(-np.where(kept, upper, -np.inf), kind="stable")[:most]
            kept = np.zeros_like(kept)
            kept[best] = True
        return replace(self.only(kept), capped=self.capped or excess)

    def only(self, kept: NDArray[np.bool_]) -> _Found:
        """Drop the pairs that are not `kept`."""
        lost = np.append(self.centre[~kept], self.log_dropped)
        return _Found(
            self.pairs[kept], self.centre[kept], self.width[kept], self.dropped + int(np.sum(~kept)),
            float(logsumexp(lost)), self.capped,
        )  # fmt: skip


def threshold(lower: FloatArray, top: int) -> float:
    """Return the `top`-th largest lower bound: what an upper bound must reach to be among the `top` best."""
    return float(np.partition(lower, -top)[-top]) if len(lower) >= top else -np.inf


@one_blas_thread
def _strip(dataset: Dataset, judge: _Judge, floor: float, top: int, most: int, first: int) -> _Found:
    """Judge all pairs (a, b) with a in the strip that begins at `first` and a < b; keep what may be in the `top`."""
    last = min(first + _STRIP, dataset.n_enzymes)
    parts = increments(dataset)
    left = [_left(part, judge.points, np.arange(first, last)) for part in parts]
    right = [_right(part, judge.points, np.arange(first, dataset.n_enzymes)) for part in parts]
    kernel, sieve = _Kernel(left, right, _constant(parts)), _Sieve(judge)
    found = []
    for i in range(0, last - first, _ROWS):
        rows = slice(i, min(i + _ROWS, last - first))
        for j in range(i, dataset.n_enzymes - first, _COLUMNS):
            columns = slice(j, min(j + _COLUMNS, dataset.n_enzymes - first))
            values, collinear = kernel(rows, columns)
            a, b = np.divmod(np.arange(values.shape[1]), columns.stop - columns.start)
            pairs = first + np.stack([a + i, b + j], axis=1)
            found.append(_sifted(judge, sieve, values, pairs, collinear, floor))
    return _Found.merge(found).keep(top, most)


def _sifted(
    judge: _Judge,
    sieve: _Sieve,
    values: FloatArray,
    pairs: IntArray,
    collinear: NDArray[np.bool_] | None,
    floor: float,
) -> _Found:
    valid = pairs[:, 0] < pairs[:, 1]
    # The sieve has a jitter and rounding of its own: the margin.
    centre, width = sieve(values.copy())
    promising = valid & (centre + width + _MARGIN >= floor)
    if collinear is not None:
        promising |= valid & collinear
    lost = centre[valid & ~promising]
    at = np.flatnonzero(promising)
    centre, width = judge(values[:, at]) if len(at) else (np.empty(0), np.empty(0))
    if collinear is not None:
        width = np.where(collinear[at], np.inf, width)
    found = _Found(pairs[at], centre, width, len(lost), float(logsumexp(lost)) if len(lost) else -np.inf)
    return found.only(centre + width >= floor)


@one_blas_thread
def screen(
    dataset: Dataset,
    *,
    n: Sequence[int] = (20, 50, 100, 200),
    top: int = 1000,
    most: int = 2_000_000,
    level: float = 1e-3,
    executor: Executor | None = None,
    rng: Any = None,
    progress: bool | None = None,
) -> Comparison:
    r"""Compare all models with at most two enzymes, however many enzymes there are.

    Every pair is evaluated at the first n[0] points of a design. A Gaussian process on the log likelihood gives each
    log evidence with its uncertainty, a Student-t with n - 1 degrees of freedom, hence an interval that the evidence
    leaves on either side with probability `level`, widened by the error of the coarse sums of the race (measured on
    the leading pairs). **A pair is dropped only if at least `top` other pairs have their
    whole interval above its own.** So no model is lost that its numerical uncertainty would still allow among the
    `top` best, let alone to be the MAP. The survivors go on to n[1] points, and so on; those of the last round, and
    all models with fewer enzymes, are compared as by :func:`fwbq.chema.compare` at n[-1] points.

    The guarantee is as good as the intervals, and holds unless the status says that more than `most` pairs would have
    survived. Measured against evidences by brute-force quadrature, on simulated sets with 200 and 300 enzymes and
    noise of 0.5, 1 and 2 %: none of the true best 1000 pairs was lost, and the MAP was the true one. Among ten
    thousand enzymes the best pairs are the luckiest fits of fifty million, with likelihoods far narrower than the
    prior; there an evidence at 200 points was seen 0.9 below the truth, more than its interval says.

    Parameters
    ----------
    dataset : Dataset
        With E >= 2 enzymes and at least three increments per condition.
    n : sequence of int
        Points of the design in the rounds, increasing.
    top : int
        How many of the best pairs must not be lost; at least so many models are listed in the result.
    most : int
        Pairs to keep after a round at most: what limits memory when the data do not tell the models apart.
    level : float
        See above.
    executor : concurrent.futures.Executor, optional
        Strips of 256 enzymes are sent to it; the answer is the same for any, to the last bit.
    rng : optional
        Seeds the draws of the comparison.
    progress : bool, optional
        Show progress; by default on a terminal.

    Returns
    -------
    Comparison
        Of the survivors, the singles and the empty model. ``rest`` has the number and the summed evidence of the
        pairs that were dropped, so that probabilities are right; ``settings["rounds"]`` says how many pairs stood
        each round.

    Examples
    --------
    >>> data = Dataset.simulate(40, rng=1, noise=0.003)
    >>> result = screen(data, n=(10, 40), top=10, rng=0)
    >>> result.best == data.regulators, result.n_models
    (True, 821)
    """
    sizes = [_validate.count(size, "n", minimum=4) for size in n]
    if not sizes or sizes != sorted(set(sizes)):
        _checks.fail("`n` must be increasing numbers of points, such as (20, 50, 100, 200)")
    wanted, limit = _validate.count(top, "top"), _validate.count(most, "most")
    chance = _validate.probability(level, "level")
    if dataset.n_enzymes < 2:
        _checks.fail("`dataset` must have at least two enzymes, or there are no pairs")
    if min(dataset.n_increments) < 3:
        _checks.fail("`dataset` must have at least three increments per condition, or no pair can be told from another")
    limit = max(limit, wanted)
    places = KineticFamily(dataset, (dataset.names[:2],)).coordinates
    design, full = Spread(prior(3), places).take(sizes[-1]), nodes(prior(3), places)
    rounds: list[dict[str, int]] = []
    enzymes = dataset.n_enzymes
    strips = range(0, enzymes, _STRIP)
    total = enzymes * (enzymes - 1) // 2
    found = _Found(np.empty((0, 2), dtype=np.intp), np.empty(0), np.empty(0), 0, -np.inf)
    with Progress(len(strips) + len(sizes) - 1, "pairs", progress) as bar:
        for step, size in enumerate(sizes[:-1] or sizes):
            rule = _race_nodes(places, _MORE_NODES if step else _NODES)
            judge = _Judge(design[:size], places.forward(design[:size]), rule, chance)
            if step == 0:
                judge, floor = _pilot(dataset, judge, full, wanted)
                task = partial(_strip, dataset, judge, floor, wanted, limit)
                for part in map(task, strips) if executor is None else executor.map(task, strips):
                    found = _Found.merge([found, part]).keep(wanted, limit)
                    bar.advance(1)
            else:
                found = _again(dataset, judge, full, found, executor)
                bar.advance(1)
                found = found.keep(wanted, limit)
            entered = total if step == 0 else rounds[-1]["survived"]
            rounds.append({"n": size, "pairs": entered, "survived": len(found.pairs)})
        order = np.lexsort((found.pairs[:, 1], found.pairs[:, 0]))
        names = [dataset.names[j] for j in range(enzymes)]
        families = [
            KineticFamily(dataset, ((),)),
            KineticFamily(dataset, tuple((name,) for name in names)),
            KineticFamily(dataset, tuple((names[a], names[b]) for a, b in found.pairs[order])),
        ]
        settings = {
            "likelihood": "closed form of the paper, rates not truncated",
            "rounds": rounds,
            "top": wanted,
            "level": chance,
        }
        result = compare_families(families, stages=(sizes[-1],), race=False, rng=rng, progress=False, settings=settings)
        bar.advance(1)
    everything = 1 + enzymes + total
    log_prior = np.full(len(result), -np.log(everything))
    status = f"screened {total:,} pairs, {len(found.pairs):,} of them compared at {sizes[-1]} points"
    if found.capped:
        status += f"; more than {limit:,} would have survived a round, and only the best {limit:,} were kept"
    rest = Rest(found.dropped, found.log_dropped - float(np.log(everything))) if found.dropped else None
    return replace(result, log_prior=log_prior, status=status, rest=rest)


def _again(dataset: Dataset, judge: _Judge, full: Nodes, found: _Found, executor: Executor | None) -> _Found:
    """Judge the pairs of an earlier round by more points."""
    best = np.argsort(-found.centre, kind="stable")[:_LEADING]
    judge = judge.fitted(block_at(increments(dataset), found.pairs[best], judge.points)[0], full)
    chunks = [found.pairs[i : i + _PAIRS_AT_ONCE] for i in range(0, len(found.pairs), _PAIRS_AT_ONCE)]
    task = partial(_judged, dataset, judge)
    results = list(map(task, chunks) if executor is None else executor.map(task, chunks))
    centre, width = (np.concatenate([result[i] for result in results]) for i in range(2))
    return replace(found, centre=centre, width=width)


@one_blas_thread
def _judged(dataset: Dataset, judge: _Judge, pairs: IntArray) -> tuple[FloatArray, FloatArray]:
    return judge(block_at(increments(dataset), pairs, judge.points)[0])


def _race_nodes(places: LogScale, size: int) -> Nodes:
    """Return a small tensor Gauss rule for the prior of K."""
    x = np.linspace(0.0, 7.0, 4001)
    k, weight = gauss_rule(x, np.exp(-((x - 1.0) ** 2)), size)
    grid = tensor_grid([k, k, k])
    log_weights = np.log(np.einsum("i,j,k->ijk", weight, weight, weight)).ravel()
    axes = tuple(places.forward(np.repeat(k[:, None], 3, axis=1)).T)
    return Nodes(places.forward(grid), log_weights, axes)


def _pilot(dataset: Dataset, judge: _Judge, full: Nodes, top: int) -> tuple[_Judge, float]:
    """Fit the judge's kernel, and find what an upper bound must reach at least.

    Tried are the pairs of every enzyme with those that are best alone, each pair once, in the order of the columns.
    """
    parts, enzymes = increments(dataset), np.arange(dataset.n_enzymes)
    k = Spread(prior(2), KineticFamily(dataset, (dataset.names[:1],)).coordinates).take(10)
    alone = logsumexp(block_at(parts, enzymes[:, None], k)[0], axis=0)
    best = np.argsort(-alone, kind="stable")[:_PILOT]
    first, second = np.repeat(best, len(enzymes)), np.tile(enzymes, len(best))
    pairs = np.stack([np.minimum(first, second), np.maximum(first, second)], axis=1)
    values = block_at(parts, np.unique(pairs[first != second], axis=0), judge.points)[0]
    judge = judge.fitted(values, full)
    lower = [np.subtract(*judge(values[:, i : i + _PAIRS_AT_ONCE])) for i in range(0, values.shape[1], _PAIRS_AT_ONCE)]
    return judge, threshold(np.concatenate(lower), top)
