"""The kernels that are tried: Matern of three smoothnesses, and ExpQuad with a rough remainder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaincinv

from ..kernels import Differences, ExpQuad, Kernel, Matern12, Matern32, Matern52, Stationary, Sum

FloatArray = NDArray[np.float64]
Pull = Callable[[FloatArray], FloatArray]
Shape = Callable[[FloatArray, float], "Stationary | Sum"]


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """Kernels of unit variance with free length-scales and, if there is a remainder, its share.

    k = (s + rho r) / (1 + rho), s and r the main kernel and the remainder with the same length-scales; parameters
    theta = (log l_1, ..., log l_d) or (log l_1, ..., log l_d, log rho). The share of r in the variance is
    rho / (1 + rho).

    Attributes
    ----------
    name : str
        What messages call it.
    main : callable
        (length-scales (d,), variance) -> stationary kernel, or a sum of such.
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
        return self.main(lengths, float(expit(-theta[dim]))) + self.remainder(lengths, float(expit(theta[dim])))

    def gram(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        """Return the Gram matrix of points x (n, d)."""
        return self.kernel(theta, x.shape[1])(x)

    def pullback(self, theta: FloatArray, pairs: Differences) -> tuple[FloatArray, Pull]:
        """Return the kernel at pairs of points, and its contraction with weights, differentiated in theta.

        Parameters
        ----------
        theta : (p,) array
            Parameters.
        pairs : Differences
            Of the points, N pairs.

        Returns
        -------
        k : (N,) array
            The kernel.
        pull : callable
            Weights u (N,) to the derivatives of sum_j u_j k_j in each parameter, (p,).
        """
        dim = len(pairs.absolute)
        lengths = np.exp(theta[:dim])
        if self.remainder is None:
            return self.main(lengths, 1.0).pullback(pairs)
        share = float(expit(theta[dim]))
        smooth, pull_smooth = self.main(lengths, float(expit(-theta[dim]))).pullback(pairs)
        rough, pull_rough = self.remainder(lengths, share).pullback(pairs)
        k = smooth + rough
        # d k / d log rho = rho (r - s) / (1 + rho)^2 = share r - share k, and `rough` is share r.
        return k, lambda u: np.append(pull_smooth(u) + pull_rough(u), u @ (rough - share * k))


def _gaussian_sum(smoothness: float) -> Shape:
    """Return a sum of ExpQuad kernels close to the radial Matern kernel.

    The Matern kernel is the mean of exp(-r^2 / (2 l^2 t)) over t ~ Gamma(nu, rate nu); the sum takes the medians of
    slices of that law, thinner towards t = 0, where short length-scales make the roughness.
    """
    edges = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 11)]) ** 0.5
    nodes = gammaincinv(smoothness, 0.5 * (edges[1:] + edges[:-1])) / smoothness
    weights = np.diff(edges)

    def shape(lengths: FloatArray, variance: float) -> Sum:
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
