"""The simulation study of the paper: designs on a seeded 20-component mixture in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._gauss import tensor_grid
from ..designs import QMC, SBQ, FrankWolfe, MonteCarlo
from ..designs.base import Design
from ..embeddings import Embedding, embed
from ..kernels import ExpQuad, Kernel
from ..measures import GaussianMixture
from ..posterior import condition
from ..rules import bayes_rule

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

#: The kernel of the study: amplitude 1 and length-scale 0.8.
KERNEL = ExpQuad(0.8)
#: Sizes at which the curves are evaluated.
SIZES = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80, 100, 140, 200, 280, 400)
CANDIDATES = 10_000


def mixture(seed: int = 0, components: int = 20) -> GaussianMixture:
    """Draw the mixture of the study: means within [-4, 4]^2, full covariances, unequal weights.

    The paper does not print its mixture; this one is ours, and the seed fixes it.

    Examples
    --------
    >>> from fwbq.paper.simulation import mixture
    >>> mixture(0).dim, len(mixture(0).weights)
    (2, 20)
    """
    rng = np.random.default_rng([seed, 20])
    shares = rng.dirichlet(np.full(components, 5.0))
    means = rng.uniform(-4.0, 4.0, size=(components, 2))
    angle = rng.uniform(0.0, np.pi, size=components)
    axes = rng.uniform(0.3, 0.8, size=(components, 2))
    turn = np.stack([np.stack([np.cos(angle), -np.sin(angle)], -1), np.stack([np.sin(angle), np.cos(angle)], -1)], -2)
    covs = turn @ (axes[:, :, None] ** 2 * np.swapaxes(turn, 1, 2))
    return GaussianMixture(shares, means, 0.5 * (covs + np.swapaxes(covs, 1, 2)))


def designs(embedding: Embedding, seed: int = 0, candidates: int = CANDIDATES) -> dict[str, Design]:
    """Return the designs compared in the paper, on one set of candidates, with Monte Carlo and QMC beside them."""
    rng = np.random.default_rng([seed, 1])
    search = embedding.measure.sample(candidates, rng=rng)
    return {
        "MC": MonteCarlo(embedding, rng=seed),
        "QMC": QMC(embedding, rng=seed),
        "FW": FrankWolfe(embedding, step="herding", candidates=search),
        "FWLS": FrankWolfe(embedding, step="line-search", candidates=search),
        "SBQ": SBQ(embedding, candidates=search),
    }


def _grid(size: int, reach: float = 5.5) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    axis = np.linspace(-reach, reach, size)
    return tensor_grid([axis, axis])[:, ::-1], axis  # row by row, as images are stored


def mean_elements(
    seed: int = 0, *, sizes: tuple[int, ...] = (1, 2, 5, 10, 50), grid: int = 61
) -> dict[str, pd.DataFrame]:
    """Approximate the mean element by Frank-Wolfe with line search, at several n, with the truth.

    Returns
    -------
    dict
        ``"field"``: columns ``panel``, ``x``, ``y``, ``value``.
    """
    import pandas as pd

    embedding = embed(KERNEL, mixture(seed))
    design = FrankWolfe(embedding, step="line-search", candidates=CANDIDATES, rng=seed)
    x, _ = _grid(grid)
    fields = {}
    for n in sizes:
        rule = design.rule(n)
        fields[f"$n = {n}$"] = embedding.kernel(x, rule.points) @ rule.weights
    fields["exact"] = embedding.mean(x)
    frames = [
        pd.DataFrame({"panel": name, "x": x[:, 0], "y": x[:, 1], "value": value}) for name, value in fields.items()
    ]
    return {"field": pd.concat(frames, ignore_index=True)}


def design_points(seed: int = 0, *, n: int = 25, grid: int = 81) -> dict[str, pd.DataFrame]:
    """Take the first points of FW, FWLS and SBQ on the mixture.

    Returns
    -------
    dict
        ``"points"``: ``method``, ``order``, ``x``, ``y``; ``"density"``: ``x``, ``y``, ``density``.
    """
    import pandas as pd

    embedding = embed(KERNEL, mixture(seed))
    made = designs(embedding, seed)
    frames = []
    for method in ("FW", "FWLS", "SBQ"):
        taken = made[method].take(n)
        frames.append(
            pd.DataFrame({"method": method, "order": np.arange(1, n + 1), "x": taken[:, 0], "y": taken[:, 1]})
        )
    x, _ = _grid(grid)
    density = pd.DataFrame({"x": x[:, 0], "y": x[:, 1], "density": np.exp(embedding.measure.log_density(x))})
    return {"points": pd.concat(frames, ignore_index=True), "density": density}


def mmd_curves(
    embedding: Embedding, seed: int, sizes: tuple[int, ...], candidates: int = CANDIDATES
) -> list[dict[str, object]]:
    """Measure MMD^2 of every method at every size, for one embedding; rows of ``method``, ``n``, ``mmd2``, ``run``."""
    rows: list[dict[str, object]] = []
    for method, design in designs(embedding, seed, candidates).items():
        for n in sizes:
            points = design.take(n)
            if len(points) < n:
                break  # numerical rank: the design has no further points
            rows.append({"method": method, "n": n, "mmd2": design.rule(n).mmd2, "run": seed})
            if method in ("FW", "FWLS"):
                rows.append({"method": method + "BQ", "n": n, "mmd2": bayes_rule(embedding, points).mmd2, "run": seed})
    return rows


def mmd_against_n(
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4), *, sizes: tuple[int, ...] = SIZES
) -> dict[str, pd.DataFrame]:
    """Measure MMD^2 against n for MC, QMC, FW, FWLS, FWBQ, FWLSBQ and SBQ over several mixtures.

    Returns
    -------
    dict
        ``"mmd2"``: columns ``method``, ``n``, ``mmd2``, ``run``.
    """
    import pandas as pd

    rows = [row for seed in seeds for row in mmd_curves(embed(KERNEL, mixture(seed)), seed, sizes)]
    order = ["MC", "QMC", "FW", "FWLS", "FWBQ", "FWLSBQ", "SBQ"]
    frame = pd.DataFrame(rows)
    frame["method"] = pd.Categorical(frame["method"], order, ordered=True)
    frame = frame.sort_values(["method", "run", "n"], ignore_index=True)
    return {"mmd2": frame.astype({"method": str})}


def integrand(kernel: Kernel, seed: int = 0, centres: int = 30) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw a function of unit norm in the reproducing kernel Hilbert space: centres (c, 2) and coefficients (c,)."""
    rng = np.random.default_rng([seed, 2])
    at = rng.uniform(-4.0, 4.0, size=(centres, 2))
    coefficients = rng.normal(size=centres)
    return at, coefficients / np.sqrt(coefficients @ kernel(at) @ coefficients)


