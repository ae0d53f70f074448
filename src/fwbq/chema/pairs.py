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
are evaluated at more, and the last few at all points, by the same comparison as any other set of models. What the best
are is learnt beforehand from some likely pairs, at all the points that the screen will use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from .. import _frozen, _validate
from .._gauss import tensor_grid
from .._threads import one_blas_thread
from ..designs import Spread
from ..evaluation import Progress, in_order
from ..selection import Comparison, Evidences, LogScale, Options, Rest, compare_families
from ..selection.nodes import Nodes, nodes
from . import _checks
from .dataset import Dataset
from .family import KineticFamily, prior
from .gauss import gauss_rule
from .kinetics import Base, BoolArray, Columns, FloatArray, Increments, IntArray, increments
from .likelihood import CLOSED_FORM, block_at
from .sieve import AT_ONCE, LEADING, Found, Judge, Look, Sieve, Sifter, threshold

__all__ = ["Pairs", "ScreenRules", "Survivors", "screen", "survivors"]

# Pairs of a block: at one point an array of them is 260 kB in float64, so that two fit in a second-level cache. Larger
# and smaller blocks were slower.
ROWS, COLUMNS = 128, 256
# Rows of a task: the unit that an executor receives. Fixed, so that the answer does not depend on the executor.
_STRIP = 256
# Second enzymes times points whose columns are held at a time: 70 MB.
_COLUMN_VALUES = 200_000
# Models of a task of the later rounds. Pairs share the columns of their enzymes: at 100 points the likelihoods of one
# among ten thousand enzymes take 35 microseconds with 2,000 of them, 25 with 10,000 or 20,000.
_TASK = 10_000
# Enzymes, the best of the models with one enzyme, whose pairs are evaluated first, to learn how large the leading
# evidences are; fewer where that would be more than so many pairs.
_PILOT, _PILOT_MODELS = 32, 50_000
# Gauss nodes per coordinate of the sums that look at models in turn, the last those of the judge, by the number of
# enzymes. Of the leading 3,000 pairs of five simulated sets (300 to 10,000 enzymes, n = 20, noise 0.1 to 3 %) the log
# evidences by 4, 6 and 12 nodes are within 4.4, 1.5 and 0.3 of those by the full rule of the comparison, 0.3, 0.12 and
# 0.03 in root mean square; of triples by 4 and 6 within 0.2 and 0.04. Twice the difference, as measured on the leading
# models of the data at hand, is allowed for (`Judge.fitted`).
_NODES = {1: (6, 16), 2: (4, 6, 12), 3: (4, 6)}
# Models of which it is measured how many a round would leave.
_SAMPLE = 2_000
# Nodes per coordinate of the rule by which that is measured for triples; for pairs it is the rule of the comparison.
_REFERENCE = {3: 10}
# Nodes per coordinate of the judge for models with more enzymes: four thousand nodes in six dimensions.
_FEWEST_NODES = 4
# 1 - c^2 below this is rounding: such pairs are kept for the next round, whatever the fast formula gives.
COLLINEAR = 1e-9
# Largest relative error of one rounding to float32, and of its logarithms: four units in the last place, twice that of
# a rounding each.
_ROUNDING, _LOG_ROUNDINGS = 2.0**-24, 8
_FLOAT32 = np.finfo(np.float32)


@dataclass(frozen=True, eq=False)
class Factors:
    """Both sides of the matrix products of one condition, at n points."""

    n: int
    cosine: FloatArray  # (n, rows, N) or (n, N, columns)
    linear: FloatArray  # (n, rows, N + 3) or (n, N + 3, columns); that of the rows in units of `unit_of`
    rate: FloatArray  # (n, rows) or (n, columns), times sqrt(N), in the root of these units
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
    unit = unit_of(part)
    return Factors(part.n, direction, linear / unit, np.sqrt(part.n / unit) * side.rate, penalty)


def _right(part: Increments, points: FloatArray, enzymes: IntArray) -> Factors:
    base = Base.at(part, points[:, 0])
    side = Columns.at(part, base, points[:, 2], enzymes)
    own = side.length * (side.length - 2 * side.rate) + side.along**2
    ones = np.ones((len(own), 1, own.shape[1]))
    linear = np.concatenate([side.length[:, None, :] * side.direction, side.along[:, None], ones, own[:, None]], axis=1)
    penalty = 0.5 * np.log(part.n + 1) * side.live
    return Factors(part.n, side.direction, linear, np.sqrt(part.n / unit_of(part)) * side.rate, penalty)


