"""Frank-Wolfe: kernel herding, open-loop steps and line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .._threads import one_blas_thread
from ..rules import Rule, weighted_rule
from .base import Design, FloatArray
from .candidates import ORACLES, LinearOracle, Potential, candidate_points

if TYPE_CHECKING:
    from ..embeddings import Embedding

StepSize = Callable[[int], float]


@dataclass(frozen=True)
class OpenLoop:
    """The step sizes l / (l + i - 1) for the i-th point: 1 for the first; l = 1 is herding, l = 2 the usual choice.

    Examples
    --------
    >>> OpenLoop(1.0)(5)
    0.2
    """

    ell: float = 2.0

    def __post_init__(self) -> None:
        _validate.positive(self.ell, "ell")

    def __call__(self, i: int) -> float:
        """Return the step with which the i-th point is added, i >= 1."""
        return self.ell / (self.ell + i - 1)


STEPS: dict[str, StepSize | None] = {"herding": OpenLoop(1.0), "open-loop": OpenLoop(2.0), "line-search": None}


def chosen_point(potential: Potential, choice: int | ArrayLike, name: str) -> tuple[FloatArray, int]:
    """Return the point (d,) and its row in the candidates (-1 if it is none) for an index or a point."""
    if np.ndim(choice) == 0:
        row = _validate.index(choice, name, len(potential.candidates))
        return potential.candidates[row], row
    point = _validate.vector(np.ravel(choice), name, potential.embedding.dim)
    return point, -1


def best_single_point(potential: Potential) -> int:
    """Return the candidate whose single-point rule has the least error: argmin k(x, x) - 2 mu_p(x)."""
    return potential.first_row(int(np.argmin(potential.diagonal - 2.0 * potential.mean)))


def first_choice(potential: Potential, initial: int | ArrayLike | None, known: FloatArray) -> int | ArrayLike:
    """Return the first point of a design without known points, checked: the one given, or the best alone."""
    if initial is None:
        return best_single_point(potential)
    if len(known):
        raise ValueError("`initial` is the first point of a design, but the `known` points come first: leave it out")
    chosen_point(potential, initial, "initial")
    return initial


class FrankWolfe(Design):
    r"""Frank-Wolfe on the marginal polytope: cheap points whose rule converges to the mean element.

    With :math:`g_1 = k(\cdot, x_1)` and i = 2, 3, ...

    .. math::
        x_i = \arg\min_x \; g_{i-1}(x) - \mu_p(x), \qquad
        g_i = (1 - \rho_i)\,g_{i-1} + \rho_i\,k(\cdot, x_i),

    over the candidates. The i-th point is added with the step

    - ``"herding"``: 1/i, so that all weights are 1/n (kernel herding);
    - ``"open-loop"``: 2/(i + 1); any other l/(l + i - 1) through ``OpenLoop(l)``;
    - ``"line-search"``: :math:`\langle g - \mu_p, g - k(\cdot, x_i)\rangle / \|g - k(\cdot, x_i)\|^2`, clipped to
      [0, 1];
    - a callable i -> step in [0, 1]. The first point always takes 1.

    One kernel column and O(M) operations per point, line search included: it needs only the running scalars
    :math:`\|g - \mu_p\|^2` and :math:`\langle g - \mu_p, \mu_p\rangle`. ``bayes_rule`` on the points is FWBQ (FWLSBQ
    with line search). Points may come again; line search repeats and clusters them and is not the better default.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    step : {"herding", "open-loop", "line-search"} or callable
        Step size, above.
    candidates : int or (M, d) array, optional
        Where points are searched: that many draws from the measure (10,000 by default; for an `Empirical` measure all
        of its points), or the points themselves.
    initial : int or (d,) array, optional
        First point: a row of the candidates, or any point. By default the candidate that is best alone,
        :math:`\arg\min k(x, x) - 2 \mu_p(x)`; for a stationary kernel, where :math:`\mu_p` is largest.
    known : (N, d) array_like, optional
        Points that are already there. They enter in their order as the first N points would, each with its step, so
        that the points chosen have the steps of i = N + 1, N + 2, ...; ``rule(n)`` holds both. Not with `initial`.
    oracle : {"candidates", "refined"} or callable
        How the least potential is found: on the candidates (lowest index in a tie), or from the best candidate by
        L-BFGS with analytic gradients. A callable takes the :class:`~fwbq.designs.candidates.Potential` and returns a
        row of the candidates or a point (d,).
    rng : numpy.random.Generator or int, optional
        Seed of the candidates.

    Notes
    -----
    ``trace.mmd2`` comes from the running scalars, whose rounding errors shrink with every step instead of piling up; it
    is right to about 1e-15 times k(x, x), and what rounding would take below zero is zero. ``trace.gap[n - 1]`` is the
    duality gap of the rule on the first n points over the candidates.

    References
    ----------
    Bach, Lacoste-Julien & Obozinski, "On the equivalence between herding and conditional gradient algorithms", ICML
    2012. Briol, Oates, Girolami & Osborne, "Frank-Wolfe Bayesian quadrature", NIPS 2015.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]))
    >>> design = fwbq.FrankWolfe(embedding, candidates=2000, rng=0)
    >>> herding, best = design.rule(30), fwbq.bayes_rule(embedding, design.take(30))
    >>> for rule in (fwbq.MonteCarlo(embedding, rng=0).rule(30), herding, best):
    ...     print(f"worst-case error {rule.mmd:.1g}")
    worst-case error 0.2
    worst-case error 0.04
    worst-case error 0.01
    """

    @one_blas_thread
    def __init__(
        self,
        embedding: Embedding,
        *,
        step: Literal["herding", "open-loop", "line-search"] | StepSize = "herding",
        candidates: int | ArrayLike | None = None,
        initial: int | ArrayLike | None = None,
        oracle: Literal["candidates", "refined"] | LinearOracle = "candidates",
        rng: np.random.Generator | int | None = None,
        known: ArrayLike | None = None,
    ) -> None:
        super().__init__(embedding, known)
        self._step_size = step if callable(step) else STEPS[_validate.choice(step, "step", tuple(STEPS))]
        self._oracle = oracle if callable(oracle) else ORACLES[_validate.choice(oracle, "oracle", tuple(ORACLES))]
        points = candidate_points(embedding, candidates, _validate.generator(rng).spawn(1)[0])
        self._potential = Potential(embedding, points)
        self._initial = first_choice(self._potential, initial, self._known)
        self._begin()
        self._unfinished = False

    @property
    def candidates(self) -> FloatArray:
        """The candidates (M, d)."""
        return self._potential.candidates

    def _begin(self) -> None:
        """Start from g = 0, or from the known points."""
        self._potential.reset()
        self._square = 0.0  # ||g - mu||^2
        self._cross = 0.0  # <g - mu, mu>
        self._known_steps = [self._advance(x, -1, self._open_step(i)) for i, x in enumerate(self._known, start=1)]

    def _extend(self, n: int) -> None:
        if self._unfinished:  # a step was interrupted or raised: the same operations again give the same bits
            self._begin()
            for point, row, rho in zip(self._points, self._index, self._step, strict=False):
                self._advance(point, row, rho)
        self._unfinished = True
        while len(self) < n:
            i = len(self._known) + len(self) + 1
            choice = self._initial if i == 1 else self._oracle(self._potential)
            point, row = chosen_point(self._potential, choice, "initial" if i == 1 else "oracle")
            rho = self._advance(point, row, self._open_step(i))
            gap = max(self._square + self._cross - self._potential.least(), 0.0)
            self._record(point, index=row, step=rho, gap=gap, mmd2=self._square)
        self._unfinished = False

    def _open_step(self, i: int) -> float | None:
        """Return the step for the i-th point, None if it is to be searched."""
        if i == 1:
            return 1.0
        return None if self._step_size is None else _validate.fraction(self._step_size(i), "step")

    def _advance(self, point: FloatArray, row: int, rho: float | None) -> float:
        """Take g <- (1 - rho) g + rho k(., point), with the best rho if it is None, and return rho."""
        potential, embedding = self._potential, self._embedding
        if row >= 0:
            mean, diagonal, h = float(potential.mean[row]), float(potential.diagonal[row]), potential.at(row)
        else:
            mean, diagonal = float(embedding.mean(point[None, :])[0]), float(embedding.kernel.diag(point[None, :])[0])
            h = float(potential(point[None, :])[0])
        variance = embedding.variance
        gap = self._square + self._cross - h  # <g - mu, g - k(., x)>
        distance = self._square + 2.0 * self._cross + variance - 2.0 * (h + mean) + diagonal  # ||g - k(., x)||^2
        if rho is None:
            rho = min(gap / distance, 1.0) if gap > 0.0 and distance > 0.0 else 0.0
        if rho == 1.0:
            self._square = diagonal - 2.0 * mean + variance
            self._cross = mean - variance
        else:
            self._square += rho * (rho * distance - 2.0 * gap)
            self._cross += rho * (mean - variance - self._cross)
        self._square = max(self._square, 0.0)
        potential.step(potential.add_atom(point), rho)
        return rho

    def _rule(self, n: int) -> Rule:
        rho = np.array([*self._known_steps, *self._step[:n]])
        if self._step_size is STEPS["herding"]:
            weights = np.full(len(rho), 1.0 / len(rho))
        else:
            # w_l = rho_l prod_{j > l} (1 - rho_j)
            weights = rho * np.append(np.cumprod(1.0 - rho[:0:-1])[::-1], 1.0)
        return weighted_rule(self._embedding, self._first(n), weights)
