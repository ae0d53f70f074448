"""Measures: densities integrate to one, scores are slopes, transforms push the cube forward, tails are exact."""

import json
import math
import pickle
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

import fwbq
from fwbq import measures
from fwbq.measures import Empirical, Gaussian, GaussianMixture, Product, TruncatedGaussian, Uniform
from fwbq.measures.standard_normal import half_line_moments

INF = math.inf
COV = np.array([[2.0, -0.6], [-0.6, 0.5]])
MIXTURE = GaussianMixture([0.2, 0.5, 0.3], [[0.0, 0.0], [2.0, -1.0], [-1.0, 1.5]], [COV, 0.3 * np.eye(2), 2 * COV])

ONE_D = {
    "Gaussian": Gaussian(0.3, 2.0),
    "GaussianMixture": GaussianMixture([0.25, 0.75], [[-2.0], [1.0]], [0.5, 1.5]),
    "half line": TruncatedGaussian(1.0, 0.5),
    "interval": TruncatedGaussian(0.2, 2.0, -1.0, 2.5),
    "tail": TruncatedGaussian(0.0, 1.0, 30.0, 31.0),
    "left tail": TruncatedGaussian(3.0, 0.25, -INF, -20.0),
    "whole line": TruncatedGaussian(0.5, 2.0, -INF, INF),
    "Uniform": Uniform(-1.0, 3.0),
    "gamma": Product([stats.gamma(2.5, loc=1.0, scale=0.7)]),
    "beta": Product([stats.beta(2.0, 3.0)]),
    "t": Product([stats.t(3.5, 0.2, 1.5)]),
    "lognorm": Product([stats.lognorm(0.6)]),
    "skewnorm": Product([stats.skewnorm(2.0)]),
}
TWO_D = {
    "Gaussian 2": Gaussian([0.5, -1.0], COV),
    "diagonal": Gaussian([0.5, -1.0], [2.0, 0.3]),
    "mixture 2": MIXTURE,
    "truncated 2": TruncatedGaussian([1.0, 0.0], [0.5, 1.0], [0.0, -INF], [INF, 2.0]),
    "Uniform 2": Uniform([0.0, -2.0], 1.0),
    "Product 2": Product([stats.gamma(3.0), stats.norm(1.0, 0.5)]),
}
CONTINUOUS = ONE_D | TWO_D
ALL = CONTINUOUS | {
    "Empirical": Empirical([[0.0, 1.0], [2.0, -1.0], [5.0, 0.5]], [0.2, 0.5, 0.3]),
    "Empirical equal": Empirical(np.arange(14.0).reshape(7, 2)),
}
each = pytest.mark.parametrize("measure", ALL.values(), ids=ALL.keys())
each_continuous = pytest.mark.parametrize("measure", CONTINUOUS.values(), ids=CONTINUOUS.keys())
each_1d = pytest.mark.parametrize("measure", ONE_D.values(), ids=ONE_D.keys())
# Eighth-order central differences.
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


@each
def test_shapes_bounds_and_seeds(measure):
    d = measure.dim
    x = measure.sample(500, rng=0)
    assert x.shape == (500, d) and np.isfinite(x).all()
    assert np.array_equal(x, measure.sample(500, rng=np.random.default_rng(0)))
    assert not np.array_equal(x, measure.sample(500, rng=1))
    assert measure.sample(0, rng=0).shape == (0, d)
    assert ((x >= measure.lower) & (x <= measure.upper)).all()
    for vector in (measure.mean, measure.expectation, measure.scale, measure.lower, measure.upper):
        assert vector.shape == (d,)
    u = np.random.default_rng(1).random((100, measure.uniform_dim))
    y = measure.from_uniform(u)
    assert y.shape == (100, d) and ((y >= measure.lower) & (y <= measure.upper)).all()


@each
def test_normal_points_become_the_measure(measure):
    u = np.random.default_rng(5).uniform(0.01, 0.99, (100, measure.uniform_dim))
    # Phi and its inverse are good to a few roundings, and the quantile is smooth between these levels.
    assert np.allclose(measure.from_normal(ndtri(u)), measure.from_uniform(u), rtol=1e-11, atol=1e-11)


