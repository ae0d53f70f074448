"""Mixtures of Gaussian and Student-t densities: against SciPy's own, and their draws against their moments."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, multivariate_t

from fwbq.designs.qmc import scrambled_engine
from fwbq.inference.mixture import Mixture


def mixture(d, seed=0, dfs=(np.inf, 5.0, np.inf)):
    rng = np.random.default_rng(seed)
    k = len(dfs)
    roots = np.array([np.tril(0.3 * rng.standard_normal((d, d)), -1) + np.diag(rng.uniform(0.5, 2.0, d)) for _ in dfs])
    weights = rng.uniform(0.5, 1.5, k)
    return Mixture(weights / weights.sum(), 2.0 * rng.standard_normal((k, d)), roots, np.array(dfs))


def cube(d, size=2**14, seed=0):
    return scrambled_engine("sobol", d + 2, np.random.default_rng(seed)).random(size)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_density_is_that_of_scipy(d):
    q = mixture(d)
    z = 4.0 * np.random.default_rng(1).standard_normal((50, d))
    parts = []
    for m, root, df in zip(q.means, q.roots, q.dfs, strict=True):
        law = multivariate_t(m, root @ root.T, df) if np.isfinite(df) else multivariate_normal(m, root @ root.T)
        parts.append(np.atleast_1d(law.logpdf(z)))
    expected = logsumexp(parts, axis=0, b=q.weights[:, None])
    assert np.allclose(q.log_density(z), expected, rtol=1e-11, atol=1e-11)
    assert np.allclose(q.log_densities(z), np.array(parts).T, rtol=1e-11, atol=1e-11)


def test_the_density_integrates_to_one():
    q = mixture(1)
    total, _ = quad(
        lambda t: float(np.exp(q.log_density(np.array([[t]])))[0]), -np.inf, np.inf, epsabs=1e-11, limit=500
    )
    assert abs(total - 1.0) < 1e-9


@pytest.mark.parametrize("d", [1, 3])
def test_draws_have_the_moments(d):
    q = mixture(d)
    z = q.transform(cube(d))
    mean = q.weights @ q.means
    # A Student-t with 5 degrees of freedom has 5/3 of the covariance of its scale matrix.
    factor = 1.0 / (1.0 - 2.0 / q.dfs)
    second = sum(
        w * (f * root @ root.T + np.outer(m, m))
        for w, f, m, root in zip(q.weights, factor, q.means, q.roots, strict=True)
    )
    cov = second - np.outer(mean, mean)
    spread = np.sqrt(np.diagonal(cov))
    # Independent draws: 1/128 of a standard deviation for the mean, and 5 % for variances of heavy tails at most.
    assert np.all(np.abs(z.mean(axis=0) - mean) < 5.0 / 128.0 * spread)
    assert np.all(np.abs(np.cov(z.T).reshape(d, d) - cov) < 0.1 * np.outer(spread, spread))


@pytest.mark.parametrize("d", [1, 2, 4])
def test_draws_and_density_belong_together(d):
    """The mean over draws of p / q is the integral of p, here one, for any p that q covers."""
    q = mixture(d)
    p = Mixture(np.ones(1), q.means[:1], 0.8 * q.roots[:1], np.array([np.inf]))
    z = q.transform(cube(d))
    ratio = np.exp(p.log_density(z) - q.log_density(z))
    assert abs(ratio.mean() - 1.0) < 5.0 * ratio.std() / np.sqrt(len(ratio))


def test_components_have_their_shares():
    q = Mixture(np.array([0.2, 0.8]), np.array([[-50.0], [50.0]]), np.ones((2, 1, 1)), np.full(2, np.inf))
    # A scrambled Sobol sequence of 2^14 points splits an interval as evenly as its points allow.
    assert abs(np.mean(q.transform(cube(1))[:, 0] < 0.0) - 0.2) < 2.0**-13


def test_points_at_the_edges_of_the_cube_are_finite():
    q = mixture(2)
    corners = np.array([[0.0] * 4, [1.0 - 2.0**-53] * 4, [0.5, 0.0, 0.0, 1.0 - 2.0**-53]])
    assert np.isfinite(q.transform(corners)).all()


def test_joining_is_adding_with_weights():
    a, b = mixture(2, 0), mixture(2, 1, (7.0,))
    both = a.joined(b, 0.3)
    z = np.random.default_rng(0).standard_normal((20, 2))
    expected = 0.7 * np.exp(a.log_density(z)) + 0.3 * np.exp(b.log_density(z))
    assert np.allclose(np.exp(both.log_density(z)), expected, rtol=1e-12)
    assert np.isclose(both.weights.sum(), 1.0)
