"""Weights on the simplex: optimality checked by its conditions, by brute force, and on singular matrices."""

from itertools import combinations

import numpy as np
import pytest

from fwbq.rules.simplex import simplex_weights


def problem(n, lengthscale, seed, dim=1):
    """Gram matrix, mean element and double integral under N(0, I) of exp(-r^2 / 2 l^2)."""
    x = np.random.default_rng(seed).normal(size=(n, dim))
    s = lengthscale**2
    K = np.exp(-0.5 * np.sum((x[:, None] - x) ** 2, axis=2) / s)
    z = (s / (s + 1)) ** (dim / 2) * np.exp(-0.5 * np.sum(x**2, axis=1) / (s + 1))
    return K, z, (s / (s + 2)) ** (dim / 2)


def objective(K, z, w):
    return w @ K @ w - 2 * w @ z


def assert_optimal(K, z, w, tolerance=1e-10):
    unit = np.max(np.diagonal(K))
    assert np.all(w >= 0.0) and w.sum() == pytest.approx(1.0, abs=1e-14)
    gradient = (K @ w - z) / unit
    level = w @ gradient
    assert gradient.min() >= level - tolerance
    assert np.max(np.abs(gradient[w > 0] - level)) <= tolerance


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("lengthscale", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 7, 60, 250])
def test_optimality_conditions(n, lengthscale, dim):
    K, z, variance = problem(n, lengthscale, n, dim)
    w, violation = simplex_weights(K, z, variance)
    assert_optimal(K, z, w)
    assert violation < 1e-10


@pytest.mark.parametrize("seed", range(6))
def test_no_support_does_better(seed):
    """Brute force: the best of all faces of the simplex whose stationary point is feasible."""
    K, z, variance = problem(6, 0.6, seed)
    best = np.inf
    for size in range(1, 7):
        for support in combinations(range(6), size):
            index = list(support)
            system = np.block([[K[np.ix_(index, index)], np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
            w = np.zeros(6)
            w[index] = np.linalg.solve(system, [*z[index], 1.0])[:-1]
            if np.all(w >= 0.0):
                best = min(best, objective(K, z, w))
    assert objective(K, z, simplex_weights(K, z, variance)[0]) == pytest.approx(best, abs=1e-14)


@pytest.mark.parametrize("begin", ["vertex", "optimum less one point", "optimum"])
def test_any_start_reaches_the_same_point(begin):
    K, z, variance = problem(60, 0.4, 3)
    best, _ = simplex_weights(K, z, variance)
    start = np.zeros(60)
    if begin == "vertex":
        start[7] = 1.0
    elif begin == "optimum":
        start = best
    else:
        start[1:] = simplex_weights(K[1:, 1:], z[1:], variance)[0]
    w, violation = simplex_weights(K, z, variance, start=start)
    np.testing.assert_allclose(w, best, atol=1e-7)
    assert_optimal(K, z, w)
    assert violation < 1e-10


def test_repeated_points_and_zero_kernels():
    K, z, variance = problem(10, 0.5, 4)
    twice = np.repeat(np.arange(10), 3)
    w, _ = simplex_weights(K[np.ix_(twice, twice)], z[twice], variance)
    np.testing.assert_allclose(
        objective(K[np.ix_(twice, twice)], z[twice], w), objective(K, z, simplex_weights(K, z, variance)[0]), atol=1e-14
    )
    np.testing.assert_array_equal(simplex_weights(np.zeros((3, 3)), np.zeros(3), 0.0)[0], np.full(3, 1 / 3))


@pytest.mark.parametrize("scale", [1e-200, 1e-5, 1e200])
def test_scale_of_the_kernel_does_not_matter(scale):
    K, z, variance = problem(30, 0.5, 5)
    np.testing.assert_allclose(
        simplex_weights(scale * K, scale * z, scale * variance)[0], simplex_weights(K, z, variance)[0], atol=1e-9
    )


def test_stein_like_problem_without_a_mean_element():
    rng = np.random.default_rng(6)
    a = rng.normal(size=(40, 8))
    K = a @ a.T * np.multiply.outer(*2 * [10.0 ** rng.uniform(-3, 3, 40)])
    w, _ = simplex_weights(K, np.zeros(40), 0.0)
    assert_optimal(K, np.zeros(40), w)
