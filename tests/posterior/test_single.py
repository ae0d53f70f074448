"""Posteriors: the formulas by independent integration, equivariance over 600 orders of magnitude, and honesty."""

import math

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from mpmath import mpf

import fwbq
from fwbq import posterior
from fwbq.posterior import AveragedPosterior, IntegralPosterior
from fwbq.process import Regression

EMBEDDING = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
POINTS = np.array([-2.1, -1.0, -0.3, 0.4, 1.2, 2.5])[:, None]
ESTIMATES = ["marginal", "ml", "loo"]
PRIOR_MEANS = ["zero", "constant"]


def rule(prior_mean="zero", points=POINTS):
    return fwbq.bayes_rule(EMBEDDING, points, prior_mean=prior_mean)


def f(x):
    return np.exp(0.3 * x[:, 0]) * np.cos(x[:, 0])


def projector(prior_mean, K):
    inverse = np.linalg.inv(K)
    if prior_mean == "zero":
        return inverse
    v = inverse.sum(axis=1)
    return inverse - np.outer(v, v) / v.sum()


# --- The formulas -----------------------------------------------------------------------------------------------------


def test_fixed_amplitude_is_the_posterior_of_the_paper():
    K, z, values = EMBEDDING.kernel(POINTS), EMBEDDING.mean(POINTS), f(POINTS)
    post = fwbq.condition(rule(), values, amplitude=1.0)
    assert post.mean == pytest.approx(z @ np.linalg.solve(K, values), rel=1e-11)
    assert post.sd**2 == pytest.approx(EMBEDDING.variance - z @ np.linalg.solve(K, z), rel=1e-9)
    assert (post.df, post.amplitude) == (math.inf, 1.0)
    doubled = fwbq.condition(rule(), values, amplitude=4.0)
    assert doubled.sd == pytest.approx(2 * post.sd, rel=1e-14) and doubled.mean == post.mean


@pytest.mark.parametrize("prior_mean", PRIOR_MEANS)
def test_marginal_by_integration_over_the_amplitude(prior_mean):
    """Density of the integral = int N(I; m, a v) p(a | f) da with p(a | f) ~ p(f | a) / a, integrated numerically."""
    r, values = rule(prior_mean), f(POINTS)
    K = EMBEDDING.kernel(POINTS)
    P = projector(prior_mean, K)
    n = len(values) - (prior_mean == "constant")
    q = values @ P @ values
    post = fwbq.condition(r, values)
    assert post.df == n

    def joint(log_a, x):
        # In log a the prior 1/a is flat; the likelihood of n contrasts is a^(-n/2) exp(-q / 2a), up to a constant.
        a = math.exp(log_a)
        return math.exp(-0.5 * n * log_a - 0.5 * q / a) * scipy.stats.norm.pdf(x, post.mean, math.sqrt(a * r.mmd2))

    centre = math.log(q / n)
    evidence = scipy.integrate.quad(
        lambda t: math.exp(-0.5 * n * t - 0.5 * q / math.exp(t)), centre - 8, centre + 25, epsabs=0, limit=500
    )[0]
    for t in (0.0, 0.7, -1.9, 4.0):
        x = post.mean + t * post.scale
        density = scipy.integrate.quad(joint, centre - 8, centre + 25, args=(x,), epsabs=0, limit=500)[0] / evidence
        assert density == pytest.approx(scipy.stats.t.pdf(t, n) / post.scale, rel=1e-7)
    assert post.scale**2 == pytest.approx(r.mmd2 * q / n, rel=1e-9)
    assert post.amplitude == pytest.approx(q / n, rel=1e-9)


@pytest.mark.parametrize("prior_mean", PRIOR_MEANS)
def test_maximum_likelihood_maximises_the_likelihood(prior_mean):
    values = f(POINTS)
    P = projector(prior_mean, EMBEDDING.kernel(POINTS))
    n, q = len(values) - (prior_mean == "constant"), values @ P @ values
    a = fwbq.condition(rule(prior_mean), values, amplitude="ml").amplitude

    def log_likelihood(s):
        return -0.5 * n * math.log(s) - 0.5 * q / s

    assert log_likelihood(a) > max(log_likelihood(a * 1.001), log_likelihood(a / 1.001))