def unit_of(part: Increments) -> float:
    """Return a usual size of 2(N+1) b_N: in this unit it is neither too large nor too small for float32."""
    return (part.n + 1) * float(part.rates @ part.rates) + part.n * float(np.median(part.unit)) ** 2 or 1.0


@dataclass(frozen=True, eq=False)
class Block:
    """Log likelihoods of a block of pairs.

    Attributes
    ----------
    values : (n, pairs) float32 array
        Overwritten by the next block.
    error : float
        The most that rounding to float32 adds to one of them.
    collinear : (pairs,) bool array, or None
        Which pairs are collinear at one of the points, so that their values are not to be trusted; None: no one is.
    """

    values: NDArray[np.float32]
    error: float
    collinear: BoolArray | None


class BlockLikelihood:
    """Evaluates blocks of pairs in buffers of its own: fresh memory for every block would cost more than the sums.

    Everything up to the logarithm is in float64, where terms cancel; the logarithm is in float32, in half the time.
    """

    def __init__(self, left: Sequence[Factors], right: Sequence[Factors], constant: float) -> None:
        self._sides = list(zip(left, right, strict=True))
        self._constant = constant - sum(a.penalty.max() + b.penalty.max() for a, b in self._sides)
        # Penalties below the largest: where no column is dependent, that is nowhere, they are all the same.
        self._less = [(a.penalty.max() - a.penalty, b.penalty.max() - b.penalty) for a, b in self._sides]
        self._equal = [not (a.any() or b.any()) for a, b in self._less]
        self._buffers = np.empty((3, ROWS * COLUMNS))
        self._logs = np.empty(ROWS * COLUMNS, dtype=np.float32)
        self._values = np.empty(len(left[0].rate) * ROWS * COLUMNS, dtype=np.float32)

    @np.errstate(over="ignore")  # of a residual more than 1e38 times the usual one, which is brought back into range
    def __call__(self, rows: slice, columns: slice) -> Block:
        """Evaluate the pairs of an enzyme of `rows` and one of `columns`."""
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        size, n = shape[0] * shape[1], len(self._sides[0][0].rate)
        c, value, t = (buffer[:size].reshape(shape) for buffer in self._buffers)
        logs, values = self._logs[:size].reshape(shape), self._values[: n * size].reshape(n, *shape)
        collinear: BoolArray | None = None
        largest = [0.0] * len(self._sides)
        values.fill(self._constant)
        for i in range(n):
            for k, (a, b) in enumerate(self._sides):
                np.matmul(a.cosine[i, rows], b.cosine[i, :, columns], out=c)
                np.matmul(a.linear[i, rows], b.linear[i, :, columns], out=value)
                np.multiply(c, a.rate[i, rows, None], out=t)
                np.subtract(b.rate[i, columns], t, out=t)
                np.multiply(t, t, out=t)
                np.multiply(c, c, out=c)
                np.subtract(1.0, c, out=c)
                if c.min() < COLLINEAR:
                    somewhere = (c < COLLINEAR).ravel()
                    collinear = somewhere if collinear is None else collinear | somewhere
                    np.maximum(c, COLLINEAR, out=c)
                np.divide(t, c, out=t)
                np.subtract(value, t, out=value)
                # Rounding may take the residual of an exact fit to zero or below; such a pair gets a very large value
                # here, survives, and is computed exactly later.
                np.copyto(logs, value, casting="same_kind")
                np.clip(logs, _FLOAT32.tiny, _FLOAT32.max, out=logs)
                np.log(logs, out=logs)
                largest[k] = max(largest[k], float(logs.max()), -float(logs.min()))
                logs *= np.float32(-0.5 * a.n)
                if not self._equal[k]:
                    fewer = self._less[k]
                    logs += np.add.outer(fewer[0][i, rows], fewer[1][i, columns]).astype(np.float32)
                values[i] += logs
        roundings = 3.0 * abs(self._constant)
        for (a, _), log in zip(self._sides, largest, strict=True):
            roundings += 0.5 * a.n * (1.0 + (_LOG_ROUNDINGS + 4) * log)
        return Block(values.reshape(n, size), _ROUNDING * roundings, collinear)


