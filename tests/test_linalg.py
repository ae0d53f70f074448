"""Factors of singular matrices, and sums without rounding."""

from fractions import Fraction

import numpy as np
import pytest

from fwbq._linalg import (
    SMALLEST_JITTER,
    CholeskyFactor,
    ExactMatrix,
    LowRankFactor,
    equilibration,
    exact_dot,
    jittered_cholesky,
    numerical_rank,
    power_of_two,
    sum_parts,
    two_product,
    two_sum,
)


def gram(n, lengthscale, rng, dim=1):
    x = rng.normal(size=(n, dim))
    return np.exp(-0.5 * np.sum((x[:, None] - x) ** 2, axis=2) / lengthscale**2)


def exact(a):
    return [Fraction(float(v)) for v in np.ravel(a)]


@pytest.mark.parametrize("operation, combine", [(two_sum, lambda a, b: a + b), (two_product, lambda a, b: a * b)])
def test_error_free_transformations_are_exact(operation, combine):
    rng = np.random.default_rng(0)
    a = rng.normal(size=500) * 10.0 ** rng.integers(-20, 20, 500)
    b = rng.normal(size=500) * 10.0 ** rng.integers(-20, 20, 500)
    result, error = operation(a, b)
    for x, y, s, e in zip(exact(a), exact(b), exact(result), exact(error), strict=True):
        assert combine(x, y) == s + e


def test_exact_dot_keeps_what_cancels():
    a = np.array([1e16, 1.0, -1e16, 3.0])
    assert sum(exact(exact_dot(a, np.ones(4)))) == 4


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 200), (3, 4097)])
@pytest.mark.parametrize("spread", [0, 8])
def test_exact_matrix_products(shape, spread):
    rng = np.random.default_rng(1)
    a = rng.normal(size=shape) * 10.0 ** rng.integers(-spread, spread + 1, shape)
    w = rng.normal(size=shape[1]) * 10.0 ** rng.integers(-spread, spread + 1, shape[1])
    parts = ExactMatrix(a).dot(w)
    assert parts.shape == (shape[0], 9)
    limit = Fraction(2) ** -90 * shape[1] * Fraction(float(np.abs(a).max())) * Fraction(float(np.abs(w).max()))
    for row, part in zip(a[:3], parts[:3], strict=True):
        truth = sum(x * y for x, y in zip(exact(row), exact(w), strict=True))
        assert abs(sum(exact(part)) - truth) <= limit


def test_exact_matrix_does_not_depend_on_the_order_of_sums():
    rng = np.random.default_rng(2)
    a, w = rng.normal(size=(5, 300)), rng.normal(size=300)
    order = rng.permutation(300)
    first, second = (sum_parts(np.zeros(5), ExactMatrix(m).dot(v)) for m, v in ((a, w), (a[:, order], w[order])))
    np.testing.assert_array_equal(first, second)


def test_exact_matrix_of_zeros():
    np.testing.assert_array_equal(ExactMatrix(np.zeros((2, 3))).dot(np.ones(3)).sum(axis=1), 0.0)
    np.testing.assert_array_equal(ExactMatrix(np.ones((2, 3))).dot(np.zeros(3)).sum(axis=1), 0.0)


@pytest.mark.parametrize("x", [1e-300, 0.3, 0.5, 1.0, 7.0, 1e300])
def test_power_of_two_lies_just_above(x):
    p = power_of_two(x)
    assert p / 2 <= x < p and np.log2(p) == round(np.log2(p))
    assert power_of_two(0.0) == 1.0


def test_equilibration_brings_the_diagonal_near_one():
    d = np.array([1e-300, 1e-5, 0.5, 1.0, 2.0, 3.7, 1e200, 0.0])
    s = equilibration(d)
    np.testing.assert_array_equal(np.log2(s), np.round(np.log2(s)))
    scaled = (d * s) * s
    assert np.all((scaled[:-1] >= 0.5) & (scaled[:-1] < 2.0)) and scaled[-1] == 0.0


