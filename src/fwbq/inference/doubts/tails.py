"""Mass beyond the probes of a log joint density without a prior."""

from __future__ import annotations

from .case import Case


class Tails:
    """What lies farther out than the probes."""

    name = "tails"
    sentence = "the density falls off slowly, and there is mass farther out than any point evaluated"

    def doubt(self, case: Case) -> float:
        """Return the share of the evidence that may lie beyond the probes."""
        return case.probes.beyond(case.data.evaluated, case.surrogate.whitening, case.nodes.log_integral()[0])
