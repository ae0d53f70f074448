"""Draws under a surrogate that judge it: importance sampling with the surrogate as control variate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ..._whitening import Whitening
from ..mixture import Mixture, lower_root
from ..nodes import Nodes, draw
from ..tuning import TUNING
from .surrogate import GradientSurrogate

Array = NDArray[np.float64]
#: Which of points (m, d) belong to the part of the space that is integrated over, (m,).
Cell = Callable[[Array], NDArray[np.bool_]]


def around(whitening: Whitening) -> Mixture:
    """Return the mixture around a Gaussian, with wider components and heavier tails."""
    weights, wider, dfs = np.array(TUNING.judge.components).T
    means = np.repeat(whitening.centre[None], len(weights), axis=0)
    widths = 1.0 + wider / np.sqrt(len(whitening.centre))
    return Mixture(weights, means, widths[:, None, None] * whitening.root, dfs)


def wide_share(dim: int) -> float:
    """Return which share of the draws comes from the wide mixture."""
    return TUNING.judge.share * min(1.0, 2.0 / float(np.sqrt(dim)))


def contained(
    surrogate: GradientSurrogate, cell: Cell, whitening: Whitening, seed: np.random.SeedSequence
) -> GradientSurrogate:
    """Return the surrogate, lowered far from its points by as little as brings its mass to where they are.

    A process that rises away from all points would have most of its mass there: few nodes of the mixture would then
    carry it.
    """
    numbers = TUNING.judge
    for lowered in numbers.lowered:
        if lowered > surrogate.reach.lowered:
            surrogate = replace(surrogate, reach=replace(surrogate.reach, lowered=lowered))
        nodes = draw(within(surrogate, cell), around(whitening), numbers.nodes // 4, 1, seed)
        if nodes.effective > numbers.contained:
            break
    return surrogate


def within(surrogate: GradientSurrogate, cell: Cell) -> Callable[[Array], Array]:
    """Return the surrogate in a cell, and as good as zero outside of it."""
    return lambda z: np.where(cell(z), surrogate(z), surrogate.level - 1e4)


def _tempered(logs: Array) -> tuple[Array, float]:
    """Return weights exp(tau logs), normalised, with tau lowered until enough of them are effective."""
    tau = 1.0
    while True:
        w = np.exp(tau * (logs - logs.max()))
        w /= w.sum()
        if 1.0 / np.sum(w * w) > TUNING.judge.carried * len(w) or tau < 0.05:
            return w, tau
        tau *= 0.85


@dataclass(frozen=True, eq=False)
class Proposal:
    r"""The density that draws come from: the surrogate posterior, tempered, and a share of a wide mixture.

    .. math:: q = (1 - \epsilon)\, m^{1 - \tau} e^{\tau \beta s} / Z_q + \epsilon\, m

    with s the surrogate, m a mixture around its posterior, beta a little below one so that tails are met, and tau below
    one only where few nodes would carry the draws.

    Attributes
    ----------
    surrogate : GradientSurrogate
    whitening : Whitening
        Mean and root of the surrogate posterior, around which the mixture is.
    tau : float
    log_constant : float
        Log Z_q.
    """

    surrogate: GradientSurrogate
    whitening: Whitening
    tau: float
    log_constant: float

    @property
    def beta(self) -> float:
        """The power of the posterior that is drawn from."""
        return 1.0 - TUNING.judge.temper / float(np.sqrt(len(self.whitening.centre)))

    def log_density(self, z: Array) -> Array:
        """Return the log density of the draws at points z (m, d)."""
        share = wide_share(len(self.whitening.centre))
        m = around(self.whitening).log_density(z)
        power = self.tau * self.beta * (self.surrogate(z) - self.surrogate.level)
        tempered = power + (1.0 - self.tau) * m - self.log_constant
        return np.asarray(np.logaddexp(np.log1p(-share) + tempered, np.log(share) + m))


def moments(surrogate: GradientSurrogate, cell: Cell, whitening: Whitening, seed: np.random.SeedSequence) -> Whitening:
    """Return mean and root of the surrogate posterior in a cell; near those given where few nodes carry it."""
    for child in seed.spawn(2):
        nodes = draw(within(surrogate, cell), around(whitening), TUNING.judge.nodes // 2, 1, child)
        w, _ = _tempered(nodes.log_ratio)
        held = nodes.effective * len(w)
        trust = held / (held + 2.0 * len(whitening.centre))
        mean = w @ nodes.points
        shifted = nodes.points - mean
        cov = trust * (shifted * w[:, None]).T @ shifted + (1.0 - trust) * whitening.root @ whitening.root.T
        whitening = Whitening(trust * mean + (1.0 - trust) * whitening.centre, lower_root(cov))
    return whitening


def propose(
    surrogate: GradientSurrogate, cell: Cell, whitening: Whitening, size: int, seed: np.random.SeedSequence
) -> tuple[Proposal, Array, float]:
    """Return a proposal, draws (size, d) from it, and the log integral of the surrogate over the cell."""
    seeds = seed.spawn(4)
    surrogate = contained(surrogate, cell, whitening, seeds[0])
    whitening = moments(surrogate, cell, whitening, seeds[1])
    mixture = around(whitening)
    nodes = draw(surrogate, mixture, TUNING.judge.nodes, 1, seeds[2])
    log_mixture = nodes.log_joint - nodes.log_ratio
    beta = Proposal(surrogate, whitening, 1.0, 0.0).beta
    logs = beta * (nodes.log_joint - surrogate.level) - log_mixture
    w, tau = _tempered(logs)
    constant = float(np.logaddexp.reduce(tau * logs) - np.log(len(logs)))
    rng = np.random.default_rng(seeds[3])
    wide = int(rng.binomial(size, wide_share(mixture.dim)))
    rows = rng.choice(len(w), size - wide, p=w)
    spread = mixture.transform(rng.uniform(size=(wide, mixture.dim + 2)))
    inside = np.where(cell(nodes.points), nodes.log_ratio, -np.inf)
    mass = float(np.logaddexp.reduce(inside) - np.log(len(inside)))
    # In random order, so that the first of them alone are draws too.
    draws = rng.permutation(np.concatenate([nodes.points[rows], spread]))
    return Proposal(surrogate, whitening, tau, constant), draws, mass


@dataclass(frozen=True, eq=False)
class Judgement:
    r"""The integral over a cell by draws that judge a surrogate.

    .. math:: Z = \frac1n \sum_i \left\{ \int e^{s_{-F(i)}} + \frac{e^{g(z_i)} - e^{s_{-F(i)}(z_i)}}{q(z_i)} \right\}

    where :math:`s_{-F}` is the surrogate without the fold F of the draws, and q their density. Whatever the surrogate
    is, this is nearly unbiased, and its error is a standard error; a good surrogate makes the terms nearly equal. All
    numbers are relative to `reference`, a logarithm.

    Attributes
    ----------
    reference : float
    nodes : Nodes
        Of the surrogate posterior in the cell.
    folds : (m, k) array
        Importance weights of the first m nodes under the surrogates without each fold, relative to their mean.
    fold : (n,) array of int
        Fold of each draw.
    points : (n, d) array
        The draws.
    truth, predicted : (n,) arrays
        Importance weights of the draws, and what the surrogate without their fold says of them.
    base : float
        Integral of the surrogate.
    base_error : float
        Its standard error.
    tail : float
        Share of the surrogate's mass where it extrapolates.
    drift : float
        Change of the logarithm of the surrogate's integral over the last two fits, or since the only one.
    """

    reference: float
    nodes: Nodes
    folds: Array
    fold: NDArray[np.intp]
    points: Array
    truth: Array
    predicted: Array
    base: float
    base_error: float
    tail: float
    drift: float

    def terms(self, at_nodes: Array | None = None, at_draws: Array | None = None) -> Array:
        """Return the terms (n,) whose mean is the integral of p; with values of g at nodes and draws, of g times p."""
        surrogate = np.exp(self.nodes.log_ratio - self.reference)
        some = len(self.folds)
        if at_nodes is None or at_draws is None:
            whole, each = self.base, self.folds.mean(axis=0) - surrogate[:some].mean()
            correction = self.truth - self.predicted
        else:
            whole = float(np.mean(surrogate * at_nodes)) * self.base / float(surrogate.mean())
            each = (self.folds * at_nodes[:some, None]).mean(axis=0) - np.mean(surrogate[:some] * at_nodes[:some])
            correction = (self.truth - self.predicted) * at_draws
        if not self.helpful:
            return np.asarray(self.truth if at_draws is None else self.truth * at_draws)
        return np.asarray(whole + each[self.fold] + correction)

    @property
    def helpful(self) -> bool:
        """Whether the surrogate is better than none."""
        some = np.exp(self.nodes.log_ratio[: len(self.folds)] - self.reference).mean()
        each = self.base + self.folds.mean(axis=0) - some
        return bool(0.3 < np.mean(each[self.fold] + self.truth - self.predicted) < 3.0)

    @property
    def log_integral(self) -> float:
        """Log Z."""
        return self.reference + float(np.log(self.terms().mean()))

    @property
    def effective(self) -> float:
        """Effective share of the draws by their importance weights."""
        return float(self.truth.sum() ** 2 / np.sum(self.truth**2) / len(self.truth))

    @property
    def sampling(self) -> float:
        """Standard error of log Z from the draws."""
        return standard_error(self.terms()) / float(self.terms().mean())

    @property
    def node_error(self) -> float:
        """Standard error of log Z from the sums over nodes."""
        changes = self.folds.mean(axis=1) - np.exp(self.nodes.log_ratio[: len(self.folds)] - self.reference)
        error = np.hypot(self.base_error, np.std(changes) / np.sqrt(len(changes)))
        return TUNING.judge.wider * float(error) / float(self.terms().mean())

    @property
    def missed(self) -> float:
        """What draws of which few are effective may have missed."""
        return TUNING.judge.missed * max(0.0, float(np.log(TUNING.judge.effective / self.effective)))

    @property
    def settled(self) -> bool:
        """Whether the last fits agree, or so many of the draws are effective that it does not matter."""
        many = self.effective * len(self.truth) > TUNING.judge.convincing_draws
        return self.drift < TUNING.judge.most_drift or (many and self.effective > TUNING.judge.effective)

    @property
    def unsettled(self) -> float:
        """What a surrogate that changes from one fit to the next leaves open."""
        return TUNING.judge.drift * self.drift if self.settled else self.drift

    @property
    def sound(self) -> bool:
        """Whether enough of the draws are effective, and the last fits agree."""
        return self.effective > TUNING.judge.effective and self.settled


def standard_error(terms: Array) -> float:
    """Return the standard error of the mean of terms (n,), widened for how little tens of them say of their tails.

    With few it is as much wider as a 95 % interval of Student's t is.
    """
    few = float(stdtrit(max(len(terms) - 1, 1), 0.975)) / 1.96
    deviation = float(terms.std(ddof=1)) if len(terms) > 1 else float(np.abs(terms[0]))
    skew = float(np.mean((terms - terms.mean()) ** 3)) / max(deviation, 1e-300) ** 3
    root = float(np.sqrt(len(terms)))
    return max(TUNING.judge.wider, few) * deviation / root * (1.0 + TUNING.judge.skewness * abs(skew) / root)


def judge(
    surrogate: GradientSurrogate,
    proposal: Proposal,
    cell: Cell,
    points: Array,
    values: Array,
    position: NDArray[np.intp],
    masses: list[float],
    seed: np.random.SeedSequence,
) -> Judgement:
    """Judge a surrogate by draws.

    Parameters
    ----------
    surrogate : GradientSurrogate
        Fitted to all data, the draws among them.
    proposal : Proposal
        What the draws came from.
    cell : callable
        The part of the space that is integrated over.
    points, values : (n, d), (n,) arrays
        The draws, and the log density there.
    position : (n,) array of int
        Rows of the draws among the rows of the surrogate; -1 where it does not use one.
    masses : list of float
        Log integrals of the surrogates of earlier rounds.
    seed : SeedSequence
    """
    seeds = seed.spawn(4)
    numbers = TUNING.judge
    n, d = points.shape
    # How far it is believed must not depend on the draws that judge it.
    surrogate = replace(surrogate, reach=proposal.surrogate.reach)
    surrogate = contained(surrogate, cell, proposal.whitening, seeds[0])
    mixture = around(moments(surrogate, cell, proposal.whitening, seeds[1]))
    nodes = draw(within(surrogate, cell), mixture, *numbers.final, seeds[2])
    log_q = proposal.log_density(points)
    inside = cell(points)
    joint = np.where(inside, values, -np.inf)
    reference = float(np.logaddexp.reduce(joint - log_q) - np.log(n))
    if not np.isfinite(reference):
        reference = float(surrogate.level)
    log_mixture = nodes.log_joint - nodes.log_ratio
    # Mass that no draw could have met is not believed: surrogates are cut at a multiple of the density of the draws.
    cut = float(np.log(numbers.cut) + numbers.cut_exponent * np.sqrt(d))
    limit = proposal.log_density(nodes.points) + reference + cut
    clipped = np.minimum(nodes.log_joint, limit)
    nodes = Nodes(nodes.points, clipped, clipped - log_mixture, mixture, nodes.replicates)
    mass, error = nodes.log_integral()
    base = float(np.exp(mass - reference))
    fold = np.empty(n, dtype=np.intp)
    fold[np.random.default_rng(seeds[3]).permutation(n)] = np.arange(n) % numbers.folds
    parts = [position[(fold == k) & (position >= 0)] for k in range(numbers.folds)]
    weights = surrogate.process.without(parts)
    some = slice(0, len(clipped) // 2)
    z = nodes.points[some]
    each = np.where(cell(z)[:, None], surrogate(z, weights), -np.inf)
    folds = np.exp(np.minimum(each, limit[some, None]) - (log_mixture[some] + reference)[:, None])
    expected = surrogate(points, weights)[np.arange(n), fold]
    truth = np.exp(np.clip(joint - log_q - reference, -700.0, 50.0))
    predicted = np.where(inside, np.exp(np.clip(expected - log_q - reference, -700.0, cut)), 0.0)
    tail = float(np.sum(nodes.weights[surrogate.beyond(nodes.points)]))
    drift = abs(mass - masses[-min(2, len(masses))])
    return Judgement(reference, nodes, folds, fold, points, truth, predicted, base, base * error, tail, float(drift))
