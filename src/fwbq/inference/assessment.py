"""The log evidence and everything its error is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .belief import Belief
from .nodes import Nodes, resample, subset
from .surrogate import Surrogate

Array = NDArray[np.float64]

#: Nodes over which double sums of the covariance are taken, and those at which signs are drawn jointly.
_DOUBLE, _SIGNS = 1024, 600
#: Nodes over which the error is taken roughly, when points are chosen.
_ROUGH = 256
#: Variance of the log density at a node beyond which the expansion in its deviation says nothing: the node's mass may
#: be lost, or be several times as large, whether the variance is 4 or 400. Without the bound a few nodes in unknown
#: tails made standard deviations of tens of natural logarithms.
EXPANDED = 4.0
#: Draws of the sign process.
_DRAWS = 300
#: Once predictions were off by a hundred standard deviations, the process says nothing there, and by how much more they
#: were off is no information.
_MOST_INFLATION = 1e4
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
    """

    log_evidence: float
    process: float
    curvature: float
    kernels: float
    nodes: float
    boundary: float
    unseen: float
    inflation: float

    @property
    def surrogate(self) -> float:
        """What the surrogate leaves open: process and second order, widened by how far its predictions were off."""
        return float(np.hypot(np.sqrt(self.inflation) * self.process, self.inflation * self.curvature))

    @property
    def rounding(self) -> float:
        """What double precision leaves open, however many points there are."""
        return float(_ROUNDING + 4.0 * np.finfo(float).eps * abs(self.log_evidence))

    @property
    def sd(self) -> float:
        """Root of the sum of the squares."""
        parts = (self.surrogate, self.kernels, self.nodes, self.boundary, self.unseen, self.rounding)
        return float(np.sqrt(np.sum(np.square(parts))))


def known_error(belief: Belief, nodes: Nodes, inflation: float, seed: np.random.SeedSequence) -> float:
    """Return what surrogate and boundary leave open of the log evidence, from few nodes: for the choice of points."""
    first, each = _orders(belief.surrogate, *subset(nodes, _ROUGH))
    second = 0.5 * inflation * max(each - first, 0.0)
    boundary = _boundary(belief, nodes, seed, _ROUGH)
    return float(np.sqrt(inflation * first + second**2 + boundary**2))


def assess(
    belief: Belief,
    nodes: Nodes,
    inflation: float,
    seed: np.random.SeedSequence,
    *,
    bound: float = np.inf,
) -> Assessment:
    """Integrate the surrogate over the nodes and collect the parts of the error, but for what is unseen.

    Process and curvature, inflated, are at most `bound` each: what the largest likelihood and the mass around it leave
    open, however little the surrogate knows.
    """
    inflation = min(inflation, _MOST_INFLATION)
    value, error = nodes.log_integral()
    surrogate = belief.surrogate
    z, w = subset(nodes, _DOUBLE)
    first, each = _orders(surrogate, z, w)
    shifts = [0.0]
    base = belief.log_joint(z)
    for other in belief.fitted.members[1:]:
        change = np.clip(belief.log_joint(z, other) - base, -50.0, 50.0)
        shifts.append(float(np.log(w @ np.exp(change))))
    weights = belief.fitted.weights
    mean = float(weights @ shifts)
    return Assessment(
        value + mean,
        min(float(np.sqrt(first)), bound / float(np.sqrt(inflation))),
        min(0.5 * max(each - first, 0.0), bound / inflation),
        float(np.sqrt(weights @ (np.array(shifts) - mean) ** 2)),
        error,
        _boundary(belief, nodes, seed),
        0.0,
        inflation,
    )


def _orders(surrogate: Surrogate, z: Array, w: Array) -> tuple[float, float]:
    """Return the variance of the integral under weights w (q,) at points z (q, d), and the mean bounded variance."""
    K = surrogate.covariance(z)
    there = surrogate.predict(z)
    first = surrogate.amplitude * float(there.weighted_variance(w, w @ K @ w))
    return first, float(w @ np.minimum(surrogate.amplitude * there.variance(np.diagonal(K)), EXPANDED))


def _boundary(belief: Belief, nodes: Nodes, seed: np.random.SeedSequence, size: int = _SIGNS) -> float:
    """Return the standard deviation of the log of the share of the mass where the likelihood is positive."""
    if belief.sign is None:
        return 0.0
    # Nodes where the chance to be positive is neither nothing nor certain count most: they are drawn in proportion to
    # the root of it, and weighed by its inverse root.
    half = 0.5 * belief.log_positive(nodes.points)
    rows = resample(Nodes(nodes.points, nodes.log_joint, nodes.log_ratio - half, None, nodes.replicates), size)
    weights = np.exp(half[rows].max() - half[rows])
    z = nodes.points[rows]
    signs = belief.sign.draw(belief.whitening.forward(z), _DRAWS, np.random.default_rng(seed))
    shares = signs @ (weights / weights.sum())
    return float(np.std(np.log(np.maximum(shares, 1.0 / size))))
