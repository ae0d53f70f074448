"""Blended pairwise conditional gradients, with an optional fully corrective step: the best positive weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import nan
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import _frozen, _validate
from .._threads import one_blas_thread
from ..rules import Rule, weighted_rule
from ..rules.simplex import simplex_weights
from .base import Design, FloatArray
from .candidates import ORACLES, LinearOracle, Potential, candidate_points
from .frank_wolfe import chosen_point, first_choice

if TYPE_CHECKING:
    from ..embeddings import Embedding

# Memory for the kernel columns of atoms, whose weights change many times: 3,000 atoms at 10,000 candidates.
STORED_BYTES = 2**28
# Gaps below this part of k(x, x) are rounding.
TOLERANCE = 1e-14
# A fully corrective step leaves the error at most this part above its least value.
RELATIVE_ACCURACY = 1e-8
# Pairwise steps without a new atom after which the weights are re-optimised at once: the steps converge linearly, but
# slowly when the Gram matrix is nearly singular.
PATIENCE = 1000


class ActiveSet:
    r"""A convex combination :math:`g = \sum_l w_l\,k(\cdot, x_l)` of atoms with what its steps need.

    Attributes
    ----------
    points : list of (d,) arrays
        Atoms in order of entry; they keep their place when their weight falls to zero.
    """

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self.points: list[FloatArray] = []
        self._gram = np.empty((16, 16))
        self._mean = np.empty(16)
        self._weights = np.zeros(16)
        self._residual = np.zeros(16)  # (g - mu)(x_l)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def weights(self) -> FloatArray:
        """Weights (n,) of the atoms, on the simplex; a view."""
        return self._weights[: len(self)]

    @property
    def gram(self) -> FloatArray:
        """Gram matrix (n, n) of the atoms; a view."""
        return self._gram[: len(self), : len(self)]

    @property
    def mean(self) -> FloatArray:
        """Mean element (n,) at the atoms; a view."""
        return self._mean[: len(self)]

    @property
    def residual(self) -> FloatArray:
        """Potential g - mu_p (n,) at the atoms; a view."""
        return self._residual[: len(self)]

    @property
    def level(self) -> float:
        """The inner product of g - mu_p with g."""
        return float(self.weights @ self.residual)

    @property
    def mmd2(self) -> float:
        """Squared distance between g and mu_p."""
        return max(float(self.weights @ (self.residual - self.mean)) + self._embedding.variance, 0.0)

    def enter(self, point: FloatArray) -> int:
        """Add an atom with weight zero and return its number."""
        n = len(self)
        if n == len(self._mean):
            gram = np.empty((2 * n, 2 * n))
            gram[:n, :n] = self._gram
            self._gram = gram
            self._mean, self._weights, self._residual = (
                np.concatenate([a, np.zeros(n)]) for a in (self._mean, self._weights, self._residual)
            )
        self.points.append(point)
        row = self._embedding.kernel(point[None, :], np.array(self.points))[0]
        self._gram[n, :n] = self._gram[:n, n] = row[:n]
        self._gram[n, n] = self._embedding.kernel.diag(point[None, :])[0]
        self._mean[n] = self._embedding.mean(point[None, :])[0]
        self._weights[n] = 0.0
        self._residual[n] = float(row[:n] @ self._weights[:n]) - self._mean[n]
        return n

    def start(self) -> None:
        """Give the atoms their best weights on the simplex, from equal ones."""
        self.weights[:] = 1.0 / len(self)
        self._refresh()
        self.correct()

    def toward(self, atom: int) -> float:
        """Take the Frank-Wolfe step to an atom with exact line search and return its length."""
        gap = self.level - self.residual[atom]
        square = self.level + float(self.weights @ self.mean)  # <g, g>
        distance = square - 2.0 * (self.residual[atom] + self.mean[atom]) + self.gram[atom, atom]
        rho = 1.0 if len(self) == 1 else min(gap / distance, 1.0) if gap > 0.0 and distance > 0.0 else 0.0
        self.weights[:] *= 1.0 - rho
        self.weights[atom] += rho
        self.residual[:] += rho * (self.gram[:, atom] - self.mean - self.residual)
        return float(rho)

    def pairwise_gap(self) -> float:
        """Return how much the potential differs between active atoms: the highest minus the lowest."""
        r = self.residual[self.weights > 0.0]
        return float(r.max() - r.min())

    def pairwise_steps(self, least_gap: float, most_steps: int) -> int:
        """Move weight from the highest to the lowest active atom, by exact line search, again and again.

        Ends when the pairwise gap is below `least_gap` or after `most_steps`; returns the number of steps.
        """
        active = np.flatnonzero(self.weights)
        G = np.ascontiguousarray(self.gram[np.ix_(active, active)])
        w, r, diagonal = self.weights[active], self.residual[active], np.diagonal(G)
        steps = 0
        while steps < most_steps:
            away, near = int(r.argmax()), int(r.argmin())
            gap = r[away] - r[near]
            if gap < least_gap or away == near:
                break
            distance = diagonal[away] - 2.0 * G[away, near] + diagonal[near]
            amount = gap / distance if distance > 0.0 else w[away]
            if amount >= w[away]:
                amount = w[away]
            w[near] += amount
            w[away] -= amount
            r += amount * (G[near] - G[away])
            steps += 1
            if w[away] == 0.0:
                self.weights[active] = w
                keep = w > 0.0
                active, w, r = active[keep], w[keep], r[keep]
                G = np.ascontiguousarray(G[np.ix_(keep, keep)])
                diagonal = np.diagonal(G)
        self.weights[active] = w
        self._refresh()
        return steps

    def _refresh(self) -> None:
        self.residual[:] = self.gram @ self.weights - self.mean

    def correct(self) -> None:
        """Put the weights of all atoms at their optimum on the simplex, if that is better than what they are."""
        before, error = self.weights.copy(), self.mmd2
        # J at the weights found exceeds its least value by no more than the gradients that count as zero.
        tolerance = max(RELATIVE_ACCURACY * error / float(np.max(np.diagonal(self.gram))), TOLERANCE)
        variance = self._embedding.variance
        self.weights[:] = simplex_weights(self.gram, self.mean, variance, start=before, tolerance=tolerance)[0]
        self._refresh()
        if self.mmd2 > error:  # within rounding of the optimum
            self.weights[:] = before
            self._refresh()


class BlendedPairwise(Design):
    r"""Blended pairwise conditional gradients: few points, positive weights that sum to one.

    Minimises :math:`\|g - \mu_p\|^2` over convex combinations :math:`g = \sum_l w_l\,k(\cdot, x_l)`. With h = g - mu_p,
    a the active atom of highest h, s that of lowest, and x the candidate of lowest,

    .. math:: h(a) - h(s) \;\ge\; \langle h, g\rangle - h(x)

    means that moving weight from a to s promises more than a Frank-Wolfe step to x: that is done (by exact line search,
    dropping a when its weight is used up), else x enters by a Frank-Wolfe step. With ``corrective=True`` all weights
    are put at their optimum after each entry, so that each set of atoms carries its best positive weights.

    ``take(n)`` are the first n distinct points that entered; ``rule(n)`` holds the weights at the moment when the next
    one asked to come in, so some of the n may have weight zero and are left out.

    For an `Empirical` measure the rule is a weighted coreset of the sample; with a `Stein` kernel it thins the output
    of a Markov chain towards the target rather than towards the chain.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    corrective : bool
        Re-optimise all weights after each entry.
    candidates, initial, oracle, rng
        As in :class:`FrankWolfe`.
    known : (N, d) array_like, optional
        Points that are already there: they are the first atoms, with the best weights on the simplex, and may lose
        their weight to points that come later. Not with `initial`.

    References
    ----------
    Tsuji, Tanaka & Pokutta, "Pairwise conditional gradients without swap steps and sparser kernel herding", ICML 2022.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]))
    >>> rule = fwbq.BlendedPairwise(embedding, candidates=2000, rng=0).rule(30)
    >>> bool((rule.weights > 0).all()), round(float(rule.weights.sum()), 12)
    (True, 1.0)
    >>> rule.mmd2 < fwbq.FrankWolfe(embedding, candidates=2000, rng=0).rule(30).mmd2 / 5
    True
    """

    @one_blas_thread
    def __init__(
        self,
        embedding: Embedding,
        *,
        corrective: bool = False,
        candidates: int | ArrayLike | None = None,
        initial: int | ArrayLike | None = None,
        oracle: Literal["candidates", "refined"] | LinearOracle = "candidates",
        rng: np.random.Generator | int | None = None,
        known: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            embedding, None if known is None else _distinct(_validate.points(known, "known", embedding.dim))
        )
        self._corrective = _validate.flag(corrective, "corrective")
        self._oracle = oracle if callable(oracle) else ORACLES[_validate.choice(oracle, "oracle", tuple(ORACLES))]
        points = candidate_points(embedding, candidates, _validate.generator(rng).spawn(1)[0])
        self._potential = Potential(embedding, points, STORED_BYTES)
        self._initial = first_choice(self._potential, initial, self._known)
        self._snapshots: list[FloatArray] = []
        self._begin()

    @property
    def candidates(self) -> FloatArray:
        """The candidates (M, d)."""
        return self._potential.candidates

    def _rule(self, n: int) -> Rule:
        weights = self._snapshots[n - 1]
        active = weights > 0.0
        return weighted_rule(self._embedding, self._first(n)[active], weights[active])

    def _begin(self) -> None:
        """Start from the known points with their best weights, or from the first atom."""
        self._active = ActiveSet(self._embedding)
        self._potential.reset()
        self._rows: list[int] = []
        self._entry_steps: list[float] = []
        self._unfinished = False
        if not len(self._known):
            self._enter(*chosen_point(self._potential, self._initial, "initial"))
            return
        for point in self._known:
            self._active.enter(point)
            self._potential.add_atom(point)
            self._rows.append(-1)
            self._entry_steps.append(nan)
        with self._reweighting():
            self._active.start()

    def _extend(self, n: int) -> None:
        if self._unfinished:  # interrupted: the same operations again give the same bits
            self._begin()
        self._unfinished = True
        while len(self) < n and self._stopped is None:
            newcomer = self._settle()
            gap = max(self._active.level - self._potential.least(), 0.0)
            if len(self._active) > len(self._known) + len(self):
                self._snapshots.append(self._active.weights.copy())
                self._record(
                    self._active.points[-1],
                    index=self._rows[-1],
                    step=self._entry_steps[-1],
                    gap=gap,
                    mmd2=self._active.mmd2,
                )
            if newcomer is None:
                self._stop(f"optimal on the simplex over the candidates (gap {gap:.1e})")
            else:
                self._enter(*newcomer)
        self._unfinished = False

    def _enter(self, point: FloatArray, row: int) -> None:
        """Let a new atom in by a Frank-Wolfe step."""
        atom = self._active.enter(point)
        self._potential.add_atom(point)
        self._rows.append(row)
        self._entry_steps.append(self._toward(atom))

    def _toward(self, atom: int) -> float:
        rho = self._active.toward(atom)
        self._potential.step(atom, rho)
        return rho

    def _settle(self) -> tuple[FloatArray, int] | None:
        """Improve the weights of the atoms until a new atom promises more, and return it; None at the optimum."""
        active, potential = self._active, self._potential
        tolerance = TOLERANCE * float(np.max(np.diagonal(active.gram)))
        patience = 0 if self._corrective else PATIENCE
        error = np.inf
        while True:
            if patience <= 0:
                with self._reweighting():
                    active.correct()
                if active.mmd2 >= (1.0 - RELATIVE_ACCURACY) * error:
                    return None  # the gaps are above rounding, but a thousand steps no longer make a difference
                patience, error = PATIENCE, active.mmd2
            point, row = chosen_point(potential, self._oracle(potential), "oracle")
            gap = active.level - (potential.at(row) if row >= 0 else float(potential(point[None, :])[0]))
            pairwise_gap = active.pairwise_gap()
            if max(gap, pairwise_gap) <= tolerance:
                return None
            if pairwise_gap >= gap:
                # While weight is moved the gap nearly always falls: the oracle is asked again when the pairwise gap has
                # come below the last one, not after each of the many cheap steps.
                with self._reweighting():
                    patience -= active.pairwise_steps(max(gap, tolerance), patience)
                continue
            atom = self._atom_at(point, row)
            if atom is None:
                return point, row
            rho = self._toward(atom)
            patience -= 1
            if rho == 0.0:
                return None

    @contextmanager
    def _reweighting(self) -> Iterator[None]:
        """Carry a change of the weights of the atoms to the potential."""
        before = self._active.weights.copy()
        yield
        moved = self._active.weights - before
        self._potential.shift([(int(i), float(moved[i])) for i in np.flatnonzero(moved)])

    def _atom_at(self, point: FloatArray, row: int) -> int | None:
        """Return the number of the atom at this point, None if it never entered."""
        if row >= 0 and row in self._rows:
            return self._rows.index(row)
        for i, other in enumerate(self._active.points):
            if np.array_equal(point, other):
                return i
        return None


def _distinct(points: FloatArray) -> FloatArray:
    """Return the points without repeats, in their order, read-only."""
    return _frozen.readonly(points[np.sort(np.unique(points, axis=0, return_index=True)[1])])
