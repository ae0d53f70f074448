"""The process of values and gradients: derivatives of its kernel, the regression, and what it is without a fold."""

import mpmath
import numpy as np
import pytest

from fwbq.inference.gradients.process import GradientKernel, GradientProcess

KERNELS = [GradientKernel(1.3, 3, 0.01, 2.0), GradientKernel(0.7, 4, 0.5, 4.0)]


def plain(kernel, x, y):
    """The kernel by its formula, for numbers of any kind."""
    square = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
    inner = sum(a * b for a, b in zip(x, y, strict=True))
    return 1 / (1 + square / (2 * kernel.length**2)) + kernel.share * (1 + inner / kernel.scale) ** kernel.power


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(7, 2))


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_covariance_is_that_of_values_and_derivatives(kernel, points):
    K = kernel.gram(points)
    n, d = points.shape
    for i, j in [(0, 1), (2, 2), (5, 3)]:
        x, y = points[i], points[j]
        assert K[i, j] == pytest.approx(plain(kernel, x, y), rel=1e-13)
        for b in range(d):
            # A complex step has no difference that cancels: the derivative to rounding.
            at = y.astype(complex)
            at[b] += 1e-30j
            assert K[i, n + j * d + b] == pytest.approx(plain(kernel, x, at).imag / 1e-30, rel=1e-12, abs=1e-13)
            for a in range(d):
                with mpmath.workdps(40):
                    orders = [0] * (2 * d)
                    orders[a], orders[d + b] = 1, 1
                    expected = mpmath.diff(lambda *v: plain(kernel, v[:d], v[d:]), (*x, *y), tuple(orders))
                assert K[n + i * d + a, n + j * d + b] == pytest.approx(float(expected), rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(K, K.T, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
def test_predictions_are_sums_over_the_covariance(kernel, points):
    weights = np.random.default_rng(1).normal(size=(len(points) * 3, 2))
    z = np.random.default_rng(2).normal(size=(5, 2))
    both = np.vstack([z, points])
    n, m = len(both), len(z)
    K = kernel.gram(both)
    columns = [*range(m, n), *range(n + 2 * m, 3 * n)]
    expected = K[:m][:, columns] @ weights
    # Sums of 21 terms of the size of the largest.
    np.testing.assert_allclose(kernel.predict(z, points, weights), expected, rtol=1e-12, atol=1e-11)


def smooth(x):
    values = np.sin(x[:, 0]) + 0.3 * x[:, 0] * x[:, 1] ** 2
    return values, np.column_stack([np.cos(x[:, 0]) + 0.3 * x[:, 1] ** 2, 0.6 * x[:, 0] * x[:, 1]])


def test_values_and_gradients_are_met(points):
    values, gradients = smooth(points)
    process = GradientProcess.fit(KERNELS[0], points, values, gradients, 1e-10)
    np.testing.assert_allclose(process.predict(points), values, atol=1e-6)
    h = 1e-5
    for a in range(2):
        step = h * np.eye(2)[a]
        slope = (process.predict(points + step) - process.predict(points - step)) / (2.0 * h)
        np.testing.assert_allclose(slope, gradients[:, a], atol=1e-5)


def test_the_process_without_a_fold_is_that_fitted_to_the_others(points):
    values, gradients = smooth(points)
    noise = 1e-6
    process = GradientProcess.fit(KERNELS[0], points, values, gradients, noise)
    folds = [np.array([1, 4]), np.array([0]), np.array([], dtype=int)]
    weights = process.without(folds)
    z = np.random.default_rng(3).normal(size=(6, 2))
    got = process.predict(z, weights)
    K = KERNELS[0].gram(points)
    n, d = points.shape
    K.flat[:: len(K) + 1] += noise * np.repeat([K.diagonal()[:n].mean(), K.diagonal()[n:].mean()], [n, n * d])
    # Both invert a matrix of this condition number; weights are of the size of the largest of them.
    precision = np.linalg.cond(K) * np.finfo(float).eps * np.abs(weights).max() * 100.0
    for j, fold in enumerate(folds):
        keep = np.setdiff1d(np.arange(n), fold)
        rows = np.concatenate([keep, (n + keep[:, None] * d + np.arange(d)).ravel()])
        alone = np.zeros(len(K))
        alone[rows] = np.linalg.solve(K[np.ix_(rows, rows)], process.known[rows])
        np.testing.assert_allclose(got[:, j], process.predict(z, alone[:, None])[:, 0], atol=precision)
    assert precision < 1e-4
    np.testing.assert_allclose(got[:, 2], process.predict(z), atol=precision)


def test_the_likelihood_is_that_of_a_gaussian_with_the_best_amplitude(points):
    values, gradients = smooth(points)
    process = GradientProcess.fit(KERNELS[0], points, values, gradients, 1e-6)
    K = KERNELS[0].gram(points)
    n = len(points)
    K.flat[:: len(K) + 1] += 1e-6 * np.repeat([K.diagonal()[:n].mean(), K.diagonal()[n:].mean()], [n, 2 * n])
    known = np.concatenate([values, gradients.ravel()])
    amplitude = known @ np.linalg.solve(K, known) / len(known)
    expected = -0.5 * np.linalg.slogdet(amplitude * K)[1]
    assert process.log_likelihood == pytest.approx(expected, rel=1e-8)


def test_points_that_coincide_are_refused_without_noise():
    x = np.zeros((3, 2))
    with pytest.raises(np.linalg.LinAlgError):
        GradientProcess.fit(KERNELS[0], x, np.zeros(3), np.zeros((3, 2)), 0.0)
