"""The points a design searches: candidate sets, the potential on them, and linear oracles."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import daxpy

from .. import _frozen, _validate
from ..measures import Empirical
from .base import FloatArray

if TYPE_CHECKING:
    from ..embeddings import Embedding

DEFAULT_CANDIDATES = 10_000  # the lower end of what the paper uses (10,000 to 50,000)
_VECTORS = 4  # vectors over the candidates that every search holds: mean, diagonal, potential, order
BLOCK = 32_768  # rows per block: potential, mean and column stay in a cache, and calls cost little beside the work


def candidate_points(
    embedding: Embedding, candidates: int | ArrayLike | None = None, rng: np.random.Generator | int | None = None
) -> FloatArray:
    """Return the candidates of a design.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    candidates : int or (M, d) array, optional
        The candidates, or how many to draw from the measure (10,000 by default). Of an `Empirical` measure the
        default is every sample point, and a number M smaller than the sample takes M of its points at random without
        replacement, in the order of the sample.
    rng : numpy.random.Generator or int, optional
        Where the draws come from.

    Returns
    -------
    (M, d) array
        Read-only, C-contiguous.
    """
    measure = embedding.measure
    if candidates is None and isinstance(measure, Empirical):
        points = measure.points
    elif candidates is None or np.isscalar(candidates) or (isinstance(candidates, np.ndarray) and candidates.ndim == 0):
        m = _validate.count(DEFAULT_CANDIDATES if candidates is None else candidates, "candidates")
        _validate.fits_in_memory(m, embedding.dim + _VECTORS, "candidates", "candidates")
        rng = _validate.generator(rng)
        if not isinstance(measure, Empirical):
            points = measure.sample(m, rng)
        elif m >= len(measure.points):
            points = measure.points
        else:
            points = measure.points[np.sort(rng.choice(len(measure.points), m, replace=False))]
    else:
        points = _validate.points(candidates, "candidates", embedding.dim)
        _validate.at_least_one_point(points, "candidates")
    return _frozen.readonly(points)


class FirstRow:
    """Find the first row of `points` that equals a given row: repeated candidates count as one.

    Equal rows need not have equal potentials to the last bit (vectorised loops round their remainders differently), so
    ties between them are settled here and not by argmin.
    """

    def __init__(self, points: FloatArray) -> None:
        self._points = points
        self._order = np.argsort(points[:, 0], kind="stable")
        self._keys = points[self._order, 0]

    def __call__(self, row: int) -> int:
        """Return the lowest index of a row equal to `points[row]`."""
        i = int(self._keys.searchsorted(self._points[row, 0]))
        while True:
            j = int(self._order[i])
            if j == row or (self._points[j] == self._points[row]).all():
                return j
            i += 1


class Potential:
    r"""The function :math:`h = g - \mu_p`, :math:`g = \sum_l w_l\,k(\cdot, x_l)`, kept up to date on the candidates.

    Held as h = scale * sum, so that a Frank-Wolfe step h <- (1 - rho) h + rho (k(., x) - mu_p) is two in-place
    additions to `sum`; done in blocks that fit a cache, each with its kernel column and its least value: O(M) time and
    memory, one kernel column and no allocation per step.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    candidates : (M, d) array
        Where h is held.
    stored_bytes : int
        How much memory may be used to keep the columns of the atoms, for algorithms that change their weights again
        and again. Columns that are not kept are computed anew.

    Attributes
    ----------
    candidates : (M, d) array
    mean : (M,) array
        mu_p at the candidates.
    diagonal : (M,) array
        k(x, x) at the candidates.
    """

    def __init__(self, embedding: Embedding, candidates: FloatArray, stored_bytes: int = 0) -> None:
        self.embedding = embedding
        self.candidates = candidates
        m = len(candidates)
        bounds = np.linspace(0, m, -(-m // BLOCK) + 1).astype(int).tolist()
        self._blocks = [slice(a, b) for a, b in itertools.pairwise(bounds)]
        self.mean = np.concatenate([embedding.mean(candidates[s]) for s in self._blocks])
        self.diagonal = np.concatenate([embedding.kernel.diag(candidates[s]) for s in self._blocks])
        self._columns = [embedding.kernel.columns(candidates[s]) for s in self._blocks]
        self._max_stored = stored_bytes // (8 * m)
        self._first = FirstRow(candidates)
        self._sum = np.empty(m)
        buffer = np.empty(max(s.stop - s.start for s in self._blocks))
        self._views = [(self._sum[s], self.mean[s], buffer[: s.stop - s.start]) for s in self._blocks]
        self.reset()

    def reset(self) -> None:
        """Return to g = 0 and forget all atoms."""
        self._atoms: list[FloatArray] = []
        self._coefficients: list[float] = []
        self._stored: dict[int, FloatArray] = {}
        self._clear()

    def _clear(self) -> None:
        self._coefficients = [0.0] * len(self._atoms)
        np.negative(self.mean, out=self._sum)
        self._scale = 1.0
        self._least = int(np.argmin(self._sum))

    @property
    def values(self) -> FloatArray:
        """Return h at the candidates, (M,)."""
        return self._scale * self._sum

    def argmin(self) -> int:
        """Return the candidate where h is least; the lowest index among equal points."""
        return self._first(self._least)

    def least(self) -> float:
        """Return the least value of h on the candidates."""
        return self.at(self._least)

    def at(self, row: int) -> float:
        """Return h at one candidate."""
        return self._scale * float(self._sum[row])

    def first_row(self, row: int) -> int:
        """Return the lowest index of a candidate equal to candidate `row`."""
        return self._first(row)

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return h at any points, (n,)."""
        h = -self.embedding.mean(x)
        if self._atoms:
            h += self.embedding.kernel(x, np.array(self._atoms)) @ (self._scale * np.array(self._coefficients))
        return h

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient of h at any points, (n, d)."""
        out = -self.embedding.mean_gradient(x)
        if self._atoms:
            weights = self._scale * np.array(self._coefficients)
            out += self.embedding.kernel.gradient_sum(x, np.array(self._atoms), weights)
        return out

    def add_atom(self, point: FloatArray) -> int:
        """Give `point` a place among the atoms of g, with weight zero, and return its number."""
        self._atoms.append(point)
        self._coefficients.append(0.0)
        return len(self._atoms) - 1

    def step(self, atom: int, rho: float) -> None:
        """Take the step g <- (1 - rho) g + rho k(., x), x the atom of that number."""
        if rho == 1.0:
            self._clear()
            self._add([(atom, 1.0)], 0.0)
        elif rho > 0.0:
            scale = self._scale * (1.0 - rho)
            if scale < 1e-100:  # many long steps: bring the scale back before it underflows
                self._sum *= scale
                self._coefficients = [scale * c for c in self._coefficients]
                scale = 1.0
            self._scale = scale
            self._add([(atom, rho / scale)], rho / scale)

    def shift(self, changes: Iterable[tuple[int, float]]) -> None:
        """Add `change` to the weight of each `atom` in pairs (atom, change)."""
        self._add([(atom, change / self._scale) for atom, change in changes], 0.0)

    def _add(self, changes: list[tuple[int, float]], mean_coefficient: float) -> None:
        """Add sum_l c_l k(., x_l) - mean_coefficient * mu to the sum and find its least entry."""
        for atom, coefficient in changes:
            self._coefficients[atom] += coefficient
            if self._max_stored and atom not in self._stored and len(self._stored) < self._max_stored:
                point = self._atoms[atom]
                self._stored[atom] = np.concatenate([column(point) for column in self._columns])
        least = np.inf
        for block, column, (total, mean, buffer) in zip(self._blocks, self._columns, self._views, strict=True):
            for atom, coefficient in changes:
                k = self._stored[atom][block] if atom in self._stored else column(self._atoms[atom], buffer)
                daxpy(k, total, a=coefficient)
            if mean_coefficient:
                daxpy(mean, total, a=-mean_coefficient)
            row = int(total.argmin())
            if total[row] < least:
                least, self._least = total[row], block.start + row


LinearOracle = Callable[[Potential], "int | FloatArray"]


def candidate_oracle(potential: Potential) -> int:
    """Return the candidate where the potential is least."""
    return potential.argmin()


def refined_oracle(potential: Potential) -> int | FloatArray:
    r"""Return a local minimiser of the potential, found from the best candidate by L-BFGS with analytic gradients.

    .. math:: x = \arg\min_x \; \sum_l w_l\,k(x, x_l) - \mu_p(x)

    within the bounds of the measure's support; the best candidate itself where nothing lower was found.
    """
    from scipy.optimize import Bounds, minimize

    row = potential.argmin()
    start = potential.candidates[row]
    measure = potential.embedding.measure
    scale = np.maximum(measure.scale, np.finfo(float).tiny)
    # L-BFGS stops at absolute gradients: in units of the kernel, so that multiplying it changes nothing.
    unit = float(potential.diagonal.max()) or 1.0

    def objective(u: FloatArray) -> tuple[float, FloatArray]:
        x = (u * scale)[None, :]
        return float(potential(x)[0]) / unit, potential.gradient(x)[0] / unit * scale

    lower, upper = measure.lower / scale, measure.upper / scale
    u0 = np.clip(start / scale, lower, upper)
    found = minimize(objective, u0, jac=True, method="L-BFGS-B", bounds=Bounds(lower, upper), options={"maxiter": 50})
    x: FloatArray = np.clip(found.x * scale, measure.lower, measure.upper)
    return x if float(potential(x[None, :])[0]) < float(potential(start[None, :])[0]) else row


ORACLES: dict[str, LinearOracle] = {"candidates": candidate_oracle, "refined": refined_oracle}
