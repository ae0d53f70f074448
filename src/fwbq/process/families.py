"""The kernels that are tried: Matern of three smoothnesses, ExpQuad with a rough remainder, and an ANOVA kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaincinv

from ..kernels import Anova, Differences, ExpQuad, Kernel, Matern12, Matern32, Matern52, Stationary, Sum

FloatArray = NDArray[np.float64]
Pull = Callable[[FloatArray], FloatArray]
Shape = Callable[[FloatArray, float], "Stationary | Sum"]
Main = Callable[[FloatArray, float], "Stationary | Sum | Anova"]


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """Kernels of unit variance with free length-scales, weights if they are weighted, and the share of a remainder.

    k = (s + rho r) / (1 + rho), s and r the main kernel and the remainder with the same length-scales. The parameters
    theta are log l_1, ..., log l_d; then, of an `fwbq.Anova` kernel, log w_1, ..., log w_d; then, if there is a
    remainder, log rho. The share of r in the variance is rho / (1 + rho).

    Attributes
    ----------
    name : str
        What messages call it.
    main : callable
        (length-scales (d,), variance) -> stationary kernel, or a sum of such; if the family is weighted,
        (length-scales and weights (2 d,), variance) -> `fwbq.Anova`.
    remainder : callable, optional
        (length-scales (d,), variance) -> a rougher kernel.
    weighted : bool
        Whether each coordinate has a weight beside its length-scale.
    """

    name: str
    main: Main
    remainder: Shape | None = None
    weighted: bool = False

    def inner(self, dim: int) -> int:
        """Return the number of parameters of the main kernel in `dim` dimensions; those after it are of the share."""
        return 2 * dim if self.weighted else dim

    def kernel(self, theta: FloatArray, dim: int) -> Kernel:
        """Return the kernel of the parameters."""
        inner = np.exp(theta[: self.inner(dim)])
        if self.remainder is None:
            return self.main(inner, 1.0)
        log_rho = theta[len(inner)]
        return self.main(inner, float(expit(-log_rho))) + self.remainder(inner[:dim], float(expit(log_rho)))

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
        inner = np.exp(theta[: self.inner(dim)])
        if self.remainder is None:
            return self.main(inner, 1.0).pullback(pairs)
        log_rho = theta[len(inner)]
        share = float(expit(log_rho))
        smooth, pull_smooth = self.main(inner, float(expit(-log_rho))).pullback(pairs)
        rough, pull_rough = self.remainder(inner[:dim], share).pullback(pairs)
        k = smooth + rough

        def pull(u: FloatArray) -> FloatArray:
            slopes = pull_smooth(u)
            slopes[:dim] += pull_rough(u)
            # d k / d log rho = rho (r - s) / (1 + rho)^2 = share r - share k, and `rough` is share r.
            return np.append(slopes, u @ (rough - share * k))

        return k, pull


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


def _anova(parameters: FloatArray, variance: float) -> Anova:
    """Return the ANOVA kernel of all orders of ExpQuad, given length-scales and weights (2 d,)."""
    d = len(parameters) // 2
    return Anova(ExpQuad(parameters[:d], variance), parameters[d:])


#: The default candidates. An ExpQuad kernel alone is over-confident on every function that is not as smooth as it
#: expects; a Matern 3/2 remainder, its share found from the data, widens the posterior by what ExpQuad cannot explain.
FAMILIES = (
    KernelFamily("Matern12", Matern12),
    KernelFamily("Matern32", Matern32),
    KernelFamily("Matern52", Matern52),
    KernelFamily("ExpQuad with a Matern32 remainder", ExpQuad, Matern32),
)

#: From three dimensions on, under independent coordinates, one more: most functions of many inputs are close to sums of
#: functions of few. With a weight for each coordinate it holds everything between a sum of functions of one coordinate
#: and a function of all of them. On the 18 functions of `studies.problems.simulators` with n = 200 its restricted
#: likelihood was the largest of eight families on 13, and within 4 natural logarithms of it on 2 more; with one weight
#: for all, or with products of two at most, it was smaller by 20 to 200 on half of them, and errors were 2 to 10 times
#: as large (Welch's function, Ishigami's, that of Gramacy and Lee).
ANOVA = KernelFamily("ANOVA ExpQuad with a Matern32 remainder", _anova, Matern32, weighted=True)
#: The fewest dimensions in which it is tried: in two a product kernel has one interaction, and nothing to leave out.
ANOVA_DIM = 3

#: For measures under which products of Matern kernels have no embedding (mixtures of correlated Gaussians): sums of
#: ExpQuad kernels in their place.
SCALE_MIXTURES = (
    KernelFamily("ExpQuad sum like Matern12", _gaussian_sum(0.5)),
    KernelFamily("ExpQuad sum like Matern32", _gaussian_sum(1.5)),
    KernelFamily("ExpQuad sum like Matern52", _gaussian_sum(2.5)),
    KernelFamily("ExpQuad with a remainder like Matern32", ExpQuad, _gaussian_sum(1.5)),
)
