"""``fwbq rule``: points and weights for other languages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import designs
from ..embeddings import embed
from ..rules import Rule, bayes_rule, simplex_rule, uniform_rule
from . import expressions
from .console import say, say_json

_DESIGNS: dict[str, Callable[..., Any]] = {
    "sbq": lambda e, m, s: designs.SBQ(e, candidates=m, rng=s),
    "fw": lambda e, m, s: designs.FrankWolfe(e, step="herding", candidates=m, rng=s),
    "fwls": lambda e, m, s: designs.FrankWolfe(e, step="line-search", candidates=m, rng=s),
    "pairwise": lambda e, m, s: designs.BlendedPairwise(e, candidates=m, rng=s),
    "pivot": lambda e, m, s: designs.RandomPivot(e, candidates=m, rng=s),
    "qmc": lambda e, m, s: designs.QMC(e, rng=s),
    "mc": lambda e, m, s: designs.MonteCarlo(e, rng=s),
    "obq": lambda e, m, s: designs.OBQ(e, candidates=m, rng=s),
}


def rule_and_write(
    measure: str,
    output: Path,
    *,
    kernel: str,
    n: int,
    design: str,
    weights: str,
    candidates: int,
    seed: int,
    as_json: bool,
) -> int:
    """Make the rule, save it by the suffix of `output`, and say what it is."""
    if output.suffix.lower() not in (".json", ".npz", ".csv"):
        raise ValueError(f"`--output` {str(output)!r} must end in .json, .npz or .csv")
    embedding = embed(expressions.kernel(kernel), expressions.measure(measure))
    chosen = _DESIGNS[design](embedding, candidates, seed)
    made: Rule
    if weights == "design":
        made = chosen.rule(n)
    else:
        make = {"bayes": bayes_rule, "simplex": simplex_rule, "uniform": uniform_rule}[weights]
        made = make(embedding, chosen.take(n))
    made.save(output)
    facts = {
        "points": len(made.points),
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
