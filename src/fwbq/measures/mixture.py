"""Mixtures of Gaussian measures."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from .. import _frozen, _validate
from .._validate import Array
from .base import pick
from .gaussian import Gaussian
from .standard_normal import normal_quantile
from .unbounded import Unbounded


@dataclass(frozen=True, eq=False, init=False)
class GaussianMixture(Unbounded):
    """Mixture of Gaussian measures, sum_l weights_l N(means_l, covs_l).

    Parameters
    ----------
    weights : array_like, shape (L,)
        At least zero, summing to one.
    means : array_like, shape (L, d)
    covs : float or array_like
        By the number of its axes: (L, d, d) one covariance matrix per component; (d, d) one matrix for all; (L,) one
        variance per component, times the identity; a scalar, one variance for everything.

    Examples
    --------
    >>> import numpy as np
    >>> p = GaussianMixture([0.25, 0.75], [[-2.0], [2.0]], 0.5)
    >>> float(p.mean[0])
    1.0
    >>> p.sample(1000, rng=0).shape
    (1000, 1)
    """

    weights: Array
    means: Array
    covs: Array
    components: tuple[Gaussian, ...] = field(repr=False)

    def __init__(self, weights: ArrayLike, means: ArrayLike, covs: ArrayLike) -> None:
        centres = _validate.points(means, "means")
        n, d = centres.shape
        if n == 0:
            raise ValueError("`means` must have at least one row, got none: pass an array of shape (L, d)")
        w = _validate.simplex(weights, "weights", n)
        matrices = _validate.covariances(covs, "covs", n, d)
        _frozen.freeze(
            self,
            weights=_frozen.readonly(w),
            means=_frozen.readonly(centres),
            covs=_frozen.readonly(matrices),
            components=tuple(Gaussian(m, c) for m, c in zip(centres, matrices, strict=True)),
        )

    def __repr__(self) -> str:
        return f"GaussianMixture({self.weights.size} component(s), dim={self.dim})"

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.means.shape[1])

    @property
    def mean(self) -> Array:
        """The mean of the mixture, shape (d,)."""
        return np.asarray(self.weights @ self.means)

    @property
    def expectation(self) -> Array:
        """The mean of the mixture, shape (d,)."""
        return self.mean

    @property
    def scale(self) -> Array:
        """The standard deviation of each coordinate, shape (d,)."""
        variances = np.einsum("kii->ki", self.covs) + (self.means - self.mean) ** 2
        return np.asarray(np.sqrt(self.weights @ variances))

    @property
    def uniform_dim(self) -> int:
        """One more than the dimension: the first coordinate picks the component."""
        return self.dim + 1

    @property
    def factors(self) -> None:
        """None: the coordinates of a mixture depend on each other."""

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        which = rng.choice(self.weights.size, size=n, p=self.weights)
        return self._colour(which, rng.standard_normal((n, self.dim)))

    def _transform(self, u: Array, v: Array) -> Array:
        return self._colour(pick(self.weights, u[:, 0]), normal_quantile(u[:, 1:], v[:, 1:]))

    def _colour(self, which: Any, z: Array) -> Array:
        x = np.empty_like(z)
        for j, component in enumerate(self.components):
            rows = which == j
            x[rows] = component.whitening.back(z[rows])
        return x

    def _log_terms(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        return np.column_stack([c._log_density(x) for c in self.components]) + log_weights

    def _log_density(self, x: Array) -> Array:
        return np.asarray(logsumexp(self._log_terms(x), axis=1))

    def _score(self, x: Array) -> Array:
        shares = softmax(self._log_terms(x), axis=1)
        total = np.zeros_like(x)
        for j, component in enumerate(self.components):
            total += shares[:, [j]] * component._score(x)
        return total

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""
        return {
            "type": "GaussianMixture",
            "weights": self.weights.tolist(),
            "means": self.means.tolist(),
            "covs": self.covs.tolist(),
        }
