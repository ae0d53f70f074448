"""From points and values to a kernel, and from a kernel to the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from .. import _validate, _warnings, process
from .._linalg import UNIT_ROUNDOFF
from ..embeddings import Embedding, embed
from ..kernels import Kernel, Stationary
from ..measures import Empirical, Measure
from ..posterior import (
    Amplitude,
    AveragedPosterior,
    ColumnPosteriors,
    IntegralPosterior,
    amplitudes,
    calibrated,
    condition,
)
from ..process import FAMILIES, SCALE_MIXTURES, Fit, KernelFamily, LengthscalePrior
from ..rules import PRIOR_MEANS, PriorMean, Rule, bayes_rule, weighted_rule
from .frame import Frame, natural
from .result import IntegrationResult

FloatArray = NDArray[np.float64]
AnyAmplitude = Amplitude | Literal["calibrated"]

AMPLITUDES = ("calibrated", "marginal", "ml", "loo")
#: The kernel for the choice of points need not be the best there is: one start will do.
SEARCH_STARTS = (-0.5,)
#: Parameters drawn around the best of each family when the posterior is averaged.
DRAWS = 12
#: Up to so many columns of values each have their own kernel in the posterior; more of them share one, because every
#: search costs about a second at n = 100. One kernel for all serves none well when they differ: a linear column beside
#: a wave asks for endless length-scales.
SEPARATE_COLUMNS = 16
#: Under the right kernel the amplitude by leave-one-out exceeded that by maximum likelihood by a factor 4 in fewer than
#: one of a thousand samples (four kernels, n from 10 to 100, one to five dimensions): at ten times the kernel does not
#: fit. The other way round (the likelihood expects larger errors than there are) the interval is too wide, not wrong.
DISAGREEMENT = 10.0


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
    """

    def __init__(
        self,
        measure: Measure,
        kernel: Kernel | type[Stationary] | None,
        amplitude: AnyAmplitude,
        prior_mean: PriorMean | None,
    ) -> None:
        if isinstance(amplitude, str):
            _validate.choice(amplitude, "amplitude", AMPLITUDES)
        else:
            amplitude = _validate.positive(amplitude, "amplitude")
        self.amplitude = amplitude
        default = "constant" if isinstance(amplitude, str) else "zero"
        chosen = default if prior_mean is None else prior_mean
        self.prior_mean = cast("PriorMean", _validate.choice(chosen, "prior_mean", PRIOR_MEANS))
        self.kernel = kernel
        self.measure = measure
        # A kernel that is given lives in the coordinates it was given for.
        self.frame = Frame(measure) if isinstance(kernel, Kernel) else natural(measure)
        self.fixed = embed(kernel, measure) if isinstance(kernel, Kernel) else None
        scale: Any = self.frame.measure.scale
        # A coordinate that does not vary has scale zero; any length-scale will do for it.
        self.prior = LengthscalePrior(np.where(scale > 0.0, scale, 1.0))
        self.families = () if isinstance(kernel, Kernel) else _families(kernel, self.frame.measure, self.prior)

    def first_embedding(self) -> Embedding:
        """Return the embedding before any value is known."""
        if self.fixed is not None:
            return self.fixed
        family = self.families[len(self.families) // 2]
        return self.embedding(family.kernel(self.prior.location(family), self.prior.dim))

    def embedding(self, kernel: Kernel) -> Embedding:
        """Return the embedding of a kernel in natural coordinates."""
        return embed(kernel, self.frame.measure)

    def search_kernel(self, points: FloatArray, values: FloatArray) -> Kernel:
        """Return the kernel under which further points are sought, given values at points (n, d), n >= 3.

        It is the most probable one, but no length-scale exceeds the centre of its prior: a fit to few values may find a
        coordinate irrelevant, and points chosen under it would never find out that it is not.
        """
        found = self._fit(points, values, draws=0, starts=SEARCH_STARTS)
        d = self.prior.dim
        theta = found.theta.copy()
        theta[:d] = np.minimum(theta[:d], self.prior.location(found.family)[:d])
        return found.family.kernel(theta, d)

    def conclude(self, points: FloatArray, values: FloatArray) -> IntegrationResult:
        """Return the posterior given values at points (n, d) in original coordinates.

        The status of the result holds numerical trouble only, or nothing.
        """
        x = self.frame.to_natural(points)
        if isinstance(self.measure, Empirical) and _hold_all(points, self.measure.points):
            return self._sum(self.measure, points, values)
        if self.fixed is not None or len(points) < 3:
            embedding = self.first_embedding()
            rule = bayes_rule(embedding, x, prior_mean=self.prior_mean)
            given = self._condition(rule, values)
            return IntegrationResult(given, rule, embedding.kernel, points, values, _note(rule))
        found = self._fit(points, values, draws=DRAWS)
        posterior: AveragedPosterior | ColumnPosteriors = self._average(x, values, found)
        if values.ndim == 2 and 1 < values.shape[1] <= SEPARATE_COLUMNS:
            columns = [np.ascontiguousarray(column) for column in values.T]
            posterior = ColumnPosteriors(
                tuple(self._average(x, column, self._fit(points, column, draws=DRAWS)) for column in columns)
            )
        rule = bayes_rule(self.embedding(found.kernel), x, prior_mean=self.prior_mean)
        return IntegrationResult(posterior, rule, found.kernel, points, values, _note(rule))

    def warn_of_misfit(self, result: IntegrationResult) -> None:
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
        rule = weighted_rule(self.first_embedding(), measure.points, measure.weights)
        row = {point.tobytes(): i for i, point in enumerate(points)}
        f = values[[row[point.tobytes()] for point in rule.points + 0.0]]
        rounding = (len(rule) + 1) * UNIT_ROUNDOFF * (rule.weights @ np.abs(f))
        return IntegrationResult(
            IntegralPosterior(rule.weights @ f, rounding, np.inf, 0.0),
            rule,
            self.first_embedding().kernel,
            points,
            values,
            "the integral is a sum over the sample, and every term is known",
        )

    def _average(self, x: FloatArray, values: FloatArray, found: Fit) -> AveragedPosterior:
        rules = [bayes_rule(self.embedding(m.kernel), x, prior_mean=self.prior_mean) for m in found.members]
        weights = np.array([member.weight for member in found.members])
        return AveragedPosterior(tuple(self._condition(rule, values) for rule in rules), weights)

    def _fit(self, points: FloatArray, values: FloatArray, draws: int, starts: Sequence[float] = process.STARTS) -> Fit:
        return process.fit(
            self.frame.to_natural(points),
            values,
            scale=self.prior.scale,
            families=self.families,
            prior_mean=self.prior_mean,
            draws=draws,
            starts=starts,
        )

    def _condition(self, rule: Rule, values: FloatArray) -> IntegralPosterior:
        if self.amplitude == "calibrated":
            return calibrated(rule, values)
        return condition(rule, values, amplitude=self.amplitude)


def _families(kernel: type[Stationary] | None, measure: Measure, prior: LengthscalePrior) -> tuple[KernelFamily, ...]:
    """Return the families to try: of the class given, or all; those that the measure has an embedding for."""
    if kernel is not None:
        if not (isinstance(kernel, type) and issubclass(kernel, Stationary)):
            raise _validate.not_a_kernel(kernel)
        return (KernelFamily(kernel.__name__, kernel),)

    def embeds(families: Sequence[KernelFamily]) -> bool:
        try:
            for family in families:
                embed(family.kernel(prior.location(family), prior.dim), measure)
        except TypeError:
            return False
        return True

    # A mixture of correlated Gaussians has no coordinates in which all its components factorise.
    return FAMILIES if embeds(FAMILIES) else SCALE_MIXTURES


def _hold_all(points: FloatArray, sample: FloatArray) -> bool:
    """Whether every point of a sample is among the points."""
    return {point.tobytes() for point in sample + 0.0} <= {point.tobytes() for point in points}


def _note(rule: Rule) -> str:
    return "" if rule.status == "ok" else rule.status
