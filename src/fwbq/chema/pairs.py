r"""All pairs among thousands of enzymes: fifty million models on a laptop.

With E = 10^4 enzymes there are 50,005,001 models with at most two of them. Two facts make them affordable.

1. At one design point K the columns x_a(K_1) and x_b(K_2), made orthogonal to column 0, give all pairs by one matrix
   product of cosines c and a closed form. With unit columns, lengths l, rates r = direction'Y and
   u = q'(Y - x_0 - x_a),

   .. math::
       2(N+1) b_N = A_a + B_b - 2 u_a\, q'x_b + 2 c\, l_a l_b - N \frac{(r_b - c\, r_a)^2}{1 - c^2},

   where A depends on a only and B on b only. The part linear in c is a second matrix product, and what remains are a
   dozen passes over a block of pairs that fits in the cache.
2. Most models are far worse than the best, and a few design points show it.

So :func:`screen` races: every pair is evaluated at a few points of the design; those that may still be among the best
are evaluated at more, and the last few at all points, by the same comparison as any other set of models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, stdtrit

from .. import _validate
from .._gauss import tensor_grid
from .._linalg import CholeskyFactor
from .._threads import one_blas_thread
from ..designs import Spread
from ..evaluation import Progress, in_order
from ..inference.assessment import EXPANDED
from ..kernels import Kernel
from ..process import Regression
from ..selection import Comparison, LogScale, Rest, compare_families
from ..selection.log_process import RISE, LogProcess
from ..selection.nodes import Nodes, nodes
from . import _checks
from .dataset import Dataset
from .family import KineticFamily, prior
from .gauss import gauss_rule
from .kinetics import Base, Columns, FloatArray, Increments, increments
from .likelihood import CLOSED_FORM, block_at

__all__ = ["Pairs", "ScreenRules", "Survivors", "screen", "survivors"]

IntArray = NDArray[np.intp]

# Pairs of a block: (10 points) x 64 x 64 float64 are 330 kB, below a second-level cache.
ROWS, COLUMNS = 64, 64
# Rows of a task: the unit that an executor receives. Fixed, so that the answer does not depend on the executor.
_STRIP = 256
# Enzymes, the best of the models with one enzyme, whose pairs are evaluated first, to learn how large the leading
# evidences are.
_PILOT = 32
# Gauss nodes per coordinate in the first round and in the others, by the number of enzymes. On the shipped example at
# n = 20 the log evidences of pairs are within 0.03 and 0.002 of those of the full rule of the comparison; on other data
# the difference is measured and allowed for (`Judge.fitted`).
_NODES = {2: (6, 12), 3: (6, 8)}
# The same for models with more enzymes: four thousand nodes in six dimensions.
_FEWEST_NODES = (4, 4)
# 1 - c^2 below this is rounding: such pairs are kept for the next round, whatever the fast formula gives.
COLLINEAR = 1e-9
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
_HIGHEST = np.float32(RISE)


@dataclass(frozen=True, eq=False)
class Factors:
    """Both sides of the matrix products of one condition, at n points."""

    n: int
    cosine: FloatArray  # (n, rows, N) or (n, N, columns)
    linear: FloatArray  # (n, rows, N + 3) or (n, N + 3, columns)
    rate: FloatArray  # (n, rows) or (n, columns), times sqrt(N)
    penalty: FloatArray  # (n, rows) or (n, columns): log(N+1)/2 for an independent column


def _left(part: Increments, points: FloatArray, enzymes: IntArray) -> Factors:
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
    return Factors(part.n, direction, linear, np.sqrt(part.n) * side.rate, penalty)


def _right(part: Increments, points: FloatArray, enzymes: IntArray) -> Factors:
    base = Base.at(part, points[:, 0])
    side = Columns.at(part, base, points[:, 2], enzymes)
    own = side.length * (side.length - 2 * side.rate) + side.along**2
    ones = np.ones((len(own), 1, own.shape[1]))
    linear = np.concatenate([side.length[:, None, :] * side.direction, side.along[:, None], ones, own[:, None]], axis=1)
    penalty = 0.5 * np.log(part.n + 1) * side.live
    return Factors(part.n, side.direction, linear, np.sqrt(part.n) * side.rate, penalty)


class BlockLikelihood:
    """Evaluates blocks of pairs in buffers of its own: fresh memory for every block would cost more than the sums."""

    def __init__(self, left: Sequence[Factors], right: Sequence[Factors], constant: float) -> None:
        self._left, self._right, self._constant = left, right, constant
        self._buffers = np.empty((4, len(left[0].rate) * ROWS * COLUMNS))

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
            if c.min() < COLLINEAR:
                somewhere = np.asarray((c < COLLINEAR).any(axis=0)).ravel()
                collinear = somewhere if collinear is None else collinear | somewhere
                np.maximum(c, COLLINEAR, out=c)
            np.divide(t, c, out=t)
            np.subtract(value, t, out=value)
            # Rounding may take the residual of an exact fit to zero or below; such a pair gets a very large value here,
            # survives, and is computed exactly later.
            np.maximum(value, np.finfo(float).tiny, out=value)
            np.log(value, out=value)
            value *= -0.5 * a.n
            value -= a.penalty[:, rows, None]
            value -= b.penalty[:, None, columns]
            total += value
        return total.reshape(len(total), -1), collinear


def constant_part(parts: Sequence[Increments]) -> float:
    """Return what log L adds to -N/2 log(2(N+1) b_N) - r/2 log(N+1), all conditions together."""
    return float(
        sum(gammaln(p.n / 2) - np.log(2) - p.n / 2 * np.log(2 * np.pi) + p.n / 2 * np.log(2 * (p.n + 1)) for p in parts)
    )


@dataclass(frozen=True, eq=False)
class Judge:
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
        Added to the half-width of every interval, for the error of the sum over the nodes.
    """

    points: FloatArray
    where: FloatArray
    nodes: Nodes
    level: float
    kernel: Kernel | None = None
    allowance: float = 0.0

    def fitted(self, values: FloatArray, full: Nodes) -> Judge:
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
    r"""A quick bound for many models: intervals of log evidences that contain those of the judge.

    Given the kernel, the process mean at the nodes and its residuals are linear in the values. The variance of the
    integral of a process with covariance a c under a density pi is at most a times the mean of c(x, x) under pi
    (Cauchy-Schwarz), which spares the double sum over nodes. Let V be that bound and f <= V the variance that the judge
    would find. With the second-order term s = (min(V, 4) - f) / 2 or less, and r the reach, the judge's interval is
    s +- r sqrt(f + s^2) from the sieve's log evidence. Its lower end is at least -r sqrt(V). Its upper end is a convex
    function of f for V >= 1, hence the largest of r sqrt(V) and (r + 1) min(V, 4) / 2; for V < 1 it is at most
    r sqrt(V) + V / 2.
    """

    def __init__(self, judge: Judge) -> None:
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
            # As for the judge, the mean is capped above the largest value seen; very low values are raised, because
            # arithmetic with subnormal numbers is slow.
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
            half = 0.5 * np.minimum(variance, EXPANDED)
            below = self._reach * np.sqrt(variance)
            above = np.where(variance < 1.0, below + half, np.maximum(below, (self._reach + 1.0) * half))
            centre[some] = top + np.log(total) + 0.5 * (above - below)
            width[some] = 0.5 * (above + below) + self._allowance
        return centre, width


