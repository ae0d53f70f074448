"""A top that still rises, or that no climb has reached."""

from __future__ import annotations

import numpy as np

from ...process.basis import basis_size
from ..tuning import TUNING
from .case import Case


class Rising:
    """How far the top may be above the highest value."""

    name = "rising"
    sentence = "the highest value may not be at the top of the density: no climb has arrived, or the top still rises"

    def doubt(self, case: Case) -> float:
        """Return how far the top may be above the highest value, about one standard deviation.

        Where no climb has arrived, the top may be as far above as the best of them says, unless later rounds have
        settled the matter: enough points chosen under the surrogate posterior have not raised the top, and what the
        surrogate itself leaves open is small. It may be anywhere where the highest value was found at the end of what
        double precision can tell apart.
        """
        data, climbs = case.data.evaluated, case.climbs
        tops, joint = data.tops, data.joint[data.positive]
        # Slopes may be extrapolated to any height. The top is at most as far above the best value as that is above the
        # lower quartile of the spread points.
        most = data.top - float(np.quantile(joint[: climbs.first], 0.25))
        if data.chart.at_end(data.z[[int(np.argmax(data.joint))]])[0]:
            return most
        recent = max(data.dim + 2, len(tops) // 5)
        before = float(tops[-recent - 1]) if len(tops) > recent else -np.inf
        rising = max(0.0, data.top - before - TUNING.doubts.rising)
        lower_quartile = float(np.quantile(joint, 0.25))
        if not climbs.each and not data.chart.discrete:
            # Nobody has looked for the top yet.
            rising = data.top - lower_quartile
        if climbs.each and not any(climb.arrived for climb in climbs.each):
            best, coefficients = climbs.highest, basis_size("quadratic", data.dim)
            since = len(tops) - int(np.argmax(tops >= data.top - TUNING.doubts.rising))
            settled = (
                data.dim < TUNING.climb.many_dim and case.error < TUNING.doubts.settled and since >= 2 * coefficients
            )
            rising = float(
                np.hypot(rising, TUNING.climb.not_arrived * coefficients / since if settled else best.short())
            )
            if best.spent < coefficients:
                # No model is determined yet: the top may be as far above the best value as that is above the lower
                # quartile of all. The median was too near for one in fifty Gaussians five times narrower than the
                # prior, with fewer evaluations than a quadratic has coefficients.
                rising = max(rising, data.top - lower_quartile)
        return min(rising, most)
