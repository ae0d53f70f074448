"""The model-selection study: 352 kinetic models of one data set, and the error of its design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..chema import Dataset, compare, prior
from ..designs import Spread
from ..embeddings import embed
from ..kernels import ExpQuad
from ..rules import bayes_rule
from ..selection import Comparison, label
from ..selection.coordinates import Coordinates, Standard

if TYPE_CHECKING:
    import pandas as pd

#: Rounds of a comparison whose box plots are drawn at n = 10, 50, 100 and 200.
ROUNDS = (10, 20, 50, 100, 200)
SHOWN = (10, 50, 100, 200)


def rounds(n: int) -> tuple[int, ...]:
    """Return the rounds of a comparison with at most n points a model."""
    return (*(size for size in ROUNDS if size < n), n)


def probability_table(comparison: Comparison, sizes: Sequence[int] = SHOWN, *, ranked: bool = False) -> pd.DataFrame:
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


def model_probabilities(seed: int = 0, *, sizes: tuple[int, ...] = SHOWN) -> dict[str, pd.DataFrame]:
    """Compare the 352 models of the data set that ships with the package at several n, without racing.

    Returns
    -------
    dict
        ``"probabilities"``: see :func:`probability_table`.
    """
    comparison = compare(Dataset.example(), stages=sizes, race=False, rng=seed, progress=False)
    return {"probabilities": probability_table(comparison, sizes, ranked=True)}


def design_error(dim: int, n: int, coordinates: Coordinates | None = None) -> pd.DataFrame:
    """Measure the worst-case error of the comparison's design for the prior of the kinetic models.

    Returns
    -------
    DataFrame
        ``method``, ``n``, ``mmd2``: Bayesian quadrature under ExpQuad with length-scale 1 on the first n points.
    """
    import pandas as pd

    measure = prior(dim)
    points = Spread(measure, coordinates or Standard(measure)).take(n)
    embedding = embed(ExpQuad(1.0), measure)
    sizes = [size for size in (3, 5, 10, 14, 20, 28, 40, 56, 80, 100, 140, 200, 280, 400) if size < n] + [n]
    values = [bayes_rule(embedding, points[:size]).mmd2 for size in sizes]
    return pd.DataFrame({"method": f"d = {dim}", "n": sizes, "mmd2": values})
