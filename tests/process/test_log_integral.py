"""The error of a log integral against draws of the process, exact quadrature over them, and formulas written out."""

import numpy as np
import pytest
from scipy.special import logsumexp

from fwbq import Matern52
from fwbq._gauss import tensor_grid
from fwbq._linalg import CholeskyFactor
from fwbq.process import EXPANDED, LogIntegralError, Regression, bounded_mean, largest_upper_end


def grid(q=12, seed=0):
    """Weights that sum to one, and the covariance of a process with three known values at q nodes."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 3.0, q)[:, None]
    known = np.array([[0.3], [1.4], [2.6]])
    kernel = Matern52(0.7)
    there = Regression(CholeskyFactor.of(kernel(known)), rng.normal(size=3), np.ones((3, 1))).predict(
        kernel(known, x), np.ones((q, 1))
    )
    p = rng.uniform(0.1, 1.0, q)
    return p / p.sum(), there, kernel(x), there.covariance(kernel(x))


def moments(p, root, g=None):
    """Exact mean and variance of log sum p exp(delta), or of the expectation of g, for delta = root z, z normal."""
    x, w = np.polynomial.hermite_e.hermegauss(20)
    z = tensor_grid([x] * root.shape[1])
    weight = np.prod(tensor_grid([w / w.sum()] * root.shape[1]), axis=1)
    delta = z @ root.T
    if g is None:
        value = logsumexp(delta, axis=1, b=p)
    else:
        tilted = p * np.exp(delta)
        value = tilted @ g / tilted.sum(axis=1)
    mean = weight @ value
    return mean, weight @ (value - mean) ** 2


def test_one_integrand_is_the_formula_written_out():
    p, there, prior, C = grid()
    a = 0.7
    error = LogIntegralError.of_process(there, prior, p, a)
    # C is made by differences of numbers of order one: rounding of 1e-15.
    assert error.first == pytest.approx(a * p @ C @ p, rel=1e-12)
    assert error.second == pytest.approx(0.5 * (a * p @ np.diag(C) - a * p @ C @ p), rel=1e-12)
    assert error.variance == pytest.approx(error.first + error.second**2, rel=1e-15)
    assert np.diag(C).max() * a < EXPANDED


@pytest.mark.parametrize("size", [1e-3, 3e-3])
def test_both_orders_against_quadrature_over_the_process(size):
    """What is left is of the next order: the square of the covariance."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(9))
    root = np.sqrt(size) * rng.uniform(-1.0, 1.0, (9, 3))
    C = root @ root.T
    error = LogIntegralError.of(p, np.diag(C), p @ C @ p)
    mean, variance = moments(p, root)
    # Fourth moments of delta: largest variance 3 size, third and fourth cumulants of weights below 1.
    assert abs(mean - error.second) < 3.0 * size**2
    assert abs(variance - error.first) < 9.0 * size**2
    assert min(error.second, error.first) > 30.0 * size**2


def test_draws_of_the_process():
    p, _, _, C = grid()
    C = 0.05 * C
    error = LogIntegralError.of(p, np.diag(C), p @ C @ p)
    rng = np.random.default_rng(2)
    values, vectors = np.linalg.eigh(C)
    delta = rng.standard_normal((200_000, len(p))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    both = np.stack([delta, -delta])  # antithetic: the first order cancels in the mean
    logs = logsumexp(both, axis=2, b=p)
    pairs = logs.mean(axis=0)
    standard_error = pairs.std() / np.sqrt(len(pairs))
    assert abs(pairs.mean() - error.second) < 5.0 * standard_error + np.diag(C).max() ** 2
    assert standard_error < 0.02 * error.second
    assert logs.var() == pytest.approx(float(error.first), rel=0.05)


@pytest.mark.parametrize("size", [1e-5, 3e-5])
def test_expectations_against_quadrature_over_the_process(size):
    rng = np.random.default_rng(3)
    q, n = 8, 3
    p = rng.dirichlet(np.ones(q))
    g = rng.normal(size=(q, 2))
    # A process whose covariance, given the values, has rank two: quadrature over it is exact.
    root = np.sqrt(size) * rng.uniform(-1.0, 1.0, (q, 2))
    cross = rng.normal(size=(n, q))
    there = Regression(CholeskyFactor.of(np.eye(n)), np.zeros(n)).predict(cross)
    prior = root @ root.T + cross.T @ cross
    error = LogIntegralError.of_expectation(there, prior, p, g)
    for j in range(2):
        mean, variance = moments(p, root, g[:, j])
        assert abs(mean - p @ g[:, j] - error.second[j]) < 20.0 * size**2
        assert abs(variance - error.first[j]) < 50.0 * size**2
    assert np.abs(error.second).max() > 200.0 * size**2 and error.first.min() > 200.0 * size**2


def test_an_expectation_is_the_derivative_of_a_log_integral():
    p, there, prior, _ = grid()
    g = np.sin(np.arange(len(p)))[:, None]
    step = 1e-5

    def at(s):
        tilted = p * np.exp(s * g[:, 0])
        return LogIntegralError.of_process(there, prior, tilted / tilted.sum(), 0.3).second

    slope = (at(step) - at(-step)) / (2.0 * step)
    # Central differences: step^2 and rounding / step.
    assert LogIntegralError.of_expectation(there, prior, p, g, 0.3).second[0] == pytest.approx(slope, rel=1e-7)


def test_a_constant_is_known():
    p, there, prior, _ = grid()
    error = LogIntegralError.of_expectation(there, prior, p, np.full((len(p), 1), 3.0), 1e3)
    np.testing.assert_allclose([error.first, error.second], 0.0, atol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 3.0, 500.0])
