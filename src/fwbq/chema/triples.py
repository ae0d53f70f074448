r"""All triples of hundreds of enzymes: for each third enzyme, the pairs of the others by one matrix product.

At one design point let q be the direction of column 0 and e that of the third enzyme's column made orthogonal to it.
With the columns of the other two made orthogonal to both, of unit directions d and lengths l,

.. math::
    2(N+1) b_N = A_a + B_b - 2 u_a\, q'x_b - 2 v_a\, e'x_b + 2 c\, l_a l_b - N \frac{(r_b - c\, r_a)^2}{1 - c^2},

with :math:`u_a = q'(Y - x_0 - x_c - x_a)`, :math:`v_a = e'(Y - x_c - x_a)` and the rest as for pairs
(:mod:`fwbq.chema.pairs`): what a third enzyme adds to the formula is one more direction in the part that is linear.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from math import comb

import numpy as np

from .._threads import one_blas_thread
from .dataset import Dataset
from .kinetics import Base, BoolArray, Columns, FloatArray, Increments, IntArray, increments
from .likely import any_sets, likely
from .pair_blocks import (
    COLLINEAR,
    COLUMNS,
    ROWS,
    BlockLikelihood,
    Factors,
    above_diagonal,
    constant_part,
    places_in,
    unit_of,
)
from .sifter import Found, Look, Sifter

__all__ = ["Triples"]

# Triples of a task of an executor at least: a fraction of a second. Fixed, so that the answer does not depend on it.
_TASK = 20_000


@dataclass(frozen=True, eq=False)
class Triples:
    """All triples of the enzymes of a data set: those with the same last enzymes are one task of an executor.

    Parameters
    ----------
    dataset : Dataset
        The data.
    """

    dataset: Dataset

    @property
    def size(self) -> int:
        """Enzymes in a model."""
        return 3

    @property
    def truncated(self) -> bool:
        """False: only the closed form of the paper is as fast as this."""
        return False

    def __len__(self) -> int:
        return comb(self.dataset.n_enzymes, 3)

    @property
    def gain(self) -> float:
        """How many times quicker a likelihood is in the first round: 0.03 against 0.21 microseconds."""
        return 7.0

    def pilot(self) -> IntArray:
        """Return some models that are likely to be good."""
        return likely(self.dataset, 3)

    def sample(self, count: int) -> IntArray:
        """Return some triples of any kind."""
        return any_sets(self.dataset, 3, count)

    def parts(self) -> Iterable[range]:
        """Return runs of last enzymes with some ten thousand triples each, those with the most triples first."""
        last = self.dataset.n_enzymes
        while last > 2:
            first = last - 1
            while first > 2 and comb(last, 3) - comb(first, 3) < _TASK:
                first -= 1
            yield range(first, last)
            last = first

    def found(self, look: Look, part: range) -> tuple[Found, int]:
        """Return what may be among the best of the triples that end with some enzymes, and how many these are."""
        count = comb(part.stop, 3) - comb(part.start, 3)
        return _found(self.dataset, look, part), count


@one_blas_thread
def _found(dataset: Dataset, look: Look, thirds: range) -> Found:
    parts, sifter = increments(dataset), Sifter(look, 3)
    for third in thirds:
        sides = [sides_beside(part, look.judge.points, np.arange(third), third) for part in parts]
        kernel = BlockLikelihood([left for left, _, _ in sides], [right for _, right, _ in sides], constant_part(parts))
        dependent = np.any([which for _, _, which in sides], axis=0)
        for i in range(0, third, ROWS):
            rows = slice(i, min(i + ROWS, third))
            for j in range(i, third, COLUMNS):
                columns = slice(j, min(j + COLUMNS, third))
                block = kernel(rows, columns)
                doubtful = np.logical_or.outer(dependent[rows], dependent[columns]).ravel()
                if block.collinear is not None:
                    doubtful |= block.collinear
                sifter.add(
                    block.values, partial(_with, third, rows, columns), counted=above_diagonal(rows, columns),
                    doubtful=doubtful if doubtful.any() else None, error=block.error,
                )  # fmt: skip
    return sifter.found()


def _with(third: int, rows: slice, columns: slice, at: IntArray) -> IntArray:
    """Return the triples (k, 3) at some places (k,) of a block of pairs beside a third enzyme."""
    return np.column_stack([places_in(rows, columns, 0, at), np.full(len(at), third)])


def sides_beside(
    part: Increments, points: FloatArray, enzymes: IntArray, third: int
) -> tuple[Factors, Factors, BoolArray]:
    """Return both sides of the matrix products of one condition, beside a third enzyme.

    The last array, (len(enzymes),), says which columns depend, to rounding, on that of the third enzyme somewhere.
    """
    base = Base.at(part, points[:, 0])
    beside = Columns.at(part, base, points[:, 3], np.array([third]))
    first, second = (Columns.at(part, base, points[:, j], enzymes) for j in (1, 2))
    left, right = (_Beside.of(side, beside) for side in (first, second))

    across = left.rate - left.length
    u = (base.along - beside.along[:, 0])[:, None] - first.along
    v = (beside.rate - beside.length) - left.along
    rest = base.rest - beside.direction[:, :, 0] * beside.rate
    residual = rest[:, :, None] - left.direction * left.rate[:, None, :]
    own = (part.n + 1) * np.einsum("ntu,ntu->nu", residual, residual) + across**2 + u**2 + v**2
    direction = np.ascontiguousarray(left.direction.transpose(0, 2, 1))
    per_row = [2 * left.length[:, :, None] * direction, -2 * u[:, :, None], -2 * v[:, :, None], own[:, :, None]]
    linear = np.concatenate([*per_row, np.ones((*u.shape, 1))], axis=2)
    lost = 0.5 * np.log(part.n + 1)
    penalty = lost * (first.live.astype(np.float64) + base.live[:, None] + beside.live)
    penalty = penalty - part.odds(enzymes) - part.odds(np.array([third]))
    unit = unit_of(part)
    rows = Factors(part.n, direction, linear / unit, np.sqrt(part.n / unit) * left.rate, penalty)

    own = right.length * (right.length - 2 * right.rate) + second.along**2 + right.along**2
    per_column = [right.length[:, None, :] * right.direction, second.along[:, None], right.along[:, None]]
    linear = np.concatenate([*per_column, np.ones((len(own), 1, own.shape[1])), own[:, None]], axis=1)
    penalty = lost * second.live - part.odds(enzymes)
    columns = Factors(part.n, right.direction, linear, np.sqrt(part.n / unit) * right.rate, penalty)
    return rows, columns, left.dependent | right.dependent


@dataclass(frozen=True, eq=False)
class _Beside:
    """Columns made orthogonal to that of a third enzyme too."""

    direction: FloatArray  # (n, N, u), unit vectors
    length: FloatArray  # (n, u)
    along: FloatArray  # (n, u): e'x
    rate: FloatArray  # (n, u)
    dependent: BoolArray  # (u,): on the third enzyme's column, to rounding, at one of the points

    @classmethod
    def of(cls, side: Columns, third: Columns) -> _Beside:
        e = third.direction
        cosine = np.einsum("nt,ntu->nu", e[:, :, 0], side.direction)
        left = 1.0 - cosine**2
        sine = np.sqrt(np.maximum(left, COLLINEAR))
        direction = (side.direction - e * cosine[:, None, :]) / sine[:, None, :]
        rate = (side.rate - cosine * third.rate) / sine
        dependent = np.asarray((left < COLLINEAR).any(axis=0))
        return cls(direction, side.length * sine, side.length * cosine, rate, dependent)
