"""The multivariate t measure against scipy's, and its independent latent coordinates."""

import json

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.measures import as_measure, from_spec

SCIPY = stats.multivariate_t([0.0, 1.0, -1.0], [[1.0, 0.5, 0.1], [0.5, 2.0, 0.3], [0.1, 0.3, 0.7]], df=4.0)


def test_a_frozen_one_is_a_measure():
    p = as_measure(SCIPY)
    assert isinstance(p, fwbq.MultivariateT) and p.dim == 3
    x = p.sample(6, rng=0)
    np.testing.assert_allclose(p.log_density(x), SCIPY.logpdf(x), rtol=1e-12)
    assert isinstance(as_measure(stats.multivariate_t([0.0, 1.0], np.eye(2), df=np.inf)), fwbq.Gaussian)


def test_latent_coordinates_are_independent():
    p = as_measure(SCIPY)
    z = np.random.default_rng(0).normal(size=(8, 3))
    x = p.from_normal(z)
    np.testing.assert_allclose(p.to_normal(x), z, atol=1e-12)
    y, h = p.to_latent(x), 1e-6
    slopes = p._latent_slopes(x)
    for j in range(3):
        step = h * np.eye(3)[j]
        numeric = (p.to_latent(x + step) - p.to_latent(x - step)) / (2.0 * h)
        np.testing.assert_allclose(slopes[:, :, j], numeric, rtol=1e-6, atol=1e-7)
        difference = (p.log_density(x + step) - p.log_density(x - step)) / (2.0 * h)
        np.testing.assert_allclose(p.score(x)[:, j], difference, rtol=1e-6, atol=1e-7)
    # Its density is the product of the densities of t variables, times the determinant of the map: independent.
    product = sum(stats.t(4.0 + i).logpdf(y[:, i]) for i in range(3))
    np.testing.assert_allclose(p.log_density(x), product + np.linalg.slogdet(slopes)[1], rtol=1e-11)


def test_moments_and_files():
    p = fwbq.MultivariateT([0.0, 1.0], [1.0, 4.0], 5.0, names=["a", "b"])
    np.testing.assert_allclose(p.scale, np.sqrt(5.0 / 3.0) * np.array([1.0, 2.0]))
    again = from_spec(json.loads(json.dumps(p.spec())))
    assert again.names == ("a", "b")
    np.testing.assert_array_equal(again.sample(3, rng=1), p.sample(3, rng=1))
    cauchy = fwbq.MultivariateT([0.0, 1.0], 1.0, 1.0)
    assert np.isnan(cauchy.expectation).all() and np.isfinite(cauchy.scale).all()
    with pytest.raises(ValueError, match="`df` must be"):
        fwbq.MultivariateT([0.0], 1.0, 0.0)


def test_an_integral_holds_its_known_value():
    """E[x1 x2] = Sigma_12 df / (df - 2)."""
    p = stats.multivariate_t([0.0, 0.0], [[1.0, 0.5], [0.5, 2.0]], df=6.0)
    result = fwbq.integrate(lambda x: x[:, 0] * x[:, 1], p, n=80, rng=0)
    low, high = result.interval(0.99)
    assert low <= 0.5 * 6.0 / 4.0 <= high and high - low < 0.1
