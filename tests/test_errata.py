"""One test for each entry of docs/errata.md, of the same number: the print is wrong, the implementation right."""

import re
from math import erf, exp, pi, sqrt
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

import fwbq
from fwbq import chema, theory

HALF = fwbq.TruncatedGaussian([1.0], [0.5])


def ball(n, dim=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim))


@pytest.fixture(scope="module")
def gaussian():
    return fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Gaussian([0.0, 0.0], np.eye(2)))


def test_e1_mean_element_follows_the_kernel():
    x = np.zeros((1, 1))
    printed = 2**-0.5 / (1 + erf(1)) * exp(-0.5) * (1 + erf(1 / sqrt(2)))
    short = fwbq.embed(fwbq.ExpQuad(sqrt(0.5)), HALF).mean(x)[0]
    stated = fwbq.embed(fwbq.ExpQuad(1.0), HALF).mean(x)[0]
    assert short == pytest.approx(0.391639891153358, rel=1e-13) == pytest.approx(printed, rel=1e-13)
    assert stated == pytest.approx(0.556180809654888, rel=1e-13)


def test_e2_double_integral():
    for d, right, printed in ((1, 0.629908394588041969, 0.629907), (2, 0.396784585572484381, 0.396783)):
        variance = fwbq.embed(fwbq.ExpQuad(sqrt(0.5)), fwbq.TruncatedGaussian([1.0] * d, [0.5] * d)).variance
        assert variance == pytest.approx(right, rel=1e-12)
        assert abs(variance - printed) > 1e-6


def test_e3_contraction_bound_does_not_depend_on_the_units():
    def bounds(printed):
        return np.array(
            [
                theory.contraction_bound(20, 0.25 * s, 2 * s, 0.5 * s, step="line-search", printed=printed)
                for s in (1.0, 10.0, 100.0)
            ]
        )

    assert np.ptp(bounds(False)) < 1e-12 * bounds(False)[0]
    assert bounds(True).max() > 5 * bounds(True).min()
    right = 4 / (sqrt(pi) * 0.25) * exp(-(0.5**2) * 20 / 8 - 0.25**2 / 16 * exp(0.5**2 * 20 / 4))
    assert bounds(False)[0] == pytest.approx(right, rel=1e-12)


def test_e3_the_printed_bound_is_false():
    # k = 10^4 cos(x - y), density (1 + 0.8 cos x) / 2 pi, one point at pi / 2, f = 100 sin of norm 1: all by hand.
    mean, variance = 0.0, 1e4 * 0.4**2
    outside = 2 * stats.norm.sf(60.0, loc=mean, scale=sqrt(variance))
    # In the plane of cos and sin the features are the circle of radius 100, and mu is 40 from its centre.
    diameter, radius = 200.0, 60.0
    assert outside == pytest.approx(0.1336, abs=1e-4)
    assert theory.contraction_bound(1, 60.0, diameter, radius, step="line-search", printed=True) < outside
    assert theory.contraction_bound(1, 60.0, diameter, radius, step="line-search") > outside


def test_e4_the_offset_matters():
    worst = stats.norm.cdf(1 - 3) + stats.norm.cdf(-1 - 3)
    erfc = 2 * stats.norm.sf(3)
    assert worst / erfc == pytest.approx(8.4, rel=0.02)
    assert theory.worst_case_contraction(3.0, 1.0) == pytest.approx(worst, rel=1e-12)
    assert theory.worst_case_contraction(3.0, 1.0, norm=0.0) == pytest.approx(erfc, rel=1e-12)


def test_e5_herding_has_equal_weights(gaussian):
    design = fwbq.FrankWolfe(gaussian, step="herding", candidates=ball(300), rng=0)
    design.take(6)
    rule = design.rule(6)
    assert rule.weights == pytest.approx(np.bincount(rule.index) / 6, abs=1e-15)


