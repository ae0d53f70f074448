"""Random Fourier features: a finite-dimensional approximation of a stationary kernel."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import _frozen, _validate
from .._validate import Array
from .base import Column, Kernel
from .exp_quad import ExpQuad
from .matern import Matern
from .registry import from_spec, register
from .stationary import Stationary


@register()
@dataclass(frozen=True, eq=False, init=False, repr=False)
class RandomFourier(Kernel):
    """Random Fourier features of an ExpQuad or Matern kernel.

    k(x, y) = (variance / D) sum_j z_j(x) z_j(y),  z_j(x) = sqrt(2) cos(w_j . x + b_j),

    with b_j uniform on [0, 2 pi] and w_j from the spectral density of the kernel: for ExpQuad Gaussian with standard
    deviation 1 / lengthscale_i, for a Matern of smoothness nu Student-t with 2 nu degrees of freedom and that scale,
    each coordinate on its own. The expectation of k is the kernel it approximates; its RKHS has dimension D at most.

    Parameters
    ----------
    kernel : ExpQuad, Matern12, Matern32 or Matern52
    n_features : int
        The number D of features.
    dim : int
        The dimension d of the points.
    rng : None, int or numpy.random.Generator

    Notes
    -----
    Rahimi and Recht (2007); Briol, Oates, Girolami and Osborne (2015), appendix E.

    Examples
    --------
    >>> import numpy as np
    >>> k = RandomFourier(ExpQuad(1.0), 20_000, dim=2, rng=0)
    >>> x, y = np.zeros((1, 2)), np.array([[1.0, -0.5]])
    >>> k(x, y).round(1), k.kernel(x, y).round(1)
    (array([[0.5]]), array([[0.5]]))
    """

    kernel: Stationary
    frequencies: Array
    phases: Array

    def __init__(self, kernel: Stationary, n_features: int, dim: int, rng: Any = None) -> None:
        _check_base(kernel)
        n_features = _validate.count(n_features, "n_features")
        lengths = kernel.lengthscales(dim)
        rng = _validate.generator(rng)
        shape = (n_features, lengths.size)
        if isinstance(kernel, Matern):
            frequencies = rng.standard_t(2.0 * kernel.smoothness, size=shape) / lengths
        else:
            frequencies = rng.standard_normal(shape) / lengths
        phases = rng.uniform(0.0, 2.0 * math.pi, size=n_features)
        self._set(kernel, frequencies, phases)

    @classmethod
    def from_frequencies(cls, kernel: Stationary, frequencies: ArrayLike, phases: ArrayLike) -> Self:
        """Features with given frequencies (D, d) and phases (D,); the kernel gives the variance.

        Examples
        --------
        >>> k = RandomFourier.from_frequencies(ExpQuad(1.0), [[0.0]], [0.0])
        >>> float(round(k([[3.0]])[0, 0], 12))
        2.0
        """
        _check_base(kernel)
        self = cls.__new__(cls)
        checked = _validate.points(frequencies, "frequencies", kernel.dim)
        if checked.shape[0] == 0:
            raise ValueError("`frequencies` must have at least one row, got none: pass an array of shape (D, d)")
        self._set(kernel, checked, _validate.vector(phases, "phases", checked.shape[0]))
        return self

    def _set(self, kernel: Stationary, frequencies: Array, phases: Array) -> None:
        _frozen.freeze(
            self,
            kernel=kernel,
            frequencies=_frozen.readonly(frequencies),
            phases=_frozen.readonly(phases),
        )

    def __repr__(self) -> str:
        return f"RandomFourier({self.kernel!r}, n_features={self.n_features}, dim={self.dim})"

    @property
    def dim(self) -> int:
        """The dimension d of the points."""
        return int(self.frequencies.shape[1])

    @property
    def n_features(self) -> int:
        """The number D of features."""
        return int(self.frequencies.shape[0])

    @property
    def _amplitude(self) -> float:
        return math.sqrt(2.0 * self.kernel.variance / self.n_features)

    def features(self, x: ArrayLike) -> Array:
        """Return the features sqrt(2 variance / D) cos(w_j . x + b_j), shape (n, D); k is their inner product."""
        return self._features(_validate.points(x, "x", self.dim))

    def _features(self, x: Array) -> Array:
        phi = x @ self.frequencies.T
        phi += self.phases
        np.cos(phi, out=phi)
        phi *= self._amplitude
        return phi

    def features_gradient(self, x: ArrayLike) -> Array:
        """Return the gradients of the features in x, shape (n, D, d)."""
        return self._sines(_validate.points(x, "x", self.dim))[:, :, None] * self.frequencies

    def _sines(self, x: Array) -> Array:
        """Shape (n, D): times w_j it is the gradient of feature j."""
        sines = x @ self.frequencies.T
        sines += self.phases
        np.sin(sines, out=sines)
        sines *= -self._amplitude
        return sines

    def _gram(self, x: Array, y: Array) -> Array:
        phi = self._features(x)
        if y is not x:
            return phi @ self._features(y).T
        k = phi @ phi.T
        np.fill_diagonal(k, self._diagonal(x))
        return k

    def columns(self, x: ArrayLike) -> Column:
        """Prepare the columns k(x, y) over fixed points x, whose features (M, D) are kept; see `Kernel.columns`."""
        phi = self.features(x)

        def column(y: Array, out: Array | None = None) -> Array:
            return np.dot(phi, self._features(np.asarray(y, dtype=np.float64).reshape(1, -1))[0], out=out)

        return column

    def _diagonal(self, x: Array) -> Array:
        phi = self._features(x)
        return np.asarray(np.einsum("ij,ij->i", phi, phi))

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        sines = self._sines(x)
        phi = self._features(y)
        for i in range(self.dim):
            yield (sines * self.frequencies[:, i]) @ phi.T

    def gradient_sum(self, x: ArrayLike, y: ArrayLike, weights: ArrayLike) -> Array:
        """Weighted sum of gradients, sum_j w_ij grad_x k(x_i, y_j), shape (n, d); see `Kernel.gradient_sum`."""
        w = np.asarray(weights, dtype=np.float64)
        if w.ndim != 1:
            return super().gradient_sum(x, y, weights)
        x, y = self._pair(x, y)
        _validate.vector(w, "weights", y.shape[0])
        return (self._sines(x) * (w @ self._features(y))) @ self.frequencies

    def _gradient_covariance(self, x: Array, y: Array) -> Array:
        def gradients(a: Array) -> Array:
            """Return the gradients of the features, (n d, features)."""
            return (self._sines(a)[:, None, :] * self.frequencies.T).reshape(-1, len(self.frequencies))

        in_x = gradients(x)
        mixed = in_x @ (in_x if y is x else gradients(y)).T
        return mixed.reshape(*x.shape, *y.shape)

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the kernel, exact to the bit."""
        return {
            "type": "RandomFourier",
            "kernel": self.kernel.spec(),
            "frequencies": self.frequencies.tolist(),
            "phases": self.phases.tolist(),
        }

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Self:
        return cls.from_frequencies(from_spec(spec["kernel"]), spec["frequencies"], spec["phases"])  # type: ignore[arg-type]


def _check_base(kernel: Any) -> None:
    if not isinstance(kernel, (ExpQuad, Matern)):
        raise TypeError(
            f"`kernel` must be ExpQuad, Matern12, Matern32 or Matern52, got {type(kernel).__name__}: only for these "
            "is the distribution of the frequencies known"
        )
