"""Which models are compared: all sets of up to `max_enzymes` enzymes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from .. import _validate
from . import _checks
from .dataset import Dataset
from .kinetics import IntArray

# Models that are listed as tuples of names: five million of 80 bytes take 400 MB.
MOST_MODELS = 5_000_000


def candidate_models(dataset: Dataset, max_enzymes: int = 2) -> list[tuple[str, ...]]:
    """All models with at most `max_enzymes` enzymes: the empty one, the singles, the pairs, ...

    Within a model, and among models of one size, the order is that of the columns.

    Parameters
    ----------
    dataset : Dataset
        With E enzymes.
    max_enzymes : int
        Largest size.

    Returns
    -------
    list of tuple of str
        1 + E + E(E-1)/2 + ... models.

    Examples
    --------
    >>> len(candidate_models(Dataset.example()))
    352
    """
    most = _validate.count(max_enzymes, "max_enzymes", minimum=0)
    e, size, term = dataset.n_enzymes, 1, 1
    for r in range(1, min(most, e) + 1):
        term = term * (e - r + 1) // r
        size += term
    if size > MOST_MODELS:
        _checks.fail(f"{size:,} models are too many to list; fwbq.chema.compare screens them without a list")
    return [model for r in range(min(most, e) + 1) for model in combinations(dataset.names, r)]


def model_indices(dataset: Dataset, models: Sequence[Iterable[str | int]]) -> IntArray:
    """Return models of one size, given by names or columns of their enzymes, as columns (m, size)."""
    position = {name: j for j, name in enumerate(dataset.names)}
    rows: list[tuple[int, ...]] = []
    for model in models:
        try:
            row = () if isinstance(model, str) else tuple(position[e] for e in model)  # type: ignore[index]
        except (KeyError, TypeError):
            row = ()
        # Anything but a tuple of known, different names takes the slow way, which checks and if need be refuses it.
        rows.append(row if row and len(set(row)) == len(row) else dataset.columns(model))
    sizes = {len(row) for row in rows}
    if len(sizes) > 1:
        _checks.fail(f"`models` must have the same number of enzymes in one block; got {sorted(sizes)}")
    return np.array(rows, dtype=np.intp).reshape(len(rows), max(sizes, default=0))
