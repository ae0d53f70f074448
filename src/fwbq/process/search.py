"""The search: the most probable parameters of each family, and draws around them with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, pi

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv, gammaln, ndtri

from .. import _validate
from .._quasi_random import quasi_random
from ..kernels import Differences, Kernel
from .amplitude import normalise
from .families import FAMILIES, KernelFamily
from .objective import Objective
from .prior import LengthscalePrior
from .regression import relative

FloatArray = NDArray[np.float64]
#: From the bytes of points and values to (parameters, log posterior) of each family.
Memory = dict[bytes, tuple[tuple[FloatArray, float], ...]]

#: Points the parameters are found from. Each evaluation costs O(n^3), and more points hardly move the parameters: with
#: 400 instead of 150 a fit took four times as long, and intervals were 4 to 13 % narrower.
MOST_POINTS = 150
#: Draws in all, shared among the families by their probability. Their effective number (`Fit.effective_size`) was
#: measured as 9 to 16.
DRAWS = 16
#: Fewest draws of a family that has any: enough for shorter and longer length-scales than those of the peak. On the 20
#: integrals of benchmarks/constants.py (n = 20, smooth and rough, one and two dimensions) 1 or 6 of them changed the
#: widths of intervals by less than 1 %.
FEWEST_DRAWS = 3
#: Families less probable than this, by Laplace's approximation, have no draws. On those 20 integrals ten times more or
#: less changed no interval.
LEAST_PROBABILITY = 2e-3
#: Approximate number of kernels in the average: each costs a rule. On 36 problems with n = 20 in one and two dimensions
#: the intervals of 8 were 0.99 times as wide as those of 16 (median; 0.96 to 1.01 in half of the cases). On all
#: families of `studies.coverage`, n = 20 and 100, 5 and 8 covered equally often.
MEMBERS = 5
#: Families of less probability than this have no member: their rules would cost as much as those of the others. On the
#: 20 integrals of benchmarks/constants.py ten times more or less changed no interval.
NEGLIGIBLE = 5e-3
#: The search of a family starts from the best of these: all log length-scales shifted by so much from the centre of the
#: prior (whose standard deviation is 1.2) for the first family, and from the lengths found for the first family for the
#: others. The likelihood is flat where all lengths are far too short, and has other maxima where they are too long:
#: with the shift 0 alone for the other families intervals were 11 % wider on those integrals, with three times as many
#: shifts they were the same. Each costs one evaluation of the likelihood without its gradient.
FIRST_LOOK = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0)
NEXT_LOOK = (-1.5, -1.0, -0.5, 0.0, 0.5)
#: The same for the log share of a remainder, in prior standard deviations: 1e-4, next to nothing, and half. The
#: likelihood has two maxima: of a smooth function the higher one is where the remainder explains next to nothing, of a
#: rough one where it explains half or more. Without the last look the search of 60 values of a sample of Matern32 ended
#: at the lower one, by 18 in natural logarithms.
SHARE_LOOK = (0.0, -1.5, 4.0 / 3.0)
#: The same for the log weights of an ANOVA kernel, all equal: mostly functions of one coordinate, of several, and
#: nearly a product kernel. Of the shares only the first is looked at: with the last one the search of Ishigami's
#: function ended where the remainder explains everything, 250 below the maximum in natural logarithms (n = 150).
WEIGHT_LOOK = (-2.0, 1.0, 4.0)
#: Shifts from the lengths of the best other family, when an ANOVA kernel that was searched with fewer values is
#: searched with more of them.
WEIGHTED_LOOK = (-1.0, 0.0)
#: A family that was searched with fewer values is not searched with more of them if it begins so far below the best
#: family, in natural logarithms. On 152 problems (19 families of `studies.coverage`, n = 32, 100) the best family
#: was the same as without this limit in all but one.
ABANDONED = 15.0
#: The same for a weighted family, whose search begins with equal weights and finds more: on Ishigami's function with
#: n = 128 it began 33 below the best other family and ended 250 above it.
WEIGHTED_ABANDONED = 60.0
#: A family whose maximum is this far below the best, in natural logarithms, is left out of the average: relative to the
#: best its probability is e^-10, times the ratio of the volumes of the peaks. On those integrals 5 and 20 changed no
#: interval.
HOPELESS = 10.0
#: Degrees of freedom of the proposal: heavier tails than the posterior's, so that no draw far out has most of the
#: weight. On those integrals 2 made intervals 5 % wider and 20 made them 3 % narrower.
_STUDENT_DF = 5.0
#: A search of n values is made in units of 1 / sqrt(1 + n) for the logarithms of the lengths, about the width of the
#: peak, and in these units for the log weights of an ANOVA kernel and the log share of a remainder. It ends when its
#: objective, of order 10 to 100, changes by less than a part `_FTOL`, when its slope in these units is less than
#: `_GTOL`, or after `_STEPS` steps. It need not be exact: the draws around its end have weights of their own. On 18
#: problems with n = 100 in two dimensions the searches took 80 gradients a problem, instead of 126 in units of one and
#: with slopes of 1e-3. The maxima found in stages and at once, of 24 samples of 60 values, differed by 0.003 at most,
#: with slopes of 5e-2 by 0.01.
_WEIGHT_UNIT, _SHARE_UNIT = 1.0, 3.0
_FTOL, _GTOL, _STEPS = 1e-5, 2e-2, 40


@dataclass(frozen=True, eq=False)
class Member:
    """One kernel and its probability.

    Attributes
    ----------
    kernel : Kernel
    weight : float
    family : KernelFamily
    """

    kernel: Kernel
    weight: float
    family: KernelFamily


@dataclass(frozen=True, eq=False)
class Fit:
    """What the data say about the kernel.

    Attributes
    ----------
    kernel : Kernel
        The most probable kernel: family and length-scales.
    family : KernelFamily
        Its family.
    theta : (p,) array
        Its parameters.
    members : tuple of Member
        Kernels with probabilities that sum to one, most probable first.
    effective_size : float
        Effective number of draws, 1 / sum weight^2 over all of them: how many equally probable kernels the average is
        worth. 1 means that a single draw decides it.
    """

    kernel: Kernel
    family: KernelFamily
    theta: FloatArray
    members: tuple[Member, ...]
    effective_size: float


@dataclass(frozen=True, eq=False)
class _Peak:
    """A maximum of the log posterior of one family."""

    objective: Objective
    theta: FloatArray
    height: float

    @cached_property
    def shape(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors of minus the Hessian; by differences of the gradient.

        A direction in which the posterior is flat, or rises away from the point where the search ended, is taken to be
        as uncertain as the prior is along it, at most.
        """
        curvature, axes = np.linalg.eigh(self.objective.curvature(self.theta))
        prior = np.einsum("ij,ij->j", axes, self.objective.precision @ axes)
        return np.maximum(curvature, 0.5 * prior), axes

    @property
    def log_normaliser(self) -> float:
        """Log of the constant that makes the prior a density."""
        p = len(self.theta)
        return 0.5 * float(np.linalg.slogdet(self.objective.precision)[1]) - 0.5 * p * log(2.0 * pi)

    @property
    def laplace(self) -> float:
        """Log probability of the family's values by Laplace's approximation."""
        curvature, _ = self.shape
        spread = 0.5 * len(self.theta) * log(2.0 * pi) - 0.5 * float(np.sum(np.log(curvature)))
        return self.height + self.log_normaliser + spread

    def draw(self, size: int) -> list[tuple[float, KernelFamily, FloatArray]]:
        """Return (log weight, family, theta) of parameters at quasi-random quantiles of a Student-t around the peak.

        The weights, posterior over proposal density and divided by `size`, sum to the probability of the values.
        """
        p, df = len(self.theta), _STUDENT_DF
        curvature, axes = self.shape
        u = quasi_random(size, p + 1)
        stretch = np.sqrt(0.5 * df / gammaincinv(0.5 * df, u[:, p]))
        t = ndtri(u[:, :p]) * stretch[:, None]
        log_q = gammaln(0.5 * (df + p)) - gammaln(0.5 * df) - 0.5 * p * np.log(df * np.pi)
        log_q = log_q + 0.5 * np.sum(np.log(curvature)) - 0.5 * (df + p) * np.log1p(np.sum(t * t, axis=1) / df)
        thetas = self.theta + (t / np.sqrt(curvature)) @ axes.T
        constant = self.log_normaliser - float(np.log(size))
        return [
            (self.objective.value(theta) + constant - float(q), self.objective.family, theta)
            for theta, q in zip(thetas, log_q, strict=True)
        ]