def test_a_column_of_integrands_is_each_by_itself(scale):
    p, there, prior, C = grid()
    rng = np.random.default_rng(4)
    P = rng.dirichlet(np.full(len(p), 0.3), size=40).T
    a = scale * rng.exponential(size=40)
    together = LogIntegralError.of_process(there, prior, P, a)
    for j in range(40):
        alone = LogIntegralError.of_process(there, prior, P[:, j], a[j])
        assert together.first[j] == pytest.approx(alone.first, rel=1e-10, abs=1e-13 * a[j])
        assert together.second[j] == pytest.approx(alone.second, rel=1e-10, abs=1e-13 * a[j])
        bound = P[:, j] @ np.minimum(a[j] * np.diag(C), EXPANDED)
        assert alone.second == pytest.approx(0.5 * max(bound - a[j] * P[:, j] @ C @ P[:, j], 0.0), abs=1e-12 * a[j])


def test_blocks_of_integrands_change_nothing(monkeypatch):
    p, _, _, C = grid()
    rng = np.random.default_rng(5)
    P, a = rng.dirichlet(np.ones(len(p)), size=50).T, 100.0 * rng.exponential(size=50)
    whole = bounded_mean(P, np.diag(C), a)
    monkeypatch.setattr("fwbq.process.log_integral._CACHED", 3 * len(p))
    np.testing.assert_array_equal(bounded_mean(P, np.diag(C), a), whole)
    np.testing.assert_allclose(whole, np.sum(np.minimum(np.outer(np.diag(C), a), EXPANDED) * P, axis=0), rtol=1e-13)


def test_the_bounded_variance_is_averaged_for_any_number_of_integrands():
    rng = np.random.default_rng(0)
    variance, amplitude = rng.uniform(size=5000), rng.exponential(10.0, 300)
    share = rng.dirichlet(np.ones(5000), 300).T
    expected = np.array([np.minimum(a * variance, EXPANDED) @ p for a, p in zip(amplitude, share.T, strict=True)])
    # Sums of 5,000 positive terms, each rounded: 5,000 times 1e-16 at most.
    np.testing.assert_allclose(bounded_mean(share, variance, amplitude), expected, rtol=1e-12)


@pytest.mark.parametrize("amplitude", [0.01, 0.3, 1.0, 30.0])
def test_variances_above_the_bound_count_as_it_at_any_amplitude(amplitude):
    variance = np.array([0.1, 2.0, 10.0, 30.0])
    p = np.array([[0.1, 0.7], [0.2, 0.1], [0.3, 0.1], [0.4, 0.1]])
    expected = np.minimum(amplitude * variance, EXPANDED) @ p
    np.testing.assert_allclose(bounded_mean(p, variance, amplitude), expected, rtol=1e-14)
    np.testing.assert_allclose(bounded_mean(p[:, 0], variance, amplitude), expected[0], rtol=1e-14)


def test_double_sums_stay_within_what_is_possible():
    p, v = np.full(4, 0.25), np.full(4, 0.8)
    assert LogIntegralError.of(p, v, np.inf).first == 0.8
    assert LogIntegralError.of(p, v, np.inf).second == 0.0
    assert LogIntegralError.of(p, v, -1e-17).first == 0.0
    twice = LogIntegralError.of(p, v, 0.2).inflated(2.0)
    assert (twice.first, twice.second) == (0.4, pytest.approx(0.6))


@pytest.mark.parametrize("reach", [0.5, 1.96, 3.3, 8.0])
def test_the_upper_end_is_nowhere_exceeded(reach):
    """Every variance of the first order and every second-order term that are possible, on a grid."""
    V = np.concatenate([np.linspace(0.0, 6.0, 121), [30.0, 1e4]])
    bound = largest_upper_end(V, reach)
    share = np.linspace(0.0, 1.0, 201)
    for v, b in zip(V, bound, strict=True):
        f = v * share
        most = np.maximum(0.5 * (min(v, EXPANDED) - f), 0.0)
        s = np.multiply.outer(most, share)
        ends = s + reach * np.sqrt(f[:, None] + s**2)
        assert ends.max() <= b * (1.0 + 1e-15)
        # It is not wasteful either: between the ends it is at most V / 2 too large.
        assert b <= ends.max() + 0.5 * min(v, 1.0)