@pytest.mark.parametrize("prior_mean", PRIOR_MEANS)
def test_leave_one_out_by_leaving_one_out(prior_mean):
    values = f(POINTS)
    K = EMBEDDING.kernel(POINTS)
    errors, variances = [], []
    for i in range(len(values)):
        rest = np.delete(np.arange(len(values)), i)
        P = np.linalg.inv(K[np.ix_(rest, rest)])
        k, c = K[rest, i], 0.0
        variance = K[i, i] - k @ P @ k
        if prior_mean == "constant":
            v = P.sum(axis=1)
            c = v @ values[rest] / v.sum()
            variance += (1 - v @ k) ** 2 / v.sum()
        errors.append(values[i] - c - k @ P @ (values[rest] - c))
        variances.append(variance)
    factor = rule(prior_mean).factor
    got = Regression.of(factor, values, constant=prior_mean == "constant").leave_one_out()
    np.testing.assert_allclose(got[0], errors, rtol=1e-9)
    np.testing.assert_allclose(got[1], variances, rtol=1e-9)
    post = fwbq.condition(rule(prior_mean), values, amplitude="loo")
    assert post.amplitude == pytest.approx(np.mean(np.square(errors) / variances), rel=1e-9)
    standardised = np.array(errors) / np.sqrt(post.amplitude * np.array(variances))
    assert np.mean(standardised**2) == pytest.approx(1.0, rel=1e-9)


def test_unknown_constant_is_the_limit_of_a_wide_prior():
    """A constant with prior variance 1e12 is the kernel k + 1e12; weights, mean and variance tend to those stated."""
    with mpmath.workdps(60):
        wide = mpf(10) ** 12
        K = mpmath.matrix((EMBEDDING.kernel(POINTS)).tolist()) + wide * mpmath.ones(6, 6)
        z = mpmath.matrix(EMBEDDING.mean(POINTS).tolist()) + wide * mpmath.ones(6, 1)
        w = mpmath.lu_solve(K, z)
        variance = mpf(EMBEDDING.variance) + wide - mpmath.fdot(list(w), list(z))
    constant = rule("constant")
    np.testing.assert_allclose(constant.weights, [float(v) for v in w], rtol=1e-9)
    assert constant.mmd2 == pytest.approx(float(variance), rel=1e-9)


# --- Equivariance -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior_mean", PRIOR_MEANS)
@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("n", [1, 2, 6, 30])
def test_scale_equivariance(n, estimate, prior_mean):
    r = rule(prior_mean, np.linspace(-3, 3, n)[:, None])
    values = f(r.points)
    plain = fwbq.condition(r, values, amplitude=estimate)
    for c in (1e-300, -1e-200, 1e-8, 3.0, -7e100, 1e300):
        scaled = fwbq.condition(r, c * values, amplitude=estimate)
        assert scaled.mean / c == pytest.approx(plain.mean, rel=1e-12)
        assert scaled.scale / abs(c) == pytest.approx(plain.scale, rel=1e-7)
    exact = fwbq.condition(r, 2.0**-900 * values, amplitude=estimate)
    assert (exact.mean, exact.scale) == (plain.mean * 2.0**-900, plain.scale * 2.0**-900)


@pytest.mark.parametrize("estimate", [*ESTIMATES, 1.0])
def test_adding_a_constant_adds_it_to_the_answer(estimate):
    for n in (2, 6, 40):
        r = rule("constant", np.linspace(-3, 3, n)[:, None])
        values = f(r.points)
        plain = fwbq.condition(r, values, amplitude=estimate)
        for c in (1e-3, 5.0, 1e6):
            moved = fwbq.condition(r, values + c, amplitude=estimate)
            # Two sums of n products, the sum of the weights and the shift of the values, each with its roundings.
            off = (2 * n + 4) * np.finfo(float).eps / 2 * (np.abs(values).max() + c) * r.sum_abs_weights
            assert moved.mean - c == pytest.approx(plain.mean, abs=off)
            if n < 40:
                assert moved.scale == pytest.approx(plain.scale, rel=1e-7 * max(1.0, c))


