"""Posterior: the distribution of an integral, or of many, given values at the points of a rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from .. import _frozen, _validate
from .._threads import one_blas_thread
from ..process import ESTIMATES, Regression, amplitude_of, normalise
from ..rules import PRIOR_MEANS, PriorMean, Rule, bayes_rule
from .shown import Shown, stated

FloatArray = NDArray[np.float64]
Amplitude = Literal["marginal", "ml", "loo"] | float


@dataclass(frozen=True, eq=False)
class IntegralPosterior(Shown):
    """A Gaussian or Student-t distribution over an integral, or over m integrals on the same points.

    Attributes
    ----------
    mean : float or (m,) array
        Location: the estimate.
    scale : float or (m,) array
        Standard deviation of the Gaussian; scale of the Student-t, which is finite also where its variance is not.
    df : float
        Degrees of freedom; infinite for a Gaussian, zero when a single value and an unknown constant leave the
        amplitude unknown (the scale is then infinite).
    amplitude : float or (m,) array
        Factor on the kernel's variance. For values beyond 1e154 or below 1e-154 in magnitude it may leave the range of
        float64 (infinite, or zero); mean and scale do not.

    Examples
    --------
    >>> from fwbq import IntegralPosterior
    >>> posterior = IntegralPosterior(1.5, 0.1, float("inf"), 1.0)
    >>> low, high = posterior.interval(0.95)
    >>> round(low, 3), round(high, 3)
    (1.304, 1.696)
    """

    mean: Any
    scale: Any
    df: float
    amplitude: Any

    def __post_init__(self) -> None:
        fields = {name: np.asarray(getattr(self, name), dtype=np.float64) for name in ("mean", "scale", "amplitude")}
        shape = np.broadcast_shapes(*(a.shape for a in fields.values()))
        for name, a in fields.items():
            full = np.broadcast_to(a, shape)
            _frozen.freeze(self, **{name: _frozen.readonly(full) if shape else float(full)})

    @property
    def effective_size(self) -> float:
        """Number of kernels behind it: one."""
        return 1.0

    @property
    def sd(self) -> Any:
        """Standard deviation; for a Student-t scale sqrt(df / (df - 2)), infinite for df <= 2 unless the scale is 0."""
        if math.isinf(self.df):
            return self.scale
        factor = math.sqrt(self.df / (self.df - 2.0)) if self.df > 2.0 else math.inf
        sd = np.zeros(np.shape(self.scale))
        np.multiply(self.scale, factor, out=sd, where=np.asarray(self.scale) > 0.0)
        return plain(sd)

    def quantile(self, q: float) -> Any:
        """Return the `q`-quantile, 0 < q < 1."""
        p = _validate.probability(q, "q")
        t = float(scipy.special.ndtri(p) if math.isinf(self.df) else scipy.special.stdtrit(max(self.df, 1.0), p))
        # The median is the mean, also for an infinite scale: the rounding error of t times infinity would be infinite.
        t = 0.0 if p == 0.5 else t
        return plain(self.mean + (np.multiply(self.scale, t) if t else np.zeros(np.shape(self.scale))))

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the central interval that holds the integral with probability `level`."""
        tail = 0.5 * (1.0 - _validate.probability(level, "level"))
        low = self.quantile(tail)
        return low, plain(self.mean + (self.mean - np.asarray(low)))

    def cdf(self, x: ArrayLike) -> Any:
        """Return the probability that the integral is at most `x`, which is broadcast against the integrals."""
        difference = _validate.numbers(x, "x") - self.mean
        scale = np.broadcast_to(self.scale, difference.shape)
        t = np.where(difference >= 0.0, np.inf, -np.inf)
        np.divide(difference, scale, out=t, where=scale > 0.0)
        p = scipy.special.ndtr(t) if math.isinf(self.df) else scipy.special.stdtr(max(self.df, 1.0), t)
        return plain(np.asarray(p))

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Any:
        """Draw from the posterior; m integrals are drawn independently.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the draws, before the (m,) of many integrals; None for one.
        rng : None, int or numpy.random.Generator
            Source of randomness.
        """
        generator = _validate.generator(rng)
        shape = shape_of_draws(size, np.shape(self.mean))
        t = generator.standard_normal(shape) if math.isinf(self.df) else generator.standard_t(max(self.df, 1.0), shape)
        return plain(self.mean + np.asarray(t) * self.scale)

    def __repr__(self) -> str:
        law = "Gaussian" if math.isinf(self.df) else f"Student-t, {self.df:g} degrees of freedom"
        if np.ndim(self.mean):
            return f"IntegralPosterior({len(self.mean)} integrals, {law})"
        return f"IntegralPosterior({stated(self)}, {law})"


def plain(a: Any) -> Any:
    """Return a float for an array without axes, and every other array as it is."""
    return float(a) if np.ndim(a) == 0 else a