@dataclass(frozen=True, eq=False)
class Found:
    """Pairs that may be among the best, and the weight of those that may not."""

    pairs: IntArray  # (m, 2)
    centre: FloatArray  # (m,)
    width: FloatArray  # (m,)
    dropped: int
    log_dropped: float
    capped: bool = False  # whether pairs were dropped for their number alone

    @staticmethod
    def merge(found: Iterable[Found]) -> Found:
        every = list(found)
        return Found(
            np.concatenate([f.pairs for f in every]),
            np.concatenate([f.centre for f in every]),
            np.concatenate([f.width for f in every]),
            sum(f.dropped for f in every),
            float(logsumexp([f.log_dropped for f in every])),
            any(f.capped for f in every),
        )

    def keep(self, top: int, most: int) -> Found:
        """Drop pairs whose upper bound is below the lower bounds of `top` others; of the rest keep `most` at most."""
        upper = self.centre + self.width
        kept = upper >= threshold(self.centre - self.width, top)
        excess = int(np.count_nonzero(kept)) > most
        if excess:
            best = np.argsort(-np.where(kept, upper, -np.inf), kind="stable")[:most]
            kept = np.zeros_like(kept)
            kept[best] = True
        return replace(self.only(kept), capped=self.capped or excess)

    def only(self, kept: NDArray[np.bool_]) -> Found:
        """Drop the pairs that are not `kept`."""
        lost = np.append(self.centre[~kept], self.log_dropped)
        return Found(
            self.pairs[kept], self.centre[kept], self.width[kept], self.dropped + int(np.sum(~kept)),
            float(logsumexp(lost)), self.capped,
        )  # fmt: skip


