"""Blended pairwise conditional gradients, with an optional fully corrective step: the best positive weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import nan
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .._threads import one_blas_thread
from ..rules import Rule, weighted_rule
from .base import Design, FloatArray
from .candidates import ORACLES, LinearOracle, Potential, candidate_points
from .frank_wolfe import chosen_point, first_choice

if TYPE_CHECKING:
    from ..embeddings import Embedding

from .active_set import PATIENCE, RELATIVE_ACCURACY, STORED_BYTES, TOLERANCE, ActiveSet, distinct


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
            embedding, None if known is None else distinct(_validate.points(known, "known", embedding.dim))
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
