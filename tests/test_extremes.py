"""At the ends of float64 there is a right answer, or an error that names the parameter; never a wrong number."""

import math

import mpmath
import numpy as np
import pytest

import fwbq

GAUSSIAN = fwbq.Gaussian([0.0], [[1.0]])
EMBEDDING = fwbq.embed(fwbq.ExpQuad(1.0), GAUSSIAN)
RULE = fwbq.bayes_rule(EMBEDDING, [[0.0], [1.0]])


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize(
    "call, name",
    [
        (fwbq.ExpQuad, "lengthscale"),
        (lambda big: fwbq.ExpQuad([1.0, big]), "lengthscale"),
        (lambda big: fwbq.Gaussian([big], 1.0), "mean"),
        (lambda big: fwbq.Gaussian([0.0], big), "cov"),
        (lambda big: fwbq.Uniform([0.0], [big]), "upper"),
        (lambda big: fwbq.TruncatedGaussian([0.0], [1.0], lower=big), "lower"),
        (lambda big: fwbq.Empirical([[0], [big]]), "points"),
        (lambda big: fwbq.bayes_rule(EMBEDDING, [[big]]), "points"),
        (lambda big: fwbq.weighted_rule(EMBEDDING, [[0.0]], [big]), "weights"),
        (lambda big: fwbq.condition(RULE, [0, big]), "values"),
        (lambda big: RULE.integrate([0, big]), "values"),
        (lambda big: fwbq.condition(RULE, [0.0, 1.0]).interval(big), "level"),
        (lambda big: fwbq.condition(RULE, [0.0, 1.0]).cdf(big), "x"),
        (lambda big: fwbq.condition(RULE, [0.0, 1.0]).sample(big), "size"),
        (lambda big: fwbq.integrate(np.cos, GAUSSIAN, tol=big), "tol"),
        (lambda big: fwbq.integrate(np.cos, GAUSSIAN, n=-big), "n"),
        (lambda big: GAUSSIAN.sample(big), "n"),
        (lambda big: fwbq.MonteCarlo(EMBEDDING, rng=0).take(big), "n"),
        (lambda big: fwbq.SBQ(EMBEDDING, candidates=10, rng=0).rule(big), "n"),
        (lambda big: fwbq.SBQ(EMBEDDING, candidates=big, rng=0), "candidates"),
    ],
)
def test_integers_beyond_float64_are_refused_by_name(call, name, digits):
    with pytest.raises(ValueError, match=f"^`{name}` must") as error:
        call(10**digits)
    assert len(str(error.value)) < 400


def test_what_does_not_fit_in_memory_is_refused_before_any_work():
    for call in (
        lambda: fwbq.MonteCarlo(EMBEDDING, rng=0).take(10**12),
        lambda: fwbq.QMC(EMBEDDING, rng=0).take(10**12),
        lambda: fwbq.FrankWolfe(EMBEDDING, candidates=10**12, rng=0),
        lambda: GAUSSIAN.sample(10**13),
        lambda: fwbq.condition(RULE, [0.0, 1.0]).sample(10**13),
        lambda: fwbq.bayes_rule(EMBEDDING, np.linspace(0.0, 1.0, 10**6)[:, None]),
    ):
        with pytest.raises(ValueError, match=r"fits in memory, [0-9.]+ GB here, got \d+, which would take about .* GB"):
            call()
    with pytest.raises(ValueError, match="got 1000000000000, which"):  # as it was given, no power of two
        fwbq.integrate(lambda x: x[:, 0], GAUSSIAN, n=10**12)


def test_monte_carlo_makes_each_block_once(monkeypatch):
    """Twice the points take twice the blocks, and the points do not depend on how they are asked for."""
    made = []
    next_block = fwbq.MonteCarlo._next_block
    monkeypatch.setattr(fwbq.MonteCarlo, "_next_block", lambda self: made.append(1) or next_block(self))
    at_once = fwbq.MonteCarlo(EMBEDDING, rng=0).take(5000)
    assert len(made) == 5
    design = fwbq.MonteCarlo(EMBEDDING, rng=0)
    for n in (1, 1023, 1024, 1025, 3000, 5000):
        design.take(n)
    assert len(made) == 10
    assert np.array_equal(design.take(5000), at_once)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-170, 1e-101, 1e101, 1e170, 1e300])
def test_scales_whose_powers_leave_float64_are_refused(scale):
    for kernel in (fwbq.ExpQuad, fwbq.Matern12, fwbq.Matern32, fwbq.Matern52):
        with pytest.raises(ValueError, match="`lengthscale` must give length-scales between 1e-100 and 1e\\+100"):
            kernel([1.0, scale])
    with pytest.raises(ValueError, match="`upper` must give widths"):
        fwbq.Uniform([0.0], [scale])
    if 1e-160 < scale < 1e160:
        with pytest.raises(ValueError, match="`cov` must give standard deviations"):
            fwbq.Gaussian([0.0, 0.0], [1.0, scale**2])
        with pytest.raises(ValueError, match="`variance` must give standard deviations"):
            fwbq.TruncatedGaussian([0.0], [scale**2])


