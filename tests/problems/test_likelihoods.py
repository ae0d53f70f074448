"""Likelihoods with known evidence: every truth against importance sampling that shares nothing with its formula."""

import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from fwbq.problems import lotka_volterra
from fwbq.problems.likelihoods import LIKELIHOODS, tensor_log_evidence


@pytest.mark.parametrize("family", LIKELIHOODS)
def test_the_evidence_is_that_of_importance_sampling(family, importance):
    problem = LIKELIHOODS[family](11)
    value, error = importance(problem)
    assert error < 0.06
    assert abs(value - problem.log_evidence) < 4.5 * error


@pytest.mark.parametrize("family", LIKELIHOODS)
def test_instances_are_seeded_travel_and_differ(family):
    make = LIKELIHOODS[family]
    a, again, b = make(3), make(3), make(4)
    x = a.prior.sample(5, rng=0)
    values = a.log_likelihood(x)
    assert values.shape == (5,)
    assert a.log_evidence == again.log_evidence != b.log_evidence
    assert np.array_equal(values, again.log_likelihood(x))
    assert np.array_equal(pickle.loads(pickle.dumps(a.log_likelihood))(x), values)
    assert a.name in repr(a)


def test_the_tensor_rule_refuses_what_it_cannot_resolve():
    def exact(x):
        return -0.5 * np.sum((x / [0.1, 3.0]) ** 2, axis=1)

    assert np.isclose(tensor_log_evidence(exact, np.array([1.0, 1.0]), 60), np.log(2.0 * np.pi * 0.3), atol=1e-9)

    def wavy(x):
        return exact(x) + np.sin(40.0 * x[:, 1])

    with pytest.raises(ValueError, match="not converged"):
        tensor_log_evidence(wavy, np.array([1.0, 1.0]), 30)


def test_populations_solve_the_equation():
    x = lotka_volterra.MEDIANS[None] * np.array([[0.8, 0.7, 1.1, 0.6, 3.0, 0.6, 1.0, 1.0]])
    a, b, c, e, u, v = x[0, :6]
    exact = solve_ivp(
        lambda t, y: [(a - b * y[1]) * y[0], (e * y[0] - c) * y[1]], (0.0, 20.0), [u, v], t_eval=np.arange(21.0),
        rtol=1e-10, atol=1e-12,
    ).y.T  # fmt: skip
    # The rule with ten steps a year is right to 1e-3; the pelts scatter by a quarter.
    assert np.allclose(lotka_volterra.trajectories(x)[0], np.log(exact), atol=2e-3)


def test_an_overflowing_solution_has_likelihood_zero():
    x = lotka_volterra.MEDIANS * np.ones((2, 1))
    x[1, 3] = 1e6  # lynxes that multiply a million times a year
    values = lotka_volterra.log_likelihood(x)
    assert np.isfinite(values[0])
    assert values[1] == -np.inf or values[1] < -1e6


def test_the_evidence_of_hares_and_lynxes(importance):
    problem = lotka_volterra.lotka_volterra()
    value, error = importance(problem)
    assert error < 0.1
    assert abs(value - problem.log_evidence) < 4.5 * np.hypot(error, lotka_volterra.STANDARD_ERROR)
