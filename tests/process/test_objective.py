"""The objective of a search: its gradient, and the noise as one more parameter."""

import numpy as np
import pytest

from fwbq._linalg import CholeskyFactor
from fwbq.kernels import Differences, Matern52
from fwbq.process import KernelFamily, LengthscalePrior, Objective, Regression

rng = np.random.default_rng(5)
POINTS = rng.normal(size=(25, 2))
SMOOTH = np.sin(POINTS[:, 0]) + POINTS[:, 1] ** 2


def objective(values, noisy=True):
    prior = LengthscalePrior(np.ones(2))
    basis = np.ones((len(POINTS), 1))
    return Objective(
        KernelFamily("Matern52", Matern52), prior, Differences.of(POINTS), values, basis, 1e-10, noisy=noisy
    )


@pytest.mark.parametrize("noise", [1e-4, 0.3])
def test_the_gradient_is_that_of_the_value(noise):
    search = objective(SMOOTH + 0.1 * rng.normal(size=len(SMOOTH)))
    theta = np.array([0.3, -0.2, np.log(noise)])
    value, gradient = search.gradient(theta)
    assert value == pytest.approx(search.value(theta), rel=1e-12)
    step = 1e-5
    by_differences = [(search.value(theta + h) - search.value(theta - h)) / (2 * step) for h in step * np.eye(3)]
    # Differences of a value of order 10 over 2e-5, and their third order of 1e-10: errors of about 1e-9.
    assert gradient == pytest.approx(by_differences, rel=1e-6, abs=1e-6)


def test_without_the_noise_it_is_the_objective_of_the_lengths_alone():
    lengths = np.array([0.3, -0.2])
    exact, noisy = objective(SMOOTH, noisy=False), objective(SMOOTH)
    # At the prior's mean of the noise its density adds nothing, and its variance of 1e-10 is that of rounding twice.
    theta = np.append(lengths, noisy.location[-1])
    assert noisy.value(theta) == pytest.approx(exact.value(lengths), abs=1e-3)
    assert len(exact.location) == 2
    assert noisy.precision.shape == (3, 3)


def test_a_noise_is_found_where_there_is_one_and_none_where_there_is_not():
    starts = [np.array([0.7, 0.7, np.log(each)]) for each in (1e-8, 1e-2)]

    def variance(values):
        """Return the variance of the noise, in the units of the values."""
        search = objective(values)
        theta, _ = search.maximise(starts, iterations=60, ftol=1e-9)
        noise = np.exp(theta[-1])
        K = search.family.kernel(theta, 2)(POINTS) + noise * np.eye(len(POINTS))
        return noise * float(Regression(CholeskyFactor.of(K), values, np.ones((len(POINTS), 1))).amplitude)

    assert variance(SMOOTH) < 1e-6
    # The variance of 25 errors is known to about 30 %; three times that, and what the process follows of them.
    assert 0.1 < variance(SMOOTH + 0.3 * np.random.default_rng(1).normal(size=len(SMOOTH))) / 0.3**2 < 2.0
