"""Scales and decay of a Walsh kernel, and its amplitude, from values on a net."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ..kernels.walsh import Walsh, omega_and_derivative
from .gram import digit_table
from .hadamard import walsh_hadamard
from .net import IntArray

FloatArray = NDArray[np.float64]

#: The fit looks at no more points than these, the first ones of the net: a finer net changes the scales little, and
#: the error that is reported rests on contrasts over all points.
MOST_POINTS = 4096
#: Where the search begins, and the centre and spread (in logarithms) of a weak prior on the scales. Scales that the
#: values do not determine stay there instead of running away.
SCALE, SPREAD = 0.3, 3.0
#: Where the search for the decay begins: between that of functions with jumps (2) and that of functions with a
#: square-integrable derivative (3).
DECAY = 2.5
#: Where the search stays. Scales are held by their prior: these bounds are for the first steps only. At a decay of 1,
#: that of noise, the variance of the kernel is infinite; a decay of 4 is beyond that of every smooth function.
SCALE_RANGE = (1e-6, 1e3)
DECAY_RANGE = (1.1, 4.0)
#: Eigenvalues below this part of the largest are lost in the rounding of the transform.
RELATIVE_FLOOR = 1e-14


def fit(generators: IntArray, values: FloatArray) -> tuple[Walsh, FloatArray]:
    r"""Find the kernel under which the values are most probable, an unknown constant being added to the process.

    With y the transform of the values over sqrt(n) and lambda that of a row of the Gram matrix, the likelihood is

    .. math::

        -2 \log p = \sum_{k \ge 1} \log \lambda_k + (n - 1) \log \hat a + \text{const}, \qquad
        \hat a = \frac{1}{n - 1} \sum_{k \ge 1} \frac{y_k^2}{\lambda_k},

    and its gradient needs one more transform, whatever the number of coordinates.

    Parameters
    ----------
    generators : (m, d) array
        Of the net.
    values : (n, c) array
        c columns that share the kernel, each with an amplitude of its own; the first 4096 rows are used.

    Returns
    -------
    Walsh, (c,) array
        The kernel and the amplitudes by maximum likelihood; zero for a column that is constant.
    """
    m = min(len(generators), MOST_POINTS.bit_length() - 1)
    n, dim = 1 << m, generators.shape[1]
    squares = walsh_hadamard(values[:n] - values[0])[1:] ** 2 / n
    unit = squares.mean(axis=0)
    varying = unit > 0.0
    start = Walsh(np.full(dim, SCALE), DECAY)
    if not varying.any():
        return start, np.zeros(len(unit))
    relative = squares[:, varying] / unit[varying]
    likelihood = _Likelihood(digit_table(generators[:m]), relative)
    bounds = [tuple(np.log(SCALE_RANGE))] * dim + [tuple(np.log(np.array(DECAY_RANGE) - 1.0))]
    begin = np.append(np.full(dim, np.log(SCALE)), np.log(DECAY - 1.0))
    found = minimize(likelihood, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
    kernel = Walsh(np.exp(found.x[:dim]), 1.0 + float(np.exp(found.x[dim])))
    amplitudes = np.zeros(len(unit))
    amplitudes[varying] = likelihood.amplitudes(found.x) * unit[varying]
    return kernel, amplitudes


class _Likelihood:
    """Minus the log posterior density of theta = (log scales, log(decay - 1)), and its gradient."""

    def __init__(self, digits: NDArray[np.uint8], squares: FloatArray) -> None:
        self.digits = digits
        self.squares = squares

    def _eigenvalues(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the eigenvalues but the first (n - 1,), the row k - 1 (n,) and its summands (n, d)."""
        omega, _ = omega_and_derivative(1.0 + float(np.exp(theta[-1])))
        parts = np.exp(theta[:-1]) * omega[self.digits]
        row = np.zeros(len(parts))
        for part in parts.T:
            row += part * (1.0 + row)
        eigenvalues = walsh_hadamard(row)[1:]
        return np.maximum(eigenvalues, RELATIVE_FLOOR * eigenvalues.max()), row, parts

    def amplitudes(self, theta: FloatArray) -> FloatArray:
        eigenvalues, _, _ = self._eigenvalues(theta)
        return np.asarray((self.squares / eigenvalues[:, None]).mean(axis=0))

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        eigenvalues, row, parts = self._eigenvalues(theta)
        ratios = self.squares / eigenvalues[:, None]
        amplitudes = ratios.mean(axis=0)
        count, columns = ratios.shape
        value = 0.5 * (count * float(np.log(amplitudes).sum()) + columns * float(np.log(eigenvalues).sum()))
        slope = np.zeros(count + 1)
        slope[1:] = 0.5 * (columns - (ratios / amplitudes).sum(axis=1)) / eigenvalues
        # The transform is symmetric: the derivative in the row is the transform of the derivative in the eigenvalues.
        by_factor = (walsh_hadamard(slope) * (1.0 + row))[:, None] / (1.0 + parts)
        decay = 1.0 + float(np.exp(theta[-1]))
        _, omega_slope = omega_and_derivative(decay)
        gradient = np.empty(len(theta))
        gradient[:-1] = np.einsum("ij,ij->j", by_factor, parts)
        by_omega = np.einsum("ij,j,ij->", by_factor, np.exp(theta[:-1]), omega_slope[self.digits])
        gradient[-1] = by_omega * (decay - 1.0)
        away = (theta[:-1] - np.log(SCALE)) / SPREAD
        gradient[:-1] += away / SPREAD
        return value + 0.5 * float(away @ away), gradient
