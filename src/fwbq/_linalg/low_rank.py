"""Factors of Gram matrices of finitely many features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from .cholesky import SMALLEST_JITTER
from .factors import FloatArray


@dataclass(frozen=True, eq=False)
class LowRankFactor:
    """Inverse of K + jitter s^2 I for K = Phi Phi' with n rows and fewer columns, from the thin SVD of Phi: O(n D^2).

    (K + t I)^-1 b = U diag(1 / (s_j^2 + t)) U'b + (b - U U'b) / t, t = jitter * s^2, s^2 the largest diagonal entry of
    K. The last term is the part of b that no combination of the D features can give.

    Attributes
    ----------
    basis : (n, r) array
        U, the left singular vectors above rounding.
    singular : (r,) array
        Singular values of Phi.
    nugget : float
        t.
    jitter : float
        t relative to the largest diagonal entry of K.
    """

    basis: FloatArray
    singular: FloatArray
    nugget: float
    jitter: float

    @classmethod
    def of(cls, features: FloatArray, jitter: float = SMALLEST_JITTER) -> LowRankFactor:
        """Factor from `features` Phi of shape (n, D)."""
        u, s, _ = scipy.linalg.svd(features, full_matrices=False, check_finite=False)
        nugget = jitter * float(np.max(np.einsum("ij,ij->i", features, features)))
        keep = s**2 > 0.01 * nugget
        return cls(u[:, keep], s[keep], nugget, jitter)

    @property
    def size(self) -> int:
        """Order n of the matrix."""
        return len(self.basis)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return (K + t I)^-1 b for `b` of shape (n,) or (n, m)."""
        c, rest = self._split(b)
        return self.basis @ (c.T / (self.singular**2 + self.nugget)).T + rest / self.nugget

    def whiten(self, b: FloatArray) -> FloatArray:
        """Return (K + t I)^(-1/2) b, the symmetric root."""
        c, rest = self._split(b)
        return self.basis @ (c.T / np.sqrt(self.singular**2 + self.nugget)).T + rest / math.sqrt(self.nugget)

    def whiten_transposed(self, b: FloatArray) -> FloatArray:
        """Return (K + t I)^(-1/2) b: the root is symmetric."""
        return self.whiten(b)

    def log_determinant(self) -> float:
        """Return log |K + t I|."""
        outside = self.size - len(self.singular)
        return float(np.sum(np.log(self.singular**2 + self.nugget)) + outside * math.log(self.nugget))

    def quadratic(self, b: FloatArray) -> FloatArray:
        """Return b' (K + t I)^-1 b, one number per column; never negative."""
        c, rest = self._split(b)
        inside = np.sum((c.T**2 / (self.singular**2 + self.nugget)).T, axis=0)
        return np.asarray(inside + np.sum(rest**2, axis=0) / self.nugget)

    def mean_square(self, b: FloatArray, used: int) -> FloatArray:
        """Return the larger of the mean squares in all n directions and in those of the features alone."""
        c, _ = self._split(b)
        inside = np.sum((c.T**2 / (self.singular**2 + self.nugget)).T, axis=0)
        rank = len(self.singular)
        return np.asarray(np.maximum(self.quadratic(b) / max(self.size - used, 1), inside / max(rank - used, 1)))

    @property
    def independent(self) -> None:
        """None: independence is a matter of features here, not of rows."""
        return None

    def inverse(self) -> FloatArray:
        """Return (K + t I)^-1, shape (n, n)."""
        return self.solve(np.eye(self.size))

    def inverse_diagonal(self) -> FloatArray:
        """Return the diagonal of (K + t I)^-1, shape (n,)."""
        squares = self.basis**2
        outside = np.maximum(1.0 - squares.sum(axis=1), 0.0)
        return np.asarray(squares @ (1.0 / (self.singular**2 + self.nugget)) + outside / self.nugget)

    def noise(self, w: FloatArray) -> float:
        """Return w'D w, D = t I."""
        return self.nugget * float(w @ w)

    def _split(self, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        c = self.basis.T @ b
        rest = b - self.basis @ c
        # Once more, so that what is left over is orthogonal to the basis to working precision.
        again = self.basis.T @ rest
        return c + again, rest - self.basis @ again
