"""Log likelihoods of blocks of pairs, by the closed form that `fwbq.chema.pairs` states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .kinetics import BoolArray, FloatArray, Increments, IntArray

# Pairs of a block: at one point an array of them is 260 kB in float64, so that two fit in a second-level cache. Larger
# and smaller blocks were slower.
ROWS, COLUMNS = 128, 256
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
        # How far each penalty is below the largest: zero, unless the column of an enzyme depends on the others.
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


def places_in(rows: slice, columns: slice, first: int, at: IntArray) -> IntArray:
    """Return the enzymes (k, 2) of the pairs at some places (k,) of a block; rows and columns count from `first`."""
    a, b = np.divmod(at, columns.stop - columns.start)
    return np.stack([first + rows.start + a, first + columns.start + b], axis=1)


def above_diagonal(rows: slice, columns: slice) -> BoolArray | None:
    """Return which places of a block are pairs (a, b) with a < b; None: all of them."""
    if rows.stop <= columns.start:
        return None
    return np.asarray(np.arange(rows.start, rows.stop)[:, None] < np.arange(columns.start, columns.stop)).ravel()