@pytest.mark.parametrize("prior_mean", PRIOR_MEANS)
@pytest.mark.parametrize("estimate", [*ESTIMATES, 2.5])
def test_columns_are_integrands(estimate, prior_mean):
    r = rule(prior_mean)
    columns = np.stack([f(POINTS), 1e200 * f(POINTS) ** 2, np.zeros(6), np.full(6, 3.0)], axis=1)
    together = fwbq.condition(r, columns, amplitude=estimate)
    assert together.mean.shape == together.sd.shape == together.scale.shape == together.amplitude.shape == (4,)
    for j in range(4):
        alone = fwbq.condition(r, columns[:, j], amplitude=estimate)
        assert isinstance(alone.mean, float) and isinstance(alone.sd, float)
        assert together.mean[j] == pytest.approx(alone.mean, rel=1e-14)
        assert together.scale[j] == pytest.approx(alone.scale, rel=1e-12)
    low, high = together.interval(0.9)
    assert low.shape == (4,) and np.all(low <= high)
    assert together.sample(7, rng=0).shape == (7, 4) and together.sample(rng=0).shape == (4,)
    assert together.cdf(together.mean).shape == (4,)


# --- Degenerate values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("n", [2, 6, 60])
def test_zero_and_constant_functions_have_no_uncertainty(n, estimate):
    x = np.linspace(-3, 3, n)[:, None]
    zero = fwbq.condition(rule("zero", x), np.zeros(n), amplitude=estimate)
    constant = fwbq.condition(rule("constant", x), np.full(n, -7.3), amplitude=estimate)
    for post, value in ((zero, 0.0), (constant, -7.3)):
        assert (post.mean, post.sd, post.scale, post.amplitude) == (value, 0.0, 0.0, 0.0)
        assert post.interval(0.99) == (value, value)
        np.testing.assert_array_equal(post.sample(3, rng=0), value)
        np.testing.assert_array_equal(post.cdf([value - 1e-9, value, value + 1e-9]), [0.0, 1.0, 1.0])


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_one_value(estimate):
    x = np.array([[0.3]])
    zero = fwbq.condition(rule("zero", x), [2.0], amplitude=estimate)
    assert zero.mean == pytest.approx(2.0 * EMBEDDING.mean(x)[0]) and 0.0 < zero.scale < math.inf
    assert zero.amplitude == pytest.approx(4.0)
    constant = fwbq.condition(rule("constant", x), [2.0], amplitude=estimate)
    assert constant.mean == 2.0 and constant.scale == math.inf == constant.sd
    assert constant.interval() == (-math.inf, math.inf)
    assert constant.quantile(0.5) == 2.0 and constant.cdf(17.0) == 0.5
    fixed = fwbq.condition(rule("constant", x), [2.0], amplitude=1.0)
    assert 0.0 < fixed.sd < math.inf


def test_subnormal_and_extreme_values():
    values = np.array([5e-324, 0.0, 1e-323, 0.0, 5e-324, 0.0])
    post = fwbq.condition(rule(), values)
    assert math.isfinite(post.mean) and 0.0 <= post.scale < 1e-320 and post.amplitude == 0.0
    post = fwbq.condition(rule(), np.array([1e308, -1e308, 1e308, -1e308, 1e308, 1.0]))
    assert math.isfinite(post.mean) and math.isfinite(post.scale) and post.amplitude == math.inf


# --- Honesty where the Gram matrix is singular ------------------------------------------------------------------------