def constant_part(parts: Sequence[Increments]) -> float:
    """Return what log L adds to -N/2 log(2(N+1) b_N / unit) - r/2 log(N+1), all conditions together."""
    return float(
        sum(
            gammaln(p.n / 2) - np.log(2) + p.n / 2 * (np.log(2 * (p.n + 1)) - np.log(2 * np.pi) - np.log(unit_of(p)))
            for p in parts
        )
    )


@one_blas_thread
def _strip(dataset: Dataset, look: Look, first: int) -> Found:
    """Look at all pairs (a, b) with a in the strip that begins at `first` and a < b; keep what may be in the top."""
    last = min(first + _STRIP, dataset.n_enzymes)
    parts, points, sifter = increments(dataset), look.judge.points, Sifter(look, 2)
    left = [_left(part, points, np.arange(first, last)) for part in parts]
    width = COLUMNS * max(1, _COLUMN_VALUES // (len(points) * COLUMNS))
    for start in range(first, dataset.n_enzymes, width):
        second = np.arange(start, min(start + width, dataset.n_enzymes))
        kernel = BlockLikelihood(left, [_right(part, points, second) for part in parts], constant_part(parts))
        for i in range(0, last - first, ROWS):
            rows = slice(i, min(i + ROWS, last - first))
            # Pairs are counted from `first`; the columns of the kernel, from `start`.
            for j in range(max(start, first + i), second[-1] + 1, COLUMNS):
                columns = slice(j - first, min(j + COLUMNS, second[-1] + 1) - first)
                block = kernel(rows, slice(columns.start + first - start, columns.stop + first - start))
                sifter.add(
                    block.values, partial(places_in, rows, columns, first), counted=above_diagonal(rows, columns),
                    doubtful=block.collinear, error=block.error,
                )  # fmt: skip
    return sifter.found()


def places_in(rows: slice, columns: slice, first: int, at: IntArray) -> IntArray:
    """Return the enzymes (k, 2) of the pairs at some places (k,) of a block; rows and columns count from `first`."""
    a, b = np.divmod(at, columns.stop - columns.start)
    return np.stack([first + rows.start + a, first + columns.start + b], axis=1)


def above_diagonal(rows: slice, columns: slice) -> BoolArray | None:
    """Return which places of a block are pairs (a, b) with a < b; None: all of them."""
    if rows.stop <= columns.start:
        return None
    return np.asarray(np.arange(rows.start, rows.stop)[:, None] < np.arange(columns.start, columns.stop)).ravel()


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
    adapt : bool
        Whether, of the rounds before the last, only the one that promises the least work is made, if any: with more
        points it takes longer and leaves fewer models to the last, as a sample of them shows.
    """

    n: tuple[int, ...] = (20, 50, 100)
    top: int = 1000
    most: int = 2_000_000
    level: float = 1e-3
    listed: int = 20_000
    adapt: bool = False

    def __post_init__(self) -> None:
        sizes = tuple(_validate.count(size, "n", minimum=4) for size in self.n)
        if not sizes or list(sizes) != sorted(set(sizes)):
            _checks.fail("`n` must be increasing numbers of points, such as (20, 50, 100)")
        top = _validate.count(self.top, "top")
        most = max(_validate.count(self.most, "most"), top)
        level = _validate.probability(self.level, "level")
        _frozen.freeze(self, n=sizes, top=top, most=most, level=level, listed=max(self.listed, top))


@dataclass(frozen=True, eq=False)
class Survivors:
    """What the screen left.

    Attributes
    ----------
    models : (m, size) int array
        Columns of the enzymes of the models that are left, in lexicographic order.
    evidences : Evidences
        Posteriors of their log evidences after the last round, as wide as the intervals of the judge.
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
    evidences: Evidences
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

    @property
    def gain(self) -> float:
        """How many times quicker a likelihood is in the first round: 0.02 against 0.25 microseconds."""
        return 12.0

    def pilot(self) -> IntArray:
        """Return some models that are likely to be good."""
        return likely(self.dataset, 2)

    def sample(self, count: int) -> IntArray:
        """Return some pairs of any kind."""
        return any_sets(self.dataset, 2, count)

    def parts(self) -> Iterable[int]:
        """Return the tasks of the first round."""
        return range(0, self.dataset.n_enzymes, _STRIP)

    def found(self, look: Look, part: int) -> tuple[Found, int]:
        """Return what may be among the best of one task, and how many models it had."""
        last = min(part + _STRIP, self.dataset.n_enzymes)
        count = sum(self.dataset.n_enzymes - 1 - a for a in range(part, last))
        return _strip(self.dataset, look, part), count


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

    @property
    def gain(self) -> float:
        """How many times quicker a likelihood is in the first round than in a later one."""

    def pilot(self) -> IntArray:
        """Return some models that are likely to be good, as columns of their enzymes, (m, size)."""

    def sample(self, count: int) -> IntArray:
        """Return some models of any kind, at most so many."""

    def parts(self) -> Iterable[Any]:
        """Return the tasks of the first round."""

    def found(self, look: Look, part: Any) -> tuple[Found, int]:
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
    design, reference = Spread(prior(1 + size), places).take(rules.n[-1]), _reference(places, size)
    judges = [_judge(design[:n], places, size, rules.level) for n in rules.n]
    rounds: list[dict[str, int]] = []
    found = Found.nothing(size)
    begin, judge, floor = _pilot(models, judges, reference, rules)
    for step, n in enumerate(rules.n):
        if step < begin or (rules.adapt and begin < step < len(judges) - 1):
            continue
        entered = rounds[-1]["survived"] if rounds else len(models)
        if rounds:
            best = np.argsort(-found.centre, kind="stable")
            judge, reached = _fitted(models, judges[step], reference, found.models[best], rules.top)
            floor = max(floor, reached)
        look = Look(judge, floor, rules.top, rules.most, last=n == rules.n[-1])
        with Progress(entered, f"screen at {n} points", progress) as bar:
            if not rounds:
                tasks = in_order(executor, partial(models.found, look), models.parts())
            else:
                tasks = in_order(executor, partial(_again, dataset, look, models.truncated), _tasks(found))
            parts = [replace(Found.nothing(size, found.dropped, found.log_dropped), capped=found.capped)]
            for _, (part, count) in tasks:
                parts.append(part)
                if sum(len(each.models) for each in parts) > rules.most:
                    parts = [look.kept(Found.merge(parts))]
                bar.advance(count)
            found = look.kept(Found.merge(parts))
        rounds.append({"n": n, "models": entered, "survived": len(found.models)})
    if len(found.models) > rules.listed:
        found = found.keep(rules.top, rules.listed)
    found = found.in_order()
    evidences = _evidences(models, judge, found)
    return Survivors(found.models, evidences, tuple(rounds), found.dropped, found.log_dropped, found.capped)


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
    noise of 0.1, 0.5, 1 and 2 %: none of the true best 1000 pairs was lost in any round. Of the leading 800 pairs
    among a thousand enzymes, a sample of 80 to 200 in each of three sets (noise 0.3, 1 and 3 %), 95 % intervals
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
    options = Options(stages=(sizes[-1],), race=False, rng=rng, progress=progress)
    result = compare_families(families, options, settings=settings)
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


def _tasks(found: Found) -> list[IntArray]:
    """Return the models of an earlier round in lexicographic order, in pieces of one task each."""
    models = found.in_order().models
    return [models[i : i + _TASK] for i in range(0, len(models), _TASK)]


def _again(dataset: Dataset, look: Look, truncated: bool, models: IntArray) -> tuple[Found, int]:
    """Return which of some models (m, size) may be among the best, and their number."""
    return sifted(dataset, look, truncated, models), len(models)


@one_blas_thread
def sifted(dataset: Dataset, look: Look, truncated: bool, models: IntArray) -> Found:
    """Return which of some models (m, size) may be among the best."""
    parts, sifter = increments(dataset), Sifter(look, models.shape[1])
    for start in range(0, len(models), _TASK):
        some = models[start : start + _TASK]
        values = block_at(parts, some, look.judge.points, truncated=truncated)[0]
        for i in range(0, len(some), AT_ONCE):
            sifter.add(values[:, i : i + AT_ONCE], some[i : i + AT_ONCE].__getitem__)
    return sifter.found()


def _judge(points: FloatArray, places: LogScale, enzymes: int, level: float) -> Judge:
    """Return a judge by values at these points, not yet fitted."""
    judge = None
    for size in _NODES.get(enzymes, (_FEWEST_NODES,)):
        judge = Judge(points, places.forward(points), race_nodes(places, enzymes, size), level, quick=judge)
    assert judge is not None
    return judge


def _reference(places: LogScale, enzymes: int) -> Nodes:
    """Return the nodes against which those of the judge are measured."""
    if enzymes in _REFERENCE:
        return race_nodes(places, enzymes, _REFERENCE[enzymes])
    return nodes(prior(1 + enzymes), places)


def race_nodes(places: LogScale, enzymes: int, size: int) -> Nodes:
    """Return a tensor Gauss rule, `size` nodes per coordinate, for the prior of K of models with so many enzymes."""
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
        most = min(_PILOT, max(1, _PILOT_MODELS // len(enzymes)))
        best = models[np.argsort(-alone, kind="stable")[:most]]
        larger = np.column_stack([np.repeat(best, len(enzymes), axis=0), np.tile(enzymes, len(best))])
        larger = np.sort(larger[np.all(larger[:, :-1] != larger[:, -1:], axis=1)], axis=1)
        models = np.unique(larger, axis=0)
    return models


def any_sets(dataset: Dataset, size: int, count: int) -> IntArray:
    """Return `count` sets of `size` different enzymes, drawn at random, the same every time."""
    rng = np.random.default_rng(0)
    return np.sort([rng.choice(dataset.n_enzymes, size, replace=False) for _ in range(count)], axis=1)


def _enough(top: int) -> int:
    """Return of how many leading models the intervals are computed to learn what the `top`-th lower bound is."""
    return max(2 * top, AT_ONCE)


def _pilot(models: Models, judges: Sequence[Judge], reference: Nodes, rules: ScreenRules) -> tuple[int, Judge, float]:
    """Return which round is the first, its judge, and the least upper bound that keeps a model.

    Kernels are fitted to models that are likely to be good. That bound is the `top`-th of the lower ends of their
    intervals, by the points of the last round: among ten thousand enzymes it is 3 higher than by the first 20 points,
    and after these the sieves leave two fifths of the pairs that they would leave otherwise.
    """
    parts, likely = increments(models.dataset), models.pilot()
    values = block_at(parts, likely, judges[0].points, truncated=models.truncated)[0]
    judge = judges[0].fitted(values, reference)
    centre, _ = Sieve(judge.chain()[0])(values)
    best = np.argsort(-centre, kind="stable")[: _enough(rules.top)]
    if len(judges) == 1:
        return 0, judge, _floor(judge, values[:, best], rules.top)
    last, floor = _fitted(models, judges[-1], reference, likely[best], rules.top)
    if not rules.adapt:
        return 0, judge, floor
    some, leading, fitted, work = models.sample(_SAMPLE), likely[best[:LEADING]], [judge], list[float]()
    for i, n in enumerate(rules.n[:-1]):
        if i:
            values = block_at(parts, leading, judges[i].points, truncated=models.truncated)[0]
            fitted.append(judges[i].fitted(values, reference))
        look = Look(fitted[i], floor, rules.top, rules.most, last=False)
        left = len(sifted(models.dataset, look, models.truncated, some).models) / len(some)
        # In units of one point for every model by the formulas of the first round.
        work.append(n + models.gain * left * rules.n[-1])
        if work[-1] <= rules.n[i + 1]:
            break
    else:
        fitted.append(last)
        work.append(rules.n[-1])
    begin = int(np.argmin(work))
    return begin, fitted[begin], floor


def _fitted(models: Models, judge: Judge, reference: Nodes, best: IntArray, top: int) -> tuple[Judge, float]:
    """Fit the judge's kernel to the best models (m, size), the very best first; find what keeps a model."""
    leading = best[: _enough(top)]
    values = block_at(increments(models.dataset), leading, judge.points, truncated=models.truncated)[0]
    judge = judge.fitted(values[:, :LEADING], reference)
    return judge, _floor(judge, values, top)


def _floor(judge: Judge, values: FloatArray, top: int) -> float:
    """Return the `top`-th lower bound of models with values (n, m)."""
    lower = [np.subtract(*judge(values[:, i : i + AT_ONCE])) for i in range(0, values.shape[1], AT_ONCE)]
    return threshold(np.concatenate(lower), top)


def _evidences(models: Models, judge: Judge, found: Found) -> Evidences:
    """Return the posteriors of models that the judge has seen; where a fast formula failed they are computed again."""
    centre, width = found.centre.copy(), found.width.copy()
    unsure = np.flatnonzero(np.isinf(width))
    if len(unsure):
        parts = increments(models.dataset)
        values = block_at(parts, found.models[unsure], judge.points, truncated=models.truncated)[0]
        centre[unsure], width[unsure] = judge(values)
    m = len(centre)
    return Evidences(
        np.full(m, "log", dtype="<U8"), centre, width / judge.reach, np.full(m, len(judge.points) - 1.0), np.zeros(m)
    )
