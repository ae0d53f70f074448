"""Cholesky factors of nearly singular Gram matrices, with as little jitter as they need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from .factors import Factor, FloatArray, equilibration, triangular_solve
from .pivoted import pivoted_cholesky

#: Pivots of the scaled matrix above this are trusted as they are; below it the jitter is added. Cholesky's backward
#: error is about n * 1e-16, so a pivot of 1e-12 is known to a per cent for n = 100.
TRUSTED_PIVOT = 1e-12
#: Smallest jitter, relative to the diagonal. Of 26 strategies measured on Gaussian kernels this one, with refinement,
#: left the smallest worst-case error.
SMALLEST_JITTER = 1e-14
#: Rounding of n = 1e5 points comes to 1e-11; a matrix that needs this much is no Gram matrix.
LARGEST_JITTER = 1e-6


@dataclass(frozen=True, eq=False)
class CholeskyFactor:
    """Cholesky factor of a Gram matrix K + D, D the jitter times (the power of two next to) the diagonal of K.

    With S = diag(scale) and L lower triangular, S K S + jitter I = L L'. The jitter is zero when every pivot of K
    itself exceeds `TRUSTED_PIVOT`; otherwise it is `SMALLEST_JITTER`, or the smallest power of ten times it that makes
    the factorisation succeed.

    Read as a model, the jitter is a nugget: values are known up to an independent error of relative variance
    ``jitter``. That is what float64 values are, and it keeps b' K^-1 b meaningful where K is singular: components of b
    that no function of the kernel's space explains count as |b|^2 / jitter, large but finite.

    Attributes
    ----------
    lower : (n, n) array
        L.
    scale : (n,) array
        Powers of two.
    jitter : float
        What was added to the scaled diagonal.
    rank : int
        Numerical rank of K; n when there is no jitter.
    independent : tuple or None
        Rows whose pivots can be trusted, and their factor without jitter; None when there is no jitter.
    """

    lower: FloatArray
    scale: FloatArray
    jitter: float
    rank: int
    independent: tuple[NDArray[np.intp], Factor] | None = None

    @classmethod
    def of(cls, K: FloatArray) -> CholeskyFactor:
        """Factor the symmetric positive semidefinite `K`, with jitter only where it is needed."""
        scale = equilibration(np.diagonal(K))
        scaled = (scale[:, None] * K) * scale
        lower, ok = _cholesky(scaled)
        if ok and np.min(np.diagonal(lower), initial=np.inf) ** 2 > TRUSTED_PIVOT:
            return cls(lower, scale, 0.0, len(K))
        # Diagonal pivoting brings the independent rows to the front, and their factor with them.
        pivoted, order, rank = pivoted_cholesky(scaled)
        trusted = int(np.sum(np.diagonal(pivoted)[:rank] ** 2 > TRUSTED_PIVOT))
        rows = order[:trusted]
        independent = (rows, cls(np.tril(pivoted[:trusted, :trusted]), scale[rows], 0.0, trusted))
        lower, jitter = jittered_cholesky(scaled, SMALLEST_JITTER)
        return cls(lower, scale, jitter, rank, independent)

    @classmethod
    def with_jitter(cls, K: FloatArray, jitter: float) -> CholeskyFactor:
        """Factor `K` with a fixed relative jitter: a smooth function of K, as a likelihood must be."""
        scale = equilibration(np.diagonal(K))
        # Most diagonals are those of correlations, and need no scaling: two passes over K less.
        scaled = K if (scale == 1.0).all() else (scale[:, None] * K) * scale
        lower, jitter = jittered_cholesky(scaled, jitter)
        return cls(lower, scale, jitter, len(K))

    @property
    def size(self) -> int:
        """Order n of the matrix."""
        return len(self.scale)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return (K + D)^-1 b for `b` of shape (n,) or (n, m)."""
        if b.size == 0:
            return b
        s = self.scale if b.ndim == 1 else self.scale[:, None]
        x, _ = scipy.linalg.lapack.dpotrs(self.lower, s * b, lower=1)
        return np.asarray(s * x)

    def whiten(self, b: FloatArray) -> FloatArray:
        """Return L^-1 S b, whose sum of squares is b' (K + D)^-1 b."""
        return triangular_solve(self.lower, (self.scale if b.ndim == 1 else self.scale[:, None]) * b)

    def whiten_transposed(self, b: FloatArray) -> FloatArray:
        """Return S L^-T b."""
        x = triangular_solve(self.lower, b, transposed=True)
        return (self.scale if b.ndim == 1 else self.scale[:, None]) * x

    def log_determinant(self) -> float:
        """Return log |K + D|."""
        return 2.0 * float(np.log(np.diagonal(self.lower) / self.scale).sum())

    def quadratic(self, b: FloatArray) -> FloatArray:
        """Return b' (K + D)^-1 b, one number per column; never negative."""
        return np.asarray(np.sum(self.whiten(b) ** 2, axis=0))

    def mean_square(self, b: FloatArray, used: int) -> FloatArray:
        """Return b' (K + D)^-1 b / (rank - used).

        Where K is singular, directions beyond its rank hold no more than rounding of a function that the kernel can
        explain; to count them would dilute the estimate (at n = 1000 in one dimension, by a factor of 20).
        """
        return self.quadratic(b) / max(self.rank - used, 1)

    def inverse(self) -> FloatArray:
        """Return (K + D)^-1, shape (n, n)."""
        # The other triangle of `lower` is zero, and LAPACK leaves it so.
        half, _ = scipy.linalg.lapack.dpotri(self.lower, lower=1)
        full = np.asarray(half + half.T)
        full.flat[:: self.size + 1] *= 0.5
        return full if (self.scale == 1.0).all() else self.scale[:, None] * full * self.scale

    def inverse_diagonal(self) -> FloatArray:
        """Return the diagonal of (K + D)^-1, shape (n,)."""
        inverse, _ = scipy.linalg.lapack.dtrtri(self.lower, lower=1)
        return np.asarray(np.einsum("ij,ij->j", inverse, inverse) * self.scale**2)

    def noise(self, w: FloatArray) -> float:
        """Return w'D w, D what the jitter added to K."""
        return self.jitter * float(np.sum((w / self.scale) ** 2))


def jittered_cholesky(scaled: FloatArray, jitter: float) -> tuple[FloatArray, float]:
    """Return L with L L' = `scaled` + jitter I, and the jitter: the one given, or the first power of ten times it."""
    a = scaled.copy()
    diagonal = np.diagonal(scaled)
    while True:
        a.flat[:: len(a) + 1] = diagonal + jitter
        lower, ok = _cholesky(a)
        # A pivot far below the jitter is rounding error that happened to be positive.
        if ok and np.diagonal(lower).min(initial=np.inf) ** 2 > 0.1 * jitter:
            return lower, jitter
        if jitter > LARGEST_JITTER:
            raise ValueError(
                f"`kernel` must be positive semidefinite, but its Gram matrix is not, even with {jitter:g} of its "
                "diagonal added: check that k(x, y) is a valid covariance"
            )
        jitter *= 10.0


def _cholesky(a: FloatArray) -> tuple[FloatArray, bool]:
    # The transpose of a symmetric matrix is itself, in the order of columns that LAPACK reads without a detour.
    lower, info = scipy.linalg.lapack.dpotrf(a.T, lower=1, clean=1)
    return lower, info == 0 and bool(np.isfinite(np.diagonal(lower)).all())
