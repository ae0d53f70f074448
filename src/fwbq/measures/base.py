"""The interface of every measure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from .. import _html, _validate
from .._validate import Array
from .._whitening import Whitening


class Measure(ABC):
    """A probability measure on R^d: what an integral is taken under. Measures are immutable values.

    Examples
    --------
    >>> import fwbq
    >>> measure = fwbq.Uniform([0.0, 1.0], [1.0, 3.0])
    >>> measure.dim, measure.expectation.tolist(), measure.sample(5, rng=0).shape
    (2, [0.5, 2.0], (5, 2))
    """

    if TYPE_CHECKING:
        # Fields of some measures, properties of others; a property here would hide the dataclass fields.
        @property
        def mean(self) -> Array:
            """Mean, shape (d,); for TruncatedGaussian that of the Gaussian before truncation."""

        @property
        def lower(self) -> Array:
            """Lower bounds of the support, shape (d,); may be -inf."""

        @property
        def upper(self) -> Array:
            """Upper bounds of the support, shape (d,); may be inf."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """The dimension d."""

    @property
    @abstractmethod
    def expectation(self) -> Array:
        """The expectation of each coordinate, shape (d,)."""

    @property
    @abstractmethod
    def scale(self) -> Array:
        """The standard deviation of each coordinate, shape (d,)."""

    @property
    def whitening(self) -> Whitening:
        """Coordinates in which every coordinate has mean zero and standard deviation one.

        Where there is no expectation, `mean` (a median) takes its place; a coordinate that does not vary keeps its
        unit.
        """
        centre = np.where(np.isfinite(self.expectation), self.expectation, self.mean)
        return Whitening(centre, np.where(self.scale > 0.0, self.scale, 1.0))

    @property
    @abstractmethod
    def uniform_dim(self) -> int:
        """The dimension of the unit cube that `from_uniform` maps to this measure."""

    @property
    @abstractmethod
    def factors(self) -> tuple[Measure, ...] | None:
        """One-dimensional measures whose product this is; None when the coordinates depend on each other."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates in tables and figures; ``x1``, ``x2``, ... where none were given."""
        given: tuple[str, ...] | None = getattr(self, "_names", None)
        return _validate.parameter_names(given, self.dim)

    @property
    def latent(self) -> Measure | None:
        """The measure of the latent coordinates y, which are independent; None when the measure has none.

        Measures whose coordinates depend on each other are images x = g(y) of measures whose coordinates do not.
        """
        return None

    def to_latent(self, x: ArrayLike) -> Array:
        """Return the latent coordinates y of points x (n, d); x itself when there are none."""
        return self._to_latent(_validate.points(x, "x", self.dim))

    def from_latent(self, y: ArrayLike) -> Array:
        """Return the points x of latent coordinates y (n, d); y itself when there are none."""
        return self._from_latent(_validate.points(y, "y", self.dim))

    def _to_latent(self, x: Array) -> Array:
        return x

    def _from_latent(self, y: Array) -> Array:
        return y

    def gradient_to_latent(self, x: ArrayLike, gradient: ArrayLike) -> Array:
        """Return gradients in the latent coordinates, for gradients (n, d) in x at points x (n, d).

        Rows of NaN stay such rows.
        """
        slopes = self._latent_slopes(_validate.points(x, "x", self.dim))
        g = np.asarray(gradient, dtype=np.float64)
        # dg/dy (dy/dx) = dg/dx
        return np.asarray(np.linalg.solve(np.swapaxes(slopes, 1, 2), g[:, :, None])[:, :, 0])

    def _latent_slopes(self, x: Array) -> Array:
        """Return the derivatives dy_i/dx_j of the latent coordinates at points x, shape (n, d, d)."""
        return np.broadcast_to(np.eye(self.dim), (len(x), self.dim, self.dim))

    @property
    def invertible(self) -> bool:
        """Whether `from_normal` is one-to-one, so that there is a `to_normal`."""
        return False

    def to_normal(self, x: ArrayLike) -> Array:
        """Transform points so that this measure becomes the standard normal distribution: the inverse of `from_normal`.

        Parameters
        ----------
        x : array_like, shape (n, d)

        Returns
        -------
        ndarray, shape (n, d)

        Raises
        ------
        NotImplementedError
            When `from_normal` is not one-to-one: a mixture, a sample, discrete values.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> p = fwbq.Gaussian([0.0, 1.0], [[2.0, 1.0], [1.0, 1.0]])
        >>> bool(np.allclose(p.to_normal(p.from_normal([[0.5, -1.0]])), [[0.5, -1.0]]))
        True
        """
        if not self.invertible:
            raise NotImplementedError(
                f"a {type(self).__name__} measure with several points of the normal distribution for one of its own "
                "has no `to_normal`: use its `sample` or `from_uniform`"
            )
        return self._to_normal(_validate.points(x, "x", self.dim))

    def _to_normal(self, x: Array) -> Array:
        """Return the normal scores of checked points."""
        raise NotImplementedError

    def nearest(self, x: ArrayLike) -> Array:
        """Return points x (n, d) with every discrete coordinate at the nearest of its values."""
        return self._nearest(_validate.points(x, "x", self.dim))

    def _nearest(self, x: Array) -> Array:
        """Return the points of the support nearest to x (n, d) in the coordinates with finitely many values."""
        return x

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""

    @abstractmethod
    def _sample(self, n: int, rng: Any) -> Array:
        """Return n independent points, shape (n, d)."""

    @abstractmethod
    def _transform(self, u: Array, v: Array) -> Array:
        """Return the images of points u of the open unit cube; v is 1 - u, with all its digits where u is near one."""

    @abstractmethod
    def _log_density(self, x: Array) -> Array:
        """Return the log density at checked points."""

    @abstractmethod
    def _score(self, x: Array) -> Array:
        """Return the score at checked points."""

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={text}" for name, text in _html.parameters(self))
        return f"{type(self).__name__}({given})"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks: the parameters, the expectation and the standard deviation."""
        rows = [*_html.parameters(self), ("dimension", str(self.dim))]
        rows += [("expectation", _html.value(self.expectation)), ("standard deviation", _html.value(self.scale))]
        return _html.table(rows, title=type(self).__name__)

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n independent points.

        Parameters
        ----------
        n : int
        rng : None, int or numpy.random.Generator

        Returns
        -------
        ndarray, shape (n, d)
        """
        n = _validate.fits_in_memory(_validate.count(n, "n", 0), self.dim, "n", "points")
        return self._sample(n, _validate.generator(rng))

    def log_density(self, x: ArrayLike) -> Array:
        """Return the logarithm of the normalised density at x (n, d), shape (n,); -inf outside the support."""
        return self._log_density(_validate.points(x, "x", self.dim))

    def score(self, x: ArrayLike) -> Array:
        """Return the score, the gradient of the log density, at x (n, d), shape (n, d).

        Beyond the bounds of a support the formula that holds inside is continued.
        """
        return self._score(_validate.points(x, "x", self.dim))

    def from_uniform(self, u: ArrayLike) -> Array:
        """Transform points of the unit cube, so that the uniform distribution becomes this measure.

        Parameters
        ----------
        u : array_like, shape (n, uniform_dim)
            Within [0, 1]; clipped to [2^-54, 1 - 2^-53] so that no point is infinite.

        Returns
        -------
        ndarray, shape (n, d)
        """
        array = _validate.points(u, "u", self.uniform_dim)
        if ((array < 0.0) | (array > 1.0)).any():
            raise ValueError(
                f"`u` must lie in the unit cube [0, 1]^{self.uniform_dim}, got values from {array.min()} to "
                f"{array.max()}"
            )
        array = np.clip(array, 2.0**-54, 1.0 - 2.0**-53)
        return self._transform(array, 1.0 - array)

    def from_normal(self, z: ArrayLike) -> Array:
        """Transform points so that the standard normal distribution becomes this measure.

        The same map as that of `from_uniform` at u = Phi(z), without the loss of digits of u near one: tails are
        followed on both sides as far as |z| = 37.5, where Phi(-z) is the smallest number of double precision.

        Parameters
        ----------
        z : array_like, shape (n, uniform_dim)

        Returns
        -------
        ndarray, shape (n, d)

        Examples
        --------
        >>> from scipy import stats
        >>> import numpy as np, fwbq
        >>> far = fwbq.Product([stats.lognorm(1.0)]).from_normal([[-20.0], [20.0]])
        >>> np.log(far[:, 0]).round(10)
        array([-20.,  20.])
        """
        z = _validate.points(z, "z", self.uniform_dim)
        tiny = np.finfo(float).tiny
        return self._transform(np.maximum(ndtr(z), tiny), np.maximum(ndtr(-z), tiny))


def pick(weights: Array, u: Array) -> NDArray[np.intp]:
    """Return the index that each u in (0, 1) falls on when [0, 1] is cut into pieces as long as the weights."""
    edges = np.cumsum(weights)
    # Divided by the last edge the pieces end at one exactly, so that no u falls beyond a weight that is not zero.
    return np.searchsorted(edges / edges[-1], u, side="right")


def number(x: Any) -> float | str:
    """Return a number as strict JSON can hold it: infinity becomes the string that ``float`` reads back."""
    return float(x) if np.isfinite(x) else str(float(x))
