"""The average over kernels: quantiles of a mixture of Gaussian and Student-t distributions."""

import numpy as np
import pytest
from scipy import stats

from fwbq.posterior import AveragedPosterior, IntegralPosterior

LAWS = [(0.3, 1.0, 4.0), (-2.0, 0.1, np.inf), (0.35, 30.0, 9.0), (0.0, 0.2, 2.5)]
WEIGHTS = np.array([0.4, 0.3, 0.2, 0.1])


def mixture(laws=LAWS, columns=0):
    components = [
        IntegralPosterior(np.full(columns, mean), np.full(columns, scale), df, 1.0)
        if columns
        else IntegralPosterior(mean, scale, df, 1.0)
        for mean, scale, df in laws
    ]
    return AveragedPosterior(tuple(components), WEIGHTS[: len(laws)] / WEIGHTS[: len(laws)].sum())


@pytest.mark.parametrize("x", [0.3, -40.0, np.linspace(-3.0, 3.0, 7)])
def test_cdf_is_that_of_scipy(x):
    expected = sum(w * stats.t(df, mean, scale).cdf(x) for w, (mean, scale, df) in zip(WEIGHTS, LAWS, strict=True))
    np.testing.assert_allclose(mixture().cdf(x), expected, rtol=1e-13)


def test_cdf_is_broadcast_against_the_integrals():
    assert np.shape(mixture().cdf(0.0)) == ()
    assert np.shape(mixture(columns=3).cdf(0.0)) == (3,)
    assert np.shape(mixture(columns=3).cdf(np.zeros((5, 1)))) == (5, 3)
    assert np.shape(mixture(columns=1).cdf(np.zeros((2, 4)))) == (2, 4)


@pytest.mark.parametrize("q", [1e-6, 0.025, 0.3, 0.5, 0.84, 0.975, 1.0 - 1e-6])
def test_quantile_is_the_inverse_of_the_cdf(q):
    one = mixture()
    x = one.quantile(q)
    assert one.cdf(x) == pytest.approx(q, rel=1e-12)
    # One integral is sought by another method than several. The cdf is known to some 1e-15, and its slope in log x is
    # at least the probability beyond x.
    np.testing.assert_allclose(mixture(columns=2).quantile(q), x, rtol=1e-14 / min(q, 1.0 - q))


@pytest.mark.parametrize("factor", [2.0**-1000, 1.0, 2.0**900])
def test_quantile_follows_the_scale(factor):
    scaled = mixture([(factor * mean, factor * scale, df) for mean, scale, df in LAWS])
    assert scaled.quantile(0.975) == pytest.approx(factor * mixture().quantile(0.975), rel=1e-12)


def test_quantile_of_a_known_integral():
    """A scale of zero makes the distribution function jump: the quantiles within the jump are its place."""
    known = AveragedPosterior(
        (IntegralPosterior(0.0, 0.0, 5.0, 0.0), IntegralPosterior(0.0, 1.0, np.inf, 1.0)), np.array([0.5, 0.5])
    )
    assert abs(known.quantile(0.6)) < 1e-12
    assert known.quantile(0.975) == pytest.approx(stats.norm.ppf(0.95), rel=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_an_interval_leaves_out_half_on_each_side(level):
    one = mixture()
    low, high = one.interval(level)
    assert low < high
    assert one.cdf(low) == pytest.approx(0.5 * (1.0 - level), rel=1e-10)
    assert one.cdf(high) == pytest.approx(0.5 * (1.0 + level), rel=1e-10)


def test_the_scale_is_half_of_the_interval_of_one_standard_deviation():
    one = mixture()
    assert one.cdf(one.quantile(0.5 - 0.3413447460685429) + 2.0 * one.scale) == pytest.approx(0.8413447460685429)
    assert mixture([(0.3, 2.0, np.inf)]).scale == pytest.approx(2.0, rel=1e-10)


def test_the_standard_deviation_is_within_and_between_the_components():
    laws = [law for law in LAWS if law[2] > 2.0]
    w = WEIGHTS[: len(laws)] / WEIGHTS[: len(laws)].sum()
    means, variances = np.array([law[0] for law in laws]), [stats.t(df, m, s).var() for m, s, df in laws]
    expected = np.sqrt(w @ (variances + (means - w @ means) ** 2))
    assert mixture(laws).sd == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_squares_of_a_standard_deviation_neither_overflow_nor_vanish(factor):
    small = mixture([(m * factor, s * factor, df) for m, s, df in LAWS])
    assert small.sd / factor == pytest.approx(mixture().sd, rel=1e-12)


def test_components_without_width_have_no_standard_deviation():
    assert mixture([(1.0, 0.0, np.inf), (1.0, 0.0, 4.0)]).sd == 0.0


def test_the_effective_number_of_kernels_counts_equal_ones():
    equal = AveragedPosterior(tuple(IntegralPosterior(0.0, 1.0, np.inf, 1.0) for _ in range(4)), np.full(4, 0.25))
    assert equal.effective_size == pytest.approx(4.0)
    assert 1.0 < mixture().effective_size < 4.0


def test_draws_come_from_each_component_as_often_as_its_weight_says():
    # Components that do not overlap, so that a draw tells its own.
    far = mixture([(100.0 * i, 1e-3, np.inf) for i in range(4)])
    found = np.bincount(np.round(far.sample(20_000, rng=0) / 100.0).astype(int), minlength=4) / 20_000
    # Five standard errors of a share.
    np.testing.assert_array_less(np.abs(found - WEIGHTS), 5.0 * np.sqrt(WEIGHTS / 20_000))