def threshold(lower: FloatArray, top: int) -> float:
    """Return the `top`-th largest lower bound: what an upper bound must reach to be among the `top` best."""
    return float(np.partition(lower, -top)[-top]) if len(lower) >= top else -np.inf


@one_blas_thread
def _strip(dataset: Dataset, judge: Judge, floor: float, top: int, most: int, first: int) -> Found:
    """Judge all pairs (a, b) with a in the strip that begins at `first` and a < b; keep what may be in the `top`."""
    last = min(first + _STRIP, dataset.n_enzymes)
    parts = increments(dataset)
    left = [_left(part, judge.points, np.arange(first, last)) for part in parts]
    right = [_right(part, judge.points, np.arange(first, dataset.n_enzymes)) for part in parts]
    kernel, sifter = BlockLikelihood(left, right, constant_part(parts)), Sifter(judge, floor)
    for i in range(0, last - first, ROWS):
        rows = slice(i, min(i + ROWS, last - first))
        for j in range(i, dataset.n_enzymes - first, COLUMNS):
            columns = slice(j, min(j + COLUMNS, dataset.n_enzymes - first))
            values, collinear = kernel(rows, columns)
            a, b = np.divmod(np.arange(values.shape[1]), columns.stop - columns.start)
            pairs = first + np.stack([a + i, b + j], axis=1)
            sifter.add(values, pairs, pairs[:, 0] < pairs[:, 1], collinear)
    return sifter.found().keep(top, most)


class Sifter:
    """Takes blocks of models, and keeps those that may be among the best.

    The sieve looks at all models of a block. Those that it leaves are collected until there are enough for the judge,
    which takes about as long for ten models as for a thousand.
    """

    def __init__(self, judge: Judge, floor: float) -> None:
        self._judge, self._sieve, self._floor = judge, _Sieve(judge), floor
        self._waiting: list[tuple[FloatArray, IntArray, NDArray[np.bool_]]] = []
        self._found: list[Found] = []

    def add(
        self,
        values: FloatArray,
        models: IntArray,
        valid: NDArray[np.bool_] | None = None,
        collinear: NDArray[np.bool_] | None = None,
    ) -> None:
        """Take the values (n, m) of models (m, size); those not `valid` are passed over."""
        counted = np.ones(len(models), dtype=bool) if valid is None else valid
        # The margin allows for the jitter and the rounding of the sieve, which differ from those of the judge.
        centre, width = self._sieve(values.copy())
        promising = counted & (centre + width + _MARGIN >= self._floor)
        if collinear is not None:
            promising |= counted & collinear
        lost = centre[counted & ~promising]
        size = models.shape[1]
        self._found.append(Found(np.empty((0, size), np.intp), np.empty(0), np.empty(0), len(lost), _log_sum(lost)))
        at = np.flatnonzero(promising)
        if len(at):
            doubtful = np.zeros(len(at), dtype=bool) if collinear is None else collinear[at]
            self._waiting.append((values[:, at], models[at], doubtful))
        if sum(len(waiting[1]) for waiting in self._waiting) >= _PAIRS_AT_ONCE:
            self._decide()

    def found(self) -> Found:
        """Return what may be among the best, and the weight of the rest."""
        self._decide()
        return Found.merge(self._found)

    def _decide(self) -> None:
        if not self._waiting:
            return
        values, models, doubtful = (
            np.concatenate(part, axis=axis)
            for part, axis in zip(zip(*self._waiting, strict=True), (1, 0, 0), strict=True)
        )
        self._waiting = []
        centre, width = self._judge(values)
        width = np.where(doubtful, np.inf, width)
        self._found.append(Found(models, centre, width, 0, -np.inf).only(centre + width >= self._floor))


def _log_sum(logs: FloatArray) -> float:
    """Return the log of the sum of exponentials, -inf of none."""
    if not len(logs):
        return -np.inf
    top = float(logs.max())
    return top + float(np.log(np.sum(np.exp(logs - top)))) if np.isfinite(top) else top


