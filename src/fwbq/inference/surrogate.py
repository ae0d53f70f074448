"""The surrogate: a Gaussian process on the log joint density, in coordinates whitened by an earlier estimate of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from .._linalg import CholeskyFactor
from .._whitening import Whitening
from ..kernels import Differences, ExpQuad, Kernel, Matern52, Stationary
from ..posterior import AnyAmplitude
from ..process import KernelFamily, LengthscalePrior, Objective, Prediction, Regression
from ..process.basis import Basis, basis_functions, basis_size
from .mixture import lower_root
from .modes import Mode
from .space import Space

Array = NDArray[np.float64]
Offset = Callable[[Array], Array]

#: Kernels that are tried; the more probable one leads. ExpQuad is what makes flat and analytic likelihoods right to
#: 1e-5, Matern-5/2 serves the others.
FAMILIES = (KernelFamily("ExpQuad", ExpQuad), KernelFamily("Matern52", Matern52))
#: Relative variance of the rounding of a log likelihood; it keeps Gram matrices of smooth kernels regular.
JITTER = 1e-10
#: Values more than DEPTH + PER_DIMENSION d natural logarithms below the largest carry a noise, whose standard
#: deviation is their excess over RELATIVE, in units of the amplitude. Of a Gaussian posterior less than 1e-6 of the
#: mass lies deeper than that, in any number of dimensions. On the nine evidences of benchmarks/constants.py half and
#: twice of the first or the last gave errors within the noise of choosing other points.
DEPTH, PER_DIMENSION, RELATIVE = 10.0, 2.0, 5.0
#: Residuals of a quadratic below this are rounding: the log joint density is a Gaussian's, and no length-scale can be
#: learnt from them.
ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class Given:
    """A kernel of the user's parameters that is used as it is: a family without parameters.

    Attributes
    ----------
    kernel : Kernel
    to_user : callable
        Coordinates z (n, d) to the user's parameters.
    """

    kernel: Kernel
    to_user: Callable[[Array], Array]

    @property
    def name(self) -> str:
        """Name of the kernel's class."""
        return type(self.kernel).__name__


def families_of(kernel: Kernel | type[Stationary] | None, space: Space) -> tuple[KernelFamily | Given, ...]:
    """Return the kernels to choose from when the user gave `kernel`: a kernel, a class of kernel, or nothing."""
    if kernel is None:
        return FAMILIES
    if isinstance(kernel, Kernel):
        _validate.dimension(space.dim, kernel.dim, "prior", f"the kernel {type(kernel).__name__}")
        return (Given(kernel, space.to_user),)
    if isinstance(kernel, type) and issubclass(kernel, Stationary):
        return (KernelFamily(kernel.__name__, kernel),)
    raise TypeError(
        "`kernel` must be a kernel such as fwbq.Matern52([0.1, 2.0]), or a class such as fwbq.Matern52, "
        "whose length-scales are then found from values"
    )


