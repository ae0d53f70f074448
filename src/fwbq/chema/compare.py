"""Comparison of the kinetic models of a data set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._threads import one_blas_thread
from ..measures import TruncatedGaussian
from ..selection import Comparison, Family, LogScale, compare_families
from . import _checks
from .dataset import Dataset
from .likelihood import candidate_models, log_likelihood_block

FloatArray = NDArray[np.float64]


def prior(dim: int) -> TruncatedGaussian:
    """Return the prior of the Michaelis constants: N(1, 1/2) in each coordinate, truncated to K >= 0."""
    return TruncatedGaussian(np.ones(dim), np.full(dim, 0.5))


@dataclass(frozen=True, eq=False)
class KineticFamily:
    """The kinetic models with one number of enzymes, evaluated as a block.

    Parameters
    ----------
    dataset : Dataset
        The data.
    names : tuple of models
        Tuples of enzyme names, all of one length.
    truncated : bool
        Whether V is truncated to V >= 0.
    """

    dataset: Dataset
    names: tuple[tuple[str, ...], ...]
    truncated: bool = False

    @property
    def measure(self) -> TruncatedGaussian:
        """The prior of K."""
        return prior(1 + len(self.names[0]))

    @property
    def coordinates(self) -> LogScale:
        """Logarithmic above the level that a Michaelis constant is compared with: y_S* for K_0, y_S for the others.

        The level is low among those measured (the 20 % quantile), because y / (y + K) changes fastest where y is small.
        """
        levels = [
            np.concatenate([getattr(part, name)[:-1] for part in self.dataset.split()])
            for name in ("phospho", "substrate")
        ]
        low = [float(np.quantile(level[level > 0.0], 0.2)) if np.any(level > 0.0) else 1.0 for level in levels]
        return LogScale([low[0]] + [low[1]] * len(self.names[0]))

    @property
    def alike(self) -> bool:
        """True: the models of a family are the same function of the same data, so that they share length-scales."""
        return True

    @one_blas_thread
    def log_integrands(self, x: FloatArray, which: NDArray[np.intp]) -> FloatArray:
        """Return log likelihoods (n, len(which))."""
        models = [self.names[i] for i in which]
        return log_likelihood_block(self.dataset, models, x, truncated=self.truncated, return_rank=True)[0]

    def identity(self) -> Any:
        """Return a digest of the data, and the models."""
        digest = hashlib.sha256()
        for part in self.dataset.split():
            for array in (part.times, part.substrate, part.phospho, part.enzymes):
                digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return {"data": digest.hexdigest(), "truncated": self.truncated, "models": [list(name) for name in self.names]}


@one_blas_thread
def compare(
    dataset: Dataset,
    *,
    max_enzymes: int = 2,
    models: Sequence[Iterable[str | int]] | None = None,
    truncated: bool = False,
    **options: Any,
) -> Comparison:
    """Compare the kinetic models of a data set by evidence, with the numerical error carried to the decision.

    Parameters
    ----------
    dataset : Dataset
        The data.
    max_enzymes : int, optional
        Models have at most so many enzymes: with 26 and 2 there are 352.
    models : sequence of tuples, optional
        The models to compare, instead of all; enzymes by name or column index.
    truncated : bool, optional
        Use the likelihood with V truncated to V >= 0, as the prior declares; the closed form of the paper is the
        default.
    **options
        `n`, `stop`, `tol`, `stages`, `prior`, `evidence`, `kernel`, `amplitude`, `design`, `race`, `executor`,
        `journal`, `rng`, `progress`, as in :func:`fwbq.compare_models`.

    Returns
    -------
    Comparison
        Models are named by tuples of enzyme names; ``()`` is the model without any.

    Examples
    --------
    >>> data = Dataset.example()
    >>> found = compare(data, stop=0.95, rng=0)
    >>> found.best == data.regulators
    True
    """
    if models is None:
        chosen = candidate_models(dataset, max_enzymes)
    else:
        chosen = [tuple(dataset.names[j] for j in dataset.columns(model)) for model in models]
        if not chosen:
            _checks.fail("`models` is empty")
    sizes = sorted({len(model) for model in chosen})
    grouped: list[Family] = [
        KineticFamily(dataset, tuple(model for model in chosen if len(model) == size), truncated) for size in sizes
    ]
    deficient = sum(_deficient(family) for family in grouped if isinstance(family, KineticFamily))
    settings = {
        "likelihood": "truncated (V >= 0)" if truncated else "closed form of the paper (V not truncated)",
        "enzymes": dataset.n_enzymes,
        "max_enzymes": max_enzymes if models is None else None,
        "rank_deficient_models": deficient,
    }
    return compare_families(grouped, settings=settings | options.pop("settings", {}), **options)


def _deficient(family: KineticFamily) -> int:
    """Count models whose design matrix has dependent columns at K = 1."""
    ones = np.ones((1, family.measure.dim))
    _, rank = log_likelihood_block(family.dataset, list(family.names), ones, return_rank=True)
    return int(np.sum(rank < ones.shape[1]))
