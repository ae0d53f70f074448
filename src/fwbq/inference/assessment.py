"""The log evidence and everything its error is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .doubts.boundary import boundary
from .gradients.judge import Judgement
from .nodes import Nodes, subset
from .surrogate import Surrogate
from .tuning import TUNING

Array = NDArray[np.float64]

#: Once predictions were off by a hundred standard deviations, the process says nothing there.
_MOST_INFLATION = 1e4
#: Largest error: the squares of these, inflated, stay finite.
_LARGEST = 1e100
#: Rounding of the sums and products on the way to a log evidence of order one.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Assessment:
    r"""The log evidence with the parts of its variance.

    Attributes
    ----------
    log_evidence : float
        Mean over the kernels of :math:`\log \int e^{m}`.
    process : float
        First order: standard deviation of :math:`\int \pi (\ell - m)` under the process.
    curvature : float
        Second order: :math:`\tfrac12 (\int \pi \min(c(x, x), 4) - \iint \pi c\, \pi)`, at least zero.
    kernels : float
        Spread of the log evidence between kernels.
    nodes : float
        Error of the sum over the nodes, from independent randomisations.
    boundary : float
        What is not known of the region where the likelihood is zero.
    unseen : float
        What a top still rising, or starts not yet followed, may add.
    inflation : float
        Mean square of the errors of predictions made before their points were evaluated, in standard deviations, at
        least one: the factor on the variance of the process.
    doubts : mapping of str to float
        What `unseen` is made of, each with the sentence that says it.
    """

    #: How the evidence was found, in words.
    way: ClassVar[str] = "Bayesian quadrature"
    log_evidence: float
    process: float
    curvature: float
    kernels: float
    nodes: float
    boundary: float
    unseen: float
    inflation: float
    doubts: Mapping[str, float] = field(default_factory=dict)

    @property
    def surrogate(self) -> float:
        """What the surrogate leaves open: process and second order, widened by how far its predictions were off."""
        return float(np.hypot(np.sqrt(self.inflation) * self.process, self.inflation * self.curvature))

    @property
    def rounding(self) -> float:
        """What double precision leaves open, however many points there are."""
        return rounding(self.log_evidence)

    @property
    def sd(self) -> float:
        """Root of the sum of the squares."""
        parts = (self.surrogate, self.kernels, self.nodes, self.boundary, self.unseen, self.rounding)
        return float(np.sqrt(np.sum(np.square(parts))))

    @property
    def parts(self) -> dict[str, float]:
        """What the standard deviation is made of; it is the root of the sum of the squares."""
        return {
            "process": float(np.sqrt(self.inflation)) * self.process,
            "second order": self.inflation * self.curvature,
            "kernels": self.kernels,
            "nodes": self.nodes,
            "boundary": self.boundary,
            "unseen": self.unseen,
            "rounding": self.rounding,
        }


@dataclass(frozen=True, eq=False)
class JudgedAssessment:
    """The log evidence by draws that judge a surrogate, with the parts of its variance.

    Attributes
    ----------
    log_evidence : float
    sampling : float
        Standard error of the mean over the draws.
    nodes : float
        Error of the integrals of the surrogate over nodes.
    drift : float
        By how much the surrogate's own integral changed over the last two fits: a share of it, or all where they differ
        by too much to be believed.
    tails : float
        A share of the mass that the surrogate has where it extrapolates.
    missed : float
        What draws of which few are effective may have missed.
    starts : float
        What further climbs that have not arrived may find.
    sound : bool
        Whether enough of the draws are effective, the last fits agree, and the climbs arrived.
    way : str
        How the evidence was found, in words.
    funnel : float
        What a density that rises while it narrows may hold beyond the climb.
    """

    log_evidence: float
    sampling: float
    nodes: float
    drift: float
    tails: float
    missed: float
    starts: float
    sound: bool
    way: str
    funnel: float = 0.0

    @classmethod
    def of(
        cls, judgements: Sequence[Judgement], decrement: float, starts: float, *, confirmed: bool, way: str
    ) -> JudgedAssessment:
        """Add up the integrals over the cells of the modes.

        `decrement` is the longest Newton step at their tops, `starts` what climbs that have not arrived leave open,
        `confirmed` whether a mode was reached more than once, or need not be, and `way` says how all of it was found.
        """
        logs = np.array([each.log_integral for each in judgements])
        value = float(np.logaddexp.reduce(logs))
        shares = np.exp(logs - value)

        def pooled(errors: list[float]) -> float:
            return float(np.sqrt(np.sum((shares * np.array(errors)) ** 2)))

        major = [each for each, share in zip(judgements, shares, strict=True) if share > TUNING.judge.major]
        return cls(
            value,
            pooled([each.sampling for each in judgements]),
            pooled([each.node_error for each in judgements]),
            pooled([each.unsettled for each in judgements]),
            TUNING.judge.tail * pooled([each.tail for each in judgements]),
            pooled([each.missed for each in judgements]),
            starts,
            confirmed and decrement < 1.0 and all(each.sound for each in major),
            way,
        )

    @property
    def rounding(self) -> float:
        """What double precision leaves open, however many points there are."""
        return rounding(self.log_evidence)

    @property
    def sd(self) -> float:
        """Root of the sum of the squares."""
        return float(np.sqrt(np.sum(np.square(list(self.parts.values())))))

    @property
    def unseen(self) -> float:
        """What was not met: mass that draws may have missed, modes of climbs that have not arrived, a funnel's neck."""
        return float(np.sqrt(self.missed**2 + self.starts**2 + self.funnel**2))

    @property
    def doubts(self) -> dict[str, float]:
        """What is unsure beyond the standard error, in words, with how much of the log evidence it leaves open."""
        return {
            "the density rises while it narrows, as towards the neck of a funnel: write the effects of a hierarchy "
            "divided by their scale (non-centred)": self.funnel,
            "few of the draws are effective: the surrogate may have missed mass": self.missed,
            "further climbs have not arrived, and may end on other modes": self.starts,
            "the surrogate extrapolates in the tails, where there are few draws": self.tails,
            "the surrogate still changes from one fit to the next": self.drift,
        }

    @property
    def parts(self) -> dict[str, float]:
        """What the standard deviation is made of; it is the root of the sum of the squares."""
        return {
            "sampling": self.sampling,
            "nodes": self.nodes,
            "drift": self.drift,
            "tails": self.tails,
            "unseen": self.unseen,
            "rounding": self.rounding,
        }


