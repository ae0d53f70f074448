r"""The linear regression hidden in the kinetics: rates Y, columns of X(K), and projections on them.

Given K the rates are linear in V. With a prior V | sigma ~ N(1, N sigma^2 (X'X)^-1) only two things about X
matter: its column space, and the predicted rates X1 at the prior mean. With P the projector on the column space,

.. math::
    2 (N+1)\, b_N = (N+1)\, \lVert (I-P) Y \rVert^2 + \lVert P (Y - X 1) \rVert^2,

which equals the paper's b_N and is a sum of squares: nothing cancels, and nothing asks that X'X be
invertible. When X has rank r < d the same expression is the marginal under the prior
V ~ N(1, N sigma^2 (X'X)^+), and the determinant contributes (N+1)^(-r/2).

A basal rate, at which the substrate is phosphorylated without any of the enzymes, is a further column
:math:`y_S / (y_S + 1)` of every model. Its coefficient has a flat prior, as intercepts have, and is integrated out:
Y and X(K) are turned so that the column is the first axis, and the first row is dropped. N is then one less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .dataset import Dataset
from .replicates import Replicates

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

# A column whose part outside the span of the others is shorter than this, relative to the column, is dependent. At
# this limit rounding alone (2e-16) turns that part by 2e-6; far below it the likelihood would be noise.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Increments:
    """Conditions that share V and sigma: Y and the levels at the start of each of their N intervals, stacked.

    Attributes
    ----------
    rates : (N,) array
        Y, the observed rates of change of the phosphorylated substrate.
    substrate, phospho : (N,) array
        Levels at the start of the intervals.
    enzymes : (N, E) array
        Levels divided by `unit`, the largest of each enzyme (1 for a silent one), so that squares stay in range.
    unit : (E,) array
        See `enzymes`.
    weight : (N,) array, optional
        By what Y and X(K) are multiplied, row by row: the root of the number of replicates, which `rates` are already
        multiplied by. None: 1 everywhere.
    scatter : int
        How many of the last rows are scatter of replicates: their weight is 0, and they inform sigma alone.
    basal : (N,) array, optional
        Unit vector along the column of a basal rate. `rates` are then turned, one row fewer, and so is every column.
    along_basal : float
        What the measured rates have along it.
    log_odds : (E,) array, optional
        Log prior odds of each enzyme, by which likelihoods of its models are raised; None: 0.
    """

    rates: FloatArray
    substrate: FloatArray
    phospho: FloatArray
    enzymes: FloatArray
    unit: FloatArray
    weight: FloatArray | None = None
    scatter: int = 0
    basal: FloatArray | None = None
    along_basal: float = 0.0
    log_odds: FloatArray | None = None

    @property
    def n(self) -> int:
        """N, less one with a basal rate."""
        return len(self.rates)

    @property
    def rows(self) -> int:
        """N."""
        return len(self.substrate)

    @property
    def means(self) -> int:
        """Number of the first rows, which are rates of intervals and not the scatter of replicates."""
        return self.rows - self.scatter

    @property
    def measured(self) -> FloatArray:
        """The rates as they were measured, times `weight`, (N,)."""
        if self.basal is None:
            return self.rates
        return np.asarray(self.turned_back(self.rates[None])[0] + self.along_basal * self.basal)

    def constants(self, points: FloatArray, size: int) -> FloatArray:
        """Return the constants of models with `size` enzymes at the points of their measure: K_0, K_1, ..."""
        return points

    def odds(self, enzymes: IntArray) -> FloatArray | float:
        """Log prior odds of some enzymes, in the shape of `enzymes`."""
        return 0.0 if self.log_odds is None else self.log_odds[enzymes]

    def with_basal(self) -> Increments:
        """Return the same with a basal rate in every model; unchanged where there was no substrate, or no rate."""
        column = self._saturation(self.substrate, np.ones(1))[0]
        length = float(np.sqrt(column @ column))
        if not length > 0.0 or not self.rates.any():
            return self
        basal = column / length
        part = replace(self, basal=basal, along_basal=float(basal @ self.rates))
        return replace(part, rates=part.turned(self.rates[None])[0])

    def turned(self, x: FloatArray) -> FloatArray:
        """Turn arrays (m, N, ...) so that the basal column is the first axis, and drop that: (m, N - 1, ...)."""
        return x if self.basal is None else self._mirrored(x)[:, 1:]

    def turned_back(self, x: FloatArray) -> FloatArray:
        """Undo `turned`; nothing lies along the basal column."""
        if self.basal is None:
            return x
        return self._mirrored(np.concatenate([np.zeros_like(x[:, :1]), x], axis=1))

    def _mirrored(self, x: FloatArray) -> FloatArray:
        """Reflect (m, N, ...) at the plane that exchanges the basal column and the first axis (Householder)."""
        assert self.basal is not None
        normal = self.basal.copy()
        normal[0] += 1.0  # no entry of the column is negative: nothing cancels
        normal /= np.sqrt(normal @ normal)
        flat = x.reshape(*x.shape[:2], -1)
        return np.asarray(flat - 2.0 * normal[:, None] * (normal @ flat)[:, None]).reshape(x.shape)

    @property
    def root(self) -> FloatArray:
        """`weight` of the intervals, (means,)."""
        return np.ones(self.means) if self.weight is None else self.weight[: self.means]

    def dephosphorylation(self, k: FloatArray) -> FloatArray:
        """Column 0, -y_S* / (y_S* + K_0), for every K_0 in k: (n, N)."""
        return -self.turned(self._saturation(self.phospho, k))

    def phosphorylation(self, k: FloatArray, enzymes: IntArray) -> FloatArray:
        """Columns y_Ej y_S / (y_S + K_j), in units of `unit`, for every K_j in k: (n, N, len(enzymes))."""
        return self.turned(self._saturation(self.substrate, k)[:, :, None] * self.enzymes[:, enzymes])

    def designs(self, index: IntArray, points: FloatArray) -> FloatArray:
        """X(K) of model index[i] at K = points[i]: (m, N, d) for index (m, d - 1) and points (m, d)."""
        x = np.empty((len(points), self.rows, points.shape[1]))
        x[:, :, 0] = -self._saturation(self.phospho, points[:, 0])
        for j in range(1, points.shape[1]):
            enzyme = index[:, j - 1]
            levels = (self.enzymes[:, enzyme] * self.unit[enzyme]).T
            x[:, :, j] = self._saturation(self.substrate, points[:, j]) * levels
        return self.turned(x)

    def _saturation(self, level: FloatArray, k: FloatArray) -> FloatArray:
        """Return weight times level / (level + k), (len(k), N); 0 at level 0 even where k is 0 (the limit k -> 0+)."""
        below = level + k[:, None]
        part = np.divide(level, below, out=np.zeros_like(below), where=level > 0)
        if self.weight is not None:
            part *= self.weight
        return part


def increments(data: Dataset) -> tuple[Increments, ...]:
    """Return the increments of every group of conditions that share the rates V and the noise sigma.

    Given K, the rates of several conditions with the same V and sigma are one regression: Y and the rows of X(K) are
    stacked, N is the number of all increments, and the marginal likelihood is the same function of them as for one.
    """
    if data.explained == "levels":
        from .courses import courses

        return courses(data)
    rows, used, slopes = data.rows(), data.used, data.slopes
    result = []
    for members in data.groups:
        start = np.concatenate([rows[i][used[rows[i]]] for i in members])
        enzymes = data.enzymes[start]
        largest = enzymes.max(axis=0, initial=0.0)
        unit = np.where(largest > 0, largest, 1.0)
        part = Increments(slopes[start], data.substrate[start], data.phospho[start], enzymes / unit, unit)
        part = part if data.replicates is None else _replicated(part, data.replicates.take(start))
        result.append(part.with_basal() if data.basal else part)
    if data.log_odds is not None:  # once: log likelihoods of groups are added up
        result[0] = replace(result[0], log_odds=data.log_odds)
    return tuple(result)


def _replicated(part: Increments, replicates: Replicates) -> Increments:
    """Return increments with the weights of their means, and with the rows that stand for the scatter of replicates."""
    root, freedom = np.sqrt(replicates.weight), replicates.freedom
    # Only the sum of squares of an interval matters: it is spread evenly over its rows.
    scatter = np.repeat(np.sqrt(replicates.squares / np.maximum(freedom, 1)), freedom)
    none = np.zeros(len(scatter))
    return Increments(
        np.concatenate([root * part.rates, scatter]),
        np.concatenate([part.substrate, none]),
        np.concatenate([part.phospho, none]),
        np.concatenate([part.enzymes, np.zeros((len(scatter), part.enzymes.shape[1]))]),
        part.unit,
        np.concatenate([root, none]),
        len(scatter),
    )


@dataclass(frozen=True, eq=False)
class Base:
    """Column 0 at n design points, and what it leaves of Y.

    Attributes
    ----------
    direction : (n, N) array
        Unit vector q along column 0, or 0 where the column vanishes.
    along : (n,) array
        q'(Y - x_0).
    rest : (n, N) array
        (I - qq') Y.
    live : (n,) bool array
        Whether column 0 is not 0.
    """

    direction: FloatArray
    along: FloatArray
    rest: FloatArray
    live: BoolArray

    @classmethod
    def at(cls, data: Increments, k: FloatArray) -> Base:
        """Project for every K_0 in k."""
        x = data.dephosphorylation(k)
        length = np.sqrt(np.einsum("nt,nt->n", x, x))
        live = length > 0
        q = x / np.where(live, length, 1.0)[:, None]
        along = q @ data.rates
        rest = data.rates - along[:, None] * q
        rest -= np.einsum("nt,nt->n", q, rest)[:, None] * q
        return cls(q, along - length, rest, live)


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of several enzymes at n design points, made orthogonal to column 0.

    Attributes
    ----------
    direction : (n, N, u) array
        Unit vectors along (I - qq') x_j, or 0 where x_j depends on column 0.
    length : (n, u) array
        Of (I - qq') x_j; 0 where it depends on column 0.
    along : (n, u) array
        q'x_j.
    rate : (n, u) array
        direction'Y.
    live : (n, u) bool array
        Whether x_j is independent of column 0.
    """

    direction: FloatArray
    length: FloatArray
    along: FloatArray
    rate: FloatArray
    live: BoolArray

    @classmethod
    def at(cls, data: Increments, base: Base, k: FloatArray, enzymes: IntArray) -> Columns:
        """Project the columns of these enzymes for every K_j in k."""
        x = data.phosphorylation(k, enzymes)
        full = np.sqrt(np.einsum("ntu,ntu->nu", x, x))
        q = base.direction[:, None, :]
        along = (q @ x)[:, 0]
        x -= base.direction[:, :, None] * along[:, None, :]
        # The second projection removes what rounding left of q in a column almost parallel to it.
        again = (q @ x)[:, 0]
        x -= base.direction[:, :, None] * again[:, None, :]
        length = np.sqrt(np.einsum("ntu,ntu->nu", x, x))
        live = length > RANK_TOLERANCE * full
        x *= np.where(live, 1.0 / np.where(live, length, 1.0), 0.0)[:, None, :]
        unit = data.unit[enzymes]
        rate = (base.rest[:, None, :] @ x)[:, 0]
        return cls(x, np.where(live, length, 0.0) * unit, (along + again) * unit, rate, live)


def projected_squares(x: FloatArray, y: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """2 (N+1) b_N and the rank, from design matrices, by Gram-Schmidt with every column orthogonalised twice.

    Parameters
    ----------
    x : (m, N, d) array
        Design matrices; column 0 first.
    y : (N,) array
        Rates.

    Returns
    -------
    squares : (m,) array
        (N+1) |(I-P) y|^2 + |P (y - x 1)|^2.
    rank : (m,) int array
        Number of independent columns.
    """
    m, n, d = x.shape
    basis = np.zeros((m, n, d))
    rest = np.broadcast_to(y, (m, n)).copy()
    prior = y - x.sum(axis=2)
    squares = np.zeros(m)
    rank = np.zeros(m, dtype=np.int64)
    for j in range(d):
        largest = np.abs(x[:, :, j]).max(axis=1, initial=0.0)
        v = x[:, :, j] / np.where(largest > 0, largest, 1.0)[:, None]
        full = np.sqrt(np.einsum("mt,mt->m", v, v))
        for _ in range(2):
            v = v - np.einsum("mtj,mj->mt", basis[:, :, :j], np.einsum("mtj,mt->mj", basis[:, :, :j], v))
        length = np.sqrt(np.einsum("mt,mt->m", v, v))
        live = length > RANK_TOLERANCE * full
        v *= np.where(live, 1.0 / np.where(live, length, 1.0), 0.0)[:, None]
        basis[:, :, j] = v
        rest -= np.einsum("mt,mt->m", v, rest)[:, None] * v
        squares += np.einsum("mt,mt->m", v, prior) ** 2
        rank += live
    squares += (n + 1) * np.einsum("mt,mt->m", rest, rest)
    return squares, rank
