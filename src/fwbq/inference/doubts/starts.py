"""Starts that no climb has followed."""

from __future__ import annotations

from ..tuning import TUNING
from .case import Case


class Starts:
    """What points may add that neither modes nor other values explain, and from which no climb has begun."""

    name = "starts"
    sentence = "some values are higher than the modes explain, and no climb has followed them"

    def doubt(self, case: Case) -> float:
        """Return what they may add: the share of starts that wait, half a natural logarithm for all of them.

        One climb may end in a false basin: a whole one until others have ended, or points far around the top confirm
        it, and how far climbs have ended apart. Nothing on the points of a sample, where nobody climbs, and in few
        dimensions, where exploration looks for other modes: of 192 runs intervals held as often, and were 1.4 times as
        wide.
        """
        data, climbs = case.data.evaluated, case.climbs
        if data.dim < TUNING.climb.many_dim or data.chart.discrete:
            return 0.0
        waiting = climbs.waiting(data, case.surrogate)
        missed = TUNING.doubts.starts * waiting / (waiting + 2.0 * max(climbs.finished, 1)) if waiting else 0.0
        few = climbs.finished < TUNING.ascent.believed
        if few and not climbs.confirmed(data):
            missed = max(missed, 1.0)
        return max(missed, climbs.apart(data))
