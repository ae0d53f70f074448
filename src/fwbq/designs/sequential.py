"""Sequential Bayesian quadrature: each point the one that lowers the error most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .pivoted import PivotedDesign

if TYPE_CHECKING:
    from ..embeddings import Embedding

# k_PP - a'a cannot be told from zero below a few roundings of k_PP.
FLOOR = 8 * np.finfo(float).eps


class SBQ(PivotedDesign):
    r"""Sequential Bayesian quadrature: greedy minimisation of the posterior variance of the integral.

    With the residuals after i points

    .. math::
        \mu_i(x) = \mu(x) - k(x, X_i) K^{-1} z, \qquad k_i(x, x) = k(x, x) - k(x, X_i) K^{-1} k(X_i, x),

    the next point maximises :math:`\mu_i(x)^2 / k_i(x, x)`, the amount by which it lowers the squared worst-case error
    :math:`v = k_{PP} - z' K^{-1} z`. Both residuals are kept over the M candidates by a pivoted Cholesky factorisation:
    O(i M) for the i-th point, no linear system is ever solved. Ties go to the candidate that comes first.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    candidates : int or (M, d) array, optional
        The candidates, or how many to draw from the measure: 10,000 by default, and of an `Empirical` measure every
        sample point.
    rng : numpy.random.Generator or int, optional
        Where the candidates come from.
    prior_mean : {"zero", "constant"}, optional
        Prior mean of the integrand. With "constant" (unknown, flat prior; weights that sum to one) the point chosen is
        the one that lowers *that* rule's error most. By default "zero", and "constant" where the mean element is zero
        (a Stein kernel).
    known : (N, d) array_like, optional
        Points that are already part of the rule, wherever they came from: the design chooses those to add to them, and
        ``rule(n)`` holds both. They need not be candidates. Together they cost one Cholesky factorisation, O(N^2 M).

    Notes
    -----
    The design ends when every candidate has less than 1e-10 of its prior variance left (numerical rank), or when v is
    down to eight roundings of k_PP. ``take`` then returns the points that exist, with a warning, and `status` says
    why. The factor takes 8 n M bytes: 32 MB for n = 400 and M = 10,000, 1.6 GB for n = 200 and M = 1,000,000.
    `trace.gap` is the largest value of <mu - g, k(., x) - g> over the candidates, g being the mean element of
    the rule: without a constant, the largest residual. `trace.mmd2` is recorded as 0 should rounding take it below.

    References
    ----------
    .. [1] Huszar and Duvenaud, "Optimally-weighted herding is Bayesian quadrature", UAI 2012.
    .. [2] Briol, Oates, Girolami and Osborne, "Frank-Wolfe Bayesian quadrature", NIPS 2015, Section 2.2.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]))
    >>> design = fwbq.SBQ(embedding, candidates=2000, rng=0)
    >>> design.take(30).shape
    (30, 2)
    >>> bool(abs(design.rule(30).mmd2 - design.trace.mmd2[29]) < 1e-12)
    True

    Points that you already have, and three to add to them:

    >>> more = fwbq.SBQ(embedding, candidates=2000, rng=0, known=design.take(10)).take(3)
    >>> bool((more == design.take(13)[10:]).all())
    True
    """

    def __init__(
        self,
        embedding: Embedding,
        candidates: int | ArrayLike | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        prior_mean: str | None = None,
        known: ArrayLike | None = None,
    ) -> None:
        super().__init__(embedding, candidates, _validate.generator(rng).spawn(1)[0], prior_mean, known)

    def _pick(self) -> int | None:
        if self._error() <= FLOOR * self.embedding.variance:
            floor = FLOOR * self.embedding.variance
            self._stop(f"the squared worst-case error is at the floor of float64, {floor:.2g}")
            return None
        gain, variance = self._work, self._factor.variance
        if self._one is None:
            # Divided first: the square leaves the range of float64 for kernel variances beyond 1e154 or below 1e-154.
            np.divide(self._mean, variance, out=gain)
            gain *= self._mean
        else:
            # alpha^2 - (1 - ab - alpha beta)^2 / (bb + beta^2) with alpha = mean / s, beta = one / s, s^2 the variance:
            # the decrease of v up to a constant. Where one cannot be represented (beta = 0 = bb) the error is infinite.
            np.multiply(self._mean, self._one, out=gain)
            gain /= variance
            np.subtract(1.0 - self._ab, gain, out=gain)
            gain *= gain
            with np.errstate(divide="ignore", invalid="ignore"):
                gain /= self._bb + self._one**2 / variance
            np.subtract(self._mean / variance * self._mean, gain, out=gain)
            gain[np.isinf(variance) | np.isnan(gain)] = -np.inf
        best = int(gain.argmax())
        if np.isinf(variance[best]):
            # Only when no gain is positive: the mean element has underflowed, or every candidate is spent.
            best = int(np.argmax(np.isfinite(variance)))
        if np.isinf(variance[best]):
            self._stop_at_rank()
            return None
        return best
