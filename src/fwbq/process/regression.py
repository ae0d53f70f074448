"""Generalised least squares: a Gaussian process with an unknown mean, given values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, pi

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .._linalg import Factor, triangular_solve

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Regression:
    r"""Values f of a process with mean :math:`H \beta`, flat prior on :math:`\beta`, and covariance :math:`a C`.

    With W a root of the inverse, :math:`W'W = C^{-1}`, and the thin factorisation :math:`W H = Q R`,

    .. math::
        \hat\beta = R^{-1} Q' W f, \qquad e = (I - Q Q') W f, \qquad P = W'(I - Q Q') W,

    so that :math:`f'P f = e'e` is the generalised residual sum of squares on :math:`\nu = n - p` degrees of freedom.
    Without a basis :math:`P = C^{-1}` and :math:`\nu = n`. Everything else (likelihood, prediction, leave-one-out) is
    written in these terms, and serves m columns of values at once.

    Parameters
    ----------
    factor : Factor
        Of the (n, n) matrix C: Gram matrix and noise, both relative to the amplitude a.
    values : (n,) or (n, m) array
        Values f; each column has its own coefficients and amplitude.
    basis : (n, p) array, optional
        H at the points, of full column rank, p <= n; `fwbq.process.basis` makes the usual ones. By default the mean is
        zero.

    Examples
    --------
    >>> import numpy as np
    >>> from fwbq._linalg import CholeskyFactor
    >>> line = Regression(CholeskyFactor.of(np.eye(3)), np.array([1.0, 2.0, 6.0]), np.ones((3, 1)))
    >>> round(float(line.coefficients[0]), 12), round(float(line.sum_of_squares), 12), line.df
    (3.0, 14.0, 2)
    """

    factor: Factor
    values: FloatArray
    basis: FloatArray | None = None

    @classmethod
    def of(cls, factor: Factor, values: FloatArray, *, constant: bool) -> Regression:
        """Return the regression on an unknown constant, or on nothing (mean zero).

        The constant is found relative to the first value: values that are all equal then have residuals of exactly
        zero, and less is left to cancel.
        """
        if not constant:
            return cls(factor, values)
        return cls(factor, relative(values), np.ones((factor.size, 1)))

    @property
    def rank(self) -> int:
        """Number p of functions in the basis."""
        return 0 if self.basis is None else self.basis.shape[1]

    @property
    def df(self) -> int:
        """Degrees of freedom n - p."""
        return self.factor.size - self.rank

    @cached_property
    def _white(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """W f, of the shape of f, and Q (n, p) and R (p, p) of W H; values and basis are whitened by one solve."""
        if self.basis is None:
            return self.factor.whiten(self.values), np.empty((self.factor.size, 0)), np.empty((0, 0))
        p = self.rank
        both = np.empty((self.factor.size, p + self._columns), order="F")
        both[:, :p] = self.basis
        both[:, p:] = self.values.reshape(self.factor.size, -1)
        both = self.factor.whiten(both)
        H, f = both[:, :p], both[:, p:].reshape(self.values.shape)
        if p == 1:
            length = float(np.sqrt(np.vdot(H, H)))
            return f, H / length, np.array([[length]])
        q, r = np.linalg.qr(H)
        return f, q, r

    @property
    def _columns(self) -> int:
        """Number m of columns."""
        return 1 if self.values.ndim == 1 else self.values.shape[1]

    @cached_property
    def coefficients(self) -> FloatArray:
        """Generalised least-squares estimates of beta, (p,) or (p, m)."""
        f, q, r = self._white
        if not len(r):
            return np.empty((0, *self.values.shape[1:]))
        return triangular_solve(r.T, q.T @ f, transposed=True)

    @cached_property
    def residual(self) -> FloatArray:
        """The whitened residual e, (n,) or (n, m)."""
        f, q, _ = self._white
        e = f - q @ (q.T @ f)
        # Once more, so that e is orthogonal to the basis to working precision.
        return np.asarray(e - q @ (q.T @ e))

    @cached_property
    def sum_of_squares(self) -> FloatArray:
        """The generalised residual sum of squares f'P f, one number per column; never negative."""
        return np.asarray(np.einsum("i...,i...->...", self.residual, self.residual))

    @property
    def amplitude(self) -> FloatArray:
        """Restricted maximum-likelihood amplitude f'P f / (n - p); infinite when no degree of freedom is left.

        Where C is singular to working precision, its numerical rank takes the place of n: points that the kernel cannot
        tell apart do not count twice.
        """
        if self.df <= 0:
            return np.full(self.values.shape[1:], np.inf)
        mean = 0.0 if self.basis is None else self.basis @ self.coefficients
        return self.factor.mean_square(self.values - mean, self.rank)

    @cached_property
    def log_determinant(self) -> float:
        """The sum of log |C| and log |H'C^-1 H|."""
        _, _, r = self._white
        return self.factor.log_determinant() + 2.0 * sum(log(abs(r[i, i])) for i in range(len(r)))

    def log_likelihood(self, amplitude: float | None = None) -> float:
        r"""Return the log density of the values: coefficients integrated out, the amplitude too unless it is given.

        With prior densities proportional to 1/a and 1 for a and beta,

        .. math::
            \log p(f) = \log\Gamma(\nu/2) - \tfrac\nu2 \log \pi - \tfrac12 \log |C| - \tfrac12 \log |H'C^{-1}H|
                        - \tfrac\nu2 \log f'P f,

        summed over the columns. A column with f'P f = 0, which the mean explains, fits every kernel perfectly and is
        left out. Given the amplitude, as it must be where values have a noise in units of their own,

        .. math::
            \log p(f \mid a) = - \tfrac\nu2 \log 2 \pi a - \tfrac12 \log |C| - \tfrac12 \log |H'C^{-1}H|
                        - \frac{f'P f}{2a}.

        Parameters
        ----------
        amplitude : float, optional
            The amplitude a of all columns; by default it is integrated out.
        """
        if amplitude is not None:
            S = self.sum_of_squares.reshape(-1)
            each = -0.5 * self.df * log(2.0 * pi * amplitude) - 0.5 * self.log_determinant
            return float(len(S) * each - 0.5 * S.sum() / amplitude)
        S = self._unexplained[1]
        each = gammaln(0.5 * self.df) - 0.5 * self.df * log(pi) - 0.5 * self.log_determinant
        return float(len(S) * each - 0.5 * self.df * np.log(S).sum())

    @cached_property
    def _unexplained(self) -> tuple[FloatArray, FloatArray]:
        """Residuals e (n, m') and sums of squares (m',) of the columns that the mean does not explain."""
        S = self.sum_of_squares.reshape(-1)
        e = self.residual.reshape(self.factor.size, -1)
        return (e, S) if S.all() else (e[:, S > 0.0], S[S > 0.0])

    @cached_property
    def _solved(self) -> FloatArray:
        """P f, (n,) or (n, m)."""
        return self.factor.whiten_transposed(self.residual)

    @cached_property
    def _root(self) -> FloatArray:
        """A = (I - Q Q') W, (n, n), so that P = A'A."""
        _, q, _ = self._white
        W = self.factor.whiten(np.eye(self.factor.size))
        return np.asarray(W - q @ (q.T @ W))

    def sensitivity(self, amplitude: float | None = None) -> FloatArray:
        r"""Return G (n, n) with :math:`\mathrm{d} \log p(f) = \sum_{ij} G_{ij}\, \mathrm{d} C_{ij}`.

        From d(log |C| + log |H'C^-1 H|) = tr(P dC) and d(f'P f) = -f'P dC P f,

        .. math:: G = \tfrac\nu2 \sum_j \frac{(P f_j)(P f_j)'}{f_j'P f_j} - \tfrac{m}{2} P,

        and with 1 / 2a in place of :math:`\nu / 2 f_j'P f_j` for a given amplitude a, as in :meth:`log_likelihood`.
        """
        e, S = self._unexplained
        if amplitude is not None:
            e = self.residual.reshape(self.factor.size, -1)
            S = np.full(e.shape[1], self.df * amplitude)
        # P = C^-1 - U U' with U = W'Q: all but the inverse is one solve and one product.
        _, q, _ = self._white
        columns = self.factor.whiten_transposed(np.concatenate([e, q], axis=1))
        G = (columns * np.append(0.5 * self.df / S, np.full(self.rank, 0.5 * len(S)))) @ columns.T
        G -= (0.5 * len(S)) * self.factor.inverse()
        return np.asarray(G)

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Return the errors of predicting each value from the others, and their variances at amplitude one.

        e_i = [P f]_i / P_ii with variance 1 / P_ii (Dubrule, Mathematical Geology 15, 1983). Where a point alone
        determines a coefficient, P_ii is zero but for rounding: such a variance is set to 1 / (eps [C^-1]_ii).
        """
        return self._left_out

    @cached_property
    def _left_out(self) -> tuple[FloatArray, FloatArray]:
        precision = np.einsum("ij,ij->j", self._root, self._root)
        precision = np.maximum(precision, np.finfo(float).eps * self.factor.inverse_diagonal())
        return (self._solved.T / precision).T, 1.0 / precision

    def only(self, rows: NDArray[np.intp], factor: Factor) -> Regression:
        """Return the regression on some of the values, given the factor of their part of C."""
        return Regression(factor, self.values[rows], None if self.basis is None else self.basis[rows])

    def predict(self, cross: FloatArray, basis: FloatArray | None = None) -> Prediction:
        """Return the process at other points.

        Parameters
        ----------
        cross : (n, q) array
            Covariance between the points of the values and the others, relative to the amplitude.
        basis : (q, p) array, optional
            The basis there; needed when there is one.
        """
        B = self.factor.whiten(cross)
        mean = B.T @ self.residual
        if self.basis is None or basis is None:
            return Prediction(mean, B, np.empty((0, cross.shape[1])))
        _, q, r = self._white
        U = triangular_solve(r.T, basis.T - (q @ r).T @ B)
        return Prediction(mean + basis @ self.coefficients, B, U)


def relative(values: FloatArray, shape: FloatArray | None = None) -> FloatArray:
    """Return values (n,) or (n, m) less the multiple of the shape (n,) that equals them where the shape is largest.

    Without a shape the first value is taken from all.

    Examples
    --------
    >>> relative(np.array([2.0, 3.0]), np.array([1.0, 2.0])).tolist()
    [0.5, 0.0]
    """
    if shape is None:
        return np.asarray(values - values[0])
    top = int(np.argmax(shape))
    rest = values - np.multiply.outer(shape / shape[top], values[top])
    # A difference that the rounding of the three operations explains is set to zero, so that nothing is left of values
    # which are a multiple of the shape.
    return np.where(np.abs(rest) <= 4.0 * np.finfo(float).eps * np.abs(values), 0.0, rest)


@dataclass(frozen=True, eq=False)
class Prediction:
    r"""The process at q points, given values.

    Its covariance, relative to the amplitude, is :math:`c(x, y) = k(x, y) - b(x)'b(y) + u(x)'u(y)`, with b the
    whitened covariance to the known values and u what the unknown coefficients of the mean add.

    Attributes
    ----------
    mean : (q,) or (q, m) array
    known : (n, q) array
        b.
    unknown : (p, q) array
        u.
    """

    mean: FloatArray
    known: FloatArray
    unknown: FloatArray

    def variance(self, prior: FloatArray) -> FloatArray:
        """Return c(x, x), given k(x, x) (q,); not below zero."""
        gain = np.einsum("nq,nq->q", self.known, self.known) - np.einsum("pq,pq->q", self.unknown, self.unknown)
        return np.asarray(np.maximum(prior - gain, 0.0))

    def covariance(self, prior: FloatArray) -> FloatArray:
        """Return c(x, y), given k(x, y) (q, q)."""
        return np.asarray(prior - self.known.T @ self.known + self.unknown.T @ self.unknown)

    def weighted_covariance(self, weights: FloatArray, others: FloatArray, prior: FloatArray) -> FloatArray:
        """Return the covariance of sum_q weights_q f(x_q) and sum_q others_q f(x_q), given the prior's.

        Parameters
        ----------
        weights : (q, m) array
            Weights of m sums.
        others : (q,) array
            Weights of one more.
        prior : (m,) array
            weights' K others.
        """
        gain = (self.known @ weights).T @ (self.known @ others) - (self.unknown @ weights).T @ (self.unknown @ others)
        return np.asarray(prior - gain)

    def weighted_variance(self, weights: FloatArray, prior: FloatArray) -> FloatArray:
        """Return the variance of sum_q weights_q f(x_q), given the prior's w'K w; weights (q,) or (q, m)."""
        gain = np.sum((self.known @ weights) ** 2, axis=0) - np.sum((self.unknown @ weights) ** 2, axis=0)
        return np.asarray(np.maximum(prior - gain, 0.0))
