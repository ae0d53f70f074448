"""Weights of a large process by conjugate gradients, against the covariance that they avoid."""

import numpy as np
import pytest

from fwbq.inference.gradients.conjugate import Subset, conjugate_gradients, product
from fwbq.inference.gradients.process import GradientKernel, GradientProcess
from fwbq.inference.tuning import TUNING

KERNEL = GradientKernel(4.0, 3, 0.01, 6.0)


def data(n, d, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, d))
    return x, np.sum(np.sin(x), axis=1), np.cos(x)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 3), (12, 6)])
@pytest.mark.parametrize("power", [3, 4])
def test_the_product_is_that_with_the_covariance(n, d, power):
    x, _, _ = data(n, d)
    kernel = GradientKernel(1.5, power, 0.3, 2.0)
    noise = np.linspace(0.1, 0.2, n * (d + 1))
    v = np.random.default_rng(1).standard_normal(n * (d + 1))
    K = kernel.gram(x) + np.diag(noise)
    np.testing.assert_allclose(product(kernel, x, noise)(v), K @ v, atol=1e-13 * np.abs(K).sum(axis=1).max())


def test_the_covariance_of_two_sets_is_a_block_of_that_of_both():
    x, y = data(5, 3)[0], data(4, 3, 1)[0]
    whole = KERNEL.gram(np.vstack([x, y]))
    rows = np.r_[0:5, 9 : 9 + 15]
    columns = np.r_[5:9, 24:36]
    np.testing.assert_allclose(KERNEL.gram(x, y), whole[np.ix_(rows, columns)], rtol=1e-13, atol=1e-15)


def test_variances_are_means_of_the_diagonal():
    x, _, _ = data(9, 4)
    diagonal = KERNEL.gram(x).diagonal()
    expected = np.repeat([diagonal[:9].mean(), diagonal[9:].mean()], [9, 36])
    np.testing.assert_allclose(KERNEL.variances(x), expected, rtol=1e-13)


def test_a_subset_of_all_points_is_the_covariance_itself():
    """Then one step is enough, up to the 1e-7 that makes the subset's block positive definite."""
    x, values, gradients = data(8, 2)
    known = np.concatenate([values, gradients.ravel()])
    rows = np.arange(len(known))
    noise = 1e-2
    solve = Subset(KERNEL, x).solver(rows, noise)
    K = KERNEL.gram(x) + noise * np.diag(KERNEL.variances(x))
    np.testing.assert_allclose(K @ solve(known), known, atol=1e-3 * np.abs(known).max())


def test_the_residual_is_as_small_as_promised():
    x, values, gradients = data(60, 6)
    known = np.concatenate([values, gradients.ravel()])
    noise = 1e-6 * KERNEL.variances(x)
    multiply, solve = product(KERNEL, x, noise), Subset(KERNEL, x).solver(np.arange(len(known)), 1e-6)
    left = known - multiply(conjugate_gradients(multiply, solve, known))
    assert left @ solve(left) <= (1.0 + 1e-6) * TUNING.judge.solved**2 * (known @ solve(known))


def test_a_large_process_predicts_as_one_that_is_factorised():
    x, values, gradients = data(90, 6)
    small = GradientProcess.fit(KERNEL, x, values, gradients, 1e-6, 10_000)
    large = GradientProcess.fit(KERNEL, x, values, gradients, 1e-6, 100)
    assert small.factor is not None and large.factor is None
    z, truth, _ = data(300, 6, 2)
    error = np.std(small.predict(z) - truth)
    assert np.std(large.predict(z) - small.predict(z)) < 0.5 * error < 0.1


def test_a_process_without_a_fold_knows_nothing_of_it():
    x, values, gradients = data(60, 6)
    fold = np.arange(5, 15)
    large = GradientProcess.fit(KERNEL, x, values, gradients, 1e-6, 100)
    weights = large.without([fold])
    rows = np.concatenate([fold, (60 + fold[:, None] * 6 + np.arange(6)).ravel()])
    assert not weights[rows].any()
    changed = values.copy()
    changed[fold] += 100.0
    other = GradientProcess.fit(KERNEL, x, changed, gradients, 1e-6, 100).without([fold])
    np.testing.assert_array_equal(weights, other)
    kept = np.setdiff1d(np.arange(60), fold)
    alone = GradientProcess.fit(KERNEL, x[kept], values[kept], gradients[kept], 1e-6, 10_000)
    z, truth, _ = data(300, 6, 2)
    error = np.std(alone.predict(z) - truth)
    assert np.std(large.predict(z, weights)[:, 0] - alone.predict(z)) < 0.5 * error < 0.1