def test_e6_line_search_minimises_the_true_objective(gaussian):
    points = ball(2)
    design = fwbq.FrankWolfe(gaussian, step="line-search", candidates=points, initial=0, rng=0)
    design.take(2)
    step = design.trace.step[1]
    grid = np.linspace(0, 1, 2001)
    objective = [fwbq.mmd2(gaussian, points, np.array([1 - r, r])) for r in grid]
    assert step == pytest.approx(grid[np.argmin(objective)], abs=1e-3)


def test_e7_factor_one_half_in_the_marginal_likelihood():
    mp.dps = 20
    N, b = 6, mpf("0.7")
    integral = mp.quad(lambda s: s ** (-N - 1) * mp.exp(-b / s**2), [0, 1, mp.inf])
    assert float(integral) == pytest.approx(float(mp.gamma(N / 2) * b ** (-N / 2) / 2), rel=1e-12)


def test_e7_marginal_likelihood_by_brute_force():
    data = chema.Dataset(
        times=[0.0, 1.0, 2.0, 3.0],
        substrate=[1.0, 0.8, 0.9, 0.7],
        phospho=[0.4, 0.6, 0.5, 0.7],
        enzymes=[[0.5], [0.9], [0.7], [0.8]],
    )
    K = 1.3
    y = np.diff([0.4, 0.6, 0.5, 0.7])
    x = -np.array([0.4, 0.6, 0.5]) / (np.array([0.4, 0.6, 0.5]) + K)
    N = 3

    # On a grid over log sigma (d sigma / sigma = d log sigma) and, for each, over V around where the integrand is.
    log_s = np.linspace(-8.0, 8.0, 1601)
    s = np.exp(log_s)[:, None]
    precision = (x @ x) * (1 + 1 / N)
    v = (x @ y + x @ x / N) / precision + s / sqrt(precision) * np.linspace(-10.0, 10.0, 201)
    likelihood = np.prod([stats.norm.pdf(y[i], x[i] * v, s) for i in range(N)], axis=0)
    prior = stats.norm.pdf(v, 1.0, s * sqrt(N / (x @ x)))
    value = np.trapezoid(np.trapezoid(likelihood * prior, v, axis=1), log_s)
    assert chema.log_likelihood(data, (), np.array([[K]]))[0] == pytest.approx(np.log(value), abs=1e-6)


def test_e8_the_radius_is_of_the_largest_ball():
    # Features on the unit circle under the uniform measure: the hull is the disc, mu its centre, R = 1. A smaller ball
    # is inside as well, so that "smallest" would be 0; and no bound on R may fall below 1.
    rng = np.random.default_rng(0)
    angle = np.linspace(0, 2 * pi, 400, endpoint=False)
    features = np.column_stack([np.cos(angle), np.sin(angle)])
    g = features[0]
    gap, mmd2 = [], []
    for i in range(2, 40):
        gap.append(np.max((g - features) @ g))
        mmd2.append(g @ g)
        g = g + (features[np.argmin(features @ g)] + 1e-3 * rng.normal(size=2) - g) / i
    bound = theory.radius_bound(gap, mmd2)
    assert np.all(bound >= 1 - 1e-3)
    assert bound[-1] == pytest.approx(1, abs=1e-3)


def test_e9_sharper_constants():
    n = np.array([1, 10, 100])
    printed, sharp = (theory.consistency_bound(n, 2.0, 0.5, sharp=s) for s in (False, True))
    assert sharp == pytest.approx(0.25 * printed)
    printed, sharp = (theory.consistency_bound(n, 2.0, 0.5, step="line-search", sharp=s) for s in (False, True))
    assert np.all(sharp < printed)


def test_e10_bayesian_quadrature_is_exact_in_finite_dimension():
    kernel = fwbq.RandomFourier(fwbq.ExpQuad(0.8), 5, 2, rng=0)
    embedding = fwbq.embed(kernel, fwbq.Gaussian([0.0, 0.0], np.eye(2)))
    few, enough = (fwbq.bayes_rule(embedding, ball(n)) for n in (4, 8))
    assert few.mmd2 > 1e-6
    assert enough.rank == 5
    assert enough.mmd2 < 1e-12


