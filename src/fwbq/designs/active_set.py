"""The atoms of a convex combination: points with non-negative weights, and the potentials on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _frozen
from ..rules.simplex import simplex_weights
from .base import FloatArray

if TYPE_CHECKING:
    from ..embeddings import Embedding


# Memory for the kernel columns of atoms, whose weights change many times: 3,000 atoms at 10,000 candidates.
STORED_BYTES = 2**28
# Gaps below this part of k(x, x) are rounding.
TOLERANCE = 1e-14
# A fully corrective step leaves the error at most this part above its least value. With 1e-6 and 1e-10 the error of 150
# points was the same to ten digits, in the same time.
RELATIVE_ACCURACY = 1e-8
# Pairwise steps without a new atom after which the weights are re-optimised at once: the steps converge linearly, but
# slowly when the Gram matrix is nearly singular. With 100, 1,000 and 10,000 the squared error of 150 points on a
# mixture of two Gaussians was 2e-8, 9e-8 and 3e-7, in 0.16, 0.19 and 0.32 s: the fewer, the closer to the
# corrective variant.
PATIENCE = 1000


class ActiveSet:
    r"""A convex combination :math:`g = \sum_l w_l\,k(\cdot, x_l)` of atoms with what its steps need.

    Attributes
    ----------
    points : list of (d,) arrays
        Atoms in order of entry; they keep their place when their weight falls to zero.
    """

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self.points: list[FloatArray] = []
        self._gram = np.empty((16, 16))
        self._mean = np.empty(16)
        self._weights = np.zeros(16)
        self._residual = np.zeros(16)  # (g - mu)(x_l)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def weights(self) -> FloatArray:
        """Weights (n,) of the atoms, on the simplex; a view."""
        return self._weights[: len(self)]

    @property
    def gram(self) -> FloatArray:
        """Gram matrix (n, n) of the atoms; a view."""
        return self._gram[: len(self), : len(self)]

    @property
    def mean(self) -> FloatArray:
        """Mean element (n,) at the atoms; a view."""
        return self._mean[: len(self)]

    @property
    def residual(self) -> FloatArray:
        """Potential g - mu_p (n,) at the atoms; a view."""
        return self._residual[: len(self)]

    @property
    def level(self) -> float:
        """The inner product of g - mu_p with g."""
        return float(self.weights @ self.residual)

    @property
    def mmd2(self) -> float:
        """Squared distance between g and mu_p."""
        return max(float(self.weights @ (self.residual - self.mean)) + self._embedding.variance, 0.0)

    def enter(self, point: FloatArray) -> int:
        """Add an atom with weight zero and return its number."""
        n = len(self)
        if n == len(self._mean):
            gram = np.empty((2 * n, 2 * n))
            gram[:n, :n] = self._gram
            self._gram = gram
            self._mean, self._weights, self._residual = (
                np.concatenate([a, np.zeros(n)]) for a in (self._mean, self._weights, self._residual)
            )
        self.points.append(point)
        row = self._embedding.kernel(point[None, :], np.array(self.points))[0]
        self._gram[n, :n] = self._gram[:n, n] = row[:n]
        self._gram[n, n] = self._embedding.kernel.diag(point[None, :])[0]
        self._mean[n] = self._embedding.mean(point[None, :])[0]
        self._weights[n] = 0.0
        self._residual[n] = float(row[:n] @ self._weights[:n]) - self._mean[n]
        return n

    def start(self) -> None:
        """Give the atoms their best weights on the simplex, from equal ones."""
        self.weights[:] = 1.0 / len(self)
        self._refresh()
        self.correct()

    def toward(self, atom: int) -> float:
        """Take the Frank-Wolfe step to an atom with exact line search and return its length."""
        gap = self.level - self.residual[atom]
        square = self.level + float(self.weights @ self.mean)  # <g, g>
        distance = square - 2.0 * (self.residual[atom] + self.mean[atom]) + self.gram[atom, atom]
        rho = 1.0 if len(self) == 1 else min(gap / distance, 1.0) if gap > 0.0 and distance > 0.0 else 0.0
        self.weights[:] *= 1.0 - rho
        self.weights[atom] += rho
        self.residual[:] += rho * (self.gram[:, atom] - self.mean - self.residual)
        return float(rho)

    def pairwise_gap(self) -> float:
        """Return how much the potential differs between active atoms: the highest minus the lowest."""
        r = self.residual[self.weights > 0.0]
        return float(r.max() - r.min())

    def pairwise_steps(self, least_gap: float, most_steps: int) -> int:
        """Move weight from the highest to the lowest active atom, by exact line search, again and again.

        Ends when the pairwise gap is below `least_gap` or after `most_steps`; returns the number of steps.
        """
        active = np.flatnonzero(self.weights)
        G = np.ascontiguousarray(self.gram[np.ix_(active, active)])
        w, r, diagonal = self.weights[active], self.residual[active], np.diagonal(G)
        steps = 0
        while steps < most_steps:
            away, near = int(r.argmax()), int(r.argmin())
            gap = r[away] - r[near]
            if gap < least_gap or away == near:
                break
            distance = diagonal[away] - 2.0 * G[away, near] + diagonal[near]
            amount = gap / distance if distance > 0.0 else w[away]
            if amount >= w[away]:
                amount = w[away]
            w[near] += amount
            w[away] -= amount
            r += amount * (G[near] - G[away])
            steps += 1
            if w[away] == 0.0:
                self.weights[active] = w
                keep = w > 0.0
                active, w, r = active[keep], w[keep], r[keep]
                G = np.ascontiguousarray(G[np.ix_(keep, keep)])
                diagonal = np.diagonal(G)
        self.weights[active] = w
        self._refresh()
        return steps

    def _refresh(self) -> None:
        self.residual[:] = self.gram @ self.weights - self.mean

    def correct(self) -> None:
        """Put the weights of all atoms at their optimum on the simplex, if that is better than what they are."""
        before, error = self.weights.copy(), self.mmd2
        # J at the weights found exceeds its least value by no more than the gradients that count as zero.
        tolerance = max(RELATIVE_ACCURACY * error / float(np.max(np.diagonal(self.gram))), TOLERANCE)
        variance = self._embedding.variance
        self.weights[:] = simplex_weights(self.gram, self.mean, variance, start=before, tolerance=tolerance)[0]
        self._refresh()
        if self.mmd2 > error:  # within rounding of the optimum
            self.weights[:] = before
            self._refresh()


def distinct(points: FloatArray) -> FloatArray:
    """Return the points without repeats, in their order, read-only."""
    return _frozen.readonly(points[np.sort(np.unique(points, axis=0, return_index=True)[1])])