INTEGRANDS = {
    "cos": (np.cos, math.exp(-0.5)),
    "square": (np.square, 1.0),
    "exponential": (lambda x: np.exp(0.5 * x), math.exp(0.125)),
    "one": (np.ones_like, 1.0),
    "absolute value": (np.abs, math.sqrt(2 / math.pi)),
    "step": (lambda x: (x > 0.3).astype(float), scipy.stats.norm.sf(0.3)),
}


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("n", [40, 100, 400])
@pytest.mark.parametrize("name", INTEGRANDS)
def test_errors_stay_within_a_few_scales(name, n, estimate):
    """Smooth or rough: the amplitude is neither diluted by points that say the same nor blind to what K cannot fit."""
    function, truth = INTEGRANDS[name]
    r = rule("zero", np.linspace(-4, 4, n)[:, None])
    post = fwbq.condition(r, function(r.points[:, 0]), amplitude=estimate)
    assert abs(post.mean - truth) < 4 * post.scale
    assert post.scale < 0.5
    if name in ("cos", "one", "exponential"):
        assert post.scale < 1e-6


def test_noise_makes_the_amplitude_large_not_negative():
    r = rule("zero", np.linspace(-4, 4, 200)[:, None])
    noise = np.random.default_rng(0).normal(size=(200, 50))
    post = fwbq.condition(r, noise)
    assert np.all(post.amplitude > 1e8)
    truth = 0.0
    assert np.mean(np.abs(post.mean - truth) < 2 * post.scale) > 0.8


def test_the_calibrated_amplitude_is_no_smaller_than_by_leaving_out():
    # At n = 30 the Gram matrix is singular, and the amplitude of the likelihood is a fifth of that by leaving out.
    embedding = fwbq.embed(fwbq.ExpQuad(0.3), fwbq.Uniform([0.0], [1.0]))
    x = np.linspace(0.0, 1.0, 30)[:, None]
    made = fwbq.bayes_rule(embedding, x, prior_mean="constant")
    assert made.factor.jitter > 0.0
    values = np.sin(20.0 * x[:, 0])
    by_leaving_out = fwbq.condition(made, values, amplitude="loo").amplitude
    by_likelihood = fwbq.condition(made, values, amplitude="ml").amplitude
    assert by_leaving_out > 2.0 * by_likelihood
    # Leaving out amplifies rounding by the condition of the matrix with its jitter, up to 1e14: 2e-11 was seen.
    assert posterior.calibrated(made, values).amplitude >= 0.99 * by_leaving_out


def test_features_fewer_than_points_leave_the_noise_of_regression():
    """Values outside the span of the features are noise to the kernel, and the scale is that of their weighted sum."""
    emb = fwbq.embed(fwbq.RandomFourier(fwbq.ExpQuad(1.0), 10, 1, rng=0), fwbq.Gaussian([0.0], [[1.0]]))
    rng = np.random.default_rng(1)
    r = fwbq.bayes_rule(emb, rng.normal(size=(400, 1)))
    noise = rng.normal(size=(400, 200))
    post = fwbq.condition(r, noise)
    assert np.std(post.mean) == pytest.approx(np.mean(post.scale), rel=0.3)
    inside = emb.kernel(r.points, [[0.2]])[:, 0]
    exact = fwbq.condition(r, inside)
    assert exact.mean == pytest.approx(emb.mean([[0.2]])[0], rel=1e-10) and exact.scale < 1e-6


# --- Other rules, other prior means -----------------------------------------------------------------------------------


def test_other_rules_use_their_own_error():
    values = f(POINTS)
    for r in (fwbq.uniform_rule(EMBEDDING, POINTS), fwbq.simplex_rule(EMBEDDING, POINTS)):
        post = fwbq.condition(r, values, amplitude=2.0)
        assert post.mean == pytest.approx(r.weights @ values, rel=1e-14)
        assert post.sd**2 == pytest.approx(2.0 * r.mmd2, rel=1e-12)
        assert fwbq.condition(r, values).scale > fwbq.condition(rule(), values).scale
        shifted = fwbq.condition(r, values + 10.0, prior_mean="constant")
        assert shifted.scale == pytest.approx(fwbq.condition(r, values, prior_mean="constant").scale, rel=1e-6)
        assert shifted.mean == pytest.approx(10.0 + post.mean, rel=1e-13)
    with pytest.raises(ValueError, match="must sum to 1 for an unknown constant"):
        fwbq.condition(fwbq.weighted_rule(EMBEDDING, POINTS, np.ones(6)), values, prior_mean="constant")
    # Large weights of both signs sum to one only as far as their own rounding lets them.
    large = np.array([2e6, -2e6, 0.4, 0.3, 0.2, 0.1 + 1e-4])
    assert np.isfinite(fwbq.condition(fwbq.weighted_rule(EMBEDDING, POINTS, large), values, prior_mean="constant").mean)


