"""Enzymes that the data cannot tell apart because their levels rise and fall together."""

from __future__ import annotations

import numpy as np

from . import _checks
from .dataset import Dataset

__all__ = ["collinear", "collinear_note"]

# Two enzymes are alike when their levels, each in units of its root mean square, differ by less than this, root mean
# square: the difference that 7 % of noise in each makes between two measurements of one course.
_ALIKE = 0.1
# More enzymes are not compared with each other: their cosines would take more than 128 MB.
_MOST = 4_000
# Groups that a note names.
_NAMED = 3


def collinear(dataset: Dataset) -> list[tuple[str, ...]]:
    """Return groups of enzymes whose levels at the starts of the increments are in proportion, within 10 %.

    A rate V makes up for any factor, so that such enzymes explain data with errors of this size equally well:
    probability is shared among them, and it is that of the group which the data tell. Enzymes that hardly change are
    one group. Of more than 4,000 enzymes none are named.

    Returns
    -------
    list of tuples of str
        Each with two enzymes or more, connected by pairs that are alike; silent ones are left out.

    Examples
    --------
    >>> data = Dataset.simulate(3, rng=0)
    >>> twin = np.column_stack([data.enzymes, 7.0 * data.enzymes[:, 1]])
    >>> collinear(data.with_values(enzymes=twin, names=[*data.names, "twin"]))
    [('E2', 'twin')]
    """
    from scipy.sparse.csgraph import connected_components

    levels = dataset.enzymes[dataset.used]
    length = np.sqrt(np.einsum("te,te->e", levels, levels))
    kept = np.flatnonzero(length > 0)
    if not 2 <= len(kept) <= _MOST:
        return []
    unit = levels[:, kept] / length[kept]
    alike = unit.T @ unit > 1.0 - 0.5 * _ALIKE**2
    count, group = connected_components(alike, directed=False)
    members = [kept[group == i] for i in range(count)] if count < len(kept) else []
    return [tuple(dataset.names[j] for j in each) for each in members if len(each) > 1]


def collinear_note(dataset: Dataset) -> list[str]:
    """Return the sentence that names such groups, for the notes on a result; no sentence when there are none."""
    groups = collinear(dataset)
    if not groups:
        return []
    said = "; ".join(_checks.listed(group) for group in groups[:_NAMED]) + ("; ..." if len(groups) > _NAMED else "")
    return [f"levels are in proportion within 10 %, so that the data can hardly tell these enzymes apart: {said}"]
