import numpy as np
import pytest
from scipy.optimize import check_grad

from fwbq.kernels.walsh import Walsh
from fwbq.transforms import SobolNet, fit, walsh_hadamard
from fwbq.transforms.fit import _Likelihood
from fwbq.transforms.gram import digit_table

NET = SobolNet(3, rng=11)


def draw(kernel, m, rng):
    """A sample of the process on the net: independent coefficients in the basis of Walsh functions."""
    n = 1 << m
    row = kernel(NET.points(0, 1), NET.points(0, n))[0]
    coefficients = np.sqrt(np.maximum(walsh_hadamard(row), 0.0)) * rng.normal(size=n)
    return walsh_hadamard(coefficients) / np.sqrt(n)


def test_gradient_is_the_derivative():
    rng = np.random.default_rng(0)
    squares = np.stack([walsh_hadamard(draw(Walsh([1.0, 0.3, 0.1], 2.5), 7, rng))[1:] ** 2 for _ in range(2)], axis=1)
    likelihood = _Likelihood(digit_table(NET.generators(7)), squares / squares.mean(axis=0))
    theta = np.array([0.2, -1.0, -3.0, 0.4])
    gradient = likelihood(theta)[1]
    error = check_grad(lambda t: likelihood(t)[0], lambda t: likelihood(t)[1], theta, epsilon=1e-6)
    # Forward differences: rounding 1e-16 * |value| / epsilon, and epsilon times the curvature, both below 1e-3.
    assert error < 1e-4 * np.linalg.norm(gradient) + 1e-3


def test_likelihood_is_that_of_the_gaussian_process():
    """Differences of the log likelihood agree with those computed from the dense Gram matrix."""
    rng = np.random.default_rng(1)
    values = draw(Walsh([1.0, 0.3, 0.1], 2.5), 6, rng)
    squares = walsh_hadamard(values)[1:, None] ** 2 / 64
    likelihood = _Likelihood(digit_table(NET.generators(6)), squares)

    def dense(theta):
        kernel = Walsh(np.exp(theta[:-1]), 1.0 + np.exp(theta[-1]))
        gram = kernel(NET.points(0, 64)) - 1.0
        # An unknown constant: the part of the values that is orthogonal to it.
        basis = np.linalg.svd(np.ones((1, 64)))[2][1:]
        inner, projected = basis @ gram @ basis.T, basis @ values
        amplitude = projected @ np.linalg.solve(inner, projected) / 63
        away = (theta[:-1] - np.log(0.3)) / 3.0
        return 0.5 * (63 * np.log(amplitude) + np.linalg.slogdet(inner)[1] + away @ away)

    one, two = np.array([0.0, -1.0, -2.0, 0.3]), np.array([0.5, -0.3, -2.5, 0.6])
    assert np.isclose(likelihood(one)[0] - likelihood(two)[0], dense(one) - dense(two), rtol=1e-8)


@pytest.mark.parametrize("decay", [1.8, 3.0])
def test_the_kernel_of_a_sample_is_found_again(decay):
    truth = Walsh([1.0, 0.1, 0.01], decay)
    values = np.stack([draw(truth, 12, np.random.default_rng(seed)) for seed in range(3)], axis=1)
    found, amplitudes = fit(NET.generators(12), 7.0 * values)
    # Three samples of 4095 coefficients: the decay is known to about 0.02, the amplitude, which trades off against
    # the scales, to about 20 %.
    assert abs(found.decay - decay) < 0.15
    assert found.scales[0] > 3 * found.scales[1] > 9 * found.scales[2]
    assert np.all((amplitudes > 49.0 / 3.0) & (amplitudes < 49.0 * 3.0))


def test_constant_columns_have_amplitude_zero():
    x = NET.points(0, 256)
    _, amplitudes = fit(NET.generators(8), np.stack([np.full(256, 3.0), x[:, 0]], axis=1))
    assert amplitudes[0] == 0.0 < amplitudes[1]
    assert fit(NET.generators(8), np.ones((256, 1)))[1] == 0.0


def test_columns_alike_are_fitted_like_one():
    x = NET.points(0, 512)
    f = np.exp(x @ [1.0, -0.5, 0.2])
    one, _ = fit(NET.generators(9), f[:, None])
    both, _ = fit(NET.generators(9), np.stack([f, -3.0 * f], axis=1))
    assert np.isclose(one.decay, both.decay, atol=0.05)
