"""The Gaussian measure."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve

from .. import _frozen, _validate
from .._validate import Array
from .._whitening import Whitening
from .base import Measure
from .standard_normal import normal_quantile
from .unbounded import Unbounded


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Gaussian(Unbounded):
    """Gaussian measure N(mean, cov) with any positive definite covariance.

    p(x) = (2 pi)^(-d/2) det(cov)^(-1/2) exp(-(x - mean)' cov^-1 (x - mean) / 2)

    Parameters
    ----------
    mean : float or array_like, shape (d,)
        A scalar means d = 1.
    cov : float or array_like, shape (d, d) or (d,)
        The covariance matrix; a vector gives the variances of independent coordinates, a scalar is the variance of
        every coordinate. Variances, not standard deviations.

    Examples
    --------
    >>> import numpy as np
    >>> p = Gaussian([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]])
    >>> p.sample(3, rng=0).shape
    (3, 2)
    >>> bool(np.isclose(Gaussian(0.0, 1.0).log_density([[0.0]])[0], -0.5 * np.log(2 * np.pi)))
    True
    """

    mean: Array
    cov: Array
    _cholesky: Array = field(repr=False)

    def __init__(self, mean: ArrayLike, cov: ArrayLike) -> None:
        centre = _validate.per_coordinate(mean=mean)["mean"]
        matrix = _validate.covariance(cov, "cov", centre.size)
        _frozen.freeze(
            self,
            mean=_frozen.readonly(centre),
            cov=_frozen.readonly(matrix),
            _cholesky=_frozen.readonly(np.linalg.cholesky(matrix)),
        )

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.mean.size)

    @property
    def expectation(self) -> Array:
        """The mean, shape (d,)."""
        return self.mean

    @property
    def scale(self) -> Array:
        """The standard deviation of each coordinate, shape (d,)."""
        return np.sqrt(np.diagonal(self.cov))

    @property
    def whitening(self) -> Whitening:
        """Coordinates s with x = mean + L s, L L' = cov: independent, and standard normal."""
        return Whitening(self.mean, self._cholesky)

    @property
    def uniform_dim(self) -> int:
        """The dimension d."""
        return self.dim

    @cached_property
    def factors(self) -> tuple[Measure, ...] | None:
        """The marginals when every covariance is exactly zero, else None."""
        variances = np.diagonal(self.cov)
        if np.count_nonzero(self.cov) > self.dim:
            return None
        return tuple(Gaussian(float(m), float(v)) for m, v in zip(self.mean, variances, strict=True))

    @property
    def invertible(self) -> bool:
        """True: points are whitened."""
        return True

    def _to_normal(self, x: Array) -> Array:
        return self.whitening.forward(x)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.whitening.back(rng.standard_normal((n, self.dim)))

    def _transform(self, u: Array, v: Array) -> Array:
        return self.whitening.back(normal_quantile(u, v))

    def _log_density(self, x: Array) -> Array:
        constant = 0.5 * self.dim * math.log(2.0 * math.pi) + self.whitening.log_volume
        with np.errstate(over="ignore"):
            return self.whitening.unit(x) - constant

    def _score(self, x: Array) -> Array:
        return np.asarray(cho_solve((self._cholesky, True), (self.mean - x).T, check_finite=False).T)

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""
        return {"type": "Gaussian", "mean": self.mean.tolist(), "cov": self.cov.tolist()}
