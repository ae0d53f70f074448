"""A number with an error: what every functional of an integrand beyond its mean is returned as."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from .. import _frozen, _validate
from .shown import Shown, stated
from .single import plain, shape_of_draws

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

#: The probability of the interval whose ends an estimate takes from draws.
_FROM_DRAWS = 0.95


@dataclass(frozen=True, eq=False)
class Estimate(Shown):
    """A number, or a column of m numbers, with an error that may differ below and above.

    With T a Student-t variable (Gaussian for infinite `df`) the number is distributed as

    mean + below T for T < 0,  mean + above T for T >= 0,  cut off at `lower` and `upper`,

    so that half of the probability lies on each side of the estimate.

    Attributes
    ----------
    mean : float or (m,) array
        The estimate.
    below, above : float or (m,) array
        Scales of the error on the two sides, not negative.
    df : float
        Degrees of freedom; infinite for a Gaussian.
    lower, upper : float
        What the number cannot pass: 0 and infinity for a variance, 0 and 1 for a probability.

    Examples
    --------
    >>> p = Estimate(1e-3, 0.4e-3, 1e-3, lower=0.0, upper=1.0)
    >>> p
    Estimate(0.00100 ± 0.00076, 95 % in [0.00022, 0.00296])
    >>> low, high = p.interval(0.9999)
    >>> low
    0.0
    """

    mean: Any
    below: Any
    above: Any
    df: float = math.inf
    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self) -> None:
        fields = {name: np.asarray(getattr(self, name), dtype=np.float64) for name in ("mean", "below", "above")}
        shape = np.broadcast_shapes(*(a.shape for a in fields.values()))
        for name, a in fields.items():
            full = np.broadcast_to(a, shape)
            _frozen.freeze(self, **{name: _frozen.readonly(full) if shape else float(full)})

    @classmethod
    def from_draws(
        cls, draws: FloatArray, mean: ArrayLike, *, lower: float = -math.inf, upper: float = math.inf
    ) -> Estimate:
        """Return the estimate whose 95 % interval is that of equally probable draws.

        Parameters
        ----------
        draws : (D,) or (D, m) array
        mean : float or (m,) array_like
            The estimate; scales are those of the draws about it.
        lower, upper : float
            What the number cannot pass.

        Examples
        --------
        >>> low, high = Estimate.from_draws(np.linspace(0.0, 1.0, 401), 0.5).interval(0.95)
        >>> bool(np.isclose(low, 0.025)), bool(np.isclose(high, 0.975))
        (True, True)
        """
        tail = 0.5 * (1.0 - _FROM_DRAWS)
        t = float(scipy.special.ndtri(1.0 - tail))
        low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0)
        centre = np.clip(mean, lower, upper)
        return cls(
            centre, np.maximum(centre - low, 0.0) / t, np.maximum(high - centre, 0.0) / t, lower=lower, upper=upper
        )

    @classmethod
    def stack(cls, parts: list[Estimate]) -> Estimate:
        """Return estimates of single numbers, alike in `df` and bounds, as one of a column of numbers."""
        first = parts[0]
        columns = {name: [getattr(part, name) for part in parts] for name in ("mean", "below", "above")}
        df = min(part.df for part in parts)
        return cls(**columns, df=df, lower=first.lower, upper=first.upper)

    @property
    def effective_size(self) -> float:
        """One: nothing is averaged here any more."""
        return 1.0

    @property
    def sd(self) -> Any:
        """Root of the mean squared distance from the estimate; infinite for `df` of two or fewer."""
        factor = 1.0 if math.isinf(self.df) else self.df / (self.df - 2.0) if self.df > 2.0 else math.inf
        # The mean of squares without squares that overflow or vanish.
        spread = np.hypot(self.below, self.above) * math.sqrt(0.5)
        sd = np.zeros(np.shape(spread))
        np.multiply(spread, math.sqrt(factor), out=sd, where=np.asarray(spread) > 0.0)
        return plain(sd)

    def quantile(self, q: float) -> Any:
        """Return the `q`-quantile, 0 < q < 1."""
        p = _validate.probability(q, "q")
        t = float(scipy.special.ndtri(p) if math.isinf(self.df) else scipy.special.stdtrit(self.df, p))
        if p == 0.5:
            return plain(np.clip(self.mean, self.lower, self.upper))
        scale = np.asarray(self.below if t < 0.0 else self.above)
        with np.errstate(invalid="ignore"):  # an estimate of minus infinity of which nothing is known
            moved = np.where(np.isinf(scale), math.copysign(math.inf, t), self.mean + scale * t)
        return plain(np.clip(moved, self.lower, self.upper))

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the central interval that holds the number with probability `level`."""
        tail = 0.5 * (1.0 - _validate.probability(level, "level"))
        return self.quantile(tail), self.quantile(1.0 - tail)

    def cdf(self, x: ArrayLike) -> Any:
        """Return the probability that the number is at most `x`."""
        difference = _validate.numbers(x, "x") - self.mean
        scale = np.broadcast_to(np.where(difference < 0.0, self.below, self.above), difference.shape)
        t = np.where(difference >= 0.0, np.inf, -np.inf)
        np.divide(difference, scale, out=t, where=scale > 0.0)
        p = scipy.special.ndtr(t) if math.isinf(self.df) else scipy.special.stdtr(self.df, t)
        at = difference + self.mean
        return plain(np.where(at < self.lower, 0.0, np.where(at >= self.upper, 1.0, p)))

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Any:
        """Draw the number, or m numbers independently, with the shape `size` before the (m,)."""
        generator = _validate.generator(rng)
        shape = shape_of_draws(size, np.shape(self.mean))
        t = generator.standard_normal(shape) if math.isinf(self.df) else generator.standard_t(self.df, shape)
        moved = self.mean + np.where(np.asarray(t) < 0.0, self.below, self.above) * t
        return plain(np.clip(moved, self.lower, self.upper))

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each number: ``mean``, ``sd``, and ``lower`` and ``upper`` of the 95 % interval."""
        import pandas as pd

        low, high = self.interval(0.95)
        columns = {"mean": self.mean, "sd": self.sd, "lower": low, "upper": high}
        return pd.DataFrame({name: np.atleast_1d(column) for name, column in columns.items()})

    def __iter__(self) -> Iterator[Any]:
        """Yield `mean` and `sd`, so that ``value, sd = estimate`` works."""
        yield self.mean
        yield self.sd

    def __repr__(self) -> str:
        if np.ndim(self.mean):
            return f"Estimate({len(self.mean)} numbers)"
        return f"Estimate({stated(self)})"
