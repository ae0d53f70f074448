"""Posteriors of several integrals that were found one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .averaged import AveragedPosterior
from .shown import Shown
from .single import IntegralPosterior


@dataclass(frozen=True, eq=False)
class ColumnPosteriors(Shown):
    """Posterior of m integrals, each with kernels of its own; it answers the same questions as `IntegralPosterior`.

    Attributes
    ----------
    parts : tuple of IntegralPosterior or AveragedPosterior
        One for each integral.

    Examples
    --------
    >>> both = ColumnPosteriors((IntegralPosterior(0.0, 1.0, np.inf, 1.0), IntegralPosterior(5.0, 2.0, np.inf, 1.0)))
    >>> both.mean, both.sd
    (array([0., 5.]), array([1., 2.]))
    """

    parts: tuple[IntegralPosterior | AveragedPosterior, ...]

    def _stack(self, name: str) -> Any:
        return np.array([getattr(part, name) for part in self.parts])

    @property
    def mean(self) -> Any:
        """Estimates, shape (m,)."""
        return self._stack("mean")

    @property
    def sd(self) -> Any:
        """Standard deviations, shape (m,)."""
        return self._stack("sd")

    @property
    def scale(self) -> Any:
        """Scales, shape (m,)."""
        return self._stack("scale")

    @property
    def amplitude(self) -> Any:
        """Amplitudes, shape (m,)."""
        return self._stack("amplitude")

    @property
    def effective_size(self) -> float:
        """Least number of equally probable kernels behind one of the integrals."""
        return float(self._stack("effective_size").min())

    @property
    def df(self) -> float:
        """Smallest degrees of freedom."""
        return float(np.min(self._stack("df")))

    def cdf(self, x: ArrayLike) -> Any:
        """Return the probabilities that the integrals are at most `x`, which is broadcast to (..., m)."""
        columns = np.broadcast_to(x, np.broadcast_shapes(np.shape(x), (len(self.parts),)))
        return np.stack([part.cdf(columns[..., j]) for j, part in enumerate(self.parts)], axis=-1)

    def quantile(self, q: float) -> Any:
        """Return the `q`-quantiles, shape (m,)."""
        return np.array([part.quantile(q) for part in self.parts])

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the central intervals that hold each integral with probability `level`."""
        low, high = np.array([part.interval(level) for part in self.parts]).T
        return low, high

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Any:
        """Draw the integrals independently; shape `size` + (m,)."""
        generator = _validate.generator(rng)
        return np.stack([np.asarray(part.sample(size, generator)) for part in self.parts], axis=-1)

    def __repr__(self) -> str:
        return f"ColumnPosteriors({len(self.parts)} integrals)"
