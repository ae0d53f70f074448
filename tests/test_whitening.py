"""Affine coordinates: round trips, the Gaussian they whiten, and what measures make of them."""

import numpy as np
import pytest
from scipy import stats

from fwbq import Empirical, Gaussian, GaussianMixture, Product, TruncatedGaussian, Uniform
from fwbq._whitening import Whitening


def whitening(d, diagonal):
    rng = np.random.default_rng(d)
    root = np.tril(0.5 * rng.standard_normal((d, d)), -1) + np.diag(rng.uniform(0.5, 1.5, d))
    return Whitening(rng.standard_normal(d), np.diagonal(root) if diagonal else root)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_it_comes_back_and_is_the_gaussian(d, diagonal):
    at = whitening(d, diagonal)
    x = 3.0 * np.random.default_rng(0).standard_normal((30, d))
    assert np.allclose(at.back(at.forward(x)), x, rtol=1e-12, atol=1e-12)
    full = np.diag(at.root) if diagonal else at.root
    law = stats.multivariate_normal(at.centre, full @ full.T)
    density = at.unit(x) - at.log_volume - 0.5 * d * np.log(2.0 * np.pi)
    assert np.allclose(density, law.logpdf(x).reshape(-1), rtol=1e-9)


@pytest.mark.parametrize(
    "measure",
    [
        Gaussian([1.0, -2.0], [[4.0, 1.9], [1.9, 1.0]]),
        GaussianMixture([0.3, 0.7], [[0.0, 0.0], [5.0, 1.0]], [np.eye(2), [[0.5, 0.2], [0.2, 0.3]]]),
        Uniform([-3.0, 100.0], [1.0, 101.0]),
        TruncatedGaussian([0.5], [2.0], lower=0.0),
        Product([stats.lognorm(0.5), stats.gamma(0.7)]),
    ],
    ids=lambda measure: type(measure).__name__,
)
def test_measures_have_mean_zero_and_deviation_one_there(measure):
    s = measure.whitening.forward(measure.sample(40_000, rng=0))
    # Five standard errors of the mean; those of the deviation are larger by the root of the kurtosis, below three.
    assert np.all(np.abs(s.mean(axis=0)) < 5.0 / 200.0)
    assert np.all(np.abs(s.std(axis=0) - 1.0) < 15.0 / 200.0)
    if isinstance(measure, Gaussian):
        assert abs(np.mean(s[:, 0] * s[:, 1])) < 5.0 / 200.0


def test_without_moments_the_quantiles_serve_and_what_does_not_vary_keeps_its_unit():
    cauchy = Product([stats.cauchy(3.0, 2.0)])
    assert np.allclose(cauchy.whitening.centre, 3.0)
    assert np.isfinite(cauchy.whitening.root).all()
    flat = Empirical([[1.0, 7.0], [3.0, 7.0]])
    assert np.allclose(flat.whitening.forward(flat.points), [[-1.0, 0.0], [1.0, 0.0]])
