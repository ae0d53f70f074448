"""Randomly pivoted Cholesky: points drawn with the variance that is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from ..measures import Empirical
from .base import FloatArray
from .pivoted import PivotedDesign

if TYPE_CHECKING:
    from ..embeddings import Embedding


class RandomPivot(PivotedDesign):
    r"""Randomly pivoted Cholesky: each point a candidate drawn in proportion to its remaining variance.

    .. math::
        P(x_{i+1} = x) \propto p(x)\, k_i(x, x), \qquad k_i(x, x) = k(x, x) - k(x, X_i) K^{-1} k(X_i, x),

    with Bayesian quadrature weights. The candidates are draws from p (or all the points of an `Empirical` measure, with
    its weights: the result is then a weighted coreset of the sample), so that their share in the sum carries p(x).
    The draw does not look at the mean element: the points are good for every function of the space, and spectrally
    optimal up to constants in expectation.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    candidates : int or (M, d) array, optional
        The candidates, or how many to draw from the measure: 10,000 by default, and of an `Empirical` measure every
        sample point, with its weight. Points of any other set count equally.
    rng : numpy.random.Generator or int, optional
        Where the candidates and the pivots come from.
    prior_mean : {"zero", "constant"}, optional
        Prior mean of the integrand for the rule; by default "zero", and "constant" where the mean element is zero (a
        Stein kernel).
    known : (N, d) array_like, optional
        Points that are already part of the rule: the draws start from the variance that they leave, and ``rule(n)``
        holds both.

    Notes
    -----
    The cost is that of `SBQ`, O(i M) for the i-th point and 8 n M bytes. The design ends when every candidate has less
    than 1e-10 of its prior variance left; ``take`` then returns the points that exist, with a warning.

    References
    ----------
    .. [1] Epperly and Moreno, "Kernel quadrature with randomly pivoted Cholesky", NeurIPS 2023.
    .. [2] Chen, Epperly, Tropp and Webber, "Randomly pivoted Cholesky", Comm. Pure Appl. Math. 2024, Algorithm 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> import fwbq
    >>> sample = np.random.default_rng(0).normal(size=(3000, 2))
    >>> design = fwbq.RandomPivot(fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Empirical(sample)), rng=1)
    >>> coreset = design.rule(40)
    >>> bool(coreset.mmd < 0.01), len(coreset)
    (True, 40)
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
        draws, self._rng = _validate.generator(rng).spawn(2)
        super().__init__(embedding, candidates, draws, prior_mean, known)
        self._uniform: list[float] = []
        self._share: FloatArray | None = None
        sample = embedding.measure
        if isinstance(sample, Empirical) and np.array_equal(sample.points, self._candidates):
            self._share = np.asarray(sample.weights)

    def _pick(self) -> int | None:
        variance = self._factor.variance
        mass = np.where(np.isinf(variance), 0.0, variance)
        if self._share is not None:
            mass *= self._share
        total = np.cumsum(mass, out=self._work)
        if total[-1] == 0.0:
            self._stop_at_rank()
            return None
        if len(self._uniform) == len(self):
            self._uniform.append(self._rng.random())
        # Strictly below the total, and "right" passes over candidates of no mass.
        target = min(self._uniform[-1] * total[-1], np.nextafter(total[-1], 0.0))
        return int(np.searchsorted(total, target, side="right"))