def shape_of_draws(size: int | tuple[int, ...] | None, each: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of `size` draws, None for one, of arrays of the shape `each`."""
    sizes = [] if size is None else np.atleast_1d(size).tolist()
    shape = tuple(_validate.count(one, "size", minimum=0) for one in sizes) + each
    _validate.fits_in_memory(math.prod(shape), 1, "size", "draws")
    return shape


@one_blas_thread
def condition(
    rule: Rule, values: ArrayLike, *, amplitude: Amplitude = "marginal", prior_mean: PriorMean | None = None
) -> IntegralPosterior:
    """Return the posterior of the integral of f, given its values at the points of a rule.

    With a Gaussian process of covariance a k and a Bayesian quadrature rule, the integral given f and the amplitude a
    is N(w'f, a v), v = `rule.mmd2`. The amplitude is

    * a number: N(w'f, amplitude * v); ``amplitude=1.0`` is the posterior of the paper;
    * "ml": the number of greatest likelihood, f'K^-1 f / n;
    * "loo": the number at which leave-one-out errors have, in standard deviations, mean square one;
    * "marginal": unknown, with prior density proportional to 1 / a, and integrated out. Its posterior is inverse-gamma
      with shape n/2 and scale f'K^-1 f / 2, so the integral is Student-t with n degrees of freedom, location w'f and
      scale^2 = v f'K^-1 f / n.

    With the unknown constant mean n becomes n - 1, and f'K^-1 f the generalised residual sum of squares (see
    `fwbq.process.Regression`). Multiplying f by c multiplies mean and scale by c, from 1e-300 to 1e300.

    Where the Gram matrix is singular to working precision its factor holds a jitter: values are taken to have an
    independent error of that relative variance, 1e-14 if possible. Values that the kernel cannot explain then make the
    amplitude large, and the variance includes the share w'D w of that error. Points that the kernel cannot tell apart
    do not count twice: in the amplitude the numerical rank takes the place of n.

    Parameters
    ----------
    rule : Rule
        Points, weights and error. For a rule that is not "bayes" the location is w'f, and v its squared error as well.
    values : array_like, shape (n,) or (n, m)
        Values of one or m integrands at ``rule.points``, or at the points given when the rule was made.
    amplitude : {"marginal", "ml", "loo"} or positive float
        See above.
    prior_mean : {"zero", "constant"}, optional
        Default: that of the rule. If another is asked for, the weights of a "bayes" rule are made again.

    Returns
    -------
    IntegralPosterior

    Raises
    ------
    ValueError
        When an estimated amplitude is asked of a rule that was loaded without its kernel, or an unknown constant of a
        rule whose weights are given and do not sum to one.

    References
    ----------
    O'Hagan, "Bayes-Hermite quadrature", Journal of Statistical Planning and Inference 29 (1991), for the marginal.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    >>> rule = fwbq.bayes_rule(embedding, np.linspace(-3.0, 3.0, 9)[:, None])
    >>> posterior = fwbq.condition(rule, np.cos(rule.points[:, 0]))
    >>> low, high = posterior.interval(0.95)
    >>> bool(low < np.exp(-0.5) < high), posterior.df
    (True, 9.0)
    """
    _validate.instance(rule, "rule", Rule, "pass e.g. fwbq.bayes_rule(embedding, points)")
    if prior_mean is not None and _validate.choice(prior_mean, "prior_mean", PRIOR_MEANS) != rule.prior_mean:
        rule = _with_prior_mean(rule, prior_mean)
    constant = (prior_mean or rule.prior_mean) == "constant"
    f, exponent = normalise(rule.values(values))
    w = rule.weights
    # Weights of an unknown constant sum to one only up to rounding, which a large constant would multiply: take the
    # first value out of all, and add it at the end.
    mean = f[0] + w @ (f - f[0]) if constant else w @ f
    df = math.inf
    if isinstance(amplitude, str):
        _validate.choice(amplitude, "amplitude", ESTIMATES)
        regression = Regression.of(rule.factor, f, constant=constant)
        a = amplitude_of(regression, amplitude)
        variance = rule.mmd2 + rule.factor.noise(w)
        if amplitude == "marginal":
            df = float(regression.df)
        with np.errstate(over="ignore", under="ignore"):
            scale = np.ldexp(math.sqrt(variance) * np.sqrt(a), exponent)
            a = np.ldexp(a, 2 * exponent)
    else:
        a = np.asarray(_validate.positive(amplitude, "amplitude"))
        scale = math.sqrt(rule.mmd2) * np.sqrt(a)
    with np.errstate(over="ignore", under="ignore"):
        return IntegralPosterior(np.ldexp(mean, exponent), scale, df, a)


def _with_prior_mean(rule: Rule, prior_mean: PriorMean) -> Rule:
    if rule.kind != "bayes":
        total = math.fsum(rule.weights)
        if prior_mean == "constant" and abs(total - 1.0) > _validate.SUM_TOLERANCE * max(1.0, rule.sum_abs_weights):
            raise ValueError(
                f"`rule.weights` must sum to 1 for an unknown constant mean, got a sum of {total}: pass "
                "prior_mean='zero', or make the rule with weights that sum to one"
            )
        return rule
    return bayes_rule(rule.known_embedding, rule.points, prior_mean=prior_mean)
