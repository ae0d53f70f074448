"""Integrands that are polynomials with few terms: found from the values, and integrated exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import NDArray

from .._linalg import UNIT_ROUNDOFF
from ..embeddings.coordinates import densities_of
from ..embeddings.density import Density
from ..measures import Measure
from ..posterior import IntegralPosterior
from ..process import normalise

FloatArray = NDArray[np.float64]

#: The polynomial is believed if its leave-one-out errors are below this part of the standard deviation of the values,
#: which is the rounding of high powers. The terms are chosen with all values, which makes these errors too small: of
#: functions that are no polynomials (kinks, exponentials, products of sines, in 3 to 8 dimensions, n = 50 to 200) the
#: smallest was 4e-5.
EXACT = 1e-10
#: Most terms that are chosen, also at most half as many as there are values, and most that they are chosen from, at
#: most ten times as many. 500 values take 0.03 to 0.08 s.
MOST_TERMS, MOST_CANDIDATES = 100, 2000
#: Total degrees that are tried.
DEGREES = (1, 2, 3, 4, 6, 8, 12, 20)
#: No more terms are added after this number of them in a row did not lower the leave-one-out errors.
PATIENCE = 10
#: Columns of which less than this part of the squared length is left are combinations of those that were chosen.
DEPENDENT = 1e-8


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A polynomial that predicts all values, each from the others.

    Attributes
    ----------
    terms : int
        Number of its terms.
    degree : int
        Its total degree.
    mean : float
        Its integral.
    sd : float
        What its leave-one-out errors e_i, if all have one sign, make of the integral, sum_i abs(w_i e_i), with w_i the
        weight that value i has in it; and rounding.
    n : int
        Number of values.
    """

    terms: int
    degree: int
    mean: float
    sd: float
    n: int

    @property
    def posterior(self) -> IntegralPosterior:
        """The integral of f: that of the polynomial, with the error of its predictions."""
        return IntegralPosterior(self.mean, self.sd, float(self.n - self.terms), 0.0)

    def __str__(self) -> str:
        return (
            f"a polynomial of degree {self.degree} with {self.terms} terms predicts values that are left out to "
            "rounding, and was integrated exactly"
        )