def integral_estimates(seed: int = 0, *, sizes: tuple[int, ...] = SIZES[2:]) -> dict[str, pd.DataFrame]:
    """Estimate the integral of a function of unit norm by FWLS and FWLSBQ, with the paper's posterior (amplitude 1).

    The function is a combination of kernels, so that its integral is known exactly.

    Returns
    -------
    dict
        ``"estimates"``: ``method``, ``n``, ``mean``, ``lower68``, ``upper68``, ``lower95``, ``upper95``, ``truth``.
    """
    import pandas as pd

    embedding = embed(KERNEL, mixture(seed))
    centres, coefficients = integrand(KERNEL, seed)
    truth = float(coefficients @ embedding.mean(centres))
    design = FrankWolfe(embedding, step="line-search", candidates=CANDIDATES, rng=seed)
    rows = []
    for n in sizes:
        for method, rule in (("FWLS", design.rule(n)), ("FWLSBQ", bayes_rule(embedding, design.take(n)))):
            posterior = condition(rule, KERNEL(rule.points, centres) @ coefficients, amplitude=1.0)
            (low68, high68), (low95, high95) = posterior.interval(0.68), posterior.interval(0.95)
            rows.append(
                {"method": method, "n": n, "mean": posterior.mean, "lower68": low68, "upper68": high68}
                | {"lower95": low95, "upper95": high95, "truth": truth}
            )
    return {"estimates": pd.DataFrame(rows).sort_values(["method", "n"], ignore_index=True)}
