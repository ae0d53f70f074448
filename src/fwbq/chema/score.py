"""How well stated probabilities of edges agree with a graph that is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from . import _checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["edge_auroc"]

Pair = tuple[str, str]


def edge_auroc(scores: Mapping[Pair, float], truth: Iterable[Pair], proteins: Iterable[str] = ()) -> float:
    """Area under the receiver operating characteristic of directed edges, self loops left out.

    It is the probability that a true edge has a higher score than one that is not there, ties counting one half: 1 for
    a perfect ranking, 1/2 for chance.

    Parameters
    ----------
    scores : mapping of (source, target) to float
        The edges that are judged: those without any support need a score too, 0.
    truth : iterable of (source, target)
        The true edges. Those that are not in `scores` are not judged.
    proteins : iterable of str, optional
        Nodes beyond those of `scores`. True edges of any other node are an error.

    Examples
    --------
    >>> scores = {("A", "B"): 0.9, ("B", "A"): 0.2, ("A", "C"): 0.4, ("B", "C"): 0.3}
    >>> edge_auroc(scores, [("A", "B"), ("B", "C")])
    0.75
    """
    nodes = {*proteins, *(name for edge in scores for name in edge)}
    true = {edge for edge in truth if edge[0] != edge[1]}
    strange = [name for edge in true for name in edge if name not in nodes]
    if strange:
        _checks.fail(f"`truth` names {_checks.listed(dict.fromkeys(strange))}, which the network does not have")
    edges = [edge for edge in scores if edge[0] != edge[1]]
    value = np.array([scores[edge] for edge in edges])
    label = np.array([edge in true for edge in edges])
    if label.all() or not label.any():
        _checks.fail("`truth` has none of the edges that are judged, or all of them: there is nothing to tell apart")
    rank = _mid_ranks(value)
    positive = int(label.sum())
    above = float(rank[label].sum()) - positive * (positive + 1) / 2
    return above / (positive * (len(label) - positive))


def _mid_ranks(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1, the mean of them where values are equal."""
    _, inverse, count = np.unique(value, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - 0.5 * (count - 1))[inverse])