def test_e12_weights_need_not_sum_to_one(gaussian):
    design = fwbq.FrankWolfe(gaussian, candidates=ball(500), rng=0)
    points = design.take(10)
    assert abs(fwbq.bayes_rule(gaussian, points).weights.sum() - 1) > 0.05
    assert fwbq.bayes_rule(gaussian, points, prior_mean="constant").weights.sum() == pytest.approx(1, abs=1e-12)


def test_e13_equal_weights_can_be_exact():
    x = np.arange(6) / 6
    degrees = np.arange(6)
    features = np.hstack([np.cos(2 * pi * np.outer(x, degrees)), np.sin(2 * pi * np.outer(x, degrees))])
    mean = np.r_[1.0, np.zeros(11)]
    assert np.abs(features.mean(axis=0) - mean).max() < 1e-14


def test_e14_a_few_thousand_candidates_are_enough(gaussian):
    errors = [
        fwbq.FrankWolfe(gaussian, candidates=gaussian.measure.sample(m, 0)).rule(200).mmd for m in (30, 2000, 8000)
    ]
    assert errors[0] > 3 * errors[1]
    assert errors[1] == pytest.approx(errors[2], rel=0.2)
    assert errors[2] < 0.3 * 8000**-0.25


def test_e15_line_search_is_clipped(gaussian):
    points = np.array([[1.0, 1.0], [0.95, 0.95]])
    kernel, mu = gaussian.kernel(points), gaussian.mean(points)
    unclipped = (1 - kernel[0, 1] - mu[0] + mu[1]) / (2 - 2 * kernel[0, 1])
    assert unclipped == pytest.approx(2.166, abs=1e-3)
    design = fwbq.FrankWolfe(gaussian, step="line-search", candidates=points, initial=0, rng=0)
    design.take(2)
    assert list(design.trace.index) == [0, 1]
    assert design.trace.step[1] == 1.0


def test_e16_frank_wolfe_minimises_the_linearisation(gaussian):
    candidates = ball(200, seed=3)
    design = fwbq.FrankWolfe(gaussian, candidates=candidates, initial=0, rng=0)
    design.take(30)
    index = design.trace.index
    kernel, mu = gaussian.kernel(candidates), gaussian.mean(candidates)
    greedy = [0]
    for i in range(1, 30):
        assert index[i] == np.argmin(kernel[:, index[:i]].mean(axis=1) - mu)
        # The greedy rule of the remark divides by i + 1 where the linearisation divides by i (and k(x, x) is constant).
        greedy.append(int(np.argmin(kernel[:, greedy].sum(axis=1) / (i + 1) - mu)))
    assert greedy != list(index)


def test_e18_features_need_the_conjugate():
    x, y = np.array([0.3, -0.2]), np.array([-0.4, 0.6])
    frequencies = np.random.default_rng(0).normal(size=(200_000, 2)) / 0.8
    right = np.mean(np.exp(1j * frequencies @ x) * np.exp(-1j * frequencies @ y)).real
    printed = np.mean(np.exp(1j * frequencies @ x) * np.exp(1j * frequencies @ y)).real
    exact = fwbq.ExpQuad(0.8)(x[None], y[None])[0, 0]
    assert right == pytest.approx(exact, abs=0.01)
    assert abs(printed - exact) > 0.1


def test_e19_feature_weights_explode_and_a_cap_repairs_them(gaussian):
    embedding = fwbq.embed(fwbq.RandomFourier(fwbq.ExpQuad(0.8), 500, 2, rng=0), gaussian.measure)
    design = fwbq.FrankWolfe(embedding, step="line-search", candidates=ball(1000), rng=0)

    def error(n, cap=None):
        rule = fwbq.bayes_rule(embedding, design.take(n), max_abs_weights=cap)
        return fwbq.mmd2(gaussian, rule.points, rule.weights)

    assert error(150) > 10 * error(30)
    assert error(150, cap=2.0) < error(30)


