r"""Which of many models may be among the best: bounds of their log evidences, from quick ones to exact ones.

A model passes several tests, each a few times dearer than the one before and made for far fewer models: upper bounds
by sums over few nodes and over more (:class:`Sieve`), and the interval of the :class:`Judge`, which is that of the
comparison but for its fewer nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, stdtrit

from .._linalg import CholeskyFactor
from ..inference.assessment import EXPANDED
from ..kernels import Kernel
from ..process import Regression
from ..selection.log_process import DEPTH, RISE, LogProcess, levelled
from ..selection.nodes import Nodes
from .kinetics import BoolArray, FloatArray, IntArray

__all__ = ["Found", "Judge", "Look", "Sieve", "Sifter", "threshold"]

#: Models judged at a time: their values at some hundred points take a few megabytes.
AT_ONCE = 2_000
#: Models whose nodes are summed at a time: 64 x 1024 float32 are 260 kB.
_CHUNK = 1024
#: Models that decide the kernel of the race: the leading ones.
LEADING = 200
#: Added to the Gram matrix of the sieve, relative to its diagonal, as the judge does.
_JITTER = 1e-10
#: Largest relative error of one rounding to float32.
_ROUNDING = 2.0**-24
#: Where exp(x) is read off the bits of a float32 (see `Sieve`): one more in x is so many more in the integer that the
#: bits are, and 1.0 is this integer.
_PER_UNIT, _ONE = 2.0**23 / np.log(2.0), 127.0 * 2.0**23
#: The most by which 1 + t exceeds 2^t between 0 and 1, as a factor, and its mean.
_LARGEST_EXCESS = 2.0 / (np.e * np.log(2.0))
_MEAN_EXCESS = 0.5 / np.log(2.0) ** 2
#: The process mean is raised to this, relative to the largest value, and weights of nodes to the second number, where
#: they do not matter: float32 has no products below exp(-87) but subnormal ones, with which arithmetic is slow.
_LOWEST, _LIGHTEST = -40.0, 1e-15
#: Sums below the exponential of this may be made of such raised terms.
_UNSEEN = -30.0


@dataclass(frozen=True, eq=False)
class Judge:
    """Bounds of log evidences from values at the first points of the design.

    Attributes
    ----------
    points, where : (n, d) array
        The points, and their coordinates.
    nodes : Nodes
        Where the modelled log likelihood is exponentiated.
    level : float
        Probability that an evidence leaves its interval on one side.
    kernel : Kernel or None
        Of the process; None until it is fitted.
    rough : float
        Roughness of the process, from the models to which it was fitted.
    allowance : float
        Added to the half-width of every interval, for the error of the sum over the nodes.
    quick : Judge or None
        One with fewer nodes, whose bounds are looked at first.
    """

    points: FloatArray
    where: FloatArray
    nodes: Nodes
    level: float
    kernel: Kernel | None = None
    rough: float = 1.0
    allowance: float = 0.0
    quick: Judge | None = None

    def fitted(self, values: FloatArray, reference: Nodes) -> Judge:
        """Return a judge whose kernel fits the values (n, m) of the leading models.

        On these it also measures its error against a rule with many nodes, and allows for twice the largest.
        """
        best = values[:, np.argsort(-values.max(axis=0), kind="stable")[:LEADING]]
        return self._allowing(best, LogProcess.fit(self.where, best, reference))

    def _allowing(self, values: FloatArray, exact: LogProcess) -> Judge:
        mine = LogProcess.fit(self.where, values, self.nodes, exact.kernel, rough=exact.roughness)
        error = float(np.abs(mine.evidences.centre - exact.evidences.centre).max())
        quick = None if self.quick is None else self.quick._allowing(values, exact)
        return replace(self, kernel=exact.kernel, rough=exact.roughness, allowance=2.0 * error, quick=quick)

    @property
    def reach(self) -> float:
        """Half the width of an interval in units of the scale."""
        return float(stdtrit(len(self.where) - 1, 1 - self.level))

    def chain(self) -> list[Judge]:
        """Return the judges that look at a model in turn, the quickest first, and this one last."""
        return [*([] if self.quick is None else self.quick.chain()), self]

    def __call__(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log evidences (m,) of values (n, m), and half the widths of their intervals."""
        evidences = LogProcess.fit(self.where, values, self.nodes, self.kernel, rough=self.rough).evidences
        return evidences.centre, self.reach * evidences.scale + self.allowance


