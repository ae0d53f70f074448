"""The multivariate Student t measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve
from scipy.special import gammaln

from .. import _frozen, _validate
from .._validate import Array
from .._whitening import Whitening
from .dependent import Dependent
from .unbounded import Unbounded

if TYPE_CHECKING:
    from .product import Product


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MultivariateT(Dependent, Unbounded):
    r"""Student t measure of several coordinates, as ``scipy.stats.multivariate_t``.

    .. math:: p(x) = \frac{\Gamma((\nu + d)/2)}{\Gamma(\nu/2) (\nu\pi)^{d/2} |\Sigma|^{1/2}}
              \left(1 + \frac{(x - m)'\Sigma^{-1}(x - m)}{\nu}\right)^{-(\nu + d)/2}

    Parameters
    ----------
    loc : float or array_like, shape (d,)
        The location m.
    shape : float or array_like, shape (d, d) or (d,)
        The matrix Sigma, as the covariance of `fwbq.Gaussian`; the covariance is df / (df - 2) times it.
    df : float
        Degrees of freedom nu.
    names : sequence of str, optional
        A name for each coordinate.

    Notes
    -----
    With x = m + L t and LL' = Sigma the coordinates t_i depend on each other by their size only. Given those before,
    t_i is a Student t variable with df + i - 1 degrees of freedom, scaled, so that

    y_i = t_i sqrt((df + i - 1) / (df + t_1^2 + ... + t_(i-1)^2))

    are independent, with i - 1 more degrees of freedom each. They are the latent coordinates.

    Examples
    --------
    >>> from scipy import stats
    >>> p = MultivariateT([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]], df=5.0)
    >>> x = [[0.0, 1.0], [3.0, 1.0]]
    >>> p.log_density(x).round(4), stats.multivariate_t(p.loc, p.shape, df=5.0).logpdf(x).round(4)
    (array([-2.1177, -6.0289]), array([-2.1177, -6.0289]))
    """

    loc: Array
    shape: Array
    df: float
    _names: tuple[str, ...] | None = field(repr=False)
    _whitening: Whitening = field(repr=False)

    def __init__(self, loc: ArrayLike, shape: ArrayLike, df: float, *, names: Sequence[str] | None = None) -> None:
        centre = _validate.per_coordinate(loc=loc)["loc"]
        matrix = _validate.covariance(shape, "shape", centre.size)
        root = np.linalg.cholesky(matrix)
        _frozen.freeze(
            self,
            loc=_frozen.readonly(centre),
            shape=_frozen.readonly(matrix),
            df=_validate.positive(df, "df"),
            _names=None if names is None else _validate.parameter_names(names, centre.size),
            _whitening=Whitening(_frozen.readonly(centre), _frozen.readonly(root)),
        )

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.loc.size)

    @property
    def mean(self) -> Array:
        """The location, shape (d,): the expectation where there is one, and the median."""
        return self.loc

    @property
    def expectation(self) -> Array:
        """The location, shape (d,); NaN up to one degree of freedom."""
        return self.loc if self.df > 1.0 else np.full(self.dim, np.nan)

    @cached_property
    def scale(self) -> Array:
        """The standard deviation of each coordinate, or one from quantiles where it is not finite, shape (d,)."""
        first = self.latent.scale[0] if self.df <= 2.0 else math.sqrt(self.df / (self.df - 2.0))
        return np.asarray(first * np.sqrt(np.diagonal(self.shape)))

    @cached_property
    def latent(self) -> Product:
        """Student t variables with df, df + 1, ... degrees of freedom."""
        from scipy import stats

        from .product import Product

        return Product([stats.t(self.df + i) for i in range(self.dim)])

    def _to_latent(self, x: Array) -> Array:
        t = self._whitening.forward(x)
        before = np.column_stack([np.zeros(len(t)), np.cumsum(t * t, axis=1)[:, :-1]])
        return np.asarray(t * np.sqrt((self.df + np.arange(self.dim)) / (self.df + before)))

    def _from_latent(self, y: Array) -> Array:
        t = np.empty_like(y)
        total = np.full(len(y), self.df)
        for i in range(self.dim):
            t[:, i] = y[:, i] * np.sqrt(total / (self.df + i))
            total += t[:, i] ** 2
        return self._whitening.back(t)

    def _latent_slopes(self, x: Array) -> Array:
        t, y = self._whitening.forward(x), self._to_latent(x)
        total = self.df + np.column_stack([np.zeros(len(t)), np.cumsum(t * t, axis=1)[:, :-1]])
        slopes = np.tril(-(y / total)[:, :, None] * t[:, None, :], -1)
        places = np.arange(self.dim)
        slopes[:, places, places] = np.sqrt((self.df + places) / total)
        return np.asarray(slopes @ np.linalg.inv(self._whitening.root))

    def _log_density(self, x: Array) -> Array:
        d, df = self.dim, self.df
        constant = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * math.log(math.pi * df)
        square = -2.0 * self._whitening.unit(x)
        return np.asarray(constant - self._whitening.log_volume - 0.5 * (df + d) * np.log1p(square / df))

    def _score(self, x: Array) -> Array:
        square = -2.0 * self._whitening.unit(x)
        pull = cho_solve((self._whitening.root, True), (self.loc - x).T, check_finite=False).T
        return np.asarray(pull * ((self.df + self.dim) / (self.df + square))[:, None])

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""
        names = None if self._names is None else list(self._names)
        content = {"loc": self.loc.tolist(), "shape": self.shape.tolist(), "df": self.df, "names": names}
        return {"type": "MultivariateT", **content}