def test_e20_line_search_weights_differ(gaussian):
    design = fwbq.FrankWolfe(gaussian, step="line-search", candidates=ball(500), rng=0)
    weights = design.rule(50).weights
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert weights.max() > 2 * weights.min() >= 0


def test_e21_a_gaussian_posterior_reaches_below_zero_and_the_comparison_does_not():
    measure = fwbq.TruncatedGaussian([1.0, 1.0], [0.5, 0.5])
    peak = fwbq.Model(lambda x: -200 * np.sum((x - 1.4) ** 2, axis=1), measure)
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), measure)
    points = fwbq.SBQ(embedding, rng=0).take(10)
    posterior = fwbq.condition(fwbq.bayes_rule(embedding, points), np.exp(peak.log_integrand(points)), amplitude=1.0)
    assert posterior.cdf(0.0) > 0.2
    comparison = fwbq.compare_models({"a": peak, "b": peak}, n=10, rng=0)
    assert np.all(comparison.probabilities(200) >= 0)


def test_e22_the_units_of_the_likelihood_do_not_matter():
    measure = fwbq.TruncatedGaussian([1.0], [0.5])
    results = [
        fwbq.compare_models(
            {
                "a": fwbq.Model(lambda x, s=shift: s - 3 * (x[:, 0] - 1.0) ** 2, measure),
                "b": fwbq.Model(lambda x, s=shift: s - 3 * (x[:, 0] - 0.2) ** 2, measure),
            },
            n=8,
            rng=0,
        )
        for shift in (0.0, -5000.0)
    ]
    assert results[0].map_probability == pytest.approx(results[1].map_probability, abs=1e-6)


def test_e24_repeats_are_merged(gaussian):
    points = np.repeat(ball(5), 3, axis=0)
    rule = fwbq.bayes_rule(gaussian, points)
    once = fwbq.bayes_rule(gaussian, ball(5))
    assert len(rule.points) == 5
    assert rule.mmd2 == pytest.approx(once.mmd2, rel=1e-12)


def test_e26_features_have_their_own_mean_element():
    mixture = fwbq.GaussianMixture([0.3, 0.7], [[0.0, 0.0], [1.0, -1.0]], [np.eye(2), 0.3 * np.eye(2)])
    kernel = fwbq.RandomFourier(fwbq.ExpQuad(0.8), 50, 2, rng=0)
    embedding = fwbq.embed(kernel, mixture)
    sample = mixture.sample(200_000, rng=1)
    assert embedding.mean_features == pytest.approx(kernel.features(sample).mean(axis=0), abs=2e-3)


def test_e30_line_search_is_worse_and_shares_few_points():
    rng = np.random.default_rng(0)
    covs = [0.15 * np.eye(2) * rng.uniform(0.5, 2) for _ in range(20)]
    mixture = fwbq.GaussianMixture(np.full(20, 0.05), rng.uniform(-4, 4, size=(20, 2)), covs)
    embedding = fwbq.embed(fwbq.ExpQuad(0.8), mixture)
    candidates = mixture.sample(4000, rng=1)
    herding = fwbq.FrankWolfe(embedding, candidates=candidates, rng=0)
    search = fwbq.FrankWolfe(embedding, step="line-search", candidates=candidates, rng=0)
    herding.take(400)
    search.take(400)
    assert search.trace.mmd2[-1] > 1.5 * herding.trace.mmd2[-1]
    assert len(set(herding.trace.index[:25]) & set(search.trace.index[:25])) < 13


def test_every_entry_has_its_test():
    entries = set(
        re.findall(
            r"\bE(\d+)\b",
            "\n".join(re.findall(r"^## (E.*)$", (Path(__file__).parents[1] / "docs/errata.md").read_text(), re.M)),
        )
    )
    tested = set(re.findall(r"^def test_e(\d+)_", Path(__file__).read_text(), re.M))
    assert entries == tested
