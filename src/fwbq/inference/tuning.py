"""Every number of the evidence engine that was tuned, with the measurement or the reason that set it.

"The nine evidences" are those of benchmarks/constants.py, which sweeps numbers of this file: each smaller and larger,
on known truths, n = 60. Depths, rises and gains are in natural logarithms; widths and distances in standard deviations
unless said otherwise. Bounds that only keep squares finite, matrices regular or a search short stand where they are
used. `TrustRegion` has customary values of a cited algorithm, and `Sizes` those that trade time for digits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Depth:
    """Values far below the top, which hardly matter to the evidence (`depth`)."""

    #: Values deeper than `free + per_dimension d` below the largest carry a noise. Of a Gaussian posterior less than
    #: 1e-6 of the mass lies deeper, in any number of dimensions. Half and twice changed the nine evidences by no more
    #: than choosing other points.
    free: float = 10.0
    per_dimension: float = 2.0
    #: The standard deviation of that noise is the excess over this, in units of the amplitude; as for `free`.
    noise_scale: float = 5.0
    #: A log likelihood below this is that of zero: squares of what is deeper overflow.
    zero: float = -1e100
    #: Values count like exp(-rate depth) in sums over leave-one-out errors and errors of predictions. Three rates, of
    #: 0.25 for the amplitude, 0.1 for the choice of the mean and 0.3 for predictions, were no better.
    near: float = 0.25


@dataclass(frozen=True)
class TrustRegion:
    """Customary values of trust regions (Conn, Scheinberg and Vicente 2009, Chapter 10).

    Others changed little on rotated products of six shapes.
    """

    #: The region grows after a rise of at least this share of what was predicted,
    good: float = 0.7
    #: if the step was at least this share of its radius,
    long: float = 0.8
    #: by this factor.
    growth: float = 2.5
    #: It shrinks after a rise of less than this share,
    poor: float = 0.25
    #: by this factor. So does a star around a single positive value: a support that holds a hundredth of the prior, in
    #: three dimensions, is found in two or three stars.
    shrink: float = 0.5


@dataclass(frozen=True)
class Sizes:
    """Sizes of sums and samples: larger ones take longer, and change results within the noise of other points."""

    #: Points of a Sobol sequence, and number of sequences, for the choice of points,
    few: tuple[int, int] = (256, 4)
    #: for a quick result, whose sum is known to 1e-3,
    some: tuple[int, int] = (1024, 8)
    #: and for a full one, known to 1e-4.
    many: tuple[int, int] = (4096, 8)
    #: Nodes over which sums over pairs are taken, and modes supposed,
    pairs: int = 1024
    #: and the same where a rough answer is enough.
    rough: int = 256
    #: Candidates drawn from the surrogate posterior. Half and twice as many, of these or the next, gave errors and
    #: widths of the nine evidences within the noise of choosing other points, a factor of 1.4.
    candidates: int = 400
    #: Candidates drawn from its square root, which reaches into the tails.
    wide: int = 150
    #: Joint draws of the sign process: a standard deviation is then known to 4 %. Half and twice as many changed widths
    #: by 1 and 5 %.
    draws: int = 400


@dataclass(frozen=True)
class SpreadNumbers:
    """The first points."""

    #: At least `2 d + 2` and this many: every coordinate is seen from both sides.
    least: int = 6
    #: A twelfth of a large budget, which finds further modes.
    share: int = 12
    #: Never more than a third of the budget.
    most_share: int = 3


@dataclass(frozen=True)
class MetricNumbers:
    """Widths and correlations at the start, without a prior.

    With them, and the noise of deep values (`depth`), regressions on heights in inches and on calendar years, which 200
    values used to miss by 0.1 to 35, were right to 1e-3, two seeds each.
    """

    #: They may take this share of the evaluations in their first round: of fewer the climb needs all,
    share: float = 0.1
    #: and this many rounds.
    rounds: int = 3
    #: A value for every two axes may take this share. A mixture of five parameters and a regression of eight, n = 400,
    #: two seeds each, were then found in all four runs, and in two of them before. Other shares were not tried.
    pairs_share: float = 0.15
    #: A pair whose values change by more than this is taken again, nearer,
    most: float = 30.0
    #: and one that changes by less than this, and falls by no more than `rounding` of the value, farther.
    least: float = 0.02
    rounding: float = 1e-8
    #: Factor on a step that is too short to be seen; one that is too long shrinks by its square at most. With a `scale`
    #: a thousand times too large two regressions and a Gaussian process, 300 values, were then right to 3e-3, and
    #: before off by 7 to 42.
    factor: float = 30.0
    #: Share of the change that a fall must be to tell a width; a slope tells one by the root of the change,
    curved: float = 0.02
    #: of at least this.
    least_change: float = 1e-3


@dataclass(frozen=True)
class ClimbNumbers:
    """One climb."""

    #: It has arrived when a Newton step would gain less than this.
    gain: float = 0.05
    #: Distance of stencil points from the top: a Gaussian has fallen by 1.1 there, far above rounding and near enough
    #: for the curvature at the top.
    reach: float = 1.5
    #: Steps in a row that met a likelihood of zero before it ends at the boundary.
    walls: int = 4
    #: Models of the values as they are, and bent by this many typical falls, run side by side. Densities that fall
    #: exponentially, hundreds of widths away, are climbed by the second, Gaussians at once by the first.
    bends: tuple[float, ...] = (np.inf, 1.0)
    #: The model whose last predictions were better leads; older errors fade by this factor.
    memory: float = 0.7
    #: From this dimension on processes run beside the quadratics. Evaluations until the top was within 0.5, medians of
    #: eight problems, without and with them: Student, d = 4: 31 and 20; regressions with unknown noise, d = 4: 53 and
    #: 45, d = 6: 136 and 99; rotated products, d = 6: 120 and 100; in two dimensions there was no difference.
    process_dim: int = 3
    #: Their length-scales are looked for after this many evaluations.
    process_search: int = 3
    #: The fall to a stencil point may be wrong by this factor before the curvature is measured again.
    true: float = 2.0
    #: After `checks` stencils a top that does not rise is the top if, in many dimensions, no fall is wrong by this
    #: factor: in eight dimensions a climb had ended 3 below its top. After twice as many it is the top in any case.
    roughly: float = 3.0
    checks: int = 3
    #: From this dimension on there are many: stencils have points on one side of the top only, one climb alone is not
    #: believed, and draws judge the surrogate. On the eight parameters of a Lotka-Volterra model half of single climbs
    #: ended in a false basin.
    many_dim: int = 5
    #: Where points are evaluated on the way from the start of a further climb to a known mode.
    way: tuple[float, ...] = (0.25, 0.5, 0.75)
    #: By how much the power of the distance with which they fall may be lower near the start: that of a Gaussian is
    #: two everywhere, and the tails of many densities fall more and more slowly.
    same_power: float = 0.3
    #: Largest ratio of the geometric series of rises that is extrapolated: two rises determine it badly.
    most_ratio: float = 0.8
    #: The least that a climb which has not arrived may be short of its top.
    not_arrived: float = 0.3


@dataclass(frozen=True)
class ClimbsNumbers:
    """All climbs of a run."""

    #: Share of the evaluations by which the first climb ends, at the latest: the rest is for the evidence itself. The
    #: climbs after the first may use as many evaluations as that rest,
    first_share: float = 0.7
    #: and this share of what the first one has left: on a regression of six parameters that began 26,000 natural
    #: logarithms below its top, the first climb took about 250 of 400 evaluations and further ones all the others.
    further_share: float = 0.5
    #: Several first climbs are raced if the budget is at least this many times the dimension: from the prior of a
    #: Lotka-Volterra model, 400 values, two of ten runs ended in a false basin without, said to be right.
    race_budget: int = 15
    racers: int = 3
    #: A further climb has at most this many times d + 1 evaluations.
    further_budget: int = 8
    #: Trust radius in which a further climb begins, in standard deviations of the prior.
    further_radius: float = 0.3
    #: A spread point deeper than this many times the depth from which on values carry a noise is a start only over a
    #: dip on the way to the nearest mode: tails that fall more slowly than a Gaussian's are deep and unexplained
    #: everywhere.
    worth: float = 5.0
    #: Most starts that are not deep; of deep ones there is one for every `per_deep` evaluations planned.
    most_starts: int = 10
    per_deep: int = 50
    #: In many dimensions a dip is asked for as well while at least this many further starts wait: on the
    #: Lotka-Volterra model nearly every spread point is one.
    many_starts: int = 3
    #: Evaluations for each dimension that must be left for a further climb to begin, and for an exploration.
    room: int = 4


@dataclass(frozen=True)
class ModeNumbers:
    """Modes and what they explain."""

    #: A point within this many standard deviations of a mode's own Gaussian belongs to that mode. A value farther from
    #: its prediction is a surprise, and a supposed mode is positive as far as this many of its widths.
    within: float = 3.0
    #: A value this far above every mode's Gaussian is not explained by them, and the surrogate is capped at this much
    #: above the largest log likelihood seen: far from all points it may extrapolate a slope to hundreds.
    above: float = 2.0


@dataclass(frozen=True)
class CurvatureNumbers:
    """The quadratic at a top, in many dimensions.

    From the exact one, 100 draws found the log evidences of four regressions, a hidden Markov model and hares and
    lynxes, six to ten parameters, to 0.001 to 0.09, and said so; from the one that climbs had left, none but two.
    """

    #: Pairs on the axes are taken at most this many times,
    tries: int = 3
    #: until all widths are right within this factor.
    right: float = 2.0
    #: A width grows by at most this factor at a time.
    widen: float = 4.0
    #: Least curvature that is believed, relative to that of the axes.
    flat: float = 0.05
    #: Points far around the top from which climbs must come back, if the mode does not explain them.
    around: int = 4


@dataclass(frozen=True)
class ExchangeNumbers:
    """Exchangeable parameters."""

    #: One image of the top is evaluated for every this many evaluations planned.
    per_image: int = 25


@dataclass(frozen=True)
class ExplorationNumbers:
    """Modes that nobody has seen.

    Of 72 problems with a second mode of 1 to 10 % of the mass, in two and three dimensions, 28 were off by more than
    five standard deviations after 100 evaluations without exploration, and 5 with it.
    """

    #: Exploration begins when what is known leaves half of `share` of the log evidence open: before that, the stated
    #: error itself is as large as such a mode. Its share of the evaluations grows by this with every digit,
    per_digit: float = 0.25
    #: up to this one: what it finds is still to be climbed.
    most: float = 0.85
    #: Share of the evidence that a supposed mode holds: what is smaller is not looked for.
    share: float = 0.01
    #: Range of their widths, in standard deviations of the prior.
    narrowest: float = 0.05
    widest: float = 0.7
    #: A supposed mode is a Gaussian as far as this many of its widths: farther away its tails may be of any shape.
    reach: float = 10.0


@dataclass(frozen=True)
class ProbeNumbers:
    """Probes of a density without a prior."""

    #: Distance of the probes on every axis.
    distance: float = 5.0
    #: They are moved out when the surrogate posterior has widened by this factor, or one of them is nearer by it.
    widened: float = 1.5
    #: The density does not fall off when a value there is less than this below the top (a Cauchy density falls by 4),
    fallen: float = 3.0
    #: or less than this share of the squared distance: half of it is a Gaussian's.
    fallen_share: float = 0.3
    #: Two points tell the power of the distance with which the density falls if the cosine of their angle is above this
    along: float = 0.9
    #: and the one is farther than the other by this factor.
    farther: float = 1.33
    #: After this many probes the density has no integral
    slow: int = 3
    #: when the power is not above the dimension by this: that of 1 / (1 + |x|) is 1.0, of a Cauchy density 2.0.
    least_excess: float = 0.25
    #: A power of at least this share of a Gaussian's between the same distances says nothing of heavy tails: between
    #: 1.5 and 5 standard deviations that is 9.5.
    share_of_gaussian: float = 0.6
    #: A surrogate posterior with more than this share of its mass farther out than twice the farthest point evaluated
    #: does not fall off.
    outside: float = 0.2


@dataclass(frozen=True)
class QuadratureNumbers:
    """Sequential Bayesian quadrature."""

    #: Share of a batch chosen by quadrature. The rest goes where density times variance is largest, because quadrature
    #: takes the surrogate as given, and does not evaluate where its errors would show. With 1/3 and all of the batch
    #: widths were 0.96 and 1.02 times as large.
    share: float = 2.0 / 3.0
    #: A batch is this share of the evaluations so far. Half took 27 % longer, twice had widths 1.05 times as large.
    growth: float = 0.1


@dataclass(frozen=True)
class QuadraticNumbers:
    """Local quadratics."""

    #: A value is trusted less in proportion to its fall, from this many typical falls on: how far a density is from a
    #: quadratic grows with the fall as well as with the distance.
    trusted: float = 3.0
    #: Points a quadratic is fitted to, for each of its coefficients.
    points: int = 4


@dataclass(frozen=True)
class LocalProcessNumbers:
    """Local processes of a climb."""

    #: Values deeper than this many typical falls carry a noise that grows with their depth in units of that: a process
    #: that has to follow them everywhere is too rough near the centre.
    deep: float = 20.0


@dataclass(frozen=True)
class ProcessNumbers:
    """The process on the log joint density."""

    #: In whitened coordinates the posterior has unit width: a curvature of less than this is no peak.
    least_curvature: float = 0.25
    #: Iterations of a search for length-scales from scratch, and of one that follows.
    iterations: int = 20
    following: int = 3
    #: Length-scales are searched for from scratch when the number of values has grown by this factor. With 1.5 widths
    #: of the nine evidences were 1.3 times as large and one interval missed; with 1.01 only the time grew, by 13 %.
    refit: float = 1.1
    #: Variances of the noise, relative to the amplitude, of which the most probable is where its search begins.
    noises: tuple[float, ...] = (1e-10, 1e-6, 1e-3, 1.0)


@dataclass(frozen=True)
class SurrogateNumbers:
    """The surrogate posterior."""

    #: Beyond this distance and the root of the dimension more, the mean of the process is lowered
    far: float = 4.0
    #: by what its standard deviation exceeds this. Of eight linear regressions with unknown noise under wide uniform
    #: priors, n = 200, six had their mass there, 10 to 40 standard deviations out.
    far_sd: float = 3.0
    #: A process with more than this share of its mass farther from every point evaluated than `reach` and the root of
    #: the dimension strays: its log density is then lowered by half the square of the excess. A regression of five
    #: parameters had its whole mass at two nodes 13 to 15 standard deviations out, where the surrogate was -4 and the
    #: truth -70 and -93; of a Cauchy density less than a fifth of the mass is so far.
    stray: float = 0.3
    reach: float = 1.0
    #: Chances of a positive likelihood far below this are no chances: the Gaussian approximation of the sign process
    #: never has its mean more than about four standard deviations from zero, however far the boundary is, while the
    #: surrogate may rise by tens of natural logarithms beyond it.
    faint: float = 1e-2
    #: It sees mass where it is within this share of the depth beyond which values carry a noise.
    seen: float = 0.5
    #: Effective nodes for each dimension from which on they give the coordinates.
    effective: int = 20


@dataclass(frozen=True)
class NodeNumbers:
    """Nodes of the surrogate posterior."""

    #: Components of the mixture that serve as control variates. With 4 and 24 widths of the nine evidences were 1.06
    #: and 0.94 times as large.
    controls: int = 12
    #: Student-t components placed around the mass where the first proposal misses it. With 12 widths were 13 % larger,
    #: with 48 the time was 15 % longer.
    around: int = 24
    #: Their degrees of freedom: tails heavier than a Gaussian's, with a finite variance of the weights.
    around_df: float = 8.0
    #: Share of such components in the mixture.
    around_share: float = 0.75
    #: Share of the nodes that must be effective before the proposal is accepted, and most attempts to improve it. A
    #: subset must hold as much of the mass, relative to its share of the nodes, to stand for all: one that misses a few
    #: heavy nodes far out, where the surrogate knows nothing, would state the error of the rest.
    enough: float = 0.5
    attempts: int = 3
    #: A subset is taken with its importance weights if this share of its nodes is effective.
    even: float = 0.25


@dataclass(frozen=True)
class SignNumbers:
    """The process of the sign of the likelihood."""

    #: Variance of its linear part and of the process beside it. Only the ratio to the unit variance of the probit
    #: matters: large, because the boundary of a support is sharp.
    variance: float = 400.0
    #: Length-scales that are tried, in whitened coordinates.
    lengths: tuple[float, ...] = (1.0, 2.5, 6.0)
    #: Most points the boundary is inferred from, half on either side. On Gaussian likelihoods cut by a plane in two
    #: dimensions, 200 evaluations, errors and intervals were those of all points.
    most: int = 80
    #: Share of them that are spread over their side instead of near the other one.
    spread: float = 0.3


@dataclass(frozen=True)
class ErrorNumbers:
    """The stated error and the verdict."""

    #: Beyond this standard deviation the mass is said not to be found: a factor of e says little of an evidence.
    unknown: float = 1.0
    #: Degrees of freedom of the posterior of a log evidence: heavier tails than a Gaussian's, because its standard
    #: deviation is itself an estimate from tens of values.
    df: float = 10.0
    #: Nodes for the error of an expectation, and of the boundary of a support.
    expectation: int = 600


@dataclass(frozen=True)
class DoubtNumbers:
    """What may be missing from the stated error."""

    #: While no prediction has been tested the variance is multiplied by one plus this; with every tested prediction the
    #: addition falls, like one over their number.
    untested: float = 3.0
    #: How far the process can be trusted is judged by the errors of this many predictions, the last ones.
    remembered: int = 40
    #: A rise of the top by more than this within the last fifth of the evaluations says that it is not found yet.
    rising: float = 0.5
    #: A climb that has not arrived is held to be at the top when the error of the surrogate is below this, and twice as
    #: many points as a quadratic has coefficients have not risen by more than `rising`. Of 32 climbs on rotated
    #: products in two and four dimensions that held for twelve, all with errors below 0.4; of 32 further problems 27
    #: were then known, all within their intervals. From `ClimbNumbers.many_dim` dimensions on it says nothing: one of
    #: twenty runs on the Lotka-Volterra model settled in a false basin, off by 37.
    settled: float = 1.0
    #: Where the likelihood is zero somewhere, and there are fewer positive values than `outlined` times the
    #: coefficients of a quadratic, the square of their ratio, times `roughly`, is open. Gaussians in balls of a
    #: fiftieth to a thousandth of the prior, in three dimensions: off by 4.5 with 4 positive values, 2.6 and 1.2 with
    #: 10, 0.8 with 16, 0.2 with 20, 0.1 with 30.
    roughly: float = 2.0
    outlined: float = 3.0
    #: What starts that no climb has followed may add, if all wait.
    starts: float = 0.5


@dataclass(frozen=True)
class AscentNumbers:
    """A climb by gradients."""

    #: Step of the differences of gradients at the start, in units of the coordinates: within one standard deviation of
    #: a posterior a thousand times narrower than the units, far above rounding for one a thousand times wider.
    difference: float = 1e-3
    #: It is made again, shorter, where the density changed by more than this,
    near: float = 1.0
    #: and for differences at the top, one standard deviation long, where it fell by more than this.
    fallen: float = 8.0
    #: Least curvature at the start that is believed, relative to that of the axes: it is known to rounding.
    least: float = 1e-12
    #: Least curvature at the top that is believed, relative to that of the axes the differences were taken along.
    flat: float = 0.002
    #: A least relative curvature above this is not measured again. On a regression on calendar years, whose intercept
    #: and slope are correlated by -0.99999, the climb ended 2.8 below the top when every curvature was believed.
    right: float = 0.05
    #: Most climbs in ever better coordinates.
    passes: int = 6
    #: It has arrived when a Newton step would gain less than this.
    arrived: float = 0.02
    #: Share of the rise that the slope promises which a step must reach; customary (Nocedal and Wright 2006).
    rise: float = 1e-4
    #: A step at whose end more than this share of the slope is left was too short; customary.
    steep: float = 0.9
    #: Length of the first step, at most, in units of the coordinates,
    longest: float = 100.0
    #: and the factor by which it grows with every step that it cut. Regression coefficients on data that are not
    #: centred are 1e4 to 1e5 units away.
    growth: float = 10.0
    #: Share of the evaluations that the first climb may use.
    share: float = 0.5
    #: Further climbs at a time, and how many evaluations each may use at least: those from around the top up to twice
    #: as many, those from other points of the spread as many as the first one had.
    further: int = 3
    further_budget: int = 12
    #: How many one from around the top is expected to need while none has ended: to the modes of regressions 2 to 7.
    usual: int = 6
    #: All together use at most this share of the evaluations; under a prior, climbs from all over it what the others
    #: leave. Of twelve posteriors with two modes of like width, six and ten parameters, n = 200 and 400, they found the
    #: second mode in all, and without them it was missed in five.
    further_share: float = 0.25
    #: From this dimension on more begin where too few come back: in fewer, draws meet other modes. From it on a mode
    #: that one climb alone has reached is not believed: on a hidden Markov model and on hares and lynxes, n = 100, such
    #: a mode was 60 and 34 below the top.
    several: int = 5
    #: Two of three then begin this many standard deviations from the top, times the root of the dimension. Of 40 each,
    #: all came back to the right modes of a hidden Markov model, a mixture and four regressions, in 2 to 7 evaluations,
    #: 37 and 26 to those of hares and lynxes and of a hierarchy, in 11 and 18; to false modes of hares and lynxes and
    #: of the Markov model came back 16 and 20, while 9 and 20 found better ones. Of climbs from the spread 9 and 37
    #: came back to these false ones, and between 0 and 40 to the right ones.
    around: float = 7.0
    #: A mode is believed when this many have come back, and at least half. Of 24 runs on hares and lynxes and 24 on the
    #: Markov model, n = 100 and 200, none then stated an error below a fifth of the actual one; of 12 with two that
    #: came back, two did.
    believed: int = 4
    #: They leave this many evaluations to draws, at least, or for each dimension,
    reserve: int = 60
    reserve_per_dimension: int = 8
    #: and one of so many parts of it where few evaluations are planned: of a regression with six parameters, n = 100, a
    #: climb of 48 and four of 4 then left 20 draws, and a standard deviation of 0.004.
    reserve_parts: int = 3
    #: A mode whose Gaussian holds less than this of the largest one's mass, in natural logarithms, is left out.
    faint: float = -9.0
    #: A density that rises by less than this for each natural logarithm of volume by which it narrows is a funnel: by
    #: 0.6 to 0.9 on the climbs into three funnels, by 5 and more on those to the modes of twelve models.
    narrowing: float = 2.0
    #: Values that the gradients predict with a relative error above this contradict them.
    contradiction: float = 0.2


@dataclass(frozen=True)
class JudgeNumbers:
    """Draws under a surrogate that judge it.

    Directions were measured on few seeds of sixteen models; values are therefore round.
    """

    #: The surrogate's Gaussian is wider than the posterior by one plus this over the root of the dimension.
    wide: float = 0.8
    #: The process is believed within the root of the dimension and this many standard deviations more: with 3 cubic
    #: terms grew into regions without points, and with 1 tails were cut.
    radius: float = 2.0
    #: Slope and curvature that go on beyond it are taken between the radius and this share of it.
    nearer: float = 0.9
    #: Of the mass that the surrogate has beyond the radius this share is an error: few draws are there.
    tail: float = 0.3
    #: The surrogate is at most this much above the largest value seen.
    cap: float = 0.7
    #: Values deeper than half the square of the root of the dimension and this are no data,
    depth: float = 4.0
    #: nor are those farther away than this many times that radius. On a hierarchical regression with 14 parameters, 500
    #: gradients, standard errors were 0.06 to 1.9 with the values far out that climbs had left, and 0.03 to 0.08
    #: without.
    reach: float = 2.0
    #: Lengths of the rational quadratic kernel that are tried, in units of the root of the dimension.
    lengths: tuple[float, ...] = (0.5, 0.8, 1.2, 1.8, 2.7, 4.0)
    #: Axes are stretched by these powers of the mean squared slope along them.
    stretches: tuple[float, ...] = (0.0, 0.25, 0.5)
    #: Powers of the polynomial kernel, and its weight beside the rational quadratic one.
    powers: tuple[int, ...] = (3, 4)
    polynomial: float = 0.01
    #: Relative variance of the rounding of values and slopes.
    noise: float = 1e-6
    #: Rows of the covariance on which these are compared, and with which it is factorised: a second of computing.
    search_rows: int = 800
    dense_rows: int = 3400
    #: Beyond, weights are found by conjugate gradients, up to this many rows,
    most_rows: int = 16000
    #: to this relative error, in at most this many steps, with an approximation from this many rows.
    solved: float = 1e-3
    solve_steps: int = 60
    subset_rows: int = 450
    #: Rounds in which they are compared anew.
    searches: tuple[int, ...] = (0, 1, 3, 5, 8)
    #: Draws of the first round, at least, and for each dimension; the next ones grow by a factor.
    first: int = 5
    first_per_dimension: float = 0.6
    #: From values alone a surrogate learns less of each: 12 draws for six parameters, 20 for ten.
    first_from_values: float = 2.0
    #: From values alone, in many dimensions, draws are made while quadrature leaves more than this open: of a logistic
    #: regression with six parameters it leaves less than a hundredth after 400 evaluations.
    open: float = 0.02
    #: Further climbs then leave this many evaluations to draws for each dimension.
    reserve_per_dimension: int = 12
    growth: float = 1.35
    #: The last round takes all evaluations that are left when they are fewer than this many rounds.
    last: float = 2.6
    #: A draw this much above the top is the start of another climb.
    above: float = 1.5
    #: Draws come from the posterior to the power of one less this over the root of the dimension,
    temper: float = 0.6
    #: and this share of them, times two over the root of the dimension in more than four, from a wide mixture:
    share: float = 0.2
    #: weights, by how much they are wider than the posterior, in units of one over the root of the dimension (a shell
    #: holds most of the mass, whose thickness falls like that), and degrees of freedom of its components. With a share
    #: of 0.1 and components that reach less far, 74 % of intervals held on a pharmacokinetic, a GARCH and a hidden
    #: Markov model (27 runs, n = 100 to 400), and 89 % with these; on regressions and logistic regressions errors were
    #: the same. With a share of 0.2 in ten dimensions two of eight runs on a hierarchy were believed, and five with
    #: this one.
    components: tuple[tuple[float, float, float], ...] = ((0.5, 0.0, np.inf), (0.2, 0.8, np.inf), (0.3, 2.0, 3.0))
    #: A mode with less than this share of the mass need not be known well.
    major: float = 0.1
    #: Where less than this share of the nodes is effective, the process is lowered by the first of these many of its
    #: standard deviations that mends it, beyond this quantile of what they would be at each of its points without it.
    contained: float = 0.2
    lowered: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 4.0)
    usual: float = 0.9
    #: Weights are tempered until this share of the nodes carries them.
    carried: float = 0.1
    #: Nodes for the choice of draws, and points and number of Sobol sequences for the integral.
    nodes: int = 8192
    final: tuple[int, int] = (2048, 8)
    #: Folds of the draws that are left out in turn.
    folds: int = 10
    #: Surrogates are cut at this multiple of the density of the draws, times the exponential of the second number and
    #: the root of the dimension: mass that no draw could have met is not believed.
    cut: float = 1.5
    cut_exponent: float = 0.3
    #: A standard error from tens of draws is itself uncertain: it is widened by this factor, and by this share of the
    #: skewness of the terms over the root of their number.
    wider: float = 1.15
    skewness: float = 0.75
    #: Share of the change of the surrogate's integral over the last two fits that is an error,
    drift: float = 0.125
    #: and the largest such change of a run that is believed, unless enough of the draws are effective: the share below,
    #: and more than this many. Of logistic regressions with thirty parameters, 300 gradients, surrogates changed by 0.7
    #: to 1.0 at effective shares of 0.60 to 0.69, and errors were 0.001 to 0.033; at 0.33, 200 gradients, 0.42. Of four
    #: draws in a Gaussian all were effective, while the surrogate had changed by 0.7 and was off by 0.5.
    most_drift: float = 0.5
    convincing_draws: float = 20.0
    #: Below this effective share of the draws what they missed may matter, by this many times the logarithm of how far.
    effective: float = 0.5
    missed: float = 5.0


@dataclass(frozen=True)
class TiltNumbers:
    """When all gradients are said to miss the same vector."""

    #: Points beside two for each parameter from which it is looked for.
    more: int = 8
    #: Share of what the gradients leave of the values that the vector must explain. Right gradients leave what has no
    #: direction, of which a regression on d coordinates explains about d / n, at most a half.
    explained: float = 0.9
    #: Least change of the log density, over a standard deviation of the posterior, that is called a mistake.
    least: float = 0.1
    #: Least cosine of the vectors that the nearer and the farther half of the points find. With right gradients of a
    #: pharmacokinetic model it was 0.16 where all else spoke for a mistake, with a Jacobian missing 0.99. Of 15 runs on
    #: five models with right gradients one was warned of without it and none with it; with one missing 4 and 3.
    same: float = 0.9
    #: Root mean square of what then remains unexplained, at most. It was 0.005 to 0.06 where a Jacobian was missing in
    #: logistic regressions and log scales, and 0.2 to 12 at the kinks of Laplace densities, which tens of gradients do
    #: not show.
    left: float = 0.1


@dataclass(frozen=True)
class Tuning:
    """All tuned numbers, by part."""

    depth: Depth = field(default_factory=Depth)
    trust_region: TrustRegion = field(default_factory=TrustRegion)
    sizes: Sizes = field(default_factory=Sizes)
    spread: SpreadNumbers = field(default_factory=SpreadNumbers)
    metric: MetricNumbers = field(default_factory=MetricNumbers)
    climb: ClimbNumbers = field(default_factory=ClimbNumbers)
    climbs: ClimbsNumbers = field(default_factory=ClimbsNumbers)
    modes: ModeNumbers = field(default_factory=ModeNumbers)
    curvature: CurvatureNumbers = field(default_factory=CurvatureNumbers)
    exchange: ExchangeNumbers = field(default_factory=ExchangeNumbers)
    exploration: ExplorationNumbers = field(default_factory=ExplorationNumbers)
    probes: ProbeNumbers = field(default_factory=ProbeNumbers)
    quadrature: QuadratureNumbers = field(default_factory=QuadratureNumbers)
    quadratic: QuadraticNumbers = field(default_factory=QuadraticNumbers)
    local_process: LocalProcessNumbers = field(default_factory=LocalProcessNumbers)
    process: ProcessNumbers = field(default_factory=ProcessNumbers)
    surrogate: SurrogateNumbers = field(default_factory=SurrogateNumbers)
    nodes: NodeNumbers = field(default_factory=NodeNumbers)
    sign: SignNumbers = field(default_factory=SignNumbers)
    error: ErrorNumbers = field(default_factory=ErrorNumbers)
    doubts: DoubtNumbers = field(default_factory=DoubtNumbers)
    ascent: AscentNumbers = field(default_factory=AscentNumbers)
    judge: JudgeNumbers = field(default_factory=JudgeNumbers)
    tilt: TiltNumbers = field(default_factory=TiltNumbers)


TUNING = Tuning()
