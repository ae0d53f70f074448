"""Correlated inputs with marginal distributions of any kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtr

from .. import _frozen, _validate
from .._gauss import gauss_legendre
from .._validate import Array
from .._whitening import Whitening
from .base import Measure
from .dependent import Dependent
from .discrete import Discrete
from .parts import marginals_of, named, parts_of
from .product import Product
from .univariate import Univariate, from_distribution_spec, quantiles, shown

Kind = Literal["rank", "pearson", "latent"]

_SPOKEN = {
    "rank": "rank (Spearman) correlations",
    "pearson": "Pearson correlations of the inputs",
    "latent": "Pearson correlations of the normal scores",
}
#: Hermite coefficients by which Pearson correlations are found. What is left out is at most r^401 times the variance
#: that they do not hold: below 1e-12 for uniform marginals and correlations of the normal scores up to 0.95.
_DEGREES = 400
#: Panels of 20 Gauss-Legendre nodes between -37.5 and 37.5, where the levels are the smallest numbers of double
#: precision: eight nodes to the shortest wave of the last polynomial.
_PANELS = 120
_END = 37.5
#: A correlation matrix whose smallest eigenvalue is below this is singular: its inputs determine each other.
_SINGULAR = 1e-10


@dataclass(frozen=True, eq=False, init=False)
class Copula(Dependent):
    r"""Correlated inputs with given marginal distributions: a Gaussian copula.

    .. math:: x_i = F_i^{-1}(\Phi(s_i)), \qquad s \sim N(0, R)

    Parameters
    ----------
    marginals : sequence or dict of frozen scipy.stats distributions
        Continuous, one for each input; one-dimensional measures of fwbq are taken too. The keys of a dict are the
        names of the inputs.
    correlation : array_like, shape (d, d), or float
        The correlation matrix; a number is the correlation of every pair.
    kind : {"rank", "pearson", "latent"}
        What the correlations are. "rank": Spearman's, which do not depend on the marginals;
        :math:`R_{ij} = 2 \sin(\pi\rho_{ij}/6)`. "pearson": those of the inputs themselves, as a covariance matrix has
        them; the :math:`R_{ij}` that gives each is solved for, and one that the marginals cannot have is an error.
        "latent": the matrix R itself, the correlations of the normal scores s.
    names : sequence of str, optional
        A name for each input, for tables and figures.

    Attributes
    ----------
    latent_correlation : (d, d) array
        R.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> from scipy import stats
    >>> p = Copula([stats.lognorm(0.5), stats.uniform()], 0.7)
    >>> p
    Copula([lognorm(0.5), uniform()], [[1, 0.7], [0.7, 1]], kind='rank': rank (Spearman) correlations)
    >>> bool(abs(stats.spearmanr(p.sample(20_000, rng=0)).statistic - 0.7) < 0.02)
    True

    The mean of a product is that of the marginals and their covariance:

    >>> p = Copula([stats.expon(), stats.uniform()], 0.5, kind="pearson")
    >>> result = fwbq.integrate(lambda x: x[:, 0] * x[:, 1], p, n=60, rng=0)
    >>> bool(abs(result.mean - (0.5 + 0.5 / np.sqrt(12.0))) < 1e-3)
    True
    """

    marginals: tuple[Any, ...]
    correlation: Array
    kind: Kind
    latent_correlation: Array
    _names: tuple[str, ...] | None
    _parts: tuple[Univariate, ...]
    _whitening: Whitening

    def __init__(
        self,
        marginals: Sequence[Any] | dict[str, Any],
        correlation: ArrayLike,
        kind: Kind = "rank",
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        given, names = named(marginals, names)
        parts = _univariate(parts_of(given, "marginals"))
        matrix = _correlation_matrix(correlation, len(parts))
        _validate.choice(kind, "kind", get_args(Kind))
        latent = _latent_correlation(parts, matrix, kind)
        _frozen.freeze(
            self,
            marginals=tuple(part.distribution for part in parts),
            correlation=_frozen.readonly(matrix),
            kind=kind,
            latent_correlation=_frozen.readonly(latent),
            _names=None if names is None else _validate.parameter_names(names, len(parts)),
            _parts=parts,
            _whitening=Whitening(np.zeros(len(parts)), _frozen.readonly(np.linalg.cholesky(latent))),
        )

    def __repr__(self) -> str:
        listed = ", ".join(map(shown, self.marginals))
        rows = ", ".join(f"[{', '.join(f'{r:.4g}' for r in row)}]" for row in self.correlation)
        names = "" if self._names is None else f", names={list(self._names)}"
        return f"Copula([{listed}], [{rows}], kind={self.kind!r}{names}: {_SPOKEN[self.kind]})"

    @property
    def dim(self) -> int:
        """The number of inputs."""
        return len(self._parts)

    @cached_property
    def mean(self) -> Array:
        """The expectation of each input, or its median where there is none, shape (d,)."""
        return np.concatenate([part.mean for part in self._parts])

    @cached_property
    def expectation(self) -> Array:
        """The expectation of each input, shape (d,); NaN or infinite where there is none."""
        return np.concatenate([part.expectation for part in self._parts])

    @cached_property
    def scale(self) -> Array:
        """The standard deviation of each input, or one from quantiles where it is not finite, shape (d,)."""
        return np.concatenate([part.scale for part in self._parts])

    @cached_property
    def lower(self) -> Array:
        """The lower ends of the supports, shape (d,)."""
        return np.concatenate([part.lower for part in self._parts])

    @cached_property
    def upper(self) -> Array:
        """The upper ends of the supports, shape (d,)."""
        return np.concatenate([part.upper for part in self._parts])

    @cached_property
    def latent(self) -> Product:
        """Independent standard normal variables z, with s = L z and LL' = R."""
        from scipy import stats

        return Product([stats.norm(0.0, 1.0)] * self.dim)

    @cached_property
    def tails(self) -> tuple[tuple[Any, ...], ...]:
        """For each latent coordinate the marginals that depend on it."""
        root = self._whitening.root
        return tuple(tuple(p for i, p in enumerate(self.marginals) if root[i, j] != 0.0) for j in range(self.dim))

    def _scores(self, x: Array) -> Array:
        """Return s for points x."""
        return np.column_stack([part._to_normal(x[:, [i]]) for i, part in enumerate(self._parts)])

    def _to_latent(self, x: Array) -> Array:
        return self._whitening.forward(self._scores(x))

    def _from_latent(self, y: Array) -> Array:
        s = np.clip(self._whitening.back(y), -_END, _END)
        below, above = ndtr(s), ndtr(-s)
        columns = [quantiles(p, below[:, i], above[:, i]) for i, p in enumerate(self.marginals)]
        return np.column_stack(columns)

    def _speeds(self, x: Array, s: Array) -> Array:
        """Return ds_i/dx_i, the density of each input over that of its normal score."""
        logs = [part._log_density(x[:, [i]]) for i, part in enumerate(self._parts)]
        return np.asarray(np.exp(np.column_stack(logs) + 0.5 * s * s + 0.5 * math.log(2.0 * math.pi)))

    def _latent_slopes(self, x: Array) -> Array:
        speeds = self._speeds(x, self._scores(x))
        return np.asarray(np.linalg.inv(self._whitening.root) * speeds[:, None, :])

    def _log_density(self, x: Array) -> Array:
        s = self._scores(x)
        independent = sum(part._log_density(x[:, [i]]) for i, part in enumerate(self._parts))
        dependence = self._whitening.unit(s) + 0.5 * np.sum(s * s, axis=1) - self._whitening.log_volume
        return np.asarray(independent + dependence)

    def _score(self, x: Array) -> Array:
        s = self._scores(x)
        pull = s - np.linalg.solve(self.latent_correlation, s.T).T
        own = [part._score(x[:, [i]]) for i, part in enumerate(self._parts)]
        return np.asarray(np.column_stack(own) + pull * self._speeds(x, s))

    def spec(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_spec` rebuilds the measure, exact to the bit."""
        return {
            "type": "Copula",
            "marginals": [part.spec() for part in self._parts],
            "correlation": self.correlation.tolist(),
            "kind": self.kind,
            "names": None if self._names is None else list(self._names),
        }

    @classmethod
    def _from_spec(cls, spec: dict[str, Any]) -> Copula:
        marginals = [from_distribution_spec(entry) for entry in spec["marginals"]]
        return cls(marginals, spec["correlation"], spec["kind"], names=spec["names"])


def _univariate(parts: tuple[Measure, ...]) -> tuple[Univariate, ...]:
    """Return marginals as one-dimensional distributions of scipy.stats."""
    found: list[Univariate] = []
    for i, part in enumerate(parts):
        if isinstance(part, Univariate):
            found.append(part)
            continue
        if isinstance(part, Discrete):
            raise TypeError(
                f"`marginals[{i}]` is discrete, and a copula of discrete inputs is not determined by their "
                "correlation: put it beside the copula, fwbq.Product([fwbq.Copula(...), ...]), or let it depend on "
                "the others inside f"
            )
        listed = marginals_of(part) if part.dim == 1 else None
        if listed is None:
            raise TypeError(
                f"`marginals[{i}]` must have one coordinate, got a {type(part).__name__} of {part.dim}: pass a "
                "distribution for each input, and one correlation matrix for all of them"
            )
        found.append(Univariate(listed[0]))
    return tuple(found)


def _correlation_matrix(correlation: ArrayLike, d: int) -> Array:
    """Return a symmetric (d, d) matrix with ones on the diagonal and numbers between -1 and 1 beside it."""
    expected = f"a number between -1 and 1, or a ({d}, {d}) symmetric matrix with ones on its diagonal"
    matrix = _validate.numbers(correlation, "correlation")
    if matrix.ndim == 0:
        matrix = np.where(np.eye(d) > 0.0, 1.0, float(matrix))
    if matrix.shape != (d, d):
        raise ValueError(f"`correlation` must be {expected}, got shape {matrix.shape} for {d} marginals")
    if not np.all(np.abs(matrix) <= 1.0):
        raise ValueError(
            f"`correlation` must be {expected}, got {matrix.flat[int(np.argmax(~(np.abs(matrix) <= 1.0)))]}: a "
            "covariance matrix is divided by its standard deviations, cov / np.outer(sd, sd)"
        )
    if not (np.array_equal(matrix, matrix.T) and np.all(np.diagonal(matrix) == 1.0)):
        raise ValueError(
            f"`correlation` must be {expected}, got {_validate.shown(matrix)}: pass (C + C.T) / 2, with ones on the "
            "diagonal"
        )
    return matrix


def _latent_correlation(parts: tuple[Univariate, ...], matrix: Array, kind: Kind) -> Array:
    """Return the correlation matrix of the normal scores, checked to be positive definite."""
    if kind == "rank":
        latent = 2.0 * np.sin(np.pi / 6.0 * matrix)
    elif kind == "latent":
        latent = matrix.copy()
    else:
        latent = np.eye(len(matrix))
        expansions: dict[int, _Expansion] = {}
        for i, j in zip(*np.nonzero(np.tril(matrix, -1)), strict=True):
            for k in (i, j):
                if int(k) not in expansions:
                    expansions[int(k)] = _Expansion(parts[k], f"marginals[{k}]")
            latent[i, j] = latent[j, i] = _solve(expansions[int(i)], expansions[int(j)], float(matrix[i, j]), (i, j))
    np.fill_diagonal(latent, 1.0)
    least = float(np.linalg.eigvalsh(latent)[0])
    if least < _SINGULAR:
        what = "" if kind == "latent" else ", as correlations of the normal scores,"
        raise ValueError(
            f"`correlation` must be positive definite, but{what} its smallest eigenvalue is {least:.3g}: no inputs "
            "have these correlations all at once. Estimate them from one complete sample, shrink them towards zero, "
            "or, where inputs determine each other, compute one from the other inside f"
        )
    return latent


class _Expansion:
    """The Hermite coefficients of an input as a function of its normal score.

    With x(s) = sum_k a_k He_k(s) / sqrt(k!) the covariance of two inputs whose scores have the correlation r is
    sum_(k >= 1) a_k b_k r^k (Mehler).
    """

    def __init__(self, part: Univariate, label: str) -> None:
        if not np.isfinite(part.distribution.std()):
            raise ValueError(
                f"`{label}` is {shown(part.distribution)}, which has no finite variance, so that no Pearson "
                'correlation exists: use kind="rank"'
            )
        nodes, weights = gauss_legendre(20, 0.0, 1.0)
        edges = np.linspace(-_END, _END, _PANELS + 1)
        width = edges[1] - edges[0]
        self.s = (edges[:-1, None] + width * nodes).ravel()
        self.mass = np.tile(width * weights, _PANELS) * np.exp(-0.5 * self.s**2) / math.sqrt(2.0 * math.pi)
        centre, scale = float(part.expectation[0]), float(part.scale[0])
        x = quantiles(part.distribution, ndtr(self.s), ndtr(-self.s))
        # At the smallest levels scipy has no quantile of some distributions; there is no mass either.
        self.x = np.where(np.isfinite(x), x - centre, 0.0) / scale
        # sqrt(mass) He_k / sqrt(k!) stay below one, whatever k.
        root = np.sqrt(self.mass)
        weighted = root * self.x
        before, now = np.zeros_like(root), root
        coefficients = []
        for k in range(_DEGREES + 1):
            coefficients.append(float(now @ weighted))
            before, now = now, (self.s * now - math.sqrt(k) * before) / math.sqrt(k + 1.0)
        self.coefficients = np.array(coefficients)

    def with_other(self, other: _Expansion, sign: float) -> float:
        """Return the correlation with another input that rises or falls with this one."""
        return float(self.mass @ (self.x * (other.x if sign > 0.0 else other.x[::-1])))


def _solve(a: _Expansion, b: _Expansion, wanted: float, pair: tuple[Any, Any]) -> float:
    """Return the correlation of the normal scores for which two inputs have the Pearson correlation `wanted`."""
    powers = np.arange(1, _DEGREES + 1)
    products = a.coefficients[1:] * b.coefficients[1:]

    def off(r: float) -> float:
        return float(products @ r**powers) - wanted

    end = math.copysign(1.0, wanted)
    most = a.with_other(b, end)
    if abs(wanted) > abs(most) or off(end) * end < 0.0:
        i, j = (int(k) for k in pair)
        raise ValueError(
            f"`correlation[{i}, {j}]` is {wanted:g}, but with these marginals it can be no "
            f"{'larger' if end > 0.0 else 'smaller'} than {min(abs(most), abs(off(end) + wanted)) * end:.4g}: the "
            'inputs would rise and fall together. Pass a weaker one, or rank correlations, kind="rank"'
        )
    return float(brentq(off, 0.0, end, xtol=1e-15, rtol=1e-14))
