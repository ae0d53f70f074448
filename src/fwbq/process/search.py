"""The search: the most probable parameters of each family, and draws around them with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv, gammaln, ndtri

from .. import _validate
from .._quasi_random import quasi_random
from ..kernels import Kernel
from . import amplitude
from .families import FAMILIES, KernelFamily
from .likelihood import log_likelihood, log_likelihood_gradient
from .prior import LengthscalePrior

FloatArray = NDArray[np.float64]

#: Points the parameters are found from; more cost O(n^3) each evaluation and hardly move them.
MOST_POINTS = 400
#: Members below this share of the total are dropped: they cannot move a 95 % interval.
LEAST_WEIGHT = 1e-3
_STUDENT_DF = 5.0  # of the proposal: heavier tails than the posterior's, so that no draw has an absurd weight
#: Where the search begins, in prior standard deviations from the prior's centre, all coordinates together.
STARTS = (0.0, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Member:
    """One kernel and its probability.

    Attributes
    ----------
    kernel : Kernel
    weight : float
    family : KernelFamily
    """

    kernel: Kernel
    weight: float
    family: KernelFamily


@dataclass(frozen=True, eq=False)
class Fit:
    """What the data say about the kernel.

    Attributes
    ----------
    kernel : Kernel
        The most probable kernel: family and length-scales.
    family : KernelFamily
        Its family.
    theta : (p,) array
        Its parameters.
    members : tuple of Member
        Kernels with probabilities that sum to one, most probable first.
    """

    kernel: Kernel
    family: KernelFamily
    theta: FloatArray
    members: tuple[Member, ...]


@dataclass(frozen=True, eq=False)
class _Objective:
    """Log posterior density of a family's parameters."""

    family: KernelFamily
    points: FloatArray
    values: FloatArray
    location: FloatArray
    precision: FloatArray
    constant: bool

    def value(self, theta: FloatArray) -> float:
        shift = theta - self.location
        K = self.family.gram(theta, self.points)
        return log_likelihood(K, self.values, constant=self.constant) - 0.5 * float(shift @ self.precision @ shift)

    def gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        shift = theta - self.location
        pull = self.precision @ shift
        K, derivatives = self.family.gram_and_derivatives(theta, self.points)
        value, gradient = log_likelihood_gradient(K, derivatives, self.values, constant=self.constant)
        return value - 0.5 * float(shift @ pull), gradient - pull

    def negative(self, theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.gradient(theta)
        return -value, -gradient


def fit(
    points: ArrayLike,
    values: ArrayLike,
    *,
    scale: ArrayLike,
    families: Sequence[KernelFamily] = FAMILIES,
    prior_mean: str = "constant",
    draws: int = 12,
    starts: Sequence[float] = STARTS,
) -> Fit:
    """Find length-scales and smoothness from values, and average over what the values leave open.

    For each family the log posterior (`log_likelihood` plus the log of `LengthscalePrior`) is maximised by L-BFGS-B
    from each of `starts`. Around each maximum `draws` parameters are taken, at quasi-random quantiles of a Student-t
    with the curvature there, and weighted by posterior over proposal density; families are equally probable beforehand,
    and the weights of all draws together, normalised, are the probabilities of the kernels.

    Parameters
    ----------
    points : array_like, shape (n, d)
        Distinct points, n >= 3. The first 400 are used.
    values : array_like, shape (n,) or (n, m)
        Values. The columns of (n, m) share the kernel and have an amplitude each: their likelihoods multiply.
    scale : array_like, shape (d,)
        Standard deviations of the measure, to which length-scales are compared.
    families : sequence of KernelFamily
        Candidates.
    prior_mean : {"zero", "constant"}
        Mean of the process.
    draws : int
        Parameters per family. With 0 the only member is the most probable kernel.
    starts : sequence of float
        Where the search begins: the centre of the prior, all log length-scales moved by this much.

    Returns
    -------
    Fit
        When all values are equal they say nothing: the kernel is then the centre of the prior in the middle family.

    Notes
    -----
    Deterministic, and unchanged when the values are multiplied by a power of two; another factor, or a constant added
    to them, changes it by rounding only.
    """
    x = _validate.points(points, "points")[:MOST_POINTS]
    f, _ = amplitude.normalise(_validate.values(values, "values", len(np.asarray(points)))[:MOST_POINTS])
    constant = _validate.choice(prior_mean, "prior_mean", ("zero", "constant")) == "constant"
    prior = LengthscalePrior(_validate.vector(scale, "scale", x.shape[1]))
    if constant:
        f = amplitude.normalise(f - f[0])[0]
    if not np.any(f):
        middle = families[len(families) // 2]
        theta = prior.location(middle)
        kernel = middle.kernel(theta, x.shape[1])
        return Fit(kernel, middle, theta, (Member(kernel, 1.0, middle),))
    peaks, found = [], []
    for family in families:
        objective = _Objective(family, x, f, prior.location(family), prior.precision(family), constant)
        bounds = np.array(prior.bounds(family))
        theta, height = _maximise(objective, bounds, prior.dim, starts)
        peaks.append((height, family, theta))
        if draws:
            found.extend(_draws(objective, theta, bounds, draws))
    _, family, theta = max(peaks, key=lambda peak: peak[0])
    kernel = family.kernel(theta, prior.dim)
    if not draws:
        return Fit(kernel, family, theta, (Member(kernel, 1.0, family),))
    return Fit(kernel, family, theta, _members(found, prior.dim))


def _maximise(objective: _Objective, bounds: FloatArray, dim: int, starts: Sequence[float]) -> tuple[FloatArray, float]:
    from scipy.optimize import minimize

    best: tuple[float, FloatArray] | None = None
    for start in starts:
        theta = objective.location.copy()
        theta[:dim] += start
        outcome = minimize(
            objective.negative, theta, jac=True, method="L-BFGS-B", bounds=bounds.tolist(),
            options={"maxiter": 40, "ftol": 1e-7, "gtol": 1e-4},
        )  # fmt: skip
        # A start that ends in the same place within the optimiser's tolerance must not replace the first.
        if best is None or outcome.fun < best[0] - 1e-4:
            best = float(outcome.fun), np.asarray(outcome.x)
    value, theta = cast("tuple[float, FloatArray]", best)
    return theta, -value


def _draws(
    objective: _Objective, peak: FloatArray, bounds: FloatArray, size: int
) -> list[tuple[float, KernelFamily, FloatArray]]:
    """Return (log importance weight, family, theta) for quasi-random theta around the peak."""
    p, df = len(peak), _STUDENT_DF
    curvature, axes = np.linalg.eigh(_curvature(objective, peak))
    # A flat or bent-up direction is as uncertain as the prior says, at most.
    curvature = np.maximum(curvature, 0.5 * np.linalg.eigvalsh(objective.precision)[0])
    u = quasi_random(size, p + 1)
    stretch = np.sqrt(0.5 * df / gammaincinv(0.5 * df, u[:, p]))
    t = ndtri(u[:, :p]) * stretch[:, None]
    log_density = gammaln(0.5 * (df + p)) - gammaln(0.5 * df) - 0.5 * p * np.log(df * np.pi)
    log_density = log_density + 0.5 * np.sum(np.log(curvature)) - 0.5 * (df + p) * np.log1p(np.sum(t * t, axis=1) / df)
    thetas = np.clip(peak + (t / np.sqrt(curvature)) @ axes.T, bounds[:, 0], bounds[:, 1])
    normaliser = 0.5 * float(np.linalg.slogdet(objective.precision)[1]) - 0.5 * p * np.log(2.0 * np.pi)
    return [
        (objective.value(theta) + normaliser - float(q), objective.family, theta)
        for theta, q in zip(thetas, log_density, strict=True)
    ]


def _curvature(objective: _Objective, peak: FloatArray, step: float = 1e-3) -> FloatArray:
    """Return minus the Hessian of the log posterior, by central differences of its gradient."""
    rows = [
        (objective.negative(peak + h)[1] - objective.negative(peak - h)[1]) / (2.0 * step)
        for h in step * np.eye(len(peak))
    ]
    H = np.array(rows)
    return np.asarray(0.5 * (H + H.T))


def _members(found: list[tuple[float, KernelFamily, FloatArray]], dim: int) -> tuple[Member, ...]:
    logs = np.array([log for log, _, _ in found])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    order = [int(j) for j in np.argsort(-weights, kind="stable") if weights[j] >= LEAST_WEIGHT]
    weights = weights / weights[order].sum()
    return tuple(Member(found[j][1].kernel(found[j][2], dim), float(weights[j]), found[j][1]) for j in order)
