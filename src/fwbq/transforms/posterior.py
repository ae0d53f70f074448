"""From values on a net to the posterior of their integral."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._threads import one_blas_thread
from ..kernels.walsh import Walsh
from ..posterior import AveragedPosterior, ColumnPosteriors, IntegralPosterior
from ..posterior.calibrated import LEAST_DF
from ..process.amplitude import normalise
from .fit import fit
from .gram import contrast_variances
from .net import IntArray

FloatArray = NDArray[np.float64]

#: The net is cut into 2^4 sub-nets. With 2^4, 2^5 and 2^6 the least coverage of 24 cells (twelve families, n = 256 and
#: 4096, 240 problems each) was 93, 92 and 90 %: the more sub-nets, the less they resemble the whole.
LEVELS = 4
#: Prior of the drift, in powers of two per level, and its nodes. Its mean is below zero because products of
#: one-dimensional kernels tend to promise a faster decay than functions have whose kinks and jumps are not along the
#: axes. Set on problems of `studies.nets` with other seeds than those of its table.
DRIFT_MEAN, DRIFT_SD = -0.4, 0.4
DRIFT_NODES = np.linspace(-3.0, 3.0, 21)
#: Up to this number of columns, values have a kernel each, as in `integrate` by a process; more of them share one.
SEPARATE_COLUMNS = 16


@dataclass(frozen=True, eq=False)
class NetPosterior:
    """What values on a net say of their integrals.

    Attributes
    ----------
    posterior : AveragedPosterior or ColumnPosteriors
        Of one integral, or of m.
    kernel : Walsh
        The kernel fitted to all columns together.
    variance : float
        Variance of the mean over the net under this kernel with amplitude one: its squared worst-case error.
    """

    posterior: AveragedPosterior | ColumnPosteriors
    kernel: Walsh
    variance: float


@one_blas_thread
def net_posterior(
    generators: IntArray,
    values: FloatArray,
    missing: NDArray[np.bool_] | None = None,
    beside: FloatArray | None = None,
) -> NetPosterior:
    r"""Return the posterior of the integral of f, given its values on a net.

    By symmetry the estimate is the mean of the values, whatever the kernel. Under an amplitude a its variance is
    :math:`a V_0` (`contrast_variances`), a number that values of f on this net say nothing about directly: functions
    that are constant on the net are not all constant. The kernel connects it with what is seen. Half the difference
    d between the means of two neighbouring sub-nets of n / 2^l points has the variance :math:`a V_l`; how the squares
    fall with growing sub-nets, l = 4, ..., 1, shows how far the error of the whole net, l = 0, has fallen. A drift g
    lets the data disagree with the kernel,

    .. math:: d_{l,i} \sim N(0, a\, 2^{g l}\, V_l), \qquad g \sim N(-0.4, 0.4^2),

    and the posterior is the mixture, over g, of Student-t distributions with the scale :math:`(a_g V_0)^{1/2}`, where
    :math:`a_g` is the larger of the mean of :math:`d^2 / (2^{g l} V_l)` and the amplitude by maximum likelihood over
    all Walsh functions. Their degrees of freedom are 15, fewer where a few contrasts make most of the sum
    (Satterthwaite), as at a peak, though not fewer than four.

    Parameters
    ----------
    generators : (m, d) array
        Of the net, m >= 5.
    values : (2^m,) or (2^m, c) array
    missing : (2^m,) bool array, optional
        Rows without a value. The mean of the others is put there, and the part of the rows that is missing, times the
        standard deviation of the values, is added to the scale in quadrature.
    beside : (c,) array, optional
        Scales of the errors of the columns beside that of the net, which are added in the same way.

    Examples
    --------
    >>> from fwbq.transforms import SobolNet
    >>> net = SobolNet(3, rng=0)
    >>> x = net.points(0, 1024)
    >>> posterior = net_posterior(net.generators(10), -np.exp(x.sum(axis=1))).posterior
    >>> low, high = posterior.interval(0.95)
    >>> bool(low < -np.expm1(1.0) ** 3 < high), high - low < 0.02
    (True, True)
    """
    gone = np.zeros(len(values), dtype=bool) if missing is None else missing
    columns, exponents = normalise(np.where(gone[:, None], 0.0, values.reshape(len(values), -1)))
    columns[gone] = columns[~gone].mean(axis=0)
    extra = gone.mean() * columns[~gone].std(axis=0)
    if beside is not None:
        extra = np.hypot(extra, np.ldexp(beside, -exponents))
    parts: list[AveragedPosterior] = []
    together, amplitudes = fit(generators, columns)
    variances = contrast_variances(together, generators, LEVELS)
    for j, column in enumerate(columns.T):
        amplitude, own = amplitudes[j], variances
        if 1 < columns.shape[1] <= SEPARATE_COLUMNS:
            kernel, (amplitude,) = fit(generators, column[:, None])
            own = contrast_variances(kernel, generators, LEVELS)
        parts.append(_mixture(column, float(amplitude), *own, float(extra[j]), int(exponents[j])))
    posterior = parts[0] if values.ndim == 1 else ColumnPosteriors(tuple(parts))
    return NetPosterior(posterior, together, variances[0])


def contrasts(values: FloatArray, levels: int) -> list[FloatArray]:
    """Return, for each level, half the differences between the means of neighbouring sub-nets, 2^(level - 1) each."""
    means = values.reshape(1 << levels, -1).mean(axis=1)
    result = []
    while len(means) > 1:
        result.append(0.5 * (means[0::2] - means[1::2]))
        means = 0.5 * (means[0::2] + means[1::2])
    return result[::-1]


def _mixture(
    column: FloatArray, amplitude: float, variance: float, variances: FloatArray, extra: float, exponent: int
) -> AveragedPosterior:
    """Return the posterior of one integral, from normalised values that are multiplied by 2^exponent in the end."""
    # Relative to the first value, so that a constant is integrated exactly.
    mean = np.ldexp(column[0] + (column - column[0]).mean(), exponent)
    found = contrasts(column - column[0], LEVELS)
    squares = np.concatenate(found) ** 2
    level = np.repeat(np.arange(1.0, LEVELS + 1.0), [len(part) for part in found])
    expected = np.repeat(variances, [len(part) for part in found])
    components, log_weights = [], []
    for node in DRIFT_NODES:
        drift = DRIFT_MEAN + DRIFT_SD * node
        ratios = squares / (expected * 2.0 ** (drift * level))
        trend = float(ratios.mean())
        kurtosis = float(np.mean(ratios**2)) / trend**2 if trend > 0.0 else 0.0
        df = min(max(2.0 * len(ratios) / max(kurtosis - 1.0, 1.0), LEAST_DF), len(ratios))
        a = max(amplitude, trend)
        scale = np.ldexp(np.hypot(np.sqrt(a * variance), extra), exponent)
        with np.errstate(over="ignore"):
            components.append(IntegralPosterior(mean, scale, df, np.ldexp(a, 2 * exponent)))
        likelihood = -0.5 * len(ratios) * np.log(trend) if trend > 0.0 else 0.0
        log_weights.append(likelihood - 0.5 * np.log(2.0) * drift * level.sum() - 0.5 * node**2)
    weights = np.exp(np.array(log_weights) - np.max(log_weights))
    return AveragedPosterior(tuple(components), weights / weights.sum())