def rounding(log_evidence: float) -> float:
    """Return what double precision leaves open of a log evidence."""
    return float(_ROUNDING + 4.0 * np.finfo(float).eps * abs(log_evidence))


def known_error(surrogate: Surrogate, nodes: Nodes, inflation: float, seed: np.random.SeedSequence) -> float:
    """Return what surrogate and boundary leave open of the log evidence, from few nodes: for the choice of points."""
    error = surrogate.process.log_integral_error(*subset(nodes, TUNING.sizes.rough)).inflated(inflation)
    edge = boundary(surrogate, nodes, seed, TUNING.sizes.rough)
    return float(np.sqrt(error.variance + edge**2))


def assess(
    surrogate: Surrogate, nodes: Nodes, inflation: float, seed: np.random.SeedSequence, pairs: int = TUNING.sizes.pairs
) -> Assessment:
    """Integrate the surrogate over the nodes and collect the parts of the error, but for what is unseen.

    Sums over pairs of nodes are taken over so many of them.
    """
    inflation = min(inflation, _MOST_INFLATION)
    value, error = nodes.log_integral()
    z, w = subset(nodes, pairs)
    orders = surrogate.process.log_integral_error(z, w)
    shifts = [0.0]
    base = surrogate.log_joint(z)
    for other in surrogate.fitted.members[1:]:
        change = np.clip(surrogate.log_joint(z, other) - base, -50.0, 50.0)
        shifts.append(float(np.log(w @ np.exp(change))))
    weights = surrogate.fitted.weights
    mean = float(weights @ shifts)
    return Assessment(
        value + mean,
        min(float(np.sqrt(orders.first)), _LARGEST),
        min(float(orders.second), _LARGEST),
        float(np.sqrt(weights @ (np.array(shifts) - mean) ** 2)),
        error,
        boundary(surrogate, nodes, seed),
        0.0,
        inflation,
    )