def depth_noise(values: Array, dim: int) -> Array:
    """Variance, relative to the amplitude, of values far below the largest, which hardly matter to the evidence."""
    excess = np.maximum(values.max() - values - (DEPTH + PER_DIMENSION * dim), 0.0)
    return np.asarray(np.minimum(excess / RELATIVE, 1e6) ** 2)


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A process for the log joint density g, given its values at points.

    g(z) = offset(z) + h(s)'beta + a process of covariance a k(s, s'), s the whitened coordinates; a kernel that was
    given is one of the user's parameters instead. Values far below the largest carry a noise that grows with their
    depth (`depth_noise`).

    Attributes
    ----------
    points : (n, d) array
        z.
    values : (n,) array
        g, finite.
    whitening : Whitening
    offset : callable or None
        Known part of the mean, (n, d) -> (n,); None for zero.
    basis : str
        Unknown part of the mean (`fwbq.process.basis`).
    family : KernelFamily or Given
    theta : (d,) array
        Log length-scales; empty for a kernel that was given.
    estimate : str or float
        How the amplitude is found.
    """

    points: Array
    values: Array
    whitening: Whitening
    offset: Offset | None
    basis: Basis
    family: KernelFamily | Given
    theta: Array
    estimate: AnyAmplitude = "calibrated"

    @property
    def dim(self) -> int:
        """Dimension d."""
        return int(self.points.shape[1])

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel: of unit variance in whitened coordinates, or the one given, in the user's parameters."""
        return self.family.kernel if isinstance(self.family, Given) else self.family.kernel(self.theta, self.dim)

    def _places(self, z: Array) -> Array:
        """Return points z (n, d) in the coordinates of the kernel."""
        return self.family.to_user(z) if isinstance(self.family, Given) else self.whitening.forward(z)

    @cached_property
    def _known_places(self) -> Array:
        return self._places(self.points)

    def covariance(self, z: Array) -> Array:
        """Return the covariance of the process at points z (q, d) before any value is known, amplitude one, (q, q)."""
        return self.kernel(self._places(z))

    def variance(self, z: Array) -> Array:
        """Return the variance of the process at points z (q, d) before any value is known, amplitude one, (q,)."""
        return self.kernel.diag(self._places(z))

    @cached_property
    def whitened(self) -> Array:
        """The points in whitened coordinates."""
        return self.whitening.forward(self.points)

    @cached_property
    def regression(self) -> Regression:
        """The values less their offset, given the kernel."""
        K = self.kernel(self._known_places)
        diagonal = K.diagonal().copy()
        K.flat[:: len(K) + 1] += diagonal * (JITTER + depth_noise(self.values, self.dim))
        # Relative to the largest value, so that a constant of any size in the log likelihood costs no digits.
        known = self.values - self.level
        if self.offset is not None:
            known = known - self.offset(self.points)
        return Regression(CholeskyFactor.of(K), known, basis_functions(self.basis, self.whitened))

    @property
    def level(self) -> float:
        """The largest value."""
        return float(self.values.max())

    @cached_property
    def near(self) -> Array:
        """Weights (n,) of the values by how near the top they are: one at the top, e^-1 four logarithms below."""
        return np.asarray(np.exp(-0.25 * np.minimum(self.values.max() - self.values, 400.0)))

    @cached_property
    def amplitude(self) -> float:
        """The factor on the kernel's variance: a number given, or what `estimate` says.

        "marginal" and "ml" are the likelihood's, "loo" the leave-one-out one of the values near the top, "calibrated"
        the larger of the two.
        """
        if not isinstance(self.estimate, str):
            return float(self.estimate)
        likely = float(self.regression.amplitude)
        if self.estimate in ("marginal", "ml"):
            return likely
        errors, variances = self.regression.leave_one_out()
        loo = float(np.sum(self.near * errors**2 / variances) / np.sum(self.near))
        return loo if self.estimate == "loo" else max(likely, loo)

    @cached_property
    def score(self) -> float:
        """Mean log density of leave-one-out predictions, weighted by `near`; comparable between means and kernels."""
        errors, variances = self.regression.leave_one_out()
        variances = np.maximum(variances * self.amplitude, 1e-30)
        weights = np.exp(-0.1 * np.minimum(self.values.max() - self.values, 1000.0))
        return float(np.sum(weights * (-0.5 * errors**2 / variances - 0.5 * np.log(variances))) / np.sum(weights))

    def predict(self, z: Array) -> Prediction:
        """Return the process at points z (q, d); level and offset are not in its mean."""
        h = basis_functions(self.basis, self.whitening.forward(z))
        return self.regression.predict(self.kernel(self._known_places, self._places(z)), h)

    def mean(self, z: Array) -> Array:
        """Return the expected log joint density at points z (q, d), (q,)."""
        s = self.whitening.forward(z)
        alpha = self.regression.factor.whiten_transposed(self.regression.residual)
        out = basis_functions(self.basis, s) @ self.regression.coefficients
        places = self._places(z)
        for start in range(0, len(z), 4096):
            part = slice(start, start + 4096)
            out[part] += self.kernel(places[part], self._known_places) @ alpha
        out += self.level
        return np.asarray(out if self.offset is None else out + self.offset(z))

    @cached_property
    def gaussian(self) -> tuple[Array, Array] | None:
        """Mean and lower root of the Gaussian with the quadratic mean as log density; None where that has no peak."""
        if self.basis != "quadratic":
            return None
        d, b = self.dim, self.regression.coefficients
        H = np.diag(2.0 * b[1 + d : 1 + 2 * d])
        i, j = np.triu_indices(d, 1)
        H[i, j] = H[j, i] = b[1 + 2 * d :]
        # In whitened coordinates the posterior has unit width: a curvature below a fiftieth is no peak.
        if np.linalg.eigvalsh(H)[-1] > -0.02:
            return None
        top = np.asarray(-np.linalg.solve(H, b[1 : 1 + d]), dtype=float)
        cov = self.whitening.root @ np.linalg.inv(-H) @ self.whitening.root.T
        return self.whitening.back(top[None])[0], lower_root(cov)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Surrogates that share points and mean, with their probabilities; the most probable first.

    Attributes
    ----------
    members : tuple of Surrogate
    weights : (k,) array
    kind : str
        How the mean was chosen: "quadratic", "gaussian" or "modes".
    thetas : dict
        Log length-scales found for each mean and family, where the next search begins.
    """

    members: tuple[Surrogate, ...]
    weights: Array
    kind: str
    thetas: dict[tuple[str, str], Array]

    @property
    def best(self) -> Surrogate:
        """The most probable surrogate."""
        return self.members[0]


def fit(
    points: Array,
    values: Array,
    whitening: Whitening,
    modes: Sequence[Mode],
    thetas: dict[tuple[str, str], Array],
    *,
    families: Sequence[KernelFamily | Given] = FAMILIES,
    amplitude: AnyAmplitude = "calibrated",
    falls_off: bool = True,
    iterations: int = 20,
) -> Fitted:
    """Fit length-scales for each family and choose the mean.

    The mean is an unknown quadratic where there are values enough and it has a peak; else the Gaussian of the
    whitening with an unknown constant. With several modes the logarithm of the sum of their Gaussians competes with
    it, and wins by the better leave-one-out predictions.

    Parameters
    ----------
    points, values : (n, d), (n,) arrays
        z and finite log joint densities.
    whitening : Whitening
    modes : sequence of Mode
    thetas : dict
        Where to begin, from an earlier fit.
    families : sequence of KernelFamily or Given
        Candidates.
    amplitude : str or float
        How the amplitude is found; see `Surrogate.amplitude`.
    falls_off : bool
        Whether the density falls off on all sides: False for a prior that is a sample; the mean is then a constant
        where it cannot be a quadratic.
    iterations : int
        Of each search.
    """
    d = points.shape[1]
    s = whitening.forward(points)
    noise = depth_noise(values, d)
    found: dict[tuple[str, str], Array] = dict(thetas)

    def members(kind: str, offset: Offset | None, basis: Basis) -> Fitted:
        left = values - values.max() if offset is None else values - values.max() - offset(points)
        heights, each = [], []
        for family in families:
            if isinstance(family, Given):
                height, theta = 0.0, np.empty(0)
            else:
                begin = found.get((kind, family.name))
                height, theta = fit_lengthscales(s, left, basis, noise, family, begin, iterations)
                found[kind, family.name] = theta
            heights.append(height)
            each.append(Surrogate(points, values, whitening, offset, basis, family, theta, amplitude))
        weights = np.exp(np.array(heights) - max(heights))
        order = np.argsort(-weights, kind="stable")
        return Fitted(tuple(each[i] for i in order), weights[order] / weights.sum(), kind, found)

    chosen: Fitted | None = None
    if len(points) >= basis_size("quadratic", d) + d + 2:
        chosen = members("quadratic", None, "quadratic")
        if chosen.best.gaussian is None and falls_off:
            chosen = None
    if chosen is None:
        chosen = members("gaussian", whitening.unit if falls_off else None, "constant")
    if len(modes) > 1:
        peaks = [mode.peak for mode in modes]
        top = max(peak.constant for peak in peaks)

        def sum_of_peaks(z: Array) -> Array:
            return np.asarray(np.logaddexp.reduce([peak(z) - top for peak in peaks], axis=0))

        rival = members("modes", sum_of_peaks, "constant")
        if rival.best.score > chosen.best.score:
            chosen = rival
    return chosen


def fit_lengthscales(
    s: Array, values: Array, basis: Basis, noise: Array, family: KernelFamily, begin: Array | None, iterations: int
) -> tuple[float, Array]:
    """Return the greatest log posterior density of the log length-scales, and where it is."""
    prior = LengthscalePrior(np.ones(s.shape[1]))
    H = basis_functions(basis, s)
    # The noise, which is at least JITTER, keeps the matrix regular; the further jitter is a thousandth of that.
    objective = Objective(family, prior, Differences.of(s), values, H, noise + JITTER, jitter=JITTER / 1000)
    location = objective.location
    # Where the mean explains the values to rounding, nothing can be learnt of length-scales: they stay at the prior's.
    weight = 1.0 / np.sqrt(1.0 + noise)
    coefficients = np.linalg.lstsq(H * weight[:, None], values * weight, rcond=None)[0]
    left = weight * (values - H @ coefficients)
    if len(values) <= H.shape[1] or np.max(np.abs(left)) < ROUNDING * max(1.0, float(np.max(np.abs(values * weight)))):
        return objective.value(location), location
    starts = [location, location - 1.0] if begin is None else [begin]
    theta, height = objective.maximise(starts, iterations=iterations, ftol=1e-5)
    return height, theta