@dataclass(frozen=True, eq=False)
class ScreenRules:
    """The rules by which models are screened.

    Attributes
    ----------
    n : tuple of int
        Points of the design in the rounds, increasing.
    top : int
        How many of the best models of a size must not be lost.
    most : int
        Models to keep after a round at most: what limits memory when the data do not tell them apart.
    level : float
        Probability that a log evidence leaves its interval, on either side.
    listed : int
        Models to keep after the last round at most.
    enough : int
        The race ends before its last round when no more models than these are left.
    """

    n: tuple[int, ...] = (20, 50, 100)
    top: int = 1000
    most: int = 2_000_000
    level: float = 1e-3
    listed: int = 20_000
    enough: int = 0

    def __post_init__(self) -> None:
        sizes = tuple(_validate.count(size, "n", minimum=4) for size in self.n)
        if not sizes or list(sizes) != sorted(set(sizes)):
            _checks.fail("`n` must be increasing numbers of points, such as (20, 50, 100, 200)")
        top = _validate.count(self.top, "top")
        most = max(_validate.count(self.most, "most"), top)
        level = _validate.probability(self.level, "level")
        _validate.freeze(self, n=sizes, top=top, most=most, level=level, listed=max(self.listed, top))


@dataclass(frozen=True, eq=False)
class Survivors:
    """What the screen left.

    Attributes
    ----------
    models : (m, size) int array
        Columns of the enzymes of the models that are left, in lexicographic order.
    rounds : tuple of dict
        ``n``, ``models`` and ``survived`` of each round.
    dropped : int
        How many models were dropped.
    log_dropped : float
        Log of the sum of their evidences.
    capped : bool
        Whether models were dropped for their number alone.
    """

    models: IntArray
    rounds: tuple[dict[str, int], ...]
    dropped: int
    log_dropped: float
    capped: bool

    @property
    def evaluations(self) -> int:
        """Likelihoods evaluated: values of a round are not kept for the next, they would take too much memory."""
        return sum(each["models"] * each["n"] for each in self.rounds)


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of the enzymes of a data set, in strips of 256 first enzymes, each a task of the first round."""

    dataset: Dataset

    @property
    def size(self) -> int:
        """Enzymes in a model."""
        return 2

    @property
    def truncated(self) -> bool:
        """False: only the closed form of the paper is as fast as this."""
        return False

    def __len__(self) -> int:
        return self.dataset.n_enzymes * (self.dataset.n_enzymes - 1) // 2

    def pilot(self) -> IntArray:
        """Return some models that are likely to be good."""
        return likely(self.dataset, 2)

    def parts(self) -> Iterable[int]:
        """Return the tasks of the first round."""
        return range(0, self.dataset.n_enzymes, _STRIP)

    def judged(self, judge: Judge, floor: float, rules: ScreenRules, part: int) -> tuple[Found, int]:
        """Return what may be among the best of one task, and how many models it had."""
        last = min(part + _STRIP, self.dataset.n_enzymes)
        count = sum(self.dataset.n_enzymes - 1 - a for a in range(part, last))
        return _strip(self.dataset, judge, floor, rules.top, rules.most, part), count


class Models(Protocol):
    """Models of one size that can be screened."""

    @property
    def dataset(self) -> Dataset:
        """The data."""

    @property
    def size(self) -> int:
        """Enzymes in a model."""

    @property
    def truncated(self) -> bool:
        """Whether rates are truncated."""

    def __len__(self) -> int: ...

    def pilot(self) -> IntArray:
        """Return some models that are likely to be good, as columns of their enzymes, (m, size)."""

    def parts(self) -> Iterable[Any]:
        """Return the tasks of the first round."""

    def judged(self, judge: Judge, floor: float, rules: ScreenRules, part: Any) -> tuple[Found, int]:
        """Return what may be among the best of one task, and how many models it had."""


@one_blas_thread
def survivors(
    models: Models, rules: ScreenRules, *, executor: Executor | None = None, progress: bool | None = None
) -> Survivors:
    """Screen models of one size: drop those that at least ``rules.top`` others are certainly better than.

    Parameters
    ----------
    models : Models
        Such as :class:`Pairs`.
    rules : ScreenRules
        What must not be lost.
    executor : concurrent.futures.Executor, optional
        Where models are judged; the answer is the same for any, to the last bit.
    progress : bool, optional
        Show progress; by default on a terminal.
    """
    dataset, size = models.dataset, models.size
    if min(dataset.n_increments) < 3:
        _checks.fail("`dataset` must have at least three increments per condition, or no pair can be told from another")
    places = KineticFamily(dataset, (dataset.names[:size],)).coordinates
    measure = prior(1 + size)
    design, full = Spread(measure, places).take(rules.n[-1]), nodes(measure, places)
    rounds: list[dict[str, int]] = []
    found = Found(np.empty((0, size), dtype=np.intp), np.empty(0), np.empty(0), 0, -np.inf)
    for step, n in enumerate(rules.n):
        entered = rounds[-1]["survived"] if rounds else len(models)
        if rounds and entered <= max(rules.enough, rules.top):
            break
        judge = Judge(design[:n], places.forward(design[:n]), _race_nodes(places, size, later=step > 0), rules.level)
        with Progress(entered, f"screen at {n} points", progress) as bar:
            if step == 0:
                judge, floor = _pilot(models, judge, full, rules.top)
                task = partial(models.judged, judge, floor, rules)
                for _, (part, count) in in_order(executor, task, models.parts()):
                    found = Found.merge([found, part]).keep(rules.top, rules.most)
                    bar.advance(count)
            else:
                found = _again(models, judge, full, found, executor, bar).keep(rules.top, rules.most)
        rounds.append({"n": n, "models": entered, "survived": len(found.pairs)})
    if len(found.pairs) > rules.listed:
        found = found.keep(rules.top, rules.listed)
    order = np.lexsort(tuple(found.pairs[:, j] for j in reversed(range(size))))
    return Survivors(found.pairs[order], tuple(rounds), found.dropped, found.log_dropped, found.capped)


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
    leaves on either side with probability `level`, widened by the error of the coarse sums of the screen (measured on
    the leading pairs). **A pair is dropped only if at least `top` other pairs have their whole interval above its
    own.** So no model is lost that, given its numerical uncertainty, may be among the `top` best, or be the MAP. The
    survivors go on to n[1] points, and so on; those of the last round, and all models with fewer enzymes, are compared
    as by :func:`fwbq.chema.compare` at n[-1] points.

    The guarantee is as good as the intervals, and holds unless the status says that more than `most` pairs would have
    survived. Measured against evidences by brute-force quadrature, on simulated sets with 200 and 300 enzymes and
    noise of 0.5, 1 and 2 %: none of the true best 1000 pairs was lost, and the MAP was the true one. Of the leading 800
    pairs among a thousand enzymes, a sample of 80 to 200 in each of three sets (noise 0.3, 1 and 3 %), 95 % intervals
    at 200 points held 96 to 99 %. Among ten thousand enzymes the best pairs are the luckiest fits of fifty million,
    with likelihoods far narrower than the prior; there an evidence at 200 points was seen 0.9 below the truth, more
    than its interval says.

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
        pairs that were dropped, so that probabilities are right; ``settings["rounds"]`` says how many pairs survived
        each round.

    Examples
    --------
    >>> data = Dataset.simulate(40, rng=1, noise=0.003)
    >>> result = screen(data, n=(10, 40), top=10, rng=0)
    >>> result.best == data.regulators, result.n_models
    (True, 821)
    """
    sizes = tuple(n)
    rules = replace(ScreenRules(sizes, top, most, level, listed=most), n=sizes[:-1] or sizes)
    if dataset.n_enzymes < 2:
        _checks.fail("`dataset` must have at least two enzymes, or there are no pairs")
    found = survivors(Pairs(dataset), rules, executor=executor, progress=progress)
    families = [
        KineticFamily(dataset, ((),)),
        KineticFamily(dataset, tuple((name,) for name in dataset.names)),
        KineticFamily(dataset, named(dataset, found.models.tolist())),
    ]
    settings = {"likelihood": CLOSED_FORM, "top": rules.top, "level": rules.level}
    result = compare_families(families, stages=(sizes[-1],), race=False, rng=rng, progress=progress, settings=settings)
    return with_screened(result, [found])


