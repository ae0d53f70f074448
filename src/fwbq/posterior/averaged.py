"""A mixture of posteriors: the integral averaged over hyper-parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtr

from .. import _frozen, _validate
from .shown import Shown, stated
from .single import IntegralPosterior, plain, shape_of_draws

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AveragedPosterior(Shown):
    """Posterior of an integral, or of m, averaged over kernels: sum_j weights_j components_j.

    It answers the same questions as `IntegralPosterior`.

    Attributes
    ----------
    components : tuple of IntegralPosterior
        One for each kernel.
    weights : (J,) array
        Their probabilities.

    Examples
    --------
    >>> halves = [IntegralPosterior(m, 1.0, np.inf, 1.0) for m in (-1.0, 1.0)]
    >>> both = AveragedPosterior(tuple(halves), np.array([0.5, 0.5]))
    >>> both.mean, bool(np.isclose(both.sd, np.sqrt(2.0))), bool(np.isclose(both.cdf(0.0), 0.5))
    (0.0, True, True)
    """

    components: tuple[IntegralPosterior, ...]
    weights: FloatArray

    def __post_init__(self) -> None:
        _frozen.freeze(self, weights=_frozen.readonly(_validate.simplex(self.weights, "weights")))

    def widened(self, sd: float) -> AveragedPosterior:
        """Return the posterior with a further standard deviation added to the scale of each component in quadrature.

        Parameters
        ----------
        sd : float
            What is not known beside what the posterior says.
        """
        parts = [replace(part, scale=np.hypot(part.scale, sd)) for part in self.components]
        return replace(self, components=tuple(parts))

    def _average(self, name: str) -> Any:
        first, *others = (getattr(component, name) for component in self.components)
        # Relative to the first, so that components that agree give exactly what they agree on.
        total = np.asarray(first)
        with np.errstate(invalid="ignore"):
            for weight, other in zip(self.weights[1:], others, strict=True):
                total = total + weight * np.where(other == first, 0.0, np.subtract(other, first))
        return plain(total)

    @property
    def effective_size(self) -> float:
        """Number of equally probable kernels that the average is worth, 1 / sum of the squared probabilities.

        Close to one, a single kernel decides.
        """
        return float(1.0 / np.sum(self.weights**2))

    @property
    def mean(self) -> Any:
        """Mean of the means: the estimate."""
        return self._average("mean")

    @property
    def amplitude(self) -> Any:
        """Mean amplitude."""
        return self._average("amplitude")

    @property
    def df(self) -> float:
        """Smallest degrees of freedom of a component."""
        return min(component.df for component in self.components)

    @property
    def sd(self) -> Any:
        """Standard deviation: within the components and between their means."""
        mean = np.asarray(self.mean)
        sds = np.array([component.sd for component in self.components])
        shifts = np.array([np.asarray(component.mean) - mean for component in self.components])
        # Divided by the largest, so that squares neither overflow nor vanish.
        unit = np.maximum(sds.max(axis=0), np.abs(shifts).max(axis=0))
        safe = np.where((unit > 0.0) & np.isfinite(unit), unit, 1.0)
        variance = np.tensordot(self.weights, (sds / safe) ** 2 + (shifts / safe) ** 2, axes=1)
        return plain(safe * np.sqrt(variance))

    @property
    def scale(self) -> Any:
        """Half the width of the central interval of probability 0.6827; for one Gaussian its standard deviation."""
        low, high = self.interval(0.6826894921370859)
        return plain(0.5 * (np.asarray(high) - np.asarray(low)))

    def cdf(self, x: ArrayLike) -> Any:
        """Return the probability that the integral is at most `x`."""
        return plain(self._below(_validate.numbers(x, "x")))

    @cached_property
    def _laws(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Means and scales, (J,) or (J, m), and degrees of freedom (J,) of the components."""
        means = np.array([component.mean for component in self.components])
        scales = np.array([component.scale for component in self.components])
        return means, scales, np.array([max(component.df, 1.0) for component in self.components])

    def _below(self, x: FloatArray) -> FloatArray:
        # All components at once, along a first axis: a quantile asks again and again.
        means, scales, df = self._laws
        between = (1,) * max(x.ndim - means.ndim + 1, 0)
        difference = x - means.reshape(len(means), *between, *means.shape[1:])
        scale = np.broadcast_to(scales.reshape(len(means), *between, *means.shape[1:]), difference.shape)
        t = np.where(difference >= 0.0, np.inf, -np.inf)
        np.divide(difference, scale, out=t, where=scale > 0.0)
        df = df.reshape(len(df), *(1,) * (t.ndim - 1))
        gaussian = np.isinf(df)
        p = stdtr(np.where(gaussian, 1.0, df), t)
        if gaussian.any():
            p = np.where(gaussian, ndtr(t), p)
        return np.asarray(np.tensordot(self.weights, p, axes=1))

    def quantile(self, q: float) -> Any:
        """Return the `q`-quantile, 0 < q < 1, sought between the least and the greatest of the components'."""
        ends = np.array([component.quantile(q) for component in self.components])
        low, high = ends.min(axis=0), ends.max(axis=0)
        if low.size == 1 and np.isfinite(high - low):
            return plain(np.reshape(self._root(q, float(low.item()), float(high.item())), low.shape))
        for _ in range(200):
            middle = low + 0.5 * (high - low)
            if np.all((middle <= low) | (middle >= high) | ~np.isfinite(high - low)):
                break
            below = self._below(middle) < q
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        # A component of infinite scale has an infinite quantile: then so has the mixture.
        return plain(np.where(np.isfinite(high - low), middle, np.where(np.isfinite(low), high, low)))

    def _root(self, q: float, low: float, high: float) -> float:
        """Return the quantile of one integral by Brent's method: a dozen values of the cdf, bisection takes sixty."""
        from scipy.optimize import brentq

        def excess(x: float) -> float:
            return float(self._below(np.asarray(x)).item()) - q

        # At the ends all components agree on the sign, but for rounding.
        if not low < high or excess(low) >= 0.0:
            return low
        if excess(high) <= 0.0:
            return high
        eps, tiny = float(np.finfo(float).eps), float(np.finfo(float).tiny)
        return float(brentq(excess, low, high, xtol=tiny, rtol=4.0 * eps, maxiter=200, disp=False))

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the central interval that holds the integral with probability `level`."""
        tail = 0.5 * (1.0 - _validate.probability(level, "level"))
        return self.quantile(tail), self.quantile(1.0 - tail)

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Any:
        """Draw from the posterior; one kernel for all of m integrals in a draw, which are then independent.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the draws, before the (m,) of many integrals; None for one.
        rng : None, int or numpy.random.Generator
            Source of randomness.
        """
        generator = _validate.generator(rng)
        each = np.shape(self.mean)
        shape = shape_of_draws(size, each)
        which = generator.choice(len(self.components), size=shape[: len(shape) - len(each)], p=self.weights)
        draws = np.empty(shape)
        for j, component in enumerate(self.components):
            chosen = np.asarray(which == j)
            draws[chosen] = component.sample(int(chosen.sum()), generator)
        return plain(draws)

    def __repr__(self) -> str:
        over = f"averaged over {len(self.components)} kernels"
        if np.ndim(self.mean):
            return f"AveragedPosterior({len(self.mean)} integrals, {over})"
        return f"AveragedPosterior({stated(self)}, {over})"
