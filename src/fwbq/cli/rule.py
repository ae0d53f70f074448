"""``fwbq rule``: points and weights for other languages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import _warnings, designs
from ..embeddings import embed
from ..kernels import ExpQuad, Kernel
from ..measures import Measure
from ..rules import PriorMean, Rule, bayes_rule, simplex_rule, uniform_rule
from . import expressions, outputs
from .console import say, say_json

_DESIGNS: dict[str, Callable[..., Any]] = {
    "sbq": lambda e, m, s, p: designs.SBQ(e, candidates=m, rng=s, prior_mean=p),
    "fw": lambda e, m, s, p: designs.FrankWolfe(e, step="herding", candidates=m, rng=s),
    "fwls": lambda e, m, s, p: designs.FrankWolfe(e, step="line-search", candidates=m, rng=s),
    "pairwise": lambda e, m, s, p: designs.BlendedPairwise(e, candidates=m, rng=s),
    "pivot": lambda e, m, s, p: designs.RandomPivot(e, candidates=m, rng=s, prior_mean=p),
    "qmc": lambda e, m, s, p: designs.QMC(e, rng=s),
    "mc": lambda e, m, s, p: designs.MonteCarlo(e, rng=s),
    "obq": lambda e, m, s, p: designs.OBQ(e, candidates=m, rng=s, prior_mean=p),
}
#: Errors in the values may grow by the factor sum |w|; a rule that costs two digits is worth a word.
LARGE_WEIGHTS = 100.0


def default_kernel(measure: Measure) -> ExpQuad:
    """Return the kernel whose length-scales are the standard deviations of the measure; 1 where it does not vary."""
    return ExpQuad(np.where(measure.scale > 0.0, measure.scale, 1.0))


def _embedded(kernel: Kernel, measure: Measure) -> Any:
    """Return the embedding; where there is none, say which kernels and measures go together by their names here."""
    try:
        return embed(kernel, measure)
    except (TypeError, ValueError) as error:
        if "no embedding" not in str(error):
            raise
        reason = str(error).split(": ", 1)[1].split(". ")[0]
        raise ValueError(
            f"`kernel` cannot be integrated under `measure`: {reason}; expquad goes with every measure, matern12 to "
            "matern52 with every one but a gaussian or mixture of correlated coordinates, periodic with one on the "
            "unit cube, such as uniform(lower=[0], upper=[1])"
        ) from error


def rule_and_write(
    measure: str,
    output: Path,
    *,
    kernel: str | None,
    n: int,
    design: str,
    weights: str,
    prior_mean: PriorMean,
    candidates: int,
    seed: int,
    as_json: bool,
) -> int:
    """Make the rule, save it by the suffix of `output`, and say what it is."""
    outputs.file(output, "--output", ("json", "npz", "csv"), ".json, .npz or .csv")
    where = expressions.measure(measure)
    embedding = _embedded(default_kernel(where) if kernel is None else expressions.kernel(kernel), where)
    chosen = _DESIGNS[design](embedding, candidates, seed, prior_mean)
    made: Rule
    if weights == "design":
        made = chosen.rule(n)
    elif weights == "bayes":
        made = bayes_rule(embedding, chosen.take(n), prior_mean=prior_mean)
    else:
        made = {"simplex": simplex_rule, "uniform": uniform_rule}[weights](embedding, chosen.take(n))
    if made.sum_abs_weights > LARGE_WEIGHTS:
        _warnings.warn(
            f"the absolute weights sum to {made.sum_abs_weights:.3g}, and errors in the values of a function may grow "
            "by this factor: use fewer points, a rougher kernel such as matern52, or --weights simplex"
        )
    made.save(output)
    facts = {
        "points": len(made.points),
        "kernel": repr(embedding.kernel),
        "dimension": int(made.points.shape[1]),
        "mmd": made.mmd,
        "sum_abs_weights": made.sum_abs_weights,
        "embedding": embedding.method,
        "design": chosen.status,
        "output": str(output),
    }
    if as_json:
        say_json(facts)
    else:
        dim = made.points.shape[1]
        say(f"{len(made.points)} points in {dim} dimension{'s' if dim > 1 else ''}")
        say(f"worst-case error {made.mmd:.3g}, sum |w| {made.sum_abs_weights:.3g}")
        say(f"saved to {output}")
    return 0