def test_asking_for_another_prior_mean_makes_the_weights_again():
    values = f(POINTS)
    asked, made = fwbq.condition(rule(), values, prior_mean="constant"), fwbq.condition(rule("constant"), values)
    assert (asked.mean, asked.scale, asked.df) == (made.mean, made.scale, made.df)
    back = fwbq.condition(rule("constant"), values, prior_mean="zero")
    assert back.mean == fwbq.condition(rule(), values).mean


def test_values_at_the_points_given_or_at_the_merged_ones():
    given = np.concatenate([POINTS, POINTS[1:3]])
    r = rule("zero", given)
    assert fwbq.condition(r, f(given)).mean == fwbq.condition(r, f(POINTS)).mean


def test_bad_input_is_named():
    r = rule()
    for kwargs, error, match in [
        ({"amplitude": "best"}, ValueError, "`amplitude` must be one of 'marginal', 'ml', 'loo'"),
        ({"amplitude": -1.0}, ValueError, "`amplitude` must be a positive"),
        ({"amplitude": None}, TypeError, "`amplitude` must be a positive"),
        ({"amplitude": True}, TypeError, "`amplitude` must be a positive"),
        ({"prior_mean": "linear"}, ValueError, "`prior_mean` must be one of"),
    ]:
        with pytest.raises(error, match=match):
            fwbq.condition(r, f(POINTS), **kwargs)
    with pytest.raises(ValueError, match="`values` must be values of shape"):
        fwbq.condition(r, [1.0, 2.0])
    with pytest.raises(ValueError, match="`values` must be finite"):
        fwbq.condition(r, [1.0, 2.0, np.nan, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"`level` must lie strictly between 0 and 1, got 95"):
        fwbq.condition(r, f(POINTS)).interval(95)


# --- The distribution -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [math.inf, 1.0, 2.0, 3.0, 40.0])
def test_distribution_is_that_of_scipy(df):
    post = IntegralPosterior(1.5, 0.2, df, 1.0)
    law = scipy.stats.norm(1.5, 0.2) if math.isinf(df) else scipy.stats.t(df, 1.5, 0.2)
    for q in (0.001, 0.3, 0.5, 0.975):
        assert post.quantile(q) == pytest.approx(law.ppf(q), rel=1e-9)
    np.testing.assert_allclose(post.cdf([1.0, 1.5, 2.2]), law.cdf([1.0, 1.5, 2.2]), rtol=1e-9)
    np.testing.assert_allclose(post.interval(0.9), law.interval(0.9), rtol=1e-9)
    assert post.sd == (pytest.approx(law.std(), rel=1e-12) if df > 2 else math.inf)
    draws = post.sample(4000, rng=0)
    assert scipy.stats.kstest(draws, law.cdf).pvalue > 0.01
    np.testing.assert_array_equal(draws, post.sample(4000, rng=np.random.default_rng(0)))
    assert post.sample((2, 3), rng=0).shape == (2, 3) and isinstance(post.sample(rng=0), float)


def test_posteriors_are_values_with_one_readable_line():
    post = fwbq.condition(rule(), f(POINTS))
    with pytest.raises(AttributeError):
        post.mean = 0.0
    assert repr(post).startswith("IntegralPosterior(") and "Student-t, 6 degrees of freedom" in repr(post)
    many = fwbq.condition(rule(), np.stack([f(POINTS)] * 3, axis=1), amplitude="ml")
    assert repr(many) == "IntegralPosterior(3 integrals, Gaussian)"
    with pytest.raises(ValueError, match="read-only"):
        many.mean[0] = 0.0


def test_reference_posteriors(reference):
    """Means and variances of the reference's posteriors at amplitude one, for a function of the kernel's space."""
    checked = 0
    for case in reference["cases"]:
        name = case["name"].split(":")[0]
        if name not in ("C", "E"):
            continue
        uniform = fwbq.Uniform([0.0, 0.0], [1.0, 2.0])
        measure = uniform if name == "E" else fwbq.TruncatedGaussian([1.0, 1.0], 0.5)
        emb = fwbq.embed(fwbq.ExpQuad(float(case["sigma"])), measure)
        x = np.array(case["candidates"], dtype=float)
        function = case["test_function"]
        values = np.array(function["values_at_candidates"], dtype=float)
        for run in case["fw"]:
            for row in run["posteriors"]:
                index = run["idx"][: row["n"]]
                post = fwbq.condition(fwbq.bayes_rule(emb, x[index]), values[index], amplitude=1.0)
                assert post.mean == pytest.approx(float(row["mean"]), rel=1e-8)
                assert post.sd**2 == pytest.approx(float(row["var"]), rel=1e-8, abs=1e-13)
                bound = post.sd * math.sqrt(float(function["rkhs_norm_squared"]))
                assert abs(post.mean - float(function["integral"])) <= bound * 1.01
                checked += 1
    assert checked > 15


@pytest.mark.parametrize("size", [-1, 2.5, (3, -1), "many"])
def test_a_bad_sample_size_is_named(size):
    with pytest.raises((TypeError, ValueError), match="`size` must be a whole number >= 0"):
        fwbq.condition(rule(), f(POINTS)).sample(size, rng=0)
    averaged = AveragedPosterior((fwbq.condition(rule(), f(POINTS)),) * 2, np.array([0.5, 0.5]))
    with pytest.raises((TypeError, ValueError), match="`size`"):
        averaged.sample(size, rng=0)


def test_a_skewed_error_widens_the_interval_of_the_integral_alone():
    """One value far above its prediction: the scale grows by the skewness of the error, the amplitude does not."""
    embedding = fwbq.embed(fwbq.Matern12(0.01), fwbq.Uniform([0.0], [1.0]))
    made = fwbq.bayes_rule(embedding, np.linspace(0.025, 0.975, 20)[:, None], prior_mean="constant")
    values = np.zeros(20)
    values[7] = 1.0
    estimates = posterior.amplitudes(made, values)
    # Nearly independent values: leaving one out predicts the mean of the others, e = 1 for one and -1/19 for the rest.
    e = np.where(values == 1.0, 1.0, -1.0 / 19.0)
    skewness = abs(np.sum(e**3)) / np.sum(e**2) ** 1.5
    assert estimates.skewness == pytest.approx(np.sqrt(skewness**2 - 15.0 / 400.0), rel=0.02)
    post, plain = posterior.calibrated(made, values), fwbq.condition(made, values)
    assert post.amplitude == pytest.approx(plain.amplitude * estimates.largest / estimates.ml, rel=1e-9)
    assert post.scale == pytest.approx((1.0 + estimates.skewness) * plain.scale, rel=0.05)


def test_a_trend_towards_short_distances_is_carried_on_in_two_dimensions():
    """Along an oblique kink leave-one-out errors exceed those of the likelihood, and the interval those of both."""
    x = fwbq.Uniform([0.0, 0.0], [1.0, 1.0]).from_uniform(np.random.default_rng(0).random((60, 2)))
    embedding = fwbq.embed(fwbq.Matern52(0.8), fwbq.Uniform([0.0, 0.0], [1.0, 1.0]))
    made = fwbq.bayes_rule(embedding, x, prior_mean="constant")
    values = np.abs(x @ [0.8, 0.6] - 0.7)
    estimates = posterior.amplitudes(made, values)
    ratio = estimates.largest / estimates.ml
    assert ratio > 1.2
    expected = fwbq.condition(made, values).scale * ratio * (1.0 + estimates.skewness)
    assert posterior.calibrated(made, values).scale == pytest.approx(expected, rel=1e-9)
