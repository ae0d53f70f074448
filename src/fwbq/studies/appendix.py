"""The studies of the paper's appendices: the truncated Gaussian, random Fourier features, and the theorems' bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import theory
from ..designs import FrankWolfe
from ..embeddings import embed
from ..kernels import ExpQuad, RandomFourier
from ..measures import TruncatedGaussian
from ..rules import bayes_rule, mmd2
from .simulation import CANDIDATES, KERNEL, SIZES, designs, mixture, mmd_curves

if TYPE_CHECKING:
    import pandas as pd


def truncated_gaussian(seed: int = 0, *, sizes: tuple[int, ...] = SIZES, n: int = 100) -> dict[str, pd.DataFrame]:
    """Measure MMD^2 and weights on the integral of the model-selection problem: N(1, 1/2) on [0, inf)^3, length-scale 1.

    Returns
    -------
    dict
        ``"mmd2"``: ``method``, ``n``, ``mmd2``, ``run``; ``"weights"``: ``method``, ``weight`` at n points.
    """
    import pandas as pd

    embedding = embed(ExpQuad(1.0), TruncatedGaussian(np.ones(3), np.full(3, 0.5)))
    made = designs(embedding, seed)
    rules = {
        "FW": made["FW"].rule(n),
        "FWLS": made["FWLS"].rule(n),
        "FWBQ": bayes_rule(embedding, made["FW"].take(n)),
        "FWLSBQ": bayes_rule(embedding, made["FWLS"].take(n)),
        "SBQ": made["SBQ"].rule(n),
    }
    weights = [pd.DataFrame({"method": method, "weight": rule.weights}) for method, rule in rules.items()]
    return {"mmd2": pd.DataFrame(mmd_curves(embedding, seed, sizes)), "weights": pd.concat(weights, ignore_index=True)}


def random_features(
    seed: int = 0, *, counts: tuple[int, ...] = (1000, 5000), sizes: tuple[int, ...] = SIZES
) -> dict[str, pd.DataFrame]:
    """Make FWLS and FWLSBQ rules with random Fourier features and measure them under the exact kernel.

    Returns
    -------
    dict
        ``"mmd2"``: ``method`` (``"FWLSBQ, D = 1000"``, ..., ``"FWLSBQ, exact"``), ``n``, ``mmd2``.
    """
    import pandas as pd

    measure = mixture(seed)
    exact = embed(KERNEL, measure)
    candidates = measure.sample(CANDIDATES, rng=np.random.default_rng([seed, 1]))
    embeddings = {f"D = {count}": embed(RandomFourier(KERNEL, count, 2, rng=seed), measure) for count in counts} | {
        "exact": exact
    }
    rows = []
    for name, embedding in embeddings.items():
        design = FrankWolfe(embedding, step="line-search", candidates=candidates)
        for n in sizes:
            for method, rule in (("FWLS", design.rule(n)), ("FWLSBQ", bayes_rule(embedding, design.take(n)))):
                rows.append({"method": f"{method}, {name}", "n": n, "mmd2": mmd2(exact, rule.points, rule.weights)})
    return {"mmd2": pd.DataFrame(rows).sort_values(["method", "n"], ignore_index=True)}


def theorem_bounds(seed: int = 0, *, n: int = 400) -> dict[str, pd.DataFrame]:
    """Lay the measured MMD of FW and FWLS beside the bounds of the theorems for the same run.

    Returns
    -------
    dict
        ``"bounds"``: ``run``, ``curve``, ``n``, ``value``.
    """
    import pandas as pd

    embedding = embed(KERNEL, mixture(seed))
    frames = []
    designs = {
        "FW": FrankWolfe(embedding, step="herding", candidates=2000, rng=seed),
        "FWLS": FrankWolfe(embedding, step="line-search", candidates=2000, rng=seed),
    }
    for name, design in designs.items():
        table = theory.compare(design, n).to_frame()
        long = table.melt(id_vars="n", var_name="curve", value_name="value")
        frames.append(long.assign(run=name)[["run", "curve", "n", "value"]])
    return {"bounds": pd.concat(frames, ignore_index=True)}
