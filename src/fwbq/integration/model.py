"""From points and values to a kernel, and from a kernel to the posterior."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .. import _validate, _warnings, process
from .._linalg import UNIT_ROUNDOFF, CholeskyFactor
from ..embeddings import Embedding, embed
from ..kernels import Kernel, Stationary, Transported, Warped, Whitened
from ..measures import Empirical, Gaussian, Measure
from ..posterior import (
    AnyAmplitude,
    AveragedPosterior,
    ColumnPosteriors,
    IntegralPosterior,
    amplitudes,
    calibrated,
    checked_amplitude,
    condition,
)
from ..process import (
    ANOVA,
    ANOVA_DIM,
    DRAWS,
    FAMILIES,
    SCALE_MIXTURES,
    Fit,
    KernelFamily,
    LengthscalePrior,
    Memory,
    Regression,
)
from ..rules import PRIOR_MEANS, PriorMean, Rule, bayes_rule, weighted_rule
from .bisection import bisections
from .equal import all_equal, widened
from .fitted import Conditioned, FittedProcess
from .forecast import Forecast, forecast
from .frame import Frame, in_scores, natural
from .peak import SHARE, UNEXPLAINED, Peak, find_peak, leading, top_share, unexplained
from .polynomial import find_polynomial
from .remarks import endless_tail, like_a_likelihood
from .result import IntegrationResult
from .sequence import fitted_at

FloatArray = NDArray[np.float64]

#: Up to this number of columns, values each have their own kernel in the posterior; more of them share one, because
#: every column costs a fit (0.1 s at n = 100). One kernel for all fits none of them well when they differ: the
#: likelihood of a linear column grows with the length-scales without bound, that of a wave beside it does not.
SEPARATE_COLUMNS = 16
#: Under the right kernel the amplitude by leave-one-out exceeded that by maximum likelihood by a factor 4 in fewer than
#: one of a thousand samples (four kernels, n from 10 to 100, one to five dimensions): at ten times the kernel does not
#: fit. The other way round (the likelihood expects larger errors than there are) the interval is too wide, not wrong.
DISAGREEMENT = 10.0

#: Part of the remainder of an ANOVA kernel under which points are sought, at least. Without it Ishigami's function
#: ended at 148 of 200 points, because the kernel could not tell further ones apart; with it errors there were a fifth
#: (2.7e-5 standard deviations of f, four seeds), and on four other functions of `studies.problems.simulators` the same.
#: With 1e-5 they were 1.5 to 3 times as large on three of the five at n = 60 to 200.
SOUGHT_SHARE = 1e-7

_INSTEAD = (
    "the kernels tried are sums of ExpQuad kernels that resemble Matern kernels, because products of Matern kernels "
    "have no embedding under this measure"
)
_SCORES = "skew inputs were transformed to normal scores, where the process predicts left-out values better"
_WARPED = "heavy tails of the measure, or bounds where its density is infinite, were integrated in quantile coordinates"


class KernelModel:
    """What is believed about the integrand: a kernel that is given, or families of kernels and a prior over them.

    Parameters
    ----------
    measure : Measure
        The measure of the integral.
    kernel : Kernel, class of kernel, or None
        A kernel is used as it is; of a class the length-scales are found; None tries every smoothness.
    amplitude : "calibrated", "marginal", "ml", "loo" or float
        How the factor on the kernel's variance is found.
    prior_mean : {"zero", "constant"}, optional
        Mean of the process; the default is an unknown constant, and zero with an amplitude that is a number.
    scores : bool
        Whether skew inputs are seen in their normal scores: see `in_scores`.
    """

    def __init__(
        self,
        measure: Measure,
        kernel: Kernel | type[Stationary] | None,
        amplitude: AnyAmplitude,
        prior_mean: PriorMean | None,
        *,
        scores: bool = False,
    ) -> None:
        self.amplitude = amplitude = checked_amplitude(amplitude)
        default = "constant" if isinstance(amplitude, str) else "zero"
        chosen = default if prior_mean is None else prior_mean
        self.prior_mean = cast("PriorMean", _validate.choice(chosen, "prior_mean", PRIOR_MEANS))
        self.kernel = kernel
        self.measure = measure
        # A kernel that is given lives in the coordinates it was given for.
        self._law = (in_scores(measure) if scores else None) or measure
        self.frame = Frame(measure) if isinstance(kernel, Kernel) else natural(self._law)
        self.fixed = embed(kernel, measure) if isinstance(kernel, Kernel) else None
        scale: Any = self.frame.measure.scale
        # A coordinate that does not vary has scale zero; any length-scale will do for it.
        self.prior = LengthscalePrior(np.where(scale > 0.0, scale, 1.0))
        self.families = () if isinstance(kernel, Kernel) else _families(kernel, self.frame.measure, self.prior)
        self._memory: Memory = {}
        #: What the status says of the kernels that were tried, if not the usual ones.
        usual = _WARPED if self.frame.warp is not None else _INSTEAD if self.families is SCALE_MIXTURES else ""
        self.note = "; ".join(filter(None, [_SCORES if scores else "", usual]))

    def leave_out(self, family: KernelFamily) -> None:
        """Try one family less; nothing changes if it was not tried."""
        self.families = tuple(other for other in self.families if other is not family)

    def first_embedding(self) -> Embedding:
        """Return the embedding before any value is known."""
        if self.fixed is not None:
            return self.fixed
        family = self.families[len(self.families) // 2]
        return self.embedding(family.kernel(self.prior.location(family), self.prior.dim))

    def rough_embedding(self) -> Embedding:
        """Return the embedding of the roughest kernel, with length-scales at the centre of their prior."""
        family = self.families[0]
        return self.embedding(family.kernel(self.prior.location(family), self.prior.dim))

    def embedding(self, kernel: Kernel) -> Embedding:
        """Return the embedding of a kernel in natural coordinates."""
        return embed(kernel, self.frame.measure)

    def original_embedding(self, kernel: Kernel) -> Embedding:
        """Return the embedding in original coordinates of a kernel in natural ones: what a user's rule refers to."""
        if self.fixed is not None:
            return self.fixed
        if isinstance(self.measure, Gaussian) and self.frame.measure is not self.measure:
            kernel = Whitened(kernel, self.measure.mean, self.measure.cov)
        if self.frame.warp is not None:
            kernel = Warped(kernel, self.frame.warp)
        if self._law.latent is not None:
            kernel = Transported(kernel, self._law)
        return embed(kernel, self._law)

    def search_kernels(self, x: FloatArray, values: FloatArray) -> tuple[Kernel, Kernel]:
        """Return the kernel under which further points are sought, and the most probable one, given n >= 3 values.

        They differ in that no length-scale of the first exceeds the centre of its prior: a fit to few values may find a
        coordinate irrelevant, and points chosen under it would never find out that it is not. For the same reason the
        remainder of an ANOVA kernel has a part in it of at least `SOUGHT_SHARE`.
        """
        found = self._fit(x, values, draws=0)
        d = self.prior.dim
        theta = found.theta.copy()
        theta[:d] = np.minimum(theta[:d], self.prior.location(found.family)[:d])
        if found.family.weighted:
            theta[found.family.inner(d)] = max(theta[found.family.inner(d)], np.log(SOUGHT_SHARE))
        return found.family.kernel(theta, d), found.kernel

    def given(self, x: FloatArray, values: FloatArray, kernel: Kernel) -> IntegralPosterior:
        """Return the posterior under one kernel."""
        return self._condition(self._rule(kernel, x), values)

    def bisections(self, x: FloatArray, values: FloatArray, n: int, kernel: Kernel) -> FloatArray:
        """Return at most n points where the values are predicted worst under one kernel; see `bisections`."""
        rule = bayes_rule(self.embedding(kernel), x, prior_mean=self.prior_mean, thorough=False)
        return bisections(rule, rule.values(self.frame.integrand(x, values)), n)

    def left_out(self, points: FloatArray, values: FloatArray) -> float:
        """Return the log density of values at points (n, d), each predicted from the others, summed.

        Under the most probable kernel.
        """
        kernel = self._fit(self.frame.to_natural(points), values, draws=0).kernel
        if self.frame.warp is None:
            x = self.frame.to_natural(points)
        else:
            kernel, x = Warped(kernel, self.frame.warp), self.frame.to_latent(points)
        f, _ = process.normalise(values.reshape(len(values), -1))
        regression = Regression.of(CholeskyFactor.of(kernel(x)), f, constant=self.prior_mean == "constant")
        return process.log_density_left_out(regression)

    def left_out_shift(self, points: FloatArray, values: FloatArray) -> float:
        """Return the error of the integral by leave-one-out: the norm of what leaving out each value does to it.

        Under the most probable kernel, given values (n,) or (n, m) at points (n, d); of m columns the sum, each
        relative to the range of its values.
        """
        x = self.frame.to_natural(points)
        rule = self._rule(self._fit(x, values, draws=0).kernel, x)
        f, _ = process.normalise(rule.values(values).reshape(len(rule), -1))
        regression = Regression.of(rule.factor, f, constant=rule.prior_mean == "constant")
        shifts = rule.weights[:, None] * regression.leave_one_out()[0]
        size = np.ptp(f, axis=0)
        return float(np.sum(np.linalg.norm(shifts, axis=0) / np.where(size > 0.0, size, 1.0)))

    def forecast(self, points: FloatArray, values: FloatArray, new: FloatArray, kernel: Kernel) -> Forecast:
        """Return the predictions under one kernel of the values at `new` points, in original coordinates both."""
        constant = self.prior_mean == "constant"
        if self.frame.warp is not None:
            to_latent = self.frame.to_latent
            warped = Warped(kernel, self.frame.warp)
            return forecast(warped, to_latent(points), values, to_latent(new), constant=constant)
        to_natural = self.frame.to_natural
        return forecast(kernel, to_natural(points), values, to_natural(new), constant=constant)

    def conclude(self, points: FloatArray, values: FloatArray) -> IntegrationResult:
        """Return the posterior given values at points (n, d) in original coordinates.

        The status of the result says what is unusual about the kernels, the rounding or the integrand; it is empty
        where nothing is.
        """
        if isinstance(self.measure, Empirical) and _hold_all(points, self.measure.points):
            return self._sum(self.measure, points, values)
        if self.fixed is not None or len(points) < 3:
            embedding = self.original_embedding(self.first_embedding().kernel)
            rule = bayes_rule(embedding, points, prior_mean=self.prior_mean)
            given = widened(self._condition(rule, values), values)
            return IntegrationResult(given, rule, embedding.kernel, points, values, self._notes(rule, values))
        x = self.frame.to_natural(points)
        posterior: IntegralPosterior | AveragedPosterior | ColumnPosteriors
        remarks: tuple[str, ...] = ()
        if values.ndim == 2 and 1 < values.shape[1] <= SEPARATE_COLUMNS:
            columns = [np.ascontiguousarray(column) for column in values.T]
            fits = [self._fit(x, column, draws=DRAWS, staged=False) for column in columns]
            each = [self._of_one(points, column, fit) for column, fit in zip(columns, fits, strict=True)]
            parts, remarks = zip(*each, strict=True)
            posterior = ColumnPosteriors(parts)
            found = self._fit(x, values, draws=0)
        else:
            found = self._fit(x, values, draws=DRAWS)
            if values.ndim == 1:
                posterior, remark = self._of_one(points, values, found)
                remarks = (remark,)
            else:
                posterior = self._average(x, values, found)
        embedding = self.original_embedding(found.kernel)
        rule = bayes_rule(embedding, points, prior_mean=self.prior_mean)
        posterior = widened(posterior, values)
        status = "; ".join(filter(None, [self._notes(rule, values), *remarks]))
        return IntegrationResult(posterior, rule, embedding.kernel, points, values, status)

    def _of_one(
        self, points: FloatArray, values: FloatArray, found: Fit
    ) -> tuple[IntegralPosterior | AveragedPosterior, str]:
        """Return the posterior of one integral, and what is remarkable about the integrand.

        A polynomial that all values agree with is integrated exactly, unless something else is asked for; a peak that
        the process gets wrong widens it.
        """
        x = self.frame.to_natural(points)
        average = self._average(x, values, found)
        as_usual = self.kernel is None and self.amplitude == "calibrated" and self.prior_mean == "constant"
        if as_usual and self.frame.warp is None:
            polynomial = find_polynomial(self.frame.measure, x, values)
            if polynomial is not None and polynomial.sd < average.sd:
                return polynomial.posterior, str(polynomial)
        peak = self._peak(points, values, average)
        return (average, "") if peak is None else (average.widened(peak.sd), str(peak))

    def _peak(self, points: FloatArray, values: FloatArray, found: AveragedPosterior) -> Peak | None:
        """Return the peak of a positive integrand that a process on its values gets wrong."""
        if self.prior_mean != "constant" or self.frame.warp is not None or top_share(values) < SHARE:
            return None
        plain = self.fitted(points, values)
        if unexplained(leading(plain)) <= UNEXPLAINED:
            return None
        return find_peak(values, float(found.mean), plain, self.fitted(points, np.log(values)), self.measure)

    def fitted(self, points: FloatArray, values: FloatArray) -> FittedProcess:
        """Return the process of which `conclude` gives the integral, for one integrand and at least three values."""
        x = self.frame.to_natural(points)
        if self.fixed is not None:
            kernels, weights = [self.fixed.kernel], [1.0]
        else:
            found = self._fit(x, values, draws=DRAWS)
            kernels = [member.kernel for member in found.members]
            weights = [member.weight for member in found.members]
        constant = self.prior_mean == "constant"
        warp = self.frame.warp
        members = []
        for kernel in kernels:
            rule = self._rule(kernel, x)
            f = rule.values(values)
            members.append(
                Conditioned(
                    kernel if warp is None else Warped(kernel, warp),
                    rule.points,
                    Regression.of(rule.factor, f, constant=constant),
                    float(f[0]) if constant else 0.0,
                    self._condition(rule, values),
                    rule.mmd2 + rule.factor.noise(rule.weights),
                )
            )
        frame = self.frame if warp is None else Frame(warp.measure, original=self.frame.original)
        return FittedProcess(tuple(members), np.array(weights), frame)

    def warn(self, result: IntegrationResult) -> None:
        """Warn when the values say that the answer is not to be trusted: see `remarks` and `_warn_of_misfit`."""
        for remark in self._remarks(result.points, result.values) if result.rule.kind == "bayes" else ():
            _warnings.warn(remark)
        self._warn_of_misfit(result)

    def _warn_of_misfit(self, result: IntegrationResult) -> None:
        """Warn when leave-one-out errors are far larger than the fitted kernel expects of its own samples."""
        if self.fixed is not None or len(result.rule) < 10 or result.rule.kind != "bayes":
            return
        estimates = amplitudes(result.rule, result.values)
        ml, loo = np.atleast_1d(estimates.ml), np.atleast_1d(estimates.loo)
        apart = float(np.max(loo[ml > 0.0] / ml[ml > 0.0], initial=0.0))
        if apart > DISAGREEMENT:
            _warnings.warn(
                f"leave-one-out errors have {apart:.3g} times the variance the likelihood expects: the integrand is "
                "not like a sample of any kernel tried (a jump, a narrow peak, noise?); the interval is widened "
                "accordingly, but more evaluations or a kernel of your own are advised"
            )

    def _sum(self, measure: Empirical, points: FloatArray, values: FloatArray) -> IntegrationResult:
        """Return the integral under a sample of which every point is evaluated: a sum, known but for its rounding."""
        embedding = self.original_embedding(self.first_embedding().kernel)
        rule = weighted_rule(embedding, measure.points, measure.weights)
        row = {point.tobytes(): i for i, point in enumerate(points)}
        f = values[[row[point.tobytes()] for point in rule.points + 0.0]]
        rounding = (len(rule) + 1) * UNIT_ROUNDOFF * (rule.weights @ np.abs(f))
        return IntegrationResult(
            IntegralPosterior(rule.weights @ f, rounding, np.inf, 0.0),
            rule,
            embedding.kernel,
            points,
            values,
            "the integral is a sum over the sample, and every term is known",
        )

    def _notes(self, rule: Rule, values: FloatArray) -> str:
        trouble = "" if rule.status == "ok" else rule.status
        remarks = [all_equal(values), *self._remarks(rule.points, rule.values(values))]
        return "; ".join(filter(None, [self.note, trouble, *remarks]))

    def _remarks(self, points: FloatArray, values: FloatArray) -> list[str]:
        """Return what the values say of the integrand."""
        integrand = self.frame.integrand(self.frame.to_natural(points), values)
        # With a kernel that is given no frame was chosen, and tails may be heavy all the same.
        frame = self.frame if self.fixed is None else natural(self.measure)
        tail = endless_tail(frame.warp, frame.to_latent(points), values)
        return list(filter(None, [like_a_likelihood(integrand), tail]))

    # Points are in natural coordinates from here on.

    def _rule(self, kernel: Kernel, x: FloatArray) -> Rule:
        warp = self.frame.warp
        if warp is not None:
            # The unknown constant is the mean of f, not of f times the ratio of the densities.
            embedding, x = embed(Warped(kernel, warp), warp.measure), warp.to_original(x)
        else:
            embedding = self.embedding(kernel)
        return bayes_rule(embedding, x, prior_mean=self.prior_mean, thorough=False)

    def _average(self, x: FloatArray, values: FloatArray, found: Fit) -> AveragedPosterior:
        components = tuple(self.given(x, values, member.kernel) for member in found.members)
        return AveragedPosterior(components, np.array([member.weight for member in found.members]))

    def _fit(self, x: FloatArray, values: FloatArray, draws: int, *, staged: bool = True) -> Fit:
        """Fit; values that were fitted before are not searched again, nor are the first of them (`staged`)."""
        return process.fit(
            x, self.frame.integrand(x, values), scale=self.prior.scale, families=self.families,
            prior_mean=self.prior_mean, shape=self.frame.ratio(x), draws=draws,
            stages=fitted_at(self.prior.dim, len(x)) if staged else (), memory=self._memory,
        )  # fmt: skip

    def _condition(self, rule: Rule, values: FloatArray) -> IntegralPosterior:
        if self.amplitude == "calibrated":
            return calibrated(rule, values)
        return condition(rule, values, amplitude=self.amplitude)


def _families(kernel: type[Stationary] | None, measure: Measure, prior: LengthscalePrior) -> tuple[KernelFamily, ...]:
    """Return the families to try: of the class given, or all; those that the measure has an embedding for."""
    if kernel is not None:
        if not (isinstance(kernel, type) and issubclass(kernel, Stationary)):
            raise TypeError(
                "`kernel` must be a kernel, a class such as fwbq.Matern32 whose length-scales are then found, or None, "
                f"got {_validate.shown(kernel)}"
            )
        return (KernelFamily(kernel.__name__, kernel),)

    # A mixture of correlated Gaussians has no coordinates in which all its components factorise, and so no embedding
    # of a product of Matern kernels; `embed` says so by a TypeError, and the status of the result says so too.
    try:
        for family in FAMILIES:
            embed(family.kernel(prior.location(family), prior.dim), measure)
    except TypeError:
        return SCALE_MIXTURES
    if prior.dim < ANOVA_DIM or measure.factors is None:
        return FAMILIES
    return (*FAMILIES, ANOVA)


def _hold_all(points: FloatArray, sample: FloatArray) -> bool:
    """Whether every point of a sample is among the points."""
    return {point.tobytes() for point in sample + 0.0} <= {point.tobytes() for point in points}
