"""Sequential Bayesian quadrature that goes on from points already there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _validate
from .base import FloatArray
from .sequential import SBQ

if TYPE_CHECKING:
    from ..embeddings import Embedding


class ContinuedSBQ(SBQ):
    """`SBQ` given points that are already part of the rule, wherever they came from: its points are the ones to add.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    known : (N, d) array
        Points already there. Those that the kernel cannot tell from the others are passed over.
    candidates : (M, d) array
        Where the new points are sought.
    prior_mean : {"zero", "constant"}, optional
        As for `SBQ`.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Uniform([0.0], [1.0]))
    >>> grid = np.linspace(0.0, 1.0, 101)[:, None]
    >>> bool(ContinuedSBQ(embedding, [[0.1]], grid).take(1)[0, 0] > 0.5)
    True
    """

    def __init__(
        self, embedding: Embedding, known: FloatArray, candidates: FloatArray, *, prior_mean: str | None = None
    ) -> None:
        given = _validate.points(known, "known", embedding.dim)
        self._given = len(given)
        everything = np.concatenate([given, _validate.points(candidates, "candidates", embedding.dim)])
        super().__init__(embedding, everything, rng=0, prior_mean=prior_mean)

    def _begin(self) -> None:
        super()._begin()
        for j in range(self._given):
            if np.isfinite(self._factor.variance[j]):
                self._choose(j)
