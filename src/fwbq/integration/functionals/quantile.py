"""Quantiles of f under the measure."""

from __future__ import annotations

import math

from ...measures import Measure
from ...posterior import Estimate
from .probability import RARE, TAIL_WIDENING
from .sampled import ANCHORS, Sampled
from .statistics import quantile_at
from .tail import has_tail, tail_nodes

#: Rounds in which nodes are moved to the last estimate of a quantile far out.
_ROUNDS = 6


def quantile_of(sampled: Sampled, measure: Measure, q: float) -> Estimate:
    """Return the q-quantile of f; far out in a tail on nodes that are moved there."""
    if RARE <= q <= 1.0 - RARE or not has_tail(measure):
        return sampled.estimate(quantile_at(q), counted=True)
    high = q > 0.5
    sign = 1.0 if high else -1.0
    statistic = quantile_at(q, from_above=high)
    found = sampled.estimate(quantile_at(1.0 - RARE if high else RARE), counted=True)
    for _ in range(_ROUNDS):
        before = found
        nodes = tail_nodes(sampled.process, measure, float(before.mean), sign)
        if nodes is None:
            break
        step = max(len(nodes.points) // ANCHORS, 1)
        found = Sampled(sampled.process, nodes, nodes, nodes.points[::step], TAIL_WIDENING).estimate(
            statistic, counted=True
        )
        # The nodes are good for thresholds near the one they were made for.
        if math.isclose(found.mean, before.mean, abs_tol=found.sd):
            break
    return found