Z_FAR = np.array([-37.0, -20.0, -9.0, 9.0, 20.0, 37.0])
FAR = {
    "lognorm": (Product([stats.lognorm(1.0)]), np.exp(Z_FAR)),
    "expon": (Product([stats.expon()]), -log_ndtr(-Z_FAR)),
    "uniform": (Uniform(0.0, 1.0), ndtr(Z_FAR)),
    "gaussian": (Gaussian(1.0, 4.0), 1.0 + 2.0 * Z_FAR),
    "half-normal": (TruncatedGaussian(0.0, 1.0), np.where(Z_FAR < 0.0, ndtr(Z_FAR) * math.sqrt(0.5 * math.pi), 0.0)),
}
# P(X > x) = 2 Phi(-x) = Phi(-z) above; below the density is constant.
FAR["half-normal"][1][3:] = -ndtri_exp(log_ndtr(-Z_FAR[3:]) - math.log(2.0))


@pytest.mark.parametrize(("measure", "expected"), FAR.values(), ids=FAR)
def test_tails_are_followed_on_both_sides(measure, expected):
    # Phi(-37) has a condition number of 37^2: a thousand roundings.
    assert np.allclose(measure.from_normal(Z_FAR[:, None])[:, 0], expected, rtol=1e-11, atol=0.0)


@each
def test_sampling_moments(measure):
    n = 40_000
    x = measure.sample(n, rng=2)
    assert (np.abs(x.mean(axis=0) - measure.expectation) < 5 * measure.scale / math.sqrt(n)).all()
    assert np.allclose(x.std(axis=0), measure.scale, rtol=0.05 if measure is not ONE_D["t"] else 0.2)


@each
def test_the_transform_has_the_moments_of_the_measure(measure):
    d = measure.uniform_dim
    # Kronecker's sequence: multiples of the square roots of primes, modulo one.
    u = (np.arange(8192)[:, None] + 0.5) * (np.sqrt([2.0, 3.0, 5.0])[:d] if d > 1 else 1 / 8192) % 1.0
    x = measure.from_uniform(u)
    assert np.allclose(x.mean(axis=0), measure.expectation, atol=0.02 * measure.scale.max())
    assert np.allclose(x.std(axis=0), measure.scale, rtol=0.03 if measure is not ONE_D["t"] else 0.1)


