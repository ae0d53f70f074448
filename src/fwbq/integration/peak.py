"""Positive integrands with a peak: what a process on the logarithms of the values says beside one on the values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import process
from .._quasi_random import quasi_random
from ..measures import Measure
from ..process import EXPANDED
from .fitted import Conditioned, FittedProcess

FloatArray = NDArray[np.float64]

#: A peak is looked for where the largest tenth of the values makes at least this part of their sum, among at least so
#: many values. Of harmless positive functions it makes 0.14 to 0.42, of corner peaks in 3 to 8 dimensions 0.46 to 0.87.
SHARE, FEWEST = 0.45, 20
#: There is one if leaving out a value leaves more than the first part of the variance of the values unexplained, and of
#: that of their logarithms less than the second part of this. For (1 + c'x)^-(d + 1) in 3 to 8 dimensions and 50 or
#: 200 values the first was 0.013 to 3.7 (28 of 30 above 0.1), the second at most 0.04 of it.
UNEXPLAINED, LESS = 0.01, 0.1
#: The difference of the two integrals, times this, is taken for a standard deviation. For the corner peaks the integral
#: was above that by the values by 1 to 5 times the difference: the logarithm of a peak rises more steeply towards the
#: corner than a process on it expects. Of five such peaks at n = 50, 100 and 200, five seeds each, 73 of 75 intervals
#: held the truth; without this about half did.
TIMES = 3.0
#: Exponent k of the upper tail of the values, P(f > t) ~ t^(-1/k), from which on a mean over a net is doubted: from 1/2
#: on the values have no finite variance, as far as they show. Of the largest sqrt(n) values of corner peaks in 3 to 8
#: dimensions it was 0.78 to 1.15 at n = 256 and 4096, of genz-continuous in five dimensions, whose intervals hold, 0.41
#: to 0.61, of smooth bumps below 0.15.
HEAVY = 0.7
#: 1 - k counts as this at least: what lies beyond the largest value is then ten times what that value adds to the mean.
#: At n = 256, 4096 and 65,536 4, 1 and 3 of ten intervals held the mean of (1 + 5 sum x)^-9 in eight dimensions.
LEAST_LIGHTNESS = 0.1
#: Nodes of the sum over exp(process), rounds in which they are moved to where it is large, and cells of a coordinate.
NODES, ROUNDS, CELLS = 2048, 6, 16
#: Part of the density of the nodes that stays uniform.
EVEN = 0.1


def top_share(values: FloatArray) -> float:
    """Return the part of the sum of positive values (n,) that the largest tenth of them make.

    Zero if any value is not positive, or there are fewer than `FEWEST`.

    Examples
    --------
    >>> top_share(np.ones(20)), top_share(np.append(np.ones(18), [21.0, 21.0]))
    (0.1, 0.7)
    """
    if len(values) < FEWEST or not np.all(values > 0.0):
        return 0.0
    descending = np.sort(process.normalise(values)[0])[::-1]
    return float(descending[: len(values) // 10].sum() / descending.sum())


def beyond_largest(values: FloatArray) -> float:
    """Return what values above the largest of n positive ones may add to their mean; 0 unless their tail is heavy.

    With P(f > t) ~ t^(-1/k) the values above the quantile u of level 1 - 1/n add u / (n (1 - k)) to the mean, and of n
    values the largest is about u. The exponent k is Hill's, from the largest sqrt(n) of them (Hill, "A simple general
    approach to inference about the tail of a distribution", Ann. Statist. 3, 1975).

    Examples
    --------
    >>> u = (np.arange(400) + 0.5) / 400
    >>> beyond_largest(1.0 + u), bool(1.0 < beyond_largest(u**-0.9) < 20.0)
    (0.0, True)
    """
    count = int(np.sqrt(len(values)))
    if len(values) < FEWEST or not np.all(values > 0.0):
        return 0.0
    largest = np.sort(values)[-count - 1 :]
    k = float(np.mean(np.log(largest[1:]) - np.log(largest[0])))
    return float(largest[-1]) / len(values) / max(1.0 - k, LEAST_LIGHTNESS) if k >= HEAVY else 0.0


@dataclass(frozen=True, eq=False)
class Peak:
    """A positive integrand of which the logarithm is predicted far better than the values.

    Between the points a process on the values expects what a symmetric, stationary process expects. Where f is low
    nearly everywhere and rises steeply into a corner, or towards a narrow peak, its logarithm is the smoother function,
    and the integral of exp(process) far above that of the process.

    Attributes
    ----------
    n : int
        Number of values.
    share : float
        Part of their sum that the largest tenth makes.
    by_values, by_logarithms : float
        The integral by the process on the values, and by the one on their logarithms.
    """

    n: int
    share: float
    by_values: float
    by_logarithms: float

    @property
    def sd(self) -> float:
        """The standard deviation that the difference of the two integrals is taken for."""
        return TIMES * abs(self.by_logarithms - self.by_values)

    def __str__(self) -> str:
        return (
            f"the integrand is positive with a peak: {self.n // 10} of {self.n} values make {self.share:.0%} of their "
            "sum, and a process on their logarithms, which predicts values that are left out far better, gives "
            f"{self.by_logarithms:.3g}. The interval is widened accordingly; pass the logarithm of f to "
            "`fwbq.evidence`, which is made for such integrands"
        )


def find_peak(
    values: FloatArray, mean: float, plain: FittedProcess, logarithms: FittedProcess, measure: Measure
) -> Peak | None:
    """Return the peak of a positive integrand, or None where the process on the values predicts them well enough.

    Parameters
    ----------
    values : (n,) array
        Positive values.
    mean : float
        The integral by the process on them.
    plain, logarithms : FittedProcess
        Of the values, and of their logarithms.
    measure : Measure
        What the integral is taken under.
    """
    first = unexplained(leading(plain))
    if first <= UNEXPLAINED or unexplained(leading(logarithms)) > LESS * first:
        return None
    return Peak(len(values), top_share(values), mean, integral_of_exp(logarithms, measure))


def leading(fitted: FittedProcess) -> Conditioned:
    """Return the process under its most probable kernel."""
    return fitted.members[int(np.argmax(fitted.weights))]


def unexplained(member: Conditioned) -> float:
    """Return the mean square of leave-one-out errors over the variance of the values."""
    errors, _ = member.regression.leave_one_out()
    return float(np.mean(errors**2) / np.var(member.regression.values))


def integral_of_exp(logarithms: FittedProcess, measure: Measure) -> float:
    """Return the integral of exp(process) under a measure, to second order in what the process leaves open.

    The mean of exp(m + v / 2), m and v the mean and the variance of the process under its most probable kernel, on
    nodes that importance sampling moves to where exp(m) is large: in each coordinate of the unit cube from which the
    measure is transformed the nodes have the density, constant on cells, that exp(m) had there in the round before
    (Lepage, "A new algorithm for adaptive multidimensional integration", J. Comput. Phys. 27, 1978).
    """
    member = leading(logarithms)
    dim = measure.uniform_dim
    even = quasi_random(NODES, dim)
    density = np.full((dim, CELLS), 1.0 / CELLS)
    for last in (False,) * (ROUNDS - 1) + (True,):
        u, cells, log_ratio = _moved(even, density)
        x = logarithms.natural(measure.from_uniform(u))
        if last:
            there = member.predict(x)
            variance = np.asarray(member.posterior.amplitude * there.variance(member.kernel.diag(x)))
            m = there.mean + member.shift + 0.5 * np.minimum(variance, EXPANDED)
        else:
            m = member.mean(x)
        logs = m + log_ratio
        top = float(logs.max())
        weights = np.exp(logs - top)
        for i in range(dim):
            mass = np.bincount(cells[:, i], weights=weights, minlength=CELLS) / weights.sum()
            # Cells that few nodes fell into have little say in their own density.
            smooth = np.convolve(np.pad(mass, 1, mode="edge"), [0.25, 0.5, 0.25], mode="valid")
            density[i] = (1.0 - EVEN) * smooth / smooth.sum() + EVEN / CELLS
    return float(np.exp(top) * weights.mean())


def _moved(even: FloatArray, density: FloatArray) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
    """Return points of the unit cube with a density that is constant on cells, their cells, and minus its logarithm.

    Parameters
    ----------
    even : (q, d) array
        Evenly spread points.
    density : (d, c) array
        Probabilities of the cells of each coordinate; rows sum to one.
    """
    u, cells = np.empty_like(even), np.empty(even.shape, dtype=np.intp)
    log_ratio = np.zeros(len(even))
    count = density.shape[1]
    for i, mass in enumerate(density):
        edges = np.concatenate([[0.0], np.cumsum(mass)])
        cell = np.clip(np.searchsorted(edges, even[:, i], side="right") - 1, 0, count - 1)
        inside = np.clip((even[:, i] - edges[cell]) / mass[cell], 0.0, 1.0)
        u[:, i], cells[:, i] = (cell + inside) / count, cell
        log_ratio -= np.log(count * mass[cell])
    return u, cells, log_ratio