def fit(
    points: ArrayLike,
    values: ArrayLike,
    *,
    scale: ArrayLike,
    families: Sequence[KernelFamily] = FAMILIES,
    prior_mean: str = "constant",
    shape: FloatArray | None = None,
    draws: int = DRAWS,
    stages: Sequence[int] = (),
    memory: Memory | None = None,
) -> Fit:
    """Find length-scales and smoothness from values, and average over those that the values leave plausible.

    For each family the log posterior (likelihood times `LengthscalePrior`) is maximised by L-BFGS-B, from the best of
    several multiples of the same length-scales. Around the maxima parameters are drawn at quasi-random quantiles of a
    Student-t with the curvature there, and weighted by posterior over proposal density; families are equally probable
    beforehand, and the weights of all draws together, normalised, are the probabilities of the kernels.

    Parameters
    ----------
    points : array_like, shape (n, d)
        Distinct points, n >= 3. The first 150 are used.
    values : array_like, shape (n,) or (n, m)
        Values. The columns of (n, m) share the kernel and have an amplitude each: their likelihoods multiply.
    scale : array_like, shape (d,)
        Standard deviations of the measure, to which length-scales are compared.
    families : sequence of KernelFamily
        Candidates.
    prior_mean : {"zero", "constant"}
        Mean of the process.
    shape : (n,) array, optional
        Positive numbers of which the mean is an unknown multiple, instead of a constant.
    draws : int
        Approximate number of parameters drawn in all. With 0 the only member is the most probable kernel.
    stages : sequence of int
        The search begins with this number of points, and goes on with the next larger number of them from what it has
        found: most evaluations of the likelihood are then those of few points.
    memory : dict, optional
        What searches with the same prior, families and shape have found, to be filled. A search that is in it, or a
        stage of it, is not made again; the result is the same.

    Returns
    -------
    Fit
        When all values are equal they say nothing: the kernel is then the centre of the prior in the middle family.

    Notes
    -----
    Deterministic, and unchanged when the values are multiplied by a power of two; another factor, or a constant added
    to them, changes it by rounding only.
    """
    x = _validate.points(points, "points")[:MOST_POINTS]
    f = _validate.values(values, "values", len(np.asarray(points)))[:MOST_POINTS]
    constant = _validate.choice(prior_mean, "prior_mean", ("zero", "constant")) == "constant"
    prior = LengthscalePrior(_validate.vector(scale, "scale", x.shape[1]))
    search = _Search(families, prior, constant, {} if memory is None else memory)
    peaks = search.peaks(x, f, None if shape is None else shape[: len(x)], [n for n in sorted(stages) if n >= 3])
    if not peaks:
        family = families[len(families) // 2]
        return _single(family, prior.location(family), prior.dim)
    top = max(peaks, key=lambda peak: peak.height)
    if not draws:
        return _single(top.objective.family, top.theta, prior.dim)
    found = _draws([peak for peak in peaks if peak.height >= top.height - HOPELESS], draws)
    logs = np.array([draw[0] for draw in found])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    members = _members(found, weights, prior.dim)
    family = top.objective.family
    return Fit(family.kernel(top.theta, prior.dim), family, top.theta, members, float(1.0 / np.sum(weights**2)))


def _members(found: list[tuple[float, KernelFamily, FloatArray]], weights: FloatArray, dim: int) -> tuple[Member, ...]:
    """Return few of the draws that stand for all: of each family some, which share its probability.

    They are taken at evenly spaced levels of the cumulated weights (systematic resampling without randomness), the
    draws of a family in the order of their mean length-scale, so that short and long ones are both represented.
    """
    members: list[Member] = []
    for family in dict.fromkeys(family for _, family, _ in found):
        own = [j for j, draw in enumerate(found) if draw[1] is family]
        own.sort(key=lambda j: float(np.sum(found[j][2][:dim])))
        share = float(weights[own].sum())
        if share < NEGLIGIBLE:
            continue
        count = max(1, round(MEMBERS * share))
        levels = (np.arange(count) + 0.5) / count
        chosen = np.searchsorted(np.cumsum(weights[own]) / share, levels)
        for j, times in zip(*np.unique(np.minimum(chosen, len(own) - 1), return_counts=True), strict=True):
            kernel = family.kernel(found[own[j]][2], dim)
            members.append(Member(kernel, share * int(times) / count, family))
    total = sum(member.weight for member in members)
    members = [replace(member, weight=member.weight / total) for member in members]
    return tuple(sorted(members, key=lambda member: -member.weight))


def _single(family: KernelFamily, theta: FloatArray, dim: int) -> Fit:
    kernel = family.kernel(theta, dim)
    return Fit(kernel, family, theta, (Member(kernel, 1.0, family),), 1.0)


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for the maxima of all families.

    Attributes
    ----------
    families : sequence of KernelFamily
    prior : LengthscalePrior
    constant : bool
        Whether the mean is an unknown multiple of the shape, which is one by default.
    memory : dict
        From points and values to the maxima found.
    """

    families: Sequence[KernelFamily]
    prior: LengthscalePrior
    constant: bool
    memory: Memory

    def peaks(self, x: FloatArray, f: FloatArray, shape: FloatArray | None, stages: Sequence[int]) -> list[_Peak]:
        """Return the maximum of each family; none when the values say nothing, because the mean explains them."""
        objectives = self._objectives(x, f, shape)
        if not objectives:
            return []
        key = x.tobytes() + f.tobytes()
        if key not in self.memory:
            fewer = [n for n in stages if n < len(x)]
            before: list[_Peak] = []
            if fewer:
                n = fewer[-1]
                before = self.peaks(x[:n], f[:n], None if shape is None else shape[:n], fewer)
            found = _continued(objectives, before) if before else _begun(objectives)
            self.memory[key] = tuple((peak.theta, peak.height) for peak in found)
        return [_Peak(o, *found) for o, found in zip(objectives, self.memory[key], strict=True)]

    def _objectives(self, x: FloatArray, f: FloatArray, shape: FloatArray | None) -> list[Objective]:
        f, _ = normalise(f)
        basis = None
        if self.constant:
            # Relative to one value, values that are all equal are exactly zero.
            f, _ = normalise(relative(f, shape))
            basis = (np.ones(len(f)) if shape is None else shape)[:, None]
        if not np.any(f):
            return []
        pairs = Differences.of(x)
        return [Objective(family, self.prior, pairs, f, basis) for family in self.families]


def _begun(objectives: list[Objective]) -> list[_Peak]:
    """Search each family from the centre of the prior."""
    # The middle family first: the lengths found for it are a good start for smoother and for rougher ones.
    middle = len(objectives) // 2
    first = _maximise(objectives[middle], _looks(objectives[middle], objectives[middle].location, FIRST_LOOK))
    return [
        first if j == middle else _maximise(objective, _looks(objective, first.theta, NEXT_LOOK))
        for j, objective in enumerate(objectives)
    ]


def _continued(objectives: list[Objective], before: list[_Peak]) -> list[_Peak]:
    """Search each family from the maximum that was found with fewer values, the most probable one first.

    On the 152 problems named above this took 24 gradients and 6 further values of the likelihood a search, instead of
    43 and 26 from the centre of the prior; the maximum was lower by more than one in one of them, higher in two.

    A weighted family comes last, and may start from the best of the others too: with large weights it is a product
    kernel of the same lengths.
    """
    found = list(before)
    best: _Peak | None = None
    for j in sorted(range(len(before)), key=lambda j: (objectives[j].family.weighted, -before[j].height)):
        looks = _looks(objectives[j], before[j].theta, (0.0,))
        limit = -np.inf
        if best is not None:
            limit = best.height - (WEIGHTED_ABANDONED if objectives[j].family.weighted else ABANDONED)
            if objectives[j].family.weighted:
                looks += _looks(objectives[j], best.theta[: objectives[j].prior.dim], WEIGHTED_LOOK)
        found[j] = _maximise(objectives[j], looks, above=limit)
        best = found[j] if best is None or found[j].height > best.height else best
    return found


def _looks(objective: Objective, start: FloatArray, shifts: Sequence[float]) -> list[FloatArray]:
    """Return parameters to look at: several common multiples of the lengths to start at, several weights and shares.

    Parameters
    ----------
    start : array
        Lengths (d,), or parameters of the same family, whose weights are kept and whose share is one of several.
    shifts : sequence of float
        Of all log lengths.
    """
    prior, family = objective.prior, objective.family
    d, inner = prior.dim, objective.family.inner(prior.dim)
    weights: list[FloatArray] = [start[d:inner]]
    if family.weighted and len(start) < inner:
        weights = [np.full(d, weight) for weight in WEIGHT_LOOK]
    shares: list[FloatArray] = [start[:0]]
    if family.remainder is not None:
        look = SHARE_LOOK[:1] if family.weighted else SHARE_LOOK
        shares = [np.array([share]) for share in (*start[inner:], *prior.share(look))]
    return [
        np.concatenate([start[:d] + shift, weight, share]) for shift in shifts for weight in weights for share in shares
    ]


def _maximise(objective: Objective, looks: Sequence[FloatArray], *, above: float = -np.inf) -> _Peak:
    """Search from the best of several parameters; when none of them is above the limit given, return the best."""
    values = [objective.value(theta) for theta in looks]
    best = int(np.argmax(values))
    if values[best] < above:
        return _Peak(objective, looks[best], values[best])
    d = objective.prior.dim
    unit = np.full(len(looks[best]), (1.0 + objective.pairs.size) ** -0.5)
    unit[d:] = _WEIGHT_UNIT
    unit[objective.family.inner(d) :] = _SHARE_UNIT
    theta, height = objective.maximise([looks[best]], iterations=_STEPS, ftol=_FTOL, gtol=_GTOL, unit=unit)
    return _Peak(objective, theta, height)


def _draws(peaks: list[_Peak], size: int) -> list[tuple[float, KernelFamily, FloatArray]]:
    """Return draws around all peaks, more of them where there is more probability."""
    laplace = np.array([peak.laplace for peak in peaks])
    share = np.exp(laplace - laplace.max())
    share /= share.sum()
    return [
        draw
        for peak, part in zip(peaks, share, strict=True)
        if part >= LEAST_PROBABILITY
        for draw in peak.draw(max(FEWEST_DRAWS, round(size * part)))
    ]