def named(dataset: Dataset, models: Iterable[Iterable[int]]) -> tuple[tuple[str, ...], ...]:
    """Return models, given as columns of their enzymes, as tuples of names."""
    return tuple(tuple(dataset.names[j] for j in model) for model in models)


def with_screened(result: Comparison, found: Sequence[Survivors]) -> Comparison:
    """Return a comparison of survivors as one of all the models that were screened.

    Prior probabilities are equal among all; the dropped models become the `rest`; their evaluations are counted.
    """
    dropped = sum(each.dropped for each in found)
    total = len(result) + dropped
    spent = sum(each.evaluations for each in found)
    entered = sum(each.rounds[0]["models"] for each in found)
    kept = sum(len(each.models) for each in found)
    status = f"screened {entered:,} models, {kept:,} of them compared; {result.status}"
    if any(each.capped for each in found):
        status += (
            f"; more would have survived, and only the best {kept:,} were kept: the data do not tell the models apart, "
            "and P(MAP) is among those kept"
        )
    log_weight = float(logsumexp([each.log_dropped for each in found])) - float(np.log(total))
    stages = tuple(replace(stage, evaluations=stage.evaluations + spent) for stage in result.stages)
    rounds = [{"enzymes": each.models.shape[1]} | row for each in found for row in each.rounds]
    return replace(
        result,
        log_prior=np.full(len(result), -np.log(total)),
        status=status,
        stages=stages,
        settings=result.settings | {"rounds": rounds},
        rest=Rest(dropped, log_weight) if dropped else None,
    )