@pytest.mark.parametrize("size", [1, 2, 30])
def test_cholesky_factor_of_a_good_matrix_is_the_inverse(size):
    rng = np.random.default_rng(3)
    K = gram(size, 0.05, rng) + 0.1 * np.eye(size)
    factor = CholeskyFactor.of(K)
    inverse = np.linalg.inv(K)
    b = rng.normal(size=(size, 4))
    assert (factor.jitter, factor.rank, factor.size, factor.independent) == (0.0, size, size, None)
    np.testing.assert_allclose(factor.solve(b), inverse @ b, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(factor.solve(b[:, 0]), inverse @ b[:, 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(factor.quadratic(b), np.einsum("im,ij,jm->m", b, inverse, b), rtol=1e-11)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diagonal(inverse), rtol=1e-11)
    np.testing.assert_allclose(factor.mean_square(b, 0), factor.quadratic(b) / size)
    assert factor.noise(b[:, 0]) == 0.0


def test_scaling_rows_by_powers_of_two_scales_the_inverse_exactly():
    rng = np.random.default_rng(4)
    K = gram(12, 1.0, rng)
    s = 2.0 ** rng.integers(-300, 300, 12)
    b = rng.normal(size=12)
    plain, scaled = CholeskyFactor.of(K), CholeskyFactor.of((s[:, None] * K) * s)
    assert plain.jitter == scaled.jitter
    np.testing.assert_allclose(scaled.quadratic(s * b), plain.quadratic(b), rtol=1e-14)
    np.testing.assert_allclose(s * scaled.solve(s * b), plain.solve(b), rtol=1e-14)


@pytest.mark.parametrize("n", [40, 200])
def test_singular_matrix_gets_the_smallest_jitter_and_a_rank(n):
    x = np.linspace(-4.0, 4.0, n)
    K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    factor = CholeskyFactor.of(K)
    assert SMALLEST_JITTER <= factor.jitter <= 10 * SMALLEST_JITTER
    assert 25 <= factor.rank <= 40 and factor.rank == numerical_rank(K)
    rows, part = factor.independent
    b = np.cos(x)
    np.testing.assert_allclose(K[np.ix_(rows, rows)] @ part.solve(b[rows]), b[rows], atol=1e-8)
    # Where the kernel explains the values, the jitter does not show; where it cannot, it bounds the misfit.
    np.testing.assert_allclose(factor.quadratic(b), part.quadratic(b[rows]), rtol=0.1)
    noise = np.random.default_rng(5).normal(size=n)
    assert 1e10 < factor.quadratic(noise) < noise @ noise / factor.jitter


def test_repeated_rows_are_survived():
    K = np.ones((5, 5))
    factor = CholeskyFactor.of(K)
    assert factor.rank == 1 and factor.jitter >= SMALLEST_JITTER
    np.testing.assert_allclose(factor.quadratic(np.ones(5)), 1.0, rtol=1e-12)
    assert factor.quadratic(np.array([1.0, 0.0, 0.0, 0.0, 0.0])) > 1e12
    assert factor.noise(np.ones(5)) == pytest.approx(5 * factor.jitter)


def test_indefinite_matrix_is_refused():
    with pytest.raises(ValueError, match="must be positive semidefinite"):
        CholeskyFactor.of(np.array([[1.0, 2.0], [2.0, -3.0]]))


@pytest.mark.parametrize("spread", [0, 20])
@pytest.mark.parametrize("kind", ["of", "with jitter"])
def test_cholesky_factor_of_a_badly_scaled_matrix_in_every_way(spread, kind):
    rng = np.random.default_rng(9)
    s = 2.0 ** rng.integers(-spread, spread + 1, 8)
    K = s[:, None] * (gram(8, 0.3, rng) + 0.5 * np.eye(8)) * s
    factor = CholeskyFactor.of(K) if kind == "of" else CholeskyFactor.with_jitter(K, 1e-3)
    ridge = factor.jitter / factor.scale**2
    assert (factor.jitter == 0.0) == (kind == "of")
    whole = K + np.diag(ridge)
    inverse = np.linalg.inv(whole / np.outer(s, s)) / np.outer(s, s)
    b = rng.normal(size=(8, 3)) * s[:, None]
    for each in (b, b[:, 1]):
        np.testing.assert_allclose(factor.solve(each), inverse @ each, rtol=1e-9)
        np.testing.assert_allclose(factor.whiten_transposed(factor.whiten(each)), inverse @ each, rtol=1e-9)
        np.testing.assert_allclose(np.sum(factor.whiten(each) ** 2, axis=0), factor.quadratic(each), rtol=1e-12)
    np.testing.assert_allclose(factor.inverse(), inverse, rtol=1e-9)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diagonal(inverse), rtol=1e-11)
    np.testing.assert_allclose(factor.quadratic(b), np.einsum("im,ij,jm->m", b, inverse, b), rtol=1e-11)
    np.testing.assert_allclose(factor.mean_square(b, 3), factor.quadratic(b) / 5, rtol=1e-14)
    np.testing.assert_allclose(factor.mean_square(b, 8), factor.quadratic(b), rtol=1e-14)
    assert factor.log_determinant() == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-12, abs=1e-12)
    assert factor.noise(b[:, 0]) == pytest.approx(float(ridge @ b[:, 0] ** 2), rel=1e-12)
    assert factor.solve(np.empty((8, 0))).shape == factor.whiten(np.empty((8, 0))).shape == (8, 0)


def test_pivots_are_trusted_down_to_what_rounding_leaves_of_them():
    def two(difference):
        return CholeskyFactor.of(np.array([[1.0, 1.0 - difference], [1.0 - difference, 1.0]]))

    # The second pivot is 2 - difference times the difference.
    assert (two(1e-11).jitter, two(1e-11).independent) == (0.0, None)
    unsure = two(1e-14)
    assert unsure.jitter == SMALLEST_JITTER and unsure.rank == 2
    assert unsure.independent[0].tolist() == [0]


