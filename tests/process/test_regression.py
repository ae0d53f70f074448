"""Generalised least squares against dense algebra written out, and against limits of vague priors."""

import numpy as np
import pytest
from scipy.special import gammaln

from fwbq import Matern52
from fwbq._linalg import CholeskyFactor, LowRankFactor
from fwbq.process.basis import BASES, basis_functions, basis_size
from fwbq.process.regression import Regression


def problem(n=14, d=2, m=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, d))
    C = Matern52(0.4)(x) + np.diag(rng.uniform(0.01, 0.1, n))
    return x, C, rng.standard_normal((n, m))


def linear(x):
    """Return the functions 1, x_1, ..., x_d: a basis need not be one of the usual ones."""
    return np.column_stack([np.ones(len(x)), x])


def functions(kind, x):
    return np.empty((len(x), 0)) if kind is None else basis_functions(kind, x)


@pytest.mark.parametrize("kind", [None, *BASES])
def test_against_dense_algebra(kind):
    x, C, f = problem()
    H = functions(kind, x)
    n, p = H.shape
    assert kind is None or p == basis_size(kind, 2)
    fit = Regression(CholeskyFactor.of(C), f, H if p else None)
    inverse = np.linalg.inv(C)
    A = H.T @ inverse @ H
    P = inverse - inverse @ H @ np.linalg.solve(A, H.T @ inverse)
    S = np.einsum("ij,ik,kj->j", f, P, f)
    # Condition number of C about 1e3: rounding below 1e-12 of the results.
    np.testing.assert_allclose(fit.coefficients, np.linalg.solve(A, H.T @ inverse @ f), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fit.sum_of_squares, S, rtol=1e-10)
    nu = n - p
    determinants = np.linalg.slogdet(C)[1] + np.linalg.slogdet(A)[1]
    expected = np.sum(gammaln(nu / 2) - nu / 2 * np.log(np.pi) - determinants / 2 - nu / 2 * np.log(S))
    assert fit.log_likelihood() == pytest.approx(expected, rel=1e-10)
    errors, variances = fit.leave_one_out()
    np.testing.assert_allclose(variances, 1 / np.diag(P), rtol=1e-9)
    np.testing.assert_allclose(errors, (P @ f) / np.diag(P)[:, None], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", [None, *BASES])
def test_leaving_out_is_predicting_from_the_others(kind):
    x, C, f = problem(n=12)
    H = functions(kind, x)
    fit = Regression(CholeskyFactor.of(C), f, H if H.shape[1] else None)
    errors, variances = fit.leave_one_out()
    for i in (0, 5):
        rest = np.arange(len(x)) != i
        part = Regression(CholeskyFactor.of(C[np.ix_(rest, rest)]), f[rest], H[rest] if H.shape[1] else None)
        there = part.predict(C[rest][:, [i]], H[[i]])
        np.testing.assert_allclose(f[i] - there.mean[0], errors[i], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(there.variance(C[i, i]), variances[i], rtol=1e-8)


def test_the_gradient_is_that_of_the_likelihood():
    x, C, f = problem()
    H = linear(x)
    direction = Matern52(0.7)(x)
    step = 1e-5
    ahead, behind = (Regression(CholeskyFactor.of(C + s * direction), f, H).log_likelihood() for s in (step, -step))
    slope = float(np.vdot(Regression(CholeskyFactor.of(C), f, H).sensitivity(), direction))
    # Central differences: error of order step^2 and rounding / step.
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)


def test_a_flat_prior_is_the_limit_of_vague_ones():
    x, C, f = problem(m=1)
    H = linear(x)
    at = np.array([[0.3, 0.8], [2.0, -1.0]])
    kernel = Matern52(0.4)
    fit = Regression(CholeskyFactor.of(C), f, H).predict(kernel(x, at), linear(at))
    vague = 1e7
    full = C + vague * H @ H.T
    cross = kernel(x, at) + vague * H @ linear(at).T
    mean = cross.T @ np.linalg.solve(full, f)
    prior = kernel(at) + vague * linear(at) @ linear(at).T
    covariance = prior - cross.T @ np.linalg.solve(full, cross)
    # The limit is approached like 1 / vague; the dense solve loses about vague * 1e-16 * 1e3.
    np.testing.assert_allclose(fit.mean, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(fit.covariance(kernel(at)), covariance, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(fit.variance(kernel.diag(at)), np.diag(covariance), rtol=1e-4)
    w = np.array([0.25, 0.75])
    np.testing.assert_allclose(fit.weighted_variance(w, w @ kernel(at) @ w), w @ covariance @ w, rtol=1e-4)


def test_a_mean_that_explains_everything_leaves_nothing():
    x, C, _ = problem()
    H = basis_functions("quadratic", x)
    f = H @ np.arange(1.0, 7.0)
    fit = Regression(CholeskyFactor.of(C), f, H)
    np.testing.assert_allclose(fit.coefficients, np.arange(1.0, 7.0), rtol=1e-8)
    scale = float(f @ np.linalg.solve(C, f))
    assert fit.sum_of_squares <= 1e-20 * scale
    np.testing.assert_allclose(fit.predict(C, H).mean, f, rtol=1e-8)


def test_low_rank_factors_serve_as_well():
    rng = np.random.default_rng(1)
    features = rng.standard_normal((20, 4))
    factor = LowRankFactor.of(features, jitter=1e-3)
    C = features @ features.T + factor.nugget * np.eye(20)
    f = rng.standard_normal(20)
    low, dense = (Regression(each, f, np.ones((20, 1))) for each in (factor, CholeskyFactor.of(C)))
    assert low.log_likelihood() == pytest.approx(dense.log_likelihood(), rel=1e-8)
    np.testing.assert_allclose(low.leave_one_out()[0], dense.leave_one_out()[0], rtol=1e-6, atol=1e-9)


def test_no_degree_of_freedom_no_amplitude():
    fit = Regression(CholeskyFactor.of(np.eye(1)), np.array([2.0]), np.ones((1, 1)))
    assert fit.df == 0
    assert fit.amplitude == np.inf


def test_columns_that_the_mean_explains_do_not_move_the_likelihood():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(9, 1))
    factor = CholeskyFactor.of(Matern52(1.0)(x))
    f = rng.normal(size=(9, 2))
    # Zeros, which no rounding can keep from being explained.
    both = Regression(factor, np.column_stack([f[:, 0], np.zeros(9), f[:, 1]]), np.ones((9, 1)))
    alone = Regression(factor, f, np.ones((9, 1)))
    assert both.log_likelihood() == pytest.approx(alone.log_likelihood(), rel=1e-12)
    np.testing.assert_allclose(both.sensitivity(), alone.sensitivity(), rtol=1e-10, atol=1e-12)


def test_a_value_that_alone_determines_a_coefficient_cannot_be_predicted_from_the_others():
    """Its variance is that of a precision which is lost in rounding, not the inverse of what rounding left of it."""
    _, C, f = problem()
    H = np.column_stack([np.ones(14), np.arange(14) == 3])
    _, variances = Regression(CholeskyFactor.of(C), f, H).leave_one_out()
    precision = np.linalg.inv(C)[3, 3]
    assert variances[3] == pytest.approx(1.0 / (np.finfo(float).eps * precision), rel=1e-9)
    rest = np.arange(14) != 3
    _, without = Regression(CholeskyFactor.of(C[np.ix_(rest, rest)]), f[rest], np.ones((13, 1))).leave_one_out()
    np.testing.assert_allclose(variances[rest], without, rtol=1e-10)
