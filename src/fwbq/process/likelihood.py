"""The marginal likelihood of a kernel, with the amplitude and the constant mean integrated out, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import gammaln

from .._linalg import CholeskyFactor
from . import amplitude

FloatArray = NDArray[np.float64]

#: Relative jitter on the diagonal. The likelihood must be a smooth function of the length-scales, so the jitter is
#: fixed and not, as in a rule, chosen by what the matrix needs. Below 1e-12 Cholesky's rounding error is seen in the
#: gradient at n = 100; above 1e-10 the length-scales of analytic functions come out too short.
JITTER = 1e-12


def log_likelihood(K: FloatArray, values: FloatArray, *, constant: bool = True) -> float:
    r"""Return the log density of the values, amplitude and constant mean integrated out.

    With f ~ N(b 1, a K), densities proportional to 1/a and 1 for a and b, P as in `fwbq.process.amplitude`
    and S = f'P f,

    .. math::
        \log p(f) = -\tfrac{\nu}{2} \log 2\pi - \tfrac12 \log |K| - \tfrac12 \log(1'K^{-1}1)
                    + \log\Gamma(\nu/2) - \tfrac{\nu}{2} \log(S/2), \qquad \nu = n - 1.

    Without the constant (prior mean zero) nu = n, P = K^-1 and the third term is absent. The columns of values (n, m)
    are independent, each with an amplitude and a constant of its own, so their log densities add. A column with S = 0
    (a constant) fits every kernel perfectly and is left out.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix; a relative jitter of 1e-12 is added.
    values : (n,) or (n, m) array
        Values of the integrand.
    constant : bool
        Whether the mean is an unknown constant.

    Examples
    --------
    Two values, K = I: the difference d of the two has variance 2a, and p(d) is 1 / (2 |d|) in these units.

    >>> import numpy as np
    >>> bool(np.isclose(log_likelihood(np.eye(2), np.array([0.0, 3.0])), np.log(1.0 / 3.0), rtol=1e-9))
    True
    """
    return _evaluate(K, (), values, constant)[0]


def log_likelihood_gradient(
    K: FloatArray, derivatives: Sequence[FloatArray], values: FloatArray, *, constant: bool = True
) -> tuple[float, FloatArray]:
    r"""Return `log_likelihood` and its gradient.

    .. math::
        \partial \log p = -\tfrac12 \mathrm{tr}(P\,\partial K) + \tfrac{\nu}{2} \frac{f'P\,\partial K\,P f}{f'P f}

    because d(log |K| + log 1'K^-1 1) = tr(P dK) and d(f'P f) = -f'P dK P f.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix.
    derivatives : sequence of (n, n) arrays
        Derivatives of K in each parameter.
    values : (n,) or (n, m) array
        Values of the integrand.
    constant : bool
        Whether the mean is an unknown constant.

    Returns
    -------
    value : float
    gradient : (len(derivatives),) array
    """
    return _evaluate(K, derivatives, values, constant)


def _evaluate(
    K: FloatArray, derivatives: Sequence[FloatArray], values: FloatArray, constant: bool
) -> tuple[float, FloatArray]:
    n = len(K)
    factor = CholeskyFactor.with_jitter(K, JITTER)
    f = values if values.ndim == 2 else values[:, None]
    residual = amplitude.residuals(factor, f, constant)
    S = factor.quadratic(residual)
    use = S > 0.0
    f, residual, S = f[:, use], residual[:, use], S[use]
    df = amplitude.degrees_of_freedom(factor, constant)
    ones = factor.solve(np.ones(n))
    shared = np.sum(np.log(np.diagonal(factor.lower))) - np.sum(np.log(factor.scale))
    if constant:
        shared += 0.5 * np.log(ones.sum())
    normaliser = gammaln(0.5 * df) - 0.5 * df * np.log(np.pi)
    value = len(S) * (normaliser - shared) - 0.5 * df * np.sum(np.log(S))
    if not derivatives:
        return float(value), np.empty(0)
    P = _inverse(factor)
    if constant:
        P -= np.outer(ones, ones) / ones.sum()
    alpha = factor.solve(residual)
    W = (0.5 * df) * (alpha / S) @ alpha.T - (0.5 * len(S)) * P
    return float(value), np.array([np.vdot(W, dK) for dK in derivatives])


def _inverse(factor: CholeskyFactor) -> FloatArray:
    lower, _ = scipy.linalg.lapack.dpotri(factor.lower, lower=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    return np.asarray(factor.scale[:, None] * inverse * factor.scale)
