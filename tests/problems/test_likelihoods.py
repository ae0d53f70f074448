"""Likelihoods with known evidence: every truth against importance sampling that shares nothing with its formula."""

import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from fwbq.inference.space import space_of
from fwbq.problems import lotka_volterra
from fwbq.problems.likelihoods import LIKELIHOODS, tensor_log_evidence

SIZE = 20_000


def importance(problem, seed=0):
    """Return the log evidence and its standard error by tempered importance sampling.

    In coordinates where the prior is standard normal. From the prior on, 40 Student-t components stand on points drawn
    from powers of the likelihood that rise to one, each with half the covariance of those points: every mode and every
    bend is covered. The last round, with the prior beside it, is weighed.
    """
    space = space_of(problem.prior)
    rng = np.random.default_rng(seed)
    d = problem.dim

    def log_prior(z):
        return -0.5 * np.sum(z * z, axis=1) - 0.5 * d * np.log(2.0 * np.pi)

    def log_likelihood(z):
        values = problem.log_likelihood(space.to_user(z))
        return np.where(np.isnan(values), -np.inf, values)

    z, q, power = rng.standard_normal((SIZE, d)), None, 0.0
    values, q = log_likelihood(z), log_prior(z)
    while True:
        # The largest power at which 200 points are effective.
        for new in np.geomspace(1.0, 1e-9, 200):
            logs = np.where(np.isfinite(values), new * values, -np.inf) + log_prior(z) - q
            w = np.exp(logs - logs.max())
            if w.sum() ** 2 / np.sum(w * w) > 200:
                break
        last, power = power == 1.0, new
        if last:
            error = np.sqrt(np.sum(w * w) / w.sum() ** 2 - 1.0 / SIZE)
            return logsumexp(logs) - np.log(SIZE), error
        w /= w.sum()
        centre = w @ z
        cov = 0.5 * (w[:, None] * (z - centre)).T @ (z - centre) + 1e-12 * np.eye(d)
        parts = [multivariate_t(m, cov, df=5) for m in z[rng.choice(SIZE, 40, p=w)]]
        counts = rng.multinomial(SIZE, [0.1, *[0.9 / 40] * 40])
        z = np.vstack([
            rng.standard_normal((counts[0], d)),
            *(part.rvs(n, random_state=rng).reshape(-1, d) for part, n in zip(parts, counts[1:], strict=True) if n),
        ])  # fmt: skip
        near = logsumexp([np.atleast_1d(part.logpdf(z)) for part in parts], axis=0) + np.log(0.9 / 40)
        values, q = log_likelihood(z), np.logaddexp(near, np.log(0.1) + log_prior(z))


@pytest.mark.parametrize("family", LIKELIHOODS)
def test_the_evidence_is_that_of_importance_sampling(family):
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


def test_the_evidence_of_hares_and_lynxes():
    problem = lotka_volterra.lotka_volterra()
    value, error = importance(problem)
    assert error < 0.1
    assert abs(value - problem.log_evidence) < 4.5 * np.hypot(error, lotka_volterra.STANDARD_ERROR)