def _again(models: Models, judge: Judge, full: Nodes, found: Found, executor: Executor | None, bar: Progress) -> Found:
    """Judge the models of an earlier round by more points."""
    dataset, truncated = models.dataset, models.truncated
    best = np.argsort(-found.centre, kind="stable")[:_LEADING]
    judge = judge.fitted(block_at(increments(dataset), found.pairs[best], judge.points, truncated=truncated)[0], full)
    chunks = [found.pairs[i : i + _PAIRS_AT_ONCE] for i in range(0, len(found.pairs), _PAIRS_AT_ONCE)]
    centre, width = np.empty(len(found.pairs)), np.empty(len(found.pairs))
    start = 0
    for chunk, bounds in in_order(executor, partial(_judged, dataset, judge, truncated), chunks):
        centre[start : start + len(chunk)], width[start : start + len(chunk)] = bounds
        start += len(chunk)
        bar.advance(len(chunk))
    return replace(found, centre=centre, width=width)


@one_blas_thread
def _judged(dataset: Dataset, judge: Judge, truncated: bool, models: IntArray) -> tuple[FloatArray, FloatArray]:
    return judge(block_at(increments(dataset), models, judge.points, truncated=truncated)[0])


def _race_nodes(places: LogScale, enzymes: int, *, later: bool) -> Nodes:
    """Return a small tensor Gauss rule for the prior of K of models with so many enzymes."""
    size = _NODES.get(enzymes, _FEWEST_NODES)[int(later)]
    x = np.linspace(0.0, 7.0, 4001)
    k, weight = gauss_rule(x, np.exp(-((x - 1.0) ** 2)), size)
    grid = tensor_grid([k] * (1 + enzymes))
    log_weights = np.zeros(())
    for _ in range(1 + enzymes):
        log_weights = np.add.outer(log_weights, np.log(weight))
    axes = tuple(places.forward(np.repeat(k[:, None], 1 + enzymes, axis=1)).T)
    return Nodes(places.forward(grid), log_weights.ravel(), axes)


def likely(dataset: Dataset, size: int, truncated: bool = False) -> IntArray:
    """Return models with `size` enzymes that are likely to be good, each once, in lexicographic order.

    They are the best of those with one enzyme less, found in the same way, with every further enzyme.
    """
    parts, enzymes = increments(dataset), np.arange(dataset.n_enzymes)
    models = enzymes[:, None]
    for so_far in range(1, size):
        k = Spread(prior(1 + so_far), KineticFamily(dataset, (dataset.names[:so_far],)).coordinates).take(10)
        alone = logsumexp(block_at(parts, models, k, truncated=truncated)[0], axis=0)
        best = models[np.argsort(-alone, kind="stable")[:_PILOT]]
        larger = np.column_stack([np.repeat(best, len(enzymes), axis=0), np.tile(enzymes, len(best))])
        larger = np.sort(larger[np.all(larger[:, :-1] != larger[:, -1:], axis=1)], axis=1)
        models = np.unique(larger, axis=0)
    return models


def _pilot(models: Models, judge: Judge, full: Nodes, top: int) -> tuple[Judge, float]:
    """Fit the judge's kernel to models that are likely to be good; find the least upper bound that keeps a model."""
    parts = increments(models.dataset)
    values = block_at(parts, models.pilot(), judge.points, truncated=models.truncated)[0]
    judge = judge.fitted(values, full)
    lower = [np.subtract(*judge(values[:, i : i + _PAIRS_AT_ONCE])) for i in range(0, values.shape[1], _PAIRS_AT_ONCE)]
    return judge, threshold(np.concatenate(lower), top)
