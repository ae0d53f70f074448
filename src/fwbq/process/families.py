"""The kernels that are tried: Matern of three smoothnesses, and ExpQuad with a rough remainder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from ..kernels import ExpQuad, Kernel, Matern12, Matern32, Matern52, Sum

FloatArray = NDArray[np.float64]
Shape = Callable[[FloatArray, float], Kernel]


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """Kernels of unit variance with free length-scales and, if there is a remainder, its share.

    k = (s + rho r) / (1 + rho), s and r the main kernel and the remainder with the same length-scales; parameters
    theta = (log l_1, ..., log l_d) or (log l_1, ..., log l_d, log rho).

    Attributes
    ----------
    name : str
        What messages call it.
    main : callable
        (length-scales (d,), variance) -> Kernel.
    remainder : callable, optional
        The same, for a rougher kernel.
    """

    name: str
    main: Shape
    remainder: Shape | None = None

    def kernel(self, theta: FloatArray, dim: int) -> Kernel:
        """Return the kernel of the parameters."""
        lengths = np.exp(theta[:dim])
        if self.remainder is None:
            return self.main(lengths, 1.0)
        rho = float(np.exp(theta[dim]))
        return self.main(lengths, 1.0 / (1.0 + rho)) + self.remainder(lengths, rho / (1.0 + rho))

    def gram(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        """Return the Gram matrix of points x (n, d)."""
        return self.kernel(theta, x.shape[1])(x)

    def gram_and_derivatives(self, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """Return the Gram matrix of points x (n, d) and its derivative in every parameter."""
        dim = x.shape[1]
        kernel = self.kernel(theta, dim)
        K = kernel(x)
        # For a function g of (x_i - y_i) / l_i, d g / d log l_i = -(x_i - y_i) d g / d x_i: one pass gives all of them.
        gradient = kernel.gradient(x, x)
        derivatives = [np.subtract.outer(x[:, i], x[:, i]) * -gradient[:, :, i] for i in range(dim)]
        if self.remainder is not None:
            # d k / d log rho = rho (r - s) / (1 + rho)^2; with k known, r - s = (1 + rho) (r - k).
            rho = float(np.exp(theta[dim]))
            rough = self.remainder(np.exp(theta[:dim]), 1.0)(x)
            derivatives.append((rho / (1.0 + rho)) * (rough - K))
        return K, derivatives


def _gaussian_sum(smoothness: float) -> Shape:
    """Return a sum of ExpQuad kernels close to the radial Matern kernel.

    The Matern kernel is the mean of exp(-r^2 / (2 l^2 t)) over t ~ Gamma(nu, rate nu); the sum takes the medians of
    slices of that law, thinner towards t = 0, where short length-scales make the roughness.
    """
    edges = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 11)]) ** 0.5
    nodes = gammaincinv(smoothness, 0.5 * (edges[1:] + edges[:-1])) / smoothness
    weights = np.diff(edges)

    def shape(lengths: FloatArray, variance: float) -> Kernel:
        return Sum([ExpQuad(lengths * np.sqrt(t), variance * w) for t, w in zip(nodes, weights, strict=True)])

    return shape


#: The default candidates. An ExpQuad kernel alone is over-confident on every function that is not as smooth as it
#: expects; a Matern 3/2 remainder, its share found from the data, widens the posterior by what ExpQuad cannot explain.
FAMILIES = (
    KernelFamily("Matern12", Matern12),
    KernelFamily("Matern32", Matern32),
    KernelFamily("Matern52", Matern52),
    KernelFamily("ExpQuad with a Matern32 remainder", ExpQuad, Matern32),
)

#: For measures under which products of Matern kernels have no embedding (mixtures of correlated Gaussians): sums of
#: ExpQuad kernels in their place.
SCALE_MIXTURES = (
    KernelFamily("ExpQuad sum like Matern12", _gaussian_sum(0.5)),
    KernelFamily("ExpQuad sum like Matern32", _gaussian_sum(1.5)),
    KernelFamily("ExpQuad sum like Matern52", _gaussian_sum(2.5)),
    KernelFamily("ExpQuad with a remainder like Matern32", ExpQuad, _gaussian_sum(1.5)),
)
