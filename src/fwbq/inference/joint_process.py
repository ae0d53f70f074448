"""The surrogate: a Gaussian process on the log joint density, in coordinates whitened by an earlier estimate of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from .._linalg import CholeskyFactor
from .._whitening import Whitening
from ..kernels import Differences, ExpQuad, Kernel, Matern52, Stationary
from ..posterior import AnyAmplitude
from ..process import KernelFamily, LengthscalePrior, Objective, Prediction, Regression
from ..process.amplitude import calibrated, leave_one_out
from ..process.basis import Basis, basis_functions, basis_size
from ..process.log_integral import LogIntegralError
from ..process.objective import LEAST_NOISE
from .chart import Chart
from .depth import depth_noise, nearness
from .mixture import lower_root
from .modes import Mode
from .tuning import TUNING

Array = NDArray[np.float64]
Offset = Callable[[Array], Array]

#: Residuals of a quadratic below this are rounding: the density is a Gaussian's, and no length-scale can be learnt.
_ROUNDING = 1e-8

#: Kernels that are tried; the more probable one leads. ExpQuad is what makes flat and analytic likelihoods right to
#: 1e-5, Matern-5/2 serves the others.
FAMILIES = (KernelFamily("ExpQuad", ExpQuad), KernelFamily("Matern52", Matern52))


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


def families_of(kernel: Kernel | type[Stationary] | None, chart: Chart) -> tuple[KernelFamily | Given, ...]:
    """Return the kernels to choose from when the user gave `kernel`: a kernel, a class of kernel, or nothing."""
    if kernel is None:
        return FAMILIES
    if isinstance(kernel, Kernel):
        _validate.dimension(chart.dim, kernel.dim, "prior", f"the kernel {type(kernel).__name__}")
        return (Given(kernel, chart.to_user),)
    if isinstance(kernel, type) and issubclass(kernel, Stationary):
        return (KernelFamily(kernel.__name__, kernel),)
    raise TypeError(
        "`kernel` must be a kernel such as fwbq.Matern52([0.1, 2.0]), or a class such as fwbq.Matern52, "
        "whose length-scales are then found from values"
    )


@dataclass(frozen=True, eq=False)
class JointProcess:
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
    theta : (d + 1,) or (d,) array
        Log length-scales and, where one was looked for, the log variance of the noise relative to the amplitude; empty
        for a kernel that was given.
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

    @property
    def noise(self) -> float:
        """Variance of the noise of every value, relative to the amplitude; at least that of rounding."""
        return LEAST_NOISE + (float(np.exp(self.theta[self.dim])) if len(self.theta) > self.dim else 0.0)

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
        # Relative to the largest value, so that a constant of any size in the log likelihood costs no digits.
        known = self.values - self.level
        offset = None if self.offset is None else self.offset(self.points)
        if offset is not None:
            known = known - offset
        K.flat[:: len(K) + 1] += diagonal * (self.noise + depth_noise(self.values, self.dim, offset))
        return Regression(CholeskyFactor.of(K), known, basis_functions(self.basis, self.whitened))

    def with_noise(self) -> JointProcess:
        """Return the process whose values have one more noise, of the variance and with the lengths most probable then.

        Where the kernel was given there is nothing to search, and the process is returned as it is.
        """
        if isinstance(self.family, Given):
            return self
        offset = None if self.offset is None else self.offset(self.points)
        left = self.values - self.level - (0.0 if offset is None else offset)
        noise = depth_noise(self.values, self.dim, offset)
        iterations = TUNING.process.iterations
        _, theta = fit_lengthscales(self.whitened, left, self.basis, noise, self.family, None, iterations, noisy=True)
        return replace(self, theta=theta)

    @property
    def level(self) -> float:
        """The largest value."""
        return float(self.values.max())

    @cached_property
    def near(self) -> Array:
        """Weights (n,) of the values by how near the top they are: one at the top, e^-1 four logarithms below."""
        return nearness(self.values)

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
        loo = leave_one_out(self.regression, self.near)
        return float(loo if self.estimate == "loo" else calibrated(np.asarray(likely), loo))

    @cached_property
    def score(self) -> float:
        """Mean log density of leave-one-out predictions, weighted by `near`; comparable between means and kernels."""
        errors, variances = self.regression.leave_one_out()
        variances = np.maximum(variances * self.amplitude, 1e-30)
        return float(np.sum(self.near * (-0.5 * errors**2 / variances - 0.5 * np.log(variances))) / np.sum(self.near))

    def sd(self, z: Array) -> Array:
        """Return the standard deviation of the process at points z (q, d), given the values, (q,)."""
        return np.asarray(np.sqrt(self.amplitude * self.predict(z).variance(self.variance(z))))

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

    def log_integral_error(self, z: Array, weights: Array) -> LogIntegralError:
        """Return the error of the log integral whose mass is at points z (q, d), with weights (q,) that sum to one."""
        return LogIntegralError.of_process(self.predict(z), self.covariance(z), weights, self.amplitude)

    def expectation_error(self, z: Array, functions: Array) -> LogIntegralError:
        """Return the error of expectations of functions (q, m) over points z (q, d) that stand for the posterior."""
        weights = np.full(len(z), 1.0 / len(z))
        return LogIntegralError.of_expectation(self.predict(z), self.covariance(z), weights, functions, self.amplitude)

    @cached_property
    def gaussian(self) -> tuple[Array, Array] | None:
        """Mean and lower root of the Gaussian with the quadratic mean as log density; None where that has no peak."""
        if self.basis != "quadratic":
            return None
        d, b = self.dim, self.regression.coefficients
        H = np.diag(2.0 * b[1 + d : 1 + 2 * d])
        i, j = np.triu_indices(d, 1)
        H[i, j] = H[j, i] = b[1 + 2 * d :]
        if np.linalg.eigvalsh(H)[-1] > -TUNING.process.least_curvature:
            return None
        top = np.asarray(-np.linalg.solve(H, b[1 : 1 + d]), dtype=float)
        cov = self.whitening.root @ np.linalg.inv(-H) @ self.whitening.root.T
        return self.whitening.back(top[None])[0], lower_root(cov)


@dataclass(frozen=True, eq=False)
class FittedProcesses:
    """Surrogates that share points and mean, with their probabilities; the most probable first.

    Attributes
    ----------
    members : tuple of JointProcess
    weights : (k,) array
    kind : str
        How the mean was chosen: "quadratic", "gaussian" or "modes".
    thetas : dict
        Log length-scales found for each mean and family, where the next search begins.
    """

    members: tuple[JointProcess, ...]
    weights: Array
    kind: str
    thetas: dict[tuple[str, str], Array]

    @property
    def best(self) -> JointProcess:
        """The most probable surrogate."""
        return self.members[0]


def fit_processes(
    points: Array,
    values: Array,
    whitening: Whitening,
    modes: Sequence[Mode],
    thetas: dict[tuple[str, str], Array],
    *,
    families: Sequence[KernelFamily | Given] = FAMILIES,
    amplitude: AnyAmplitude = "calibrated",
    falls_off: bool = True,
    iterations: int = TUNING.process.iterations,
    several: bool = True,
) -> FittedProcesses:
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
        How the amplitude is found; see `JointProcess.amplitude`.
    falls_off : bool
        Whether the density falls off on all sides: False for a prior that is a sample; the mean is then a constant
        where it cannot be a quadratic.
    iterations : int
        Of each search.
    several : bool
        Whether the sum of Gaussians at the modes is tried.
    """
    d = points.shape[1]
    s = whitening.forward(points)
    found: dict[tuple[str, str], Array] = dict(thetas)

    def members(kind: str) -> FittedProcesses:
        offset, basis = mean_of(kind, whitening, modes, falls_off=falls_off)
        known = None if offset is None else offset(points)
        left = values - values.max() - (0.0 if known is None else known)
        noise = depth_noise(values, d, known)
        heights, each = [], []
        for family in families:
            if isinstance(family, Given):
                height, theta = 0.0, np.empty(0)
            else:
                begin = found.get((kind, family.name))
                height, theta = fit_lengthscales(s, left, basis, noise, family, begin, iterations)
                found[kind, family.name] = theta
            heights.append(height)
            each.append(JointProcess(points, values, whitening, offset, basis, family, theta, amplitude))
        weights = np.exp(np.array(heights) - max(heights))
        order = np.argsort(-weights, kind="stable")
        return FittedProcesses(tuple(each[i] for i in order), weights[order] / weights.sum(), kind, found)

    chosen: FittedProcesses | None = None
    if len(points) >= basis_size("quadratic", d) + d + 2 and _determined(s):
        chosen = members("quadratic")
        if chosen.best.gaussian is None and falls_off:
            chosen = None
    if chosen is None:
        chosen = members("gaussian")
    if len(modes) > 1 and several:
        rival = members("modes")
        if rival.best.score > chosen.best.score:
            chosen = rival
    return chosen


