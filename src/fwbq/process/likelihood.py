"""The marginal likelihood of a Gram matrix, with the amplitude and the constant mean integrated out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._linalg import CholeskyFactor
from .regression import Regression

FloatArray = NDArray[np.float64]

#: Relative jitter on the diagonal. The likelihood must be a smooth function of the length-scales, so the jitter is
#: fixed and not, as in a rule, chosen by what the matrix needs. Below 1e-12 Cholesky's rounding error is seen in the
#: gradient at n = 100; above 1e-10 the length-scales of analytic functions come out too short.
JITTER = 1e-12


def regress(K: FloatArray, values: FloatArray, *, constant: bool = True) -> Regression:
    """Return the regression whose likelihood decides length-scales: the Gram matrix K with the fixed `JITTER`.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix; a relative jitter of 1e-12 is added.
    values : (n,) or (n, m) array
        Values of the integrand; columns have an amplitude and a constant each.
    constant : bool
        Whether the mean is an unknown constant, or zero.
    """
    return Regression.of(CholeskyFactor.with_jitter(K, JITTER), values, constant=constant)


def log_likelihood(K: FloatArray, values: FloatArray, *, constant: bool = True) -> float:
    """Return `Regression.log_likelihood` of the values, given their Gram matrix.

    Examples
    --------
    Two values, K = I: the difference d of the two has variance 2a, and p(d) is 1 / (2 |d|) in these units.

    >>> import numpy as np
    >>> bool(np.isclose(log_likelihood(np.eye(2), np.array([0.0, 3.0])), np.log(1.0 / 3.0), rtol=1e-9))
    True
    """
    return regress(K, values, constant=constant).log_likelihood()
