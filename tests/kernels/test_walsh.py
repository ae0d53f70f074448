import json

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from fwbq import kernels
from fwbq.kernels.walsh import Walsh, omega_and_derivative


def common(x, y):
    """Leading binary digits that two numbers share, one by one."""
    for z in range(30):
        if int(x * 2 ** (z + 1)) != int(y * 2 ** (z + 1)):
            return z
    return 30


def test_formula():
    rng = np.random.default_rng(0)
    x, y = rng.random((5, 2)), rng.random((6, 2))
    y[0], y[1] = x[0], x[1] + 2.0**-20
    kernel = Walsh([0.7, 2.0], 2.3)
    q = 2.0**-1.3
    for i in range(5):
        for j in range(6):
            expected = 1.0
            for s, a, b in zip((0.7, 2.0), x[i], y[j], strict=True):
                z = common(a, b)
                expected *= 1.0 + s * (1.0 if z == 30 else 1.0 - q**z * (2.0 - q))
            assert np.isclose(kernel(x[i : i + 1], y[j : j + 1])[0, 0], expected, rtol=1e-13)
    np.testing.assert_array_equal(np.diag(kernel(x)), kernel.diag(x))


@pytest.mark.parametrize("decay", [1.2, 2.0, 3.5])
def test_integrates_to_one_over_either_argument(decay):
    # The cells of 2^-12 beyond which the kernel is summed hold less than q^12 / 2^12 of it.
    cells = (np.arange(4096) + 0.5)[:, None] / 4096
    q = 2.0 ** (1.0 - decay)
    assert abs(Walsh([1.0], decay)([[0.377]], cells).mean() - 1.0) <= 2.0 * (q / 2.0) ** 12 + 1e-13


def test_derivative_in_the_decay():
    _, slope = omega_and_derivative(2.2)
    np.testing.assert_allclose(
        slope, approx_fprime(np.array([2.2]), lambda b: omega_and_derivative(b[0])[0], 1e-7).ravel(), atol=1e-6
    )


def test_spec_and_refusals():
    kernel = Walsh([0.1, 3.0], 1.7)
    again = kernels.from_spec(json.loads(json.dumps(kernel.spec())))
    np.testing.assert_array_equal(again.scales, kernel.scales)
    assert again.decay == kernel.decay
    with pytest.raises(ValueError, match="`decay` must be greater than 1"):
        Walsh([1.0], 1.0)
    with pytest.raises(ValueError, match="`scales`"):
        Walsh([1.0, -1.0], 2.0)
    with pytest.raises(ValueError, match=r"`x` must lie in \[0, 1\)"):
        kernel([[0.5, 1.0]])
    assert kernel.gradient([[0.5, 0.2]], [[0.1, 0.3]]).tolist() == [[[0.0, 0.0]]]
    assert [factor.dim for factor in kernel.factors(2)] == [1, 1]
