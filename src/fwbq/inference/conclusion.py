"""The conclusion from all values: the evidence, or what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._reason import Reason
from .assessment import Assessment, assess
from .belief import Belief
from .climbs import Climbs
from .known import Known
from .nodes import Nodes
from .probes import Probes
from .result import Evidence, FoundMode, Posterior
from .space import Sample
from .unseen import bound, unseen
from .view import View

Array = NDArray[np.float64]

#: Nodes (size of a Sobol sequence, number of sequences) for a quick and for a full result.
_SOME, _MANY = (1024, 8), (4096, 8)
#: Beyond these, what is unseen and the standard deviation, in natural logarithms, the mass is said not to be found.
_UNSEEN, _UNKNOWN = 1.0, 3.0


@dataclass(frozen=True, eq=False)
class Conclusion:
    """What a run concludes from.

    Attributes
    ----------
    known : Known
    lost : (k, d) array
        Points where the function failed.
    climbs : Climbs
    probes : Probes
    inflation : float
        Of the variance of the process, by how far its predictions were off.
    quick : bool
        Whether a quarter of the nodes is enough.
    """

    known: Known
    lost: Array
    climbs: Climbs
    probes: Probes
    inflation: float
    quick: bool

    def evidence(
        self, view: View | None, draws: np.random.SeedSequence, signs: np.random.SeedSequence, skipped: int, budget: int
    ) -> Evidence:
        """Return the evidence.

        Parameters
        ----------
        view : View or None
            Of all values; None while there are too few of them.
        draws, signs : SeedSequence
            Of the nodes, and of the draws of the sign process.
        skipped, budget : int
            Points at which the function failed, and evaluations planned.
        """
        known = self.known
        posterior = None if view is None else self._posterior(view, draws, signs)
        modes: tuple[FoundMode, ...] = ()
        terms: Assessment | None = None
        if not known.positive.any():
            value, sd, reason = -np.inf, np.inf, Reason.ZERO
        elif isinstance(known.space, Sample) and len(known) >= len(known.space.support):
            value, reason = known.space.log_sum(known.z, known.values), Reason.OPEN
            sd = 1e-15 * max(1.0, abs(value), float(np.max(np.abs(known.values[known.positive]))))
        elif posterior is None:
            value, sd, reason = float(np.max(known.values)), np.inf, Reason.UNSEEN
        else:
            terms = posterior.terms
            modes = posterior.describe(self.climbs.modes)
            value, sd, reason = terms.log_evidence, terms.sd, self._judge(terms, posterior.belief, posterior.nodes)
        return Evidence(value, sd, reason, known.x, known.values, modes, terms, posterior, skipped, budget)

    def _posterior(self, view: View, draws: np.random.SeedSequence, signs: np.random.SeedSequence) -> Posterior:
        """Return the posterior on many nodes, with what its error is made of."""
        belief = view.belief
        nodes = belief.final_nodes(view.nodes, *(_SOME if self.quick else _MANY), draws)
        terms = assess(belief, nodes, self.inflation, signs, bound=bound(self.known, self.climbs))
        open_yet = unseen(self.known, self.lost, self.climbs, self.probes, belief, nodes, terms.surrogate)
        terms = replace(terms, unseen=open_yet)
        return Posterior(self.known.space, belief, nodes, terms)

    def _judge(self, terms: Assessment, belief: Belief, nodes: Nodes) -> Reason:
        """Return what is wrong, or OPEN."""
        if self.probes.improper(self.known, belief, nodes):
            return Reason.IMPROPER
        if terms.unseen > _UNSEEN or terms.sd > _UNKNOWN:
            return Reason.UNSEEN
        return Reason.OPEN
