"""Designs that are pivots of a Cholesky factorisation, with the Bayesian quadrature error updated at each."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .._threads import one_blas_thread
from ..rules import PRIOR_MEANS, PriorMean, Rule, bayes_rule
from .base import Design, FloatArray
from .candidates import FirstRow, candidate_points
from .partial_cholesky import RELATIVE_VARIANCE, PartialCholesky

if TYPE_CHECKING:
    from ..embeddings import Embedding


def prior_mean_for(embedding: Embedding, prior_mean: str | None) -> PriorMean:
    """Return the prior mean of a Bayesian quadrature design: the one asked for, or the one the embedding needs.

    Under a mean element of zero (a Stein kernel) the rule without a mean is the empty one, so that the constant is the
    default there; everywhere else the default is the zero mean of the paper.
    """
    if prior_mean is None:
        return "constant" if embedding.variance == 0.0 else "zero"
    prior_mean = cast("PriorMean", _validate.choice(prior_mean, "prior_mean", PRIOR_MEANS))
    if prior_mean == "zero" and embedding.variance == 0.0:
        raise ValueError(
            "`prior_mean` must be 'constant' for an embedding whose mean element is zero (a Stein kernel): with a zero "
            "prior mean the integral is known to be 0 and every weight is 0"
        )
    return prior_mean


class PivotedDesign(Design):
    """A design that chooses candidates one at a time, none twice, and keeps the residual of the mean element.

    After i points with Cholesky rows L (i, M) over the candidates, a = L_X^-1 z and v_i = k_PP - a'a: the squared
    worst-case error of the Bayesian quadrature rule on them. Under an unknown constant mean, with b = L_X^-1 1,
    v_i = k_PP - a'a + (1 - a'b)^2 / b'b. A subclass says in :meth:`_pick` which candidate comes next. A repeated
    candidate stands for its first occurrence.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    candidates : int or (M, d) array, optional
        As for :func:`~fwbq.designs.candidates.candidate_points`.
    rng : numpy.random.Generator
        Where the candidates come from.
    prior_mean : {"zero", "constant"}, optional
        The prior mean that the error and the rule refer to.
    known : (N, d) array_like, optional
        Points already part of the rule. Those that the kernel cannot tell from the others are passed over.
    """

    @one_blas_thread
    def __init__(
        self,
        embedding: Embedding,
        candidates: int | ArrayLike | None,
        rng: np.random.Generator,
        prior_mean: str | None,
        known: ArrayLike | None,
    ) -> None:
        super().__init__(embedding, known)
        self._prior_mean = prior_mean_for(embedding, prior_mean)
        self._candidates = candidate_points(embedding, candidates, rng)
        self._first_row = FirstRow(self._candidates)
        self._work = np.empty(len(self._candidates))
        self._unfinished = False
        self._begin()

    def _begin(self) -> None:
        """Set the residuals to those of the known points."""
        embedding, known = self._embedding, self._known
        self._factor = PartialCholesky(embedding.kernel, self._candidates, known)
        self._mean = np.array(embedding.mean(self._candidates), dtype=float)
        self._one = np.ones(len(self._candidates)) if self._prior_mean == "constant" else None
        self._aa = self._ab = self._bb = 0.0
        if len(known):
            a, self._mean = self._factor.residual(embedding.mean(known), self._mean)
            self._aa = float(a @ a)
            if self._one is not None:
                b, self._one = self._factor.residual(np.ones(len(known)), self._one)
                self._ab, self._bb = float(a @ b), float(b @ b)

    @property
    def candidates(self) -> FloatArray:
        """The candidates (M, d), read-only."""
        return self._candidates

    @property
    def prior_mean(self) -> PriorMean:
        """The prior mean that the error and the rule refer to."""
        return self._prior_mean

    def _rule(self, n: int) -> Rule:
        return bayes_rule(self.embedding, self._first(n), prior_mean=self._prior_mean)

    def _error(self) -> float:
        """Squared worst-case error of the rule on the points so far (infinite before the first under a constant)."""
        error = self.embedding.variance - self._aa
        if self._one is not None:
            error += (1.0 - self._ab) ** 2 / self._bb if self._bb > 0.0 else np.inf
        return error

    def _duality_gap(self) -> float:
        """max_x <mu - g, k(., x) - g> over the candidates, g the mean element of the rule on the points so far.

        Without a constant g is the projection of mu, <mu - g, g> = 0 and the gap is the largest residual mu_i(x). With
        it g = k(., X) K^-1 (z + c 1), c = (1 - a'b) / b'b; then <mu - g, g> = -c, and with k(x, X) K^-1 1 = 1 - 1_i(x)
        the gap is the largest mu_i(x) + c 1_i(x).
        """
        if self._one is None:
            return float(self._mean.max())
        np.multiply(self._one, (1.0 - self._ab) / self._bb, out=self._work)
        self._work += self._mean
        return float(self._work.max())

    def _extend(self, n: int) -> None:
        if self._unfinished:  # an update was interrupted: the same operations again give the same bits
            self._begin()
            for j in self._index:
                self._choose(j)
        self._unfinished = True
        while len(self) < n:
            pick = self._pick()
            if pick is None:
                break
            j = self._first_row(pick)
            self._choose(j)
            # The error is below zero only by rounding, at the end of a run that has used up the digits of k_PP.
            self._record(self._candidates[j], index=j, gap=self._duality_gap(), mmd2=max(self._error(), 0.0))
        self._unfinished = False

    def _stop_at_rank(self) -> None:
        beside = f" beside the {len(self._known)} known points" if len(self._known) else ""
        self._stop(
            f"the kernel on the {len(self._candidates)} candidates has numerical rank {len(self)}{beside} "
            f"(each has less than {RELATIVE_VARIANCE:g} of its prior variance left)"
        )

    def _choose(self, j: int) -> None:
        """Make candidate `j` a point: one row of the factor, and the residuals of the mean element and of one."""
        if self._one is None:
            (a,) = map(float, self._factor.add(j, self._mean))
        else:
            a, b = map(float, self._factor.add(j, self._mean, self._one))
            self._ab += a * b
            self._bb += b * b
        self._aa += a * a

    @abstractmethod
    def _pick(self) -> int | None:
        """Return the next candidate, one of finite remaining variance; None after :meth:`_stop`."""
