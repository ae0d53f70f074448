"""Gaussian copulas: correlations of three kinds, densities, maps, and what they refuse."""

import json
import pickle

import numpy as np
import pytest
from scipy import integrate, stats

import fwbq
from fwbq.measures import from_spec

MATRIX = [[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]]
MARGINALS = [stats.lognorm(0.5), stats.gumbel_r(1.0, 2.0), stats.t(5.0)]


def z_points(n=7, d=3):
    return np.random.default_rng(0).normal(size=(n, d))


def test_rank_correlations_are_those_of_spearman():
    """rho = 6 / pi arcsin(r / 2) for a bivariate normal (Kruskal, 1958), whatever the marginals."""
    p = fwbq.Copula(MARGINALS, MATRIX)
    np.testing.assert_allclose(6.0 / np.pi * np.arcsin(p.latent_correlation / 2.0), MATRIX, atol=1e-15)
    n = 20_000
    found = stats.spearmanr(p.sample(n, rng=0)).statistic
    assert np.max(np.abs(found - MATRIX)) < 5.0 / np.sqrt(n)


def test_pearson_correlations_of_lognormals_have_a_closed_form():
    """corr = (exp(r s t) - 1) / sqrt((exp(s^2) - 1)(exp(t^2) - 1))."""
    s, t, wanted = 0.5, 0.8, 0.6
    p = fwbq.Copula([stats.lognorm(s), stats.lognorm(t)], wanted, "pearson")
    r = np.log1p(wanted * np.sqrt(np.expm1(s**2) * np.expm1(t**2))) / (s * t)
    assert p.latent_correlation[0, 1] == pytest.approx(r, abs=1e-12)


@pytest.mark.parametrize("wanted", [-0.7, 0.3, 0.95])
def test_pearson_correlations_by_another_integral(wanted):
    """Of uniform and exponential marginals, E[U E] by a double integral over the conditional normal distribution."""
    p = fwbq.Copula([stats.uniform(), stats.expon()], min(wanted, 0.85), "pearson")
    r = p.latent_correlation[0, 1]

    def inner(s):
        # E[Phi(s')| s] for s' ~ N(r s, 1 - r^2) is Phi(r s / sqrt(2 - r^2)).
        return -stats.norm.logsf(s) * stats.norm.cdf(r * s / np.sqrt(2.0 - r * r)) * stats.norm.pdf(s)

    product, _ = integrate.quad(inner, -12.0, 12.0, epsabs=1e-13, epsrel=1e-12, limit=200)
    assert (product - 0.5) * np.sqrt(12.0) == pytest.approx(min(wanted, 0.85), abs=1e-10)


def test_gaussian_marginals_make_a_gaussian():
    mean, sd, r = np.array([1.0, -2.0]), np.array([0.5, 3.0]), 0.7
    for kind in ("latent", "pearson"):
        p = fwbq.Copula([stats.norm(m, s) for m, s in zip(mean, sd, strict=True)], r, kind)
        q = fwbq.Gaussian(mean, np.outer(sd, sd) * [[1.0, r], [r, 1.0]])
        z = z_points(d=2)
        np.testing.assert_allclose(p.from_normal(z), q.from_normal(z), rtol=1e-11)
        x = q.from_normal(z)
        np.testing.assert_allclose(p.log_density(x), q.log_density(x), rtol=1e-11)
        np.testing.assert_allclose(p.score(x), q.score(x), rtol=1e-9)