def test_a_pivot_far_below_the_jitter_is_not_believed():
    # The jitter grows until the matrix is positive with it; a matrix that never is, is refused.
    K = np.array([[1.0, 1.0 + 3e-12], [1.0 + 3e-12, 1.0]])
    lower, jitter = jittered_cholesky(K, 1e-14)
    assert jitter == pytest.approx(1e-11) and lower[1, 1] ** 2 > 0.1 * jitter
    np.testing.assert_allclose(lower @ lower.T, K + jitter * np.eye(2), atol=1e-15)
    with pytest.raises(ValueError, match="positive semidefinite"):
        jittered_cholesky(np.array([[1.0, 1.1], [1.1, 1.0]]), 1e-14)


def test_sums_of_parts_keep_what_cancels():
    rng = np.random.default_rng(10)
    first = rng.normal(size=20)
    parts = rng.normal(size=(20, 9)) * 10.0 ** rng.integers(-3, 12, (20, 9))
    parts = np.column_stack([parts, -parts[:, ::-1], rng.normal(size=20)])
    for row, part, found in zip(first, parts, sum_parts(first, parts), strict=True):
        truth = float(sum(exact([row, *part])))
        assert found == pytest.approx(truth, rel=1e-15)


def test_low_rank_factor_in_every_way():
    rng = np.random.default_rng(11)
    features = rng.normal(size=(12, 4))
    factor = LowRankFactor.of(features, jitter=1e-2)
    whole = features @ features.T + factor.nugget * np.eye(12)
    assert factor.nugget == pytest.approx(1e-2 * np.max(np.sum(features**2, axis=1)))
    inverse = np.linalg.inv(whole)
    b = rng.normal(size=(12, 3))
    for each in (b, b[:, 0]):
        np.testing.assert_allclose(factor.whiten_transposed(factor.whiten(each)), inverse @ each, rtol=1e-10)
        np.testing.assert_allclose(np.sum(factor.whiten(each) ** 2, axis=0), factor.quadratic(each), rtol=1e-12)
    values, axes = np.linalg.eigh(whole)
    np.testing.assert_allclose(factor.whiten(np.eye(12)), (axes / np.sqrt(values)) @ axes.T, atol=1e-11)
    np.testing.assert_allclose(factor.inverse(), inverse, rtol=1e-9, atol=1e-12)
    assert factor.log_determinant() == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-12)
    inside = np.sum((factor.basis.T @ b) ** 2 / (factor.singular**2 + factor.nugget)[:, None], axis=0)
    for used in (0, 2, 12):
        of_all, of_features = factor.quadratic(b) / max(12 - used, 1), inside / max(4 - used, 1)
        np.testing.assert_allclose(factor.mean_square(b, used), np.maximum(of_all, of_features), rtol=1e-12)
    # Of features that repeat each other one is kept.
    assert len(LowRankFactor.of(np.column_stack([features, features])).singular) == 4


def test_low_rank_factor_is_that_of_the_dense_matrix():
    rng = np.random.default_rng(6)
    features = rng.normal(size=(30, 7))
    factor = LowRankFactor.of(features, jitter=1e-3)
    dense = np.linalg.inv(features @ features.T + factor.nugget * np.eye(30))
    b = rng.normal(size=(30, 3))
    np.testing.assert_allclose(factor.solve(b), dense @ b, rtol=1e-8)
    np.testing.assert_allclose(factor.solve(b[:, 0]), dense @ b[:, 0], rtol=1e-8)
    np.testing.assert_allclose(factor.quadratic(b), np.einsum("im,ij,jm->m", b, dense, b), rtol=1e-9)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diagonal(dense), rtol=1e-9)
    assert factor.noise(b[:, 0]) == pytest.approx(factor.nugget * b[:, 0] @ b[:, 0])
    assert factor.size == 30 and factor.independent is None


def test_low_rank_mean_square_counts_features_or_values_whichever_is_more():
    rng = np.random.default_rng(7)
    features = rng.normal(size=(300, 5))
    factor = LowRankFactor.of(features)
    inside = features @ rng.normal(size=(5, 400))
    assert np.mean(factor.mean_square(inside, 0)) == pytest.approx(1.0, abs=0.2)
    noise = rng.normal(size=300)
    assert factor.mean_square(noise, 0) * factor.nugget == pytest.approx(1.0, abs=0.3)


def test_rank_of_a_finite_dimensional_kernel():
    rng = np.random.default_rng(8)
    features = rng.normal(size=(40, 6))
    assert numerical_rank(features @ features.T) == 6
    assert numerical_rank(np.eye(4) * [1e-200, 1.0, 1e100, 1e-3]) == 4


def test_what_features_leave_over_is_orthogonal_to_them():
    rng = np.random.default_rng(12)
    factor = LowRankFactor.of(rng.normal(size=(40, 5)))
    rest = rng.normal(size=40)
    rest -= factor.basis @ (factor.basis.T @ rest)
    inside = 1e8 * rng.normal(size=5)
    b = factor.basis @ inside + rest
    c, left = factor._split(b)
    # One projection leaves eps |b|; after the second only the rounding of what is left, which is of order one.
    assert np.max(np.abs(factor.basis.T @ left)) < 40 * np.finfo(float).eps * np.linalg.norm(left)
    np.testing.assert_allclose(c, inside, rtol=1e-12)
