"""The model-selection study: 352 kinetic models of one data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..chema import Dataset, compare
from ..chema.compare import PAPER_ROUNDS, Method
from ..selection import Comparison, label

if TYPE_CHECKING:
    import pandas as pd


def probability_table(
    comparison: Comparison, sizes: Sequence[int] = PAPER_ROUNDS, *, ranked: bool = False
) -> pd.DataFrame:
    """Return quantiles of the models' posterior probabilities at several rounds, as box plots need them.

    Parameters
    ----------
    comparison : Comparison
        With its rounds.
    sizes : sequence of int, optional
        The rounds wanted.
    ranked : bool, optional
        Whether ``position`` counts models from the most probable on, rather than in the order given.

    Returns
    -------
    DataFrame
        ``n``, ``position``, ``model``, ``q05``, ``q25``, ``q50``, ``q75``, ``q95``; rounds of other sizes are left out
        unless there is no other.
    """
    import pandas as pd

    wanted = [k for k, stage in enumerate(comparison.stages) if stage.n in sizes] or [len(comparison.stages) - 1]
    position = np.arange(len(comparison.names))
    if ranked:
        position[np.argsort(-(comparison.evidences.log_median + comparison.log_prior), kind="stable")] = position.copy()
    frames = []
    for k in wanted:
        shares = comparison.at_stage(k).probabilities()
        quantiles = np.quantile(shares, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
        columns = {"n": comparison.stages[k].n, "position": position}
        columns |= {"model": [label(name) for name in comparison.names]}
        frames.append(pd.DataFrame(columns | dict(zip(("q05", "q25", "q50", "q75", "q95"), quantiles, strict=True))))
    return pd.concat(frames, ignore_index=True)


def model_probabilities(
    seed: int = 0, *, sizes: tuple[int, ...] = PAPER_ROUNDS, method: Method = "log"
) -> dict[str, pd.DataFrame]:
    """Compare the 352 models of the data set that ships with the package at several n, in its units, without racing.

    Parameters
    ----------
    seed : int, optional
        Fixes everything random.
    sizes : tuple of int, optional
        Numbers of points.
    method : {"log", "fwbq", "fwlsbq", "sbq"}, optional
        See :func:`fwbq.chema.compare`.

    Returns
    -------
    dict
        ``"probabilities"``: see :func:`probability_table`. ``"rounds"``: a row for each n, see
        :meth:`fwbq.selection.Comparison.history`.
    """
    comparison = compare(
        Dataset.example(), units="given", truncated=False, method=method, stages=sizes, race=False, checks=False,
        rng=seed, progress=False,
    )  # fmt: skip
    return {"probabilities": probability_table(comparison, sizes, ranked=True), "rounds": comparison.history()}