def test_the_largest_covariance_does_not_become_infinite():
    with pytest.raises(ValueError, match=r"`cov` must give standard deviations .* got 1e\+154"):
        fwbq.Gaussian([0.0, 0.0], 1e308 * np.eye(2))


@pytest.mark.parametrize("kernel", [fwbq.ExpQuad, fwbq.Matern12, fwbq.Matern32, fwbq.Matern52])
@pytest.mark.parametrize("unit", [1e-99, 1e99])
def test_units_do_not_matter_within_the_limits(kernel, unit):
    """Measure, points and length-scale in another unit: the same rule, to the rounding of a change of units."""
    x = np.array([[0.1], [0.4], [0.8]])
    plain = fwbq.bayes_rule(fwbq.embed(kernel(0.5), fwbq.Uniform([0.0], [1.0])), x)
    other = fwbq.bayes_rule(fwbq.embed(kernel(0.5 * unit), fwbq.Uniform([0.0], [unit])), unit * x)
    np.testing.assert_allclose(other.weights, plain.weights, rtol=1e-9)
    assert other.mmd2 == pytest.approx(plain.mmd2, rel=1e-9)


@pytest.mark.parametrize("lower", [1e5, 1e9, 1e20, 1e99])
def test_truncation_far_in_the_tail_is_exponential(lower):
    """Beyond a, a Gaussian falls like exp(-a h) (1 + O(a^-2)): mean and standard deviation 1 / a past the bound."""
    measure = fwbq.TruncatedGaussian([0.0], [1.0], lower=lower)
    mirrored = fwbq.TruncatedGaussian([0.0], [1.0], lower=-math.inf, upper=-lower)
    # Beyond the reach of the panels exp(-42) of the mass is left out; the rest is 1 / a^2 and rounding.
    tolerance = 3.0 / lower**2 + 1e-14
    for each in (measure, mirrored):
        assert each.scale[0] * lower == pytest.approx(1.0, rel=tolerance)
        assert np.isfinite(each.sample(100, rng=0)).all()
        embedding = fwbq.embed(fwbq.Matern32(1.0), each)
        assert embedding.variance == pytest.approx(1.0, abs=2.0 / lower + 1e-9)


def test_truncation_beyond_that_is_refused():
    for bounds in ({"lower": 1e160}, {"lower": -math.inf, "upper": -1e160}, {"lower": 1e101, "upper": 1e102}):
        with pytest.raises(ValueError, match="`lower` and `upper` must leave something within"):
            fwbq.TruncatedGaussian([0.0], [1.0], **bounds)


@pytest.mark.parametrize("size", [1e50, 1e100, 1e153])
def test_the_error_of_huge_weights(size):
    """k_PP - 2 w'z + w'K w in many digits; w'K w is all that matters."""
    rule = fwbq.weighted_rule(EMBEDDING, [[0.0], [1.0]], [size, -size])
    truth = 2 * mpmath.mpf(size) ** 2 * (1 - mpmath.exp(mpmath.mpf(-1) / 2))
    assert abs(rule.mmd2 - truth) <= 2 * mpmath.mpf(rule.floor) < mpmath.mpf("1e-13") * truth


def test_weights_whose_error_overflows_are_refused():
    for size in (1e155, 1e308):
        with pytest.raises(ValueError, match="`weights` as large as"):
            fwbq.weighted_rule(EMBEDDING, [[0.0], [1.0]], [size, -size])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_sample_of_which_every_point_is_evaluated_is_summed(n):
    rng = np.random.default_rng(n)
    x, w = rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n))
    result = fwbq.integrate(lambda x: np.exp(x[:, 0]) - x[:, 1], fwbq.Empirical(x, w), n=n, rng=0)
    truth = math.fsum(w * (np.exp(x[:, 0]) - x[:, 1]))
    low, high = result.interval(0.95)
    assert low <= truth <= high
    assert high - low < 1e-13
    assert "every term is known" in result.status


def test_errors_name_their_parameter():
    for call, name in (
        (lambda: fwbq.BlendedPairwise(EMBEDDING, corrective=np.ones(2)), "corrective"),
        (lambda: fwbq.SBQ(EMBEDDING, candidates=[[0.0], [1.0, 2.0]]), "candidates"),
        (lambda: fwbq.SBQ(EMBEDDING, candidates=np.empty((0, 1))), "candidates"),
        (lambda: fwbq.integrate(np.cos, GAUSSIAN, prior_mean=np.ones(2)), "prior_mean"),
        (lambda: RULE.integrate([[0.0], [1.0, 2.0]]), "values"),
        (lambda: fwbq.condition(RULE, [0.0, 1.0]).cdf("one"), "x"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^`{name}` must"):
            call()
