"""All functionals of one result: from a process, from a net, or from every point of a sample."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import _validate
from ...measures import Empirical
from ...posterior import Estimate
from . import direct, statistics
from .probability import probability_of, threshold_of
from .quantile import quantile_of
from .sampled import Sampled, Statistic
from .sobol import MainEffects, SobolIndices, independent, main_effects, sobol_indices

if TYPE_CHECKING:
    from ..fitted import FittedProcess
    from ..model import KernelModel
    from ..result import IntegrationResult

FloatArray = NDArray[np.float64]


class Functionals:
    """Functionals of f under the measure of a result, column by column.

    Parameters
    ----------
    result : IntegrationResult
        With a model, functionals are those of functions drawn from the fitted process, found at the first use. Without
        one (a net) they are statistics of the values. Where every point of a sample was evaluated they are sums, known
        but for rounding.
    """

    def __init__(self, result: IntegrationResult) -> None:
        self._result = result
        values = result.values
        self._columns = [np.ascontiguousarray(c) for c in values.reshape(len(values), -1).T]

    def variance(self) -> Estimate:
        """Return the variance of f."""
        return self._statistic(statistics.variance)

    def std(self) -> Estimate:
        """Return the standard deviation of f."""
        return self._statistic(statistics.deviation)

    def probability(self, above: float | None, below: float | None) -> Estimate:
        """Return the probability that f is above or below a threshold."""
        threshold, sign = threshold_of(above, below)
        exact = self._sample_weights
        if exact is not None:
            rows, weights = exact
            met = [column[rows] > threshold if sign > 0.0 else column[rows] < threshold for column in self._columns]
            return self._stack([Estimate(float(weights @ hits), 0.0, 0.0, lower=0.0, upper=1.0) for hits in met])
        if self._result.model is None:
            return self._stack([direct.frequency(column, threshold, sign) for column in self._columns])
        measure = self._model.measure
        return self._stack([probability_of(each, measure, threshold, sign) for each in self._sampled])

    def quantile(self, q: float) -> Estimate:
        """Return the q-quantile of f."""
        level = _validate.probability(q, "q")
        if self._sample_weights is not None:
            return self._statistic(statistics.quantile_at(level))
        if self._result.model is None:
            return self._stack([direct.order_statistic(column, level) for column in self._columns])
        return self._stack([quantile_of(each, self._model.measure, level) for each in self._sampled])

    def sobol(self, names: Any) -> SobolIndices:
        """Return the sensitivity indices of the inputs."""
        measure = independent(self._model.measure)
        known = self._named(names)
        found = [sobol_indices(each, measure, known) for each in self._sampled]
        if self._result.values.ndim == 1:
            return found[0]
        first, total = (Estimate.stack([getattr(each, kind) for each in found]) for kind in ("first", "total"))
        return SobolIndices(first, total, known)

    def effects(self, names: Any) -> MainEffects:
        """Return the main effects of the inputs, for one integrand."""
        if len(self._columns) > 1:
            raise ValueError(f"this result is of {len(self._columns)} integrals: integrate one column by itself")
        measure = independent(self._model.measure)
        return main_effects(self._sampled[0], measure, self._named(names))

    def _named(self, names: Any) -> tuple[str, ...]:
        """Return the names of the inputs: those given, or those of the measure."""
        measure = self._model.measure
        return measure.names if names is None else _validate.parameter_names(names, measure.dim)

    def _statistic(self, statistic: Statistic) -> Estimate:
        positive = statistic in (statistics.variance, statistics.deviation)
        lower = 0.0 if positive else -math.inf
        exact = self._sample_weights
        if exact is not None:
            rows, weights = exact
            found = [float(statistic(column[rows, None], weights)[0]) for column in self._columns]
            return self._stack([Estimate(each, 0.0, 0.0, lower=lower) for each in found])
        if self._result.model is None:
            return self._stack([direct.by_leaving_out(column, statistic, lower=lower) for column in self._columns])
        return self._stack([each.estimate(statistic, lower=lower) for each in self._sampled])

    def _stack(self, parts: list[Estimate]) -> Estimate:
        return parts[0] if self._result.values.ndim == 1 else Estimate.stack(parts)

    @property
    def _model(self) -> KernelModel:
        model = self._result.model
        if model is None:
            raise ValueError(
                "this result has no process, which this needs: it comes from a net, or from a file. Integrate with "
                '`method="process"` and at most some hundreds of evaluations'
            )
        return model

    @cached_property
    def _sample_weights(self) -> tuple[NDArray[np.intp], FloatArray] | None:
        """Rows of the values, and weights, where the measure is a sample of which every point was evaluated."""
        model, rule = self._result.model, self._result.rule
        if model is None or not isinstance(model.measure, Empirical) or rule.kind == "bayes":
            return None
        row = {point.tobytes(): i for i, point in enumerate(self._result.points + 0.0)}
        return np.array([row[point.tobytes()] for point in rule.points + 0.0]), rule.weights

    @cached_property
    def _processes(self) -> list[FittedProcess]:
        if self._result.values.ndim == 1:
            return [self._result.process]
        if self._result.n_evaluations < 3:
            raise ValueError(
                f"a process needs at least three values to be fitted, and there are {self._result.n_evaluations}"
            )
        return [self._model.fitted(self._result.points, column) for column in self._columns]

    @cached_property
    def _sampled(self) -> list[Sampled]:
        return [Sampled.spread(process, self._model.measure) for process in self._processes]