@each_1d
def test_the_transform_pushes_the_uniform_forward(measure):
    n = 2000
    d = measure.uniform_dim
    x = measure.from_uniform((np.arange(n)[:, None] + 0.5) / n) if d == 1 else measure.sample(n, rng=4)
    low, high = measure.lower[0], measure.upper[0]

    def cdf(t):
        start = low if math.isfinite(low) else float(measure.expectation[0] - 40 * measure.scale[0])
        marks = [p for p in measure.expectation if start < p < t]
        return integrate.quad(lambda v: math.exp(measure.log_density([[v]])[0]), start, t, points=marks, limit=200)[0]

    sorted_x = np.sort(x[:, 0])
    levels = [0, n // 7, n // 3, n // 2, (4 * n) // 5, n - 1]
    for i in levels:
        error = abs(cdf(sorted_x[i]) - (i + 0.5) / n)
        # Quantiles are exact; a sample is within the Kolmogorov-Smirnov distance (level 1e-5 at this seed).
        assert error < (1e-6 if d == 1 and measure is not ONE_D["t"] else 2e-3 if d == 1 else 2.5 / math.sqrt(n))
    assert (sorted_x <= high).all()


@each_1d
def test_density_integrates_to_one(measure):
    low, high = measure.lower[0], measure.upper[0]
    centre, sd = float(measure.expectation[0]), float(measure.scale[0])
    total = 0.0
    edges = np.clip([low, centre - 8 * sd, centre - 2 * sd, centre, centre + 2 * sd, centre + 8 * sd, high], low, high)
    for a, b in pairwise(edges):
        if b > a:
            total += integrate.quad(lambda t: math.exp(measure.log_density([[t]])[0]), a, b, epsabs=1e-12)[0]
    assert total == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("measure", TWO_D.values(), ids=TWO_D.keys())
def test_density_in_two_dimensions_integrates_to_one(measure):
    low = np.maximum(measure.lower, measure.expectation - 14 * measure.scale)
    high = np.minimum(measure.upper, measure.expectation + 25 * measure.scale)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    axes = [0.5 * (a + b) + 0.5 * (b - a) * nodes for a, b in zip(low, high, strict=True)]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    w = np.multiply.outer(weights, weights).ravel() * np.prod(0.5 * (high - low))
    assert w @ np.exp(measure.log_density(x)) == pytest.approx(1.0, abs=1e-8)


@each_continuous
def test_score_is_the_slope_of_the_log_density(measure):
    x = measure.sample(200, rng=5)
    h = 2e-3 * measure.scale
    inside = ((x - 5 * h > measure.lower) & (x + 5 * h < measure.upper)).all(axis=1)
    x = x[inside][:40]
    if measure is ONE_D["skewnorm"]:
        with pytest.raises(NotImplementedError, match=r"skewnorm.*known are"):
            measure.score(x)
        return
    assert len(x) > 10
    for i in range(measure.dim):
        e = np.eye(measure.dim)[i] * h
        slope = sum(c * (measure.log_density(x + m * e) - measure.log_density(x - m * e)) for m, c in STENCIL.items())
        assert np.allclose(measure.score(x)[:, i], slope / h[i], rtol=1e-8, atol=1e-8 / measure.scale[i])


SCORED = [
    stats.norm(1.0, 2.0), stats.uniform(0.0, 2.0), stats.expon(1.0, 2.0), stats.laplace(0.0, 2.0),
    stats.logistic(0.5, 0.7), stats.gumbel_r(0.1, 2.0), stats.gumbel_l(0.1, 2.0), stats.halfnorm(1.0, 2.0),
    stats.rayleigh(0.0, 2.0), stats.cauchy(0.3, 0.7), stats.t(loc=0.2, scale=1.4, df=3.0), stats.gamma(2.5, 1.0, 0.4),
    stats.chi2(5.0), stats.invgamma(3.0, scale=2.0), stats.beta(2.5, 1.5, -1.0, 3.0), stats.lognorm(0.7, scale=2.0),
    stats.weibull_min(1.8, scale=2.0), stats.pareto(2.5), stats.truncnorm(-1.0, 2.0, 0.5, 1.5),
]  # fmt: skip


@pytest.mark.parametrize("distribution", SCORED, ids=lambda p: p.dist.name)
def test_scores_of_scipy_distributions(distribution):
    measure = Product([distribution])
    x = measure.from_uniform(np.array([0.1, 0.31, 0.62, 0.9])[:, None])
    h = 1e-3 * measure.scale[0]
    slope = sum(c * (measure.log_density(x + m * h) - measure.log_density(x - m * h)) for m, c in STENCIL.items()) / h
    assert np.allclose(measure.score(x)[:, 0], slope, rtol=1e-8, atol=1e-8 / measure.scale[0])
    assert sorted(measures.univariate._SCORES) == sorted(p.dist.name for p in SCORED)


@each_continuous
def test_factors_multiply_to_the_measure(measure):
    factors = measure.factors
    x = measure.sample(20, rng=6)
    if factors is None:
        assert isinstance(measure, GaussianMixture) or measure.cov[0, 1] != 0.0
        return
    assert [f.dim for f in factors] == [1] * measure.dim
    total = sum(f.log_density(x[:, [i]]) for i, f in enumerate(factors))
    assert np.allclose(total, measure.log_density(x), rtol=1e-12)
    assert np.allclose([f.scale[0] for f in factors], measure.scale, rtol=1e-12)


@each
def test_spec_survives_strict_json_to_the_bit(measure):
    text = json.dumps(measure.spec(), allow_nan=False)
    again = measures.from_spec(json.loads(text))
    assert type(again) is type(measure)
    assert json.dumps(again.spec()) == text
    assert np.array_equal(again.sample(10, rng=7), measure.sample(10, rng=7))
    if measure in CONTINUOUS.values():
        x = measure.sample(5, rng=8)
        assert np.array_equal(again.log_density(x), measure.log_density(x))
    assert np.array_equal(pickle.loads(pickle.dumps(measure)).sample(10, rng=7), again.sample(10, rng=7))


@pytest.mark.parametrize("measure", [m for m in CONTINUOUS.values() if np.isfinite([m.lower, m.upper]).any()])
def test_log_density_outside_the_support_is_minus_infinity(measure):
    for i in range(measure.dim):
        for bound, step in ((measure.lower[i], -1e-3), (measure.upper[i], 1e-3)):
            if math.isfinite(bound):
                x = measure.expectation[None].copy()
                assert np.isfinite(measure.log_density(x)).all()
                x[0, i] = bound + step
                assert measure.log_density(x)[0] == -INF


def test_gaussian_matches_scipy_and_reads_its_shorthands():
    rng = np.random.default_rng(9)
    a = rng.normal(size=(3, 3))
    cov, mean = a @ a.T + np.eye(3), rng.normal(size=3)
    p, x = Gaussian(mean, cov), rng.normal(size=(20, 3))
    assert np.allclose(p.log_density(x), stats.multivariate_normal(mean, cov).logpdf(x), rtol=1e-12)
    assert np.allclose(p.score(x), np.linalg.solve(cov, (mean - x).T).T, rtol=1e-10)
    assert np.allclose(np.cov(p.sample(100_000, rng=0).T), cov, rtol=0.05, atol=0.05)
    assert np.array_equal(Gaussian(mean, 2.0).cov, 2.0 * np.eye(3))
    assert np.array_equal(Gaussian(mean, [1.0, 2.0, 3.0]).cov, np.diag([1.0, 2.0, 3.0]))
    assert Gaussian(0.0, 4.0).scale == 2.0
    assert np.isfinite(p.log_density([[1e150, 0.0, 0.0]])).all()


def test_the_exactly_diagonal_gaussian_alone_factors():
    assert Gaussian([0.0, 1.0], np.diag([1.0, 2.0])).factors[1].cov == 2.0
    assert Gaussian([0.0, 1.0], [[1.0, 1e-300], [1e-300, 1.0]]).factors is None


def test_mixture_shorthands_and_far_points():
    means = np.array([[0.0, 0.0], [4.0, 1.0]])
    full = GaussianMixture([0.3, 0.7], means, [2.0 * np.eye(2)] * 2)
    for covs in (2.0, 2.0 * np.eye(2), [2.0, 2.0]):
        assert np.array_equal(GaussianMixture([0.3, 0.7], means, covs).covs, full.covs)
    densities = [np.exp(c.log_density(means + 1.0)) for c in full.components]
    expected = np.log(full.weights @ densities)
    assert np.allclose(full.log_density(means + 1.0), expected, rtol=1e-13)
    # Far out every density underflows; the nearest component rules the logarithm and the score.
    far = np.array([[1e6, 2e6]])
    assert np.allclose(full.score(far), full.components[1].score(far), rtol=1e-12)
    assert np.isfinite(full.log_density(far)).all()
    dead = GaussianMixture([0.0, 1.0], means, 1.0)
    assert np.allclose(dead.log_density(means), dead.components[1].log_density(means))
    assert (dead.sample(1000, rng=0)[:, 0] > -1.5).all()
    assert (dead.from_uniform(np.column_stack([np.linspace(0, 1, 9), np.full((9, 2), 0.5)])) == means[1]).all()


TAILS = [
    (0.0, 1.0), (30.0, 31.0), (40.0, INF), (-1.0, 9.0), (3.0, INF), (1e4, INF), (1e-12, 2.0), (0.1, 0.1 + 2.0**-26),
    (8.0, 8.5), (-2.0, -1.0), (-INF, -40.0), (-1e-8, 1e-8), (-31.0, -30.0), (-INF, 2.0), (5.0, 1e3),
]  # fmt: skip


def mp_tail(t):
    """The standard Gaussian tail beyond t."""
    return mp.mpf(0) if t == INF else mp.mpf(1) if t == -INF else mp.erfc(mp.mpf(t) / mp.sqrt(2)) / 2


@pytest.mark.parametrize(("a", "b"), TAILS)
@pytest.mark.parametrize(("m", "v"), [(0.0, 1.0), (-3.0, 0.25)])
def test_truncated_gaussian_against_high_precision(a, b, m, v):
    sd = math.sqrt(v)
    p = TruncatedGaussian(m, v, m + sd * a, m + sd * b)
    # Enough digits that one minus a tail of 1e-350 is not one.
    with mp.workdps(450):
        # The bounds as stored, in standard deviations.
        a, b = ((mp.mpf(float(z[0])) - m) / sd if math.isfinite(z[0]) else z[0] for z in (p.lower, p.upper))
        mass = mp_tail(a) - mp_tail(b)
        density_a, density_b = (mp.npdf(z) if mp.isfinite(z) else mp.mpf(0) for z in (a, b))
        mean = (density_a - density_b) / mass
        times = sum(s * z * f for s, z, f in ((1, a, density_a), (-1, b, density_b)) if mp.isfinite(z))
        variance = 1 + times / mass - mean**2
        # Distances are judged against the spread, or against the resolution of float64 at the bounds.
        scale = float(sd * mp.sqrt(variance))
        ulp = 4 * np.spacing(abs(p.expectation[0])) / scale
        assert abs(float(m + sd * mean - mp.mpf(float(p.expectation[0])))) / scale < 1e-13 + ulp
        assert p.scale[0] == pytest.approx(scale, rel=1e-12)
        u = np.array([1e-12, 1e-6, 0.1, 0.5, 0.9, 1 - 2.0**-20])
        x = p.from_uniform(u[:, None])
        for t, level, log_density in zip(x[:, 0], u, p.log_density(x), strict=True):
            z = (mp.mpf(float(t)) - m) / sd
            expected = mp.log(mp.npdf(z) / mass / sd)
            assert log_density == pytest.approx(float(expected), rel=1e-12, abs=1e-12)
            missed = (mp_tail(a) - mp_tail(z)) / mass - mp.mpf(float(level))
            # A narrow interval away from the mean has few float64 numbers in it.
            coarse = 2e-8 if p.scale[0] < 1e-7 and a > 0 else 0.0
            assert abs(float(missed)) < 1e-13 + ulp * scale * math.exp(log_density) + coarse


def test_truncation_where_bounds_cannot_be_told_apart_in_standard_deviations():
    p = TruncatedGaussian(1e20, 1.0, 0.0, 1.0)
    x = p.sample(1000, rng=0)
    assert (x <= 1.0).all() and (x >= 0.0).all() and np.isfinite(p.log_density([[1.0]])).all()
    assert p.expectation[0] == pytest.approx(1.0)


def test_truncated_broadcasting():
    p = TruncatedGaussian(1.0, [1.0, 2.0], [0.0, -1.0])
    assert p.dim == 2 and np.array_equal(p.mean, [1.0, 1.0]) and np.array_equal(p.upper, [INF, INF])
    assert TruncatedGaussian(1.0, 0.5).dim == 1
    assert p.factors[1].lower == -1.0


def test_heavy_tails_have_a_centre_and_a_scale():
    p = Product([stats.cauchy(2.0, 3.0), stats.t(1.5), stats.norm(1.0, 2.0)])
    assert np.allclose(p.mean, [2.0, 0.0, 1.0]) and not np.isfinite(p.expectation[0])
    assert np.isfinite(p.scale).all() and p.scale[2] == pytest.approx(2.0)
    assert p.scale[0] == pytest.approx(3.0 * math.tan(math.pi * (stats.norm.cdf(1.0) - 0.5)))
    assert np.isfinite(p.from_uniform([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])).all()


def test_infinite_peaks_at_a_bound():
    p = Product([stats.beta(0.5, 0.5), stats.gamma(0.3)])
    assert p.log_density([[0.5, 1.0], [2.0, 1.0], [0.5, -1.0]])[1:].tolist() == [-INF, -INF]
    assert (p.sample(500, rng=0) >= 0.0).all()


def test_distributions_without_a_name_work_but_cannot_be_saved():
    class Triangle(stats.rv_continuous):
        def _pdf(self, x):
            return 2.0 * x

    histogram = stats.rv_histogram(np.histogram(np.random.default_rng(0).normal(size=200)))
    for p in (Product([Triangle(a=0.0, b=1.0, name="norm")()]), Product([histogram()])):
        assert p.from_uniform([[0.25]]).shape == (1, 1)
        with pytest.raises(ValueError, match="cannot be saved"):
            p.spec()
        with pytest.raises(NotImplementedError, match="score"):
            p.score([[0.5]])
    assert Product([Triangle(a=0.0, b=1.0)()]).from_uniform([[0.25]])[0, 0] == pytest.approx(0.5)


def test_empirical_measure():
    p = ALL["Empirical"]
    u = (np.arange(1000)[:, None] + 0.5) / 1000
    values, counts = np.unique(p.from_uniform(u)[:, 0], return_counts=True)
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == {0.0: 200, 2.0: 500, 5.0: 300}
    assert np.array_equal(p.from_uniform([[0.0], [1.0]]), p.points[[0, 2]])
    never = Empirical([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    assert (never.from_uniform([[0.0], [0.5], [1.0]]) == 1.0).all()
    for call in (p.log_density, p.score):
        with pytest.raises(NotImplementedError, match="Empirical measure has no"):
            call(p.points)


def test_uniform_score_is_zero_and_edges_belong_to_the_box():
    p = Uniform([0.0, 0.0], [1.0, 2.0])
    assert np.array_equal(p.score([[0.5, 0.5]]), [[0.0, 0.0]])
    assert np.allclose(p.log_density([[0.0, 0.0], [1.0, 2.0]]), -math.log(2.0))


@settings(max_examples=80, deadline=None)
@given(st.floats(-50, 50), st.floats(0.01, 100), st.floats(-60, 60), st.floats(1e-6, 100), st.integers(0, 2**32 - 1))
def test_truncated_gaussian_in_general(mean, variance, lower, width, seed):
    for low, high in ((lower, lower + width), (lower, INF), (-INF, lower)):
        p = TruncatedGaussian(mean, variance, low, high)
        x = p.sample(50, rng=seed)
        assert ((x >= low) & (x <= high)).all()
        assert np.isfinite(p.log_density(x)).all()
        assert low <= p.expectation[0] <= high and 0 < p.scale[0] <= math.sqrt(variance) * (1 + 1e-12)
        u = np.linspace(0, 1, 33)[:, None]
        assert (np.diff(p.from_uniform(u)[:, 0]) >= 0).all()
        # Mirror images are mirror images.
        mirror = TruncatedGaussian(-mean, variance, -high, -low)
        assert np.allclose(mirror.log_density(-x), p.log_density(x), rtol=1e-12, atol=1e-10)
        assert mirror.expectation[0] == pytest.approx(-p.expectation[0], rel=1e-12, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_mixtures_in_general(dim, n, seed):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, dim, dim))
    covs = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(dim)
    weights = rng.dirichlet(np.ones(n))
    p = GaussianMixture(weights, 3 * rng.normal(size=(n, dim)), covs)
    x = p.sample(10, rng=rng)
    shift = rng.normal(size=dim)
    moved = GaussianMixture(weights, p.means + shift, covs)
    assert np.allclose(moved.log_density(x + shift), p.log_density(x), rtol=1e-9, atol=1e-9)
    assert np.allclose(moved.score(x + shift), p.score(x), rtol=1e-6, atol=1e-6)
    order = rng.permutation(n)
    shuffled = GaussianMixture(weights[order], p.means[order], covs[order])
    assert np.allclose(shuffled.log_density(x), p.log_density(x), rtol=1e-10, atol=1e-10)
    again = measures.from_spec(json.loads(json.dumps(p.spec())))
    assert np.array_equal(again.weights, p.weights) and np.array_equal(again.covs, p.covs)


def test_a_measure_prints_on_one_short_line():
    assert repr(Product([stats.gamma(2.0), stats.norm(loc=1.0)])) == "Product([gamma(2.0), norm(loc=1.0)])"
    assert repr(Empirical(np.zeros((1000, 2)))) == "Empirical(1000 point(s), dim=2)"
    assert repr(MIXTURE) == "GaussianMixture(3 component(s), dim=2)"


def test_the_measures_are_public():
    assert all(
        getattr(fwbq, name) is getattr(measures, name)
        for name in set(measures.__all__) - {"Univariate", "Warp", "as_measure", "as_prior", "from_spec"}
    )


def test_a_density_that_repeats_itself_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"`distributions\[0\]` is vonmises.*vonmises_line"):
        Product([stats.vonmises(2.0)])
    assert np.isclose(fwbq.embed(fwbq.ExpQuad(50.0), Product([stats.vonmises_line(2.0)])).variance, 1.0, rtol=1e-3)


@pytest.mark.parametrize("c", [3.0, 4.5, 6.0, 8.0, 20.0])
def test_moments_on_the_half_line_are_parabolic_cylinder_functions(c):
    for k, found in enumerate(half_line_moments(np.array([c]), 2)):
        with mp.workdps(30):
            truth = mp.gamma(k + 1) * mp.exp(mp.mpf(c) ** 2 / 4) * mp.pcfd(-k - 1, c)
        # What 16 steps of the continued fraction leave of the second moment at c = 6 is 7e-14.
        assert found[0] == pytest.approx(float(truth), rel=2e-13, abs=0.0)