def mean_of(kind: str, whitening: Whitening, modes: Sequence[Mode], *, falls_off: bool) -> tuple[Offset | None, Basis]:
    """Return the known part of the mean, and the basis of the unknown part, for each kind of mean."""
    if kind == "quadratic":
        return None, "quadratic"
    if kind == "gaussian":
        return whitening.unit if falls_off else None, "constant"
    return _sum_of_peaks(modes), "constant"


def _sum_of_peaks(modes: Sequence[Mode]) -> Offset:
    """Return the logarithm of the sum of the Gaussians at the modes, relative to the highest, as a function."""
    peaks = [mode.peak for mode in modes]
    top = max(peak.constant for peak in peaks)

    def log_sum(z: Array) -> Array:
        return np.asarray(np.logaddexp.reduce([peak(z) - top for peak in peaks], axis=0))

    return log_sum


def _determined(s: Array) -> bool:
    """Whether points s (n, d) tell all coefficients of a quadratic, in double precision."""
    H = basis_functions("quadratic", s)
    sizes = np.linalg.norm(H, axis=0)
    if not (np.isfinite(sizes) & (sizes > 0.0)).all():
        return False
    return bool(np.linalg.matrix_rank(H / sizes) == H.shape[1])


def fit_lengthscales(
    s: Array,
    values: Array,
    basis: Basis,
    noise: Array,
    family: KernelFamily,
    begin: Array | None,
    iterations: int,
    *,
    noisy: bool = False,
) -> tuple[float, Array]:
    """Return the greatest log posterior density of the parameters, and where it is.

    They are the log length-scales and, where values are `noisy`, the log variance of an unknown noise.
    """
    prior = LengthscalePrior(np.ones(s.shape[1]))
    H = basis_functions(basis, s)
    # The noise keeps the matrix regular; the further jitter is a thousandth of the least.
    objective = Objective(
        family, prior, Differences.of(s), values, H, noise + LEAST_NOISE, jitter=LEAST_NOISE / 1000, noisy=noisy
    )
    location = objective.location
    # Where the mean explains the values to rounding, nothing can be learnt of length-scales: they stay at the prior's.
    weight = 1.0 / np.sqrt(1.0 + noise)
    coefficients = np.linalg.lstsq(H * weight[:, None], values * weight, rcond=None)[0]
    left = weight * (values - H @ coefficients)
    if len(values) <= H.shape[1] or np.max(np.abs(left)) < _ROUNDING * max(1.0, float(np.max(np.abs(values * weight)))):
        return objective.value(location), location
    starts = [location, location - 1.0] if begin is None else [begin]
    if noisy:
        # Lengths shorter than the distance of the points explain a noise as well as a noise does.
        starts = [np.append(location[:-1], np.log(each)) for each in TUNING.process.noises]
        starts = [max(starts, key=objective.value)]
    theta, height = objective.maximise(starts, iterations=iterations, ftol=1e-5)
    return height, theta