def find_polynomial(measure: Measure, x: FloatArray, values: FloatArray) -> Polynomial | None:
    r"""Return the polynomial with few terms that all values agree with, if there is one.

    Of the products :math:`\prod_i p_{k_i}(x_i)` of polynomials that are orthonormal under each coordinate's
    distribution, the one that explains most of what is left is added, one at a time (orthogonal matching pursuit),
    until leave-one-out errors are rounding; from those of low degree first. The integral is the coefficient of the
    constant.

    Parameters
    ----------
    measure : Measure
        Its coordinates must be independent.
    x : (n, d) array
    values : (n,) array

    Returns
    -------
    Polynomial or None

    Examples
    --------
    >>> from fwbq import Uniform
    >>> x = np.random.default_rng(0).random((20, 2))
    >>> found = find_polynomial(Uniform([0.0, 0.0], [1.0, 1.0]), x, 3.0 * x[:, 0] * x[:, 1] ** 2)
    >>> found.degree, found.terms, bool(abs(found.mean - 0.5) < 1e-14)
    (3, 6, True)
    >>> find_polynomial(Uniform([0.0, 0.0], [1.0, 1.0]), x, np.abs(x[:, 0] - 0.4)) is None
    True
    """
    n, dim = x.shape
    densities = densities_of(measure)
    scaled, exponent = normalise(values)
    spread = float(np.std(scaled))
    if densities is None or n < 4 or not spread > 0.0:
        return None
    degrees = [p for p in DEGREES if comb(dim + p, dim) - 1 <= min(MOST_CANDIDATES, 10 * n)]
    if not degrees:
        return None
    exponents = np.array([np.bincount(factors, minlength=dim) for factors in _products(dim, degrees[-1])])
    columns = np.ones((n, len(exponents)))
    for i, p in enumerate(densities):
        columns *= _orthonormal(p, x[:, i], degrees[-1])[exponents[:, i]].T
    tried = (columns[:, : comb(dim + degree, dim) - 1] for degree in degrees)
    found = (_pursued(part, scaled, min(n // 2, MOST_TERMS), EXACT * spread) for part in tried)
    chosen = next((each for each in found if each is not None), None)
    if chosen is None:
        return None
    terms = np.column_stack([np.ones(n), columns[:, chosen]])
    q, r = np.linalg.qr(terms)
    errors = _left_out(scaled - q @ (q.T @ scaled), np.sum(q**2, axis=1))
    weights = np.linalg.solve(r, q.T)[0]
    sd = np.abs(weights) @ (np.abs(errors) + n * UNIT_ROUNDOFF)
    mean, sd = (float(np.ldexp(e, exponent)) for e in (weights @ scaled, sd))
    return Polynomial(terms.shape[1], int(exponents[chosen].sum(axis=1).max()), mean, sd, n)


def _products(dim: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Yield the products of coordinates of every total degree from one on, each as the coordinates it has."""
    for total in range(1, degree + 1):
        yield from combinations_with_replacement(range(dim), total)


def _pursued(columns: FloatArray, values: FloatArray, most: int, enough: float) -> NDArray[np.intp] | None:
    """Return the columns that orthogonal matching pursuit chooses until leave-one-out errors are small enough.

    None if the root mean square of these errors is larger with `most` columns, or did not fall for `PATIENCE` of them.
    """
    n = len(values)
    basis = np.empty((n, 1 + most))
    basis[:, 0] = n**-0.5
    leverage = np.full(n, 1.0 / n)
    rest = values - values.mean()
    lengths = np.einsum("ij,ij->j", columns, columns)
    left = lengths - n * columns.mean(axis=0) ** 2
    chosen: list[int] = []
    errors = [np.inf]
    while errors[-1] > enough:
        free = left > DEPENDENT * lengths
        gain = np.where(free, (columns.T @ rest) ** 2 / np.where(free, left, 1.0), 0.0)
        best = int(np.argmax(gain))
        if not gain[best] > 0.0 or len(chosen) >= min(most, int(np.argmin(errors)) + PATIENCE):
            return None
        known, new = basis[:, : len(chosen) + 1], columns[:, best]
        for _ in range(2):  # twice, so that it is orthogonal to working precision
            new = new - known @ (known.T @ new)
        new = new / np.linalg.norm(new)
        chosen.append(best)
        basis[:, len(chosen)] = new
        rest = rest - new * (new @ rest)
        leverage = leverage + new**2
        left = left - (columns.T @ new) ** 2
        left[best] = 0.0
        errors.append(float(np.sqrt(np.mean(_left_out(rest, leverage) ** 2))))
    return np.array(chosen)


def _left_out(residuals: FloatArray, leverage: FloatArray) -> FloatArray:
    """Return the errors of predicting each value from the others by least squares."""
    return np.asarray(residuals / np.maximum(1.0 - leverage, np.finfo(float).eps))


def _orthonormal(density: Density, x: FloatArray, degree: int) -> FloatArray:
    r"""Return the orthonormal polynomials of a density at points x (n,), shape (degree + 1, n).

    By the recurrence :math:`b_{k+1} p_{k+1}(x) = (x - a_k) p_k(x) - b_k p_{k-1}(x)` of Stieltjes, whose coefficients
    are integrals by Gauss rules on the panels of the density. Beyond the number of values of a discrete distribution
    they are zero.
    """
    nodes, weights = density.nodes()
    centre = float(weights @ nodes)
    unit = float(np.sqrt(weights @ (nodes - centre) ** 2))
    t, s = ((each - centre) / (unit or 1.0) for each in (nodes, x))
    at_nodes, at_points = np.zeros((2, len(t))), np.zeros((degree + 1, len(x)))
    at_nodes[1], at_points[0] = 1.0, 1.0
    b = 0.0
    for k in range(degree):
        a = float(weights @ (t * at_nodes[1] ** 2))
        following = (t - a) * at_nodes[1] - b * at_nodes[0]
        at = (s - a) * at_points[k] - b * (at_points[k - 1] if k else 0.0)
        b = float(np.sqrt(weights @ following**2))
        if not b > 1e-7:
            break
        at_nodes = np.array([at_nodes[1], following / b])
        at_points[k + 1] = at / b
    return at_points