def test_density_score_and_maps_agree():
    p = fwbq.Copula(MARGINALS, MATRIX)
    z = z_points()
    x = p.from_normal(z)
    # Quantiles of SciPy 1.13 are right to 1e-11.
    np.testing.assert_allclose(p.to_normal(x), z, rtol=0.0, atol=1e-10)
    slopes = p._latent_slopes(x)
    h = 1e-6
    for j in range(3):
        step = h * np.eye(3)[j]
        numeric = (p.to_latent(x + step) - p.to_latent(x - step)) / (2.0 * h)
        np.testing.assert_allclose(slopes[:, :, j], numeric, rtol=1e-6, atol=1e-8)
        difference = (p.log_density(x + step) - p.log_density(x - step)) / (2.0 * h)
        np.testing.assert_allclose(p.score(x)[:, j], difference, rtol=1e-6, atol=1e-7)
    # The density is that of the latent coordinates times the determinant of the map.
    log_det = np.linalg.slogdet(slopes)[1]
    np.testing.assert_allclose(p.log_density(x), p.latent.log_density(z) + log_det, rtol=1e-10, atol=1e-10)
    # Gradients go back through the same slopes.
    g = z_points()
    np.testing.assert_allclose(np.einsum("ni,nij->nj", p.gradient_to_latent(x, g), slopes), g, rtol=1e-10, atol=1e-12)


def test_the_ends_of_a_support_have_finite_scores():
    p = fwbq.Copula([stats.pareto(2.5), stats.uniform()], 0.5)
    z = p.to_normal([[1.0, 1.0], [1.0, 0.0], [50.0, 0.5]])
    assert np.isfinite(z).all() and np.max(np.abs(z)) < 60.0
    again = p.from_normal(z)
    assert np.all(again >= p.lower) and np.all(again <= p.upper)


@pytest.mark.parametrize("kind", ["rank", "pearson", "latent"])
def test_it_is_saved_and_says_which_correlation(kind):
    p = fwbq.Copula(MARGINALS, MATRIX, kind, names=["dose", "k", "v"])
    again = from_spec(json.loads(json.dumps(p.spec())))
    np.testing.assert_array_equal(again.latent_correlation, p.latent_correlation)
    assert again.names == ("dose", "k", "v") and repr(again) == repr(p)
    assert {"rank": "Spearman", "pearson": "Pearson correlations of the inputs", "latent": "normal scores"}[
        kind
    ] in repr(p)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(p)).sample(3, rng=0), p.sample(3, rng=0))


@pytest.mark.parametrize(
    ("marginals", "correlation", "kind", "error", "match"),
    [
        ([stats.lognorm(2.0), stats.norm()], 0.9, "pearson", ValueError, r"can be no larger than 0\.27.*rank"),
        ([stats.expon(), stats.expon()], -0.9, "pearson", ValueError, r"can be no smaller than -0\.64"),
        ([stats.t(2.0), stats.norm()], 0.5, "pearson", ValueError, "no finite variance.*rank"),
        ([stats.norm()] * 3, [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], "rank", ValueError, "positive definite"),
        ([stats.norm()] * 2, [[1.0, 2.0], [2.0, 4.0]], "rank", ValueError, "covariance matrix is divided"),
        ([stats.norm()] * 2, [[1.0, 0.2], [0.3, 1.0]], "rank", ValueError, r"\(C \+ C\.T\) / 2"),
        ([stats.norm()] * 2, np.eye(3), "rank", ValueError, r"shape \(3, 3\) for 2 marginals"),
        ([stats.norm()] * 2, 0.5, "kendall", ValueError, "`kind` must be one of"),
        ([stats.norm(), stats.poisson(2.0)], 0.5, "rank", TypeError, r"marginals\[1\]` is discrete"),
        ([stats.norm(), fwbq.Gaussian([0.0, 0.0], 1.0)], 0.5, "rank", TypeError, "must have one coordinate"),
        ([stats.norm(), stats.gamma], 0.5, "rank", TypeError, r"marginals\[1\]`.*call it"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(marginals, correlation, kind, error, match):
    with pytest.raises(error, match=match):
        fwbq.Copula(marginals, correlation, kind)


def test_measures_of_one_coordinate_are_marginals_too():
    p = fwbq.Copula([fwbq.Gaussian(1.0, 4.0), fwbq.Uniform(0.0, 3.0), fwbq.TruncatedGaussian(1.0, 0.5)], 0.3)
    np.testing.assert_allclose(p.expectation[:2], [1.0, 1.5])
    assert p.expectation[2] == pytest.approx(fwbq.TruncatedGaussian(1.0, 0.5).expectation[0], rel=1e-10)