class Sieve:
    r"""A quick bound for many models: never below the upper end of the judge's interval.

    Given the kernel, the process mean at the nodes and its residuals are linear in the values: one matrix product. The
    variance of the integral of a process with covariance a c under a density pi is at most a times the mean of c(x, x)
    under pi (Cauchy-Schwarz), which spares the double sum over nodes. Let V be that bound and f <= V the variance that
    the judge would find. With the second-order term s = (min(V, 4) - f) / 2 or less, and r the reach, the judge's upper
    end is s + r sqrt(f + s^2) above the log of the sum over the nodes, or lower. It is a convex function of f for
    V >= 1, hence at most the larger of r sqrt(V) and (r + 1) min(V, 4) / 2; for V < 1 it is at most r sqrt(V) + V / 2.
    The amplitude a is that of greatest likelihood times the judge's squared roughness.

    Exponentials are read off the bits of a float32: the integer :math:`2^{23} (127 + i + t)`, 0 <= t < 1, has the bits
    of the number :math:`2^i (1 + t)`, which is at least :math:`2^{i + t}` and at most 6.2 % larger. So the sum is never
    too small, and at most 0.06 too large in its logarithm, in a fifth of the time of `exp`.

    Matrix products are in float32, u = 2^-24: with n terms, row v and values f, the error is at most
    (n + 4) u |v|_1 max |f|. It is added to every bound.

    Parameters
    ----------
    judge : Judge
        With a kernel.
    """

    def __init__(self, judge: Judge) -> None:
        assert judge.kernel is not None
        kernel, n = judge.kernel, len(judge.where)
        factor = CholeskyFactor.with_jitter(kernel(judge.where), _JITTER)
        # The columns of the identity are the values: what comes out is linear in those of any model.
        unit = Regression(factor, np.eye(n), np.ones((n, 1)))
        at_nodes = unit.predict(kernel(judge.where, judge.nodes.points), np.ones((len(judge.nodes.points), 1)))
        spread = at_nodes.variance(kernel.diag(judge.nodes.points))
        residual = unit.residual * (judge.rough / np.sqrt(n - 1))
        self._n, self._size = n, len(spread)
        self._reach, self._allowance, self._most = judge.reach, judge.allowance, float(spread.max())
        # The last column is multiplied by one.
        rows = np.zeros((self._size + n, n + 1))
        rows[:, :n] = np.vstack([_PER_UNIT * at_nodes.mean, residual])
        rows[: self._size, n] = _ONE
        self._rows = rows.astype(np.float32)
        self._ends = np.float32(_ONE + _PER_UNIT * _LOWEST), np.float32(_ONE + _PER_UNIT * RISE)
        weights = np.maximum(np.exp(judge.nodes.log_weights), _LIGHTEST)
        self._node_weights = np.stack([weights, weights * spread]).astype(np.float32)
        # What one unit in the largest absolute value adds, by rounding, to a mean and to the root of an amplitude.
        self._mean_size = float(np.abs(at_nodes.mean).sum(axis=1).max())
        self._root_size = float(np.sqrt(np.sum(np.abs(residual).sum(axis=1) ** 2)))
        self._values = np.ones((n + 1, _CHUNK), dtype=np.float32)
        self._product = np.empty((len(rows), _CHUNK), dtype=np.float32)
        self._bits = np.empty((self._size, _CHUNK), dtype=np.int32)

    def __call__(self, values: FloatArray | NDArray[np.float32], error: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Log evidences (m,) of values (n, m), and upper bounds of them.

        Parameters
        ----------
        values : (n, m) array
            Log likelihoods.
        error : float
            The most by which they may be wrong.
        """
        m = values.shape[1]
        top = values.max(axis=0)
        amplitude, total, spread = np.empty((3, m))
        depth = 0.0
        for start in range(0, m, _CHUNK):
            some = slice(start, min(start + _CHUNK, m))
            deepest, amplitude[some], total[some], spread[some] = self._sums(values[:, some], top[some])
            depth = max(depth, deepest)

        # Roundings of the products, of the sums, and of values that are themselves not exact.
        wrong = (self._n + 4) * _ROUNDING * depth + error
        in_log = self._mean_size * wrong + (self._n + 4) * _ROUNDING * 127.0 * np.log(2.0)
        in_log += (self._size + 4) * _ROUNDING + error
        root = (1.0 + (self._n + 8) * _ROUNDING) * np.sqrt(amplitude) + self._root_size * wrong
        mean_spread = np.minimum(np.exp(2.0 * in_log) * _LARGEST_EXCESS * spread / total, self._most)
        log_total = np.log(total)
        mean_spread[log_total < _UNSEEN] = self._most
        variance = root**2 * mean_spread
        half = 0.5 * np.minimum(variance, EXPANDED)
        below = self._reach * np.sqrt(variance)
        above = np.where(variance < 1.0, below + half, np.maximum(below, (self._reach + 1.0) * half))
        log_total += top
        centre = log_total - np.log(_MEAN_EXCESS) + 0.5 * (above - below)
        return centre, log_total + above + (in_log + self._allowance)

    def _sums(
        self, values: FloatArray | NDArray[np.float32], top: FloatArray | NDArray[np.float32]
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return the largest distance of a value from the largest of its model, amplitudes, and sums over the nodes.

        The sums are those of exp(mean) and of c(x, x) exp(mean), both too large by the excess of a straight line.
        """
        n, m = values.shape
        f = self._values[:, :m]
        with np.errstate(invalid="ignore"):
            np.subtract(values, top, out=f[:n], casting="same_kind")
        depth = -float(f[:n].min())
        if not depth <= DEPTH:
            # As for the judge: what is far below is raised, and so are likelihoods of zero.
            nothing = np.isneginf(top)
            f[:n] = levelled(np.where(nothing, 0.0, values - np.where(nothing, 0.0, top)))
            depth = -float(f[:n].min())
        product, bits = self._product[:, :m], self._bits[:, :m]
        np.matmul(self._rows, f, out=product)
        node, e = product[: self._size], product[self._size :]
        # As for the judge, the mean is capped above the largest value seen.
        np.clip(node, *self._ends, out=node)
        np.copyto(bits, node, casting="unsafe")
        total, spread = self._node_weights @ bits.view(np.float32)
        return depth, np.einsum("nm,nm->m", e, e), total, spread


@dataclass(frozen=True, eq=False)
class Found:
    """Models that may be among the best, and the weight of those that may not."""

    models: IntArray  # (m, size)
    centre: FloatArray  # (m,)
    width: FloatArray  # (m,)
    dropped: int
    log_dropped: float
    capped: bool = False  # whether models were dropped for their number alone

    @classmethod
    def nothing(cls, size: int, dropped: int = 0, log_dropped: float = -np.inf) -> Found:
        """Return that no model of a size was found, but some dropped."""
        return cls(np.empty((0, size), dtype=np.intp), np.empty(0), np.empty(0), dropped, log_dropped)

    @staticmethod
    def merge(found: Iterable[Found]) -> Found:
        """Return what several have found together."""
        every = list(found)
        return Found(
            np.concatenate([f.models for f in every]),
            np.concatenate([f.centre for f in every]),
            np.concatenate([f.width for f in every]),
            sum(f.dropped for f in every),
            float(logsumexp([f.log_dropped for f in every])),
            any(f.capped for f in every),
        )

    def keep(self, top: int, most: int) -> Found:
        """Drop models whose upper bound is below the lower bounds of `top` others; of the rest keep `most` at most."""
        return self.only(self.centre + self.width >= threshold(self.centre - self.width, top)).at_most(most)

    def at_most(self, most: int) -> Found:
        """Keep the `most` models whose upper bounds are the largest."""
        if len(self.models) <= most:
            return self
        kept = np.zeros(len(self.models), dtype=bool)
        kept[np.argsort(-(self.centre + self.width), kind="stable")[:most]] = True
        return replace(self.only(kept), capped=True)

    def in_order(self) -> Found:
        """Return the same models in lexicographic order."""
        order = np.lexsort(self.models.T[::-1])
        return replace(self, models=self.models[order], centre=self.centre[order], width=self.width[order])

    def only(self, kept: BoolArray) -> Found:
        """Drop the models that are not `kept`."""
        lost = np.append(self.centre[~kept], self.log_dropped)
        return Found(
            self.models[kept], self.centre[kept], self.width[kept], self.dropped + int(np.sum(~kept)),
            float(logsumexp(lost)), self.capped,
        )  # fmt: skip


def threshold(lower: FloatArray, top: int) -> float:
    """Return the `top`-th largest lower bound: what an upper bound must reach to be among the `top` best."""
    return float(np.partition(lower, -top)[-top]) if len(lower) >= top else -np.inf


@dataclass(frozen=True, eq=False)
class Look:
    """One round of a screen.

    Attributes
    ----------
    judge : Judge
        With a kernel.
    floor : float
        Models whose log evidence is certainly below are dropped.
    top : int
        How many of the best models must not be lost.
    most : int
        Models to keep at most.
    last : bool
        Whether the judge has the last word. Before the last round the sieves of fewer nodes are all that models pass:
        the judge takes twice as long for a model as the likelihoods of the next round.
    """

    judge: Judge
    floor: float
    top: int
    most: int
    last: bool = True

    def kept(self, found: Found) -> Found:
        """Drop what the others found make certain not to be among the best, which takes the intervals of the judge."""
        return found.keep(self.top, self.most) if self.last else found.at_most(self.most)


class Sifter:
    """Takes blocks of models, and keeps those that may be among the best.

    The sieves look at all models of a block. In the last round those that they leave are collected until there are
    enough for the judge, which takes about as long for ten models as for a thousand.

    Parameters
    ----------
    look : Look
        The round.
    size : int
        Enzymes in a model.
    """

    def __init__(self, look: Look, size: int) -> None:
        self._look, self._size = look, size
        chain = look.judge.chain()
        self._sieves = [Sieve(each) for each in (chain if look.last else chain[:-1] or chain)]
        self._waiting: list[tuple[FloatArray, IntArray, BoolArray]] = []
        self._found: list[Found] = []

    def add(
        self,
        values: FloatArray | NDArray[np.float32],
        models: Callable[[IntArray], IntArray],
        *,
        counted: BoolArray | None = None,
        doubtful: BoolArray | None = None,
        error: float = 0.0,
    ) -> None:
        """Take the values of a block of models.

        Parameters
        ----------
        values : (n, m) array
            Log likelihoods.
        models : callable
            Returns the models at some places of the block, (k,) to (k, size).
        counted : (m,) bool array, optional
            Which places of the block are models; all by default.
        doubtful : (m,) bool array, optional
            Which values may be wrong: such models are kept whatever the values are.
        error : float, optional
            The most by which the other values may be wrong.
        """
        at = np.arange(values.shape[1]) if counted is None else np.flatnonzero(counted)
        some = values if counted is None else values[:, at]
        centre = upper = np.empty(0)
        for sieve in self._sieves:
            centre, upper = sieve(some, error)
            promising = upper >= self._look.floor
            if doubtful is not None:
                promising |= doubtful[at]
            lost = centre[~promising]
            self._found.append(Found.nothing(self._size, len(lost), _log_sum(lost)))
            at, centre, upper = at[promising], centre[promising], upper[promising]
            some = values[:, at]
        if not len(at):
            return
        which = np.zeros(len(at), dtype=bool) if doubtful is None else doubtful[at]
        if not self._look.last:
            with np.errstate(invalid="ignore"):  # of a likelihood that is zero at every point
                width = np.where(np.isneginf(upper), 0.0, upper - centre)
            self._found.append(Found(models(at), centre, np.where(which, np.inf, width), 0, -np.inf))
            return
        self._waiting.append((some.astype(np.float64), models(at), which))
        if sum(len(waiting[1]) for waiting in self._waiting) >= AT_ONCE:
            self._decide()

    def found(self) -> Found:
        """Return what may be among the best, and the weight of the rest."""
        self._decide()
        return self._look.kept(Found.merge([Found.nothing(self._size), *self._found]))

    def _decide(self) -> None:
        if not self._waiting:
            return
        values, models, doubtful = (
            np.concatenate(part, axis=axis)
            for part, axis in zip(zip(*self._waiting, strict=True), (1, 0, 0), strict=True)
        )
        self._waiting = []
        centre, width = self._look.judge(values)
        width = np.where(doubtful, np.inf, width)
        self._found.append(Found(models, centre, width, 0, -np.inf).only(centre + width >= self._look.floor))


def _log_sum(logs: FloatArray) -> float:
    """Return the log of the sum of exponentials, -inf of none."""
    if not len(logs):
        return -np.inf
    top = float(logs.max())
    return top + float(np.log(np.sum(np.exp(logs - top)))) if np.isfinite(top) else top
