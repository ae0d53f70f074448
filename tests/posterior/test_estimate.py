"""A number with an error."""

import numpy as np
import pytest

import fwbq


@pytest.mark.parametrize("df", [np.inf, 5.0])
def test_quantiles_and_probabilities_are_inverse_to_each_other(df):
    estimate = fwbq.Estimate(1.0, 0.5, 2.0, df)
    for q in (0.01, 0.3, 0.5, 0.7, 0.99):
        assert estimate.cdf(estimate.quantile(q)) == pytest.approx(q, abs=1e-12)


def test_a_symmetric_gaussian_is_a_gaussian():
    from scipy import stats

    low, high = fwbq.Estimate(3.0, 2.0, 2.0).interval(0.9)
    assert (low, high) == pytest.approx(stats.norm(3.0, 2.0).interval(0.9), rel=1e-12)


def test_bounds_are_not_passed_at_any_level():
    estimate = fwbq.Estimate(0.1, 0.2, 3.0, lower=0.0, upper=1.0)
    assert estimate.interval(0.9999) == (0.0, 1.0)
    draws = estimate.sample(1000, rng=0)
    assert draws.min() == 0.0 and draws.max() == 1.0


def test_the_sd_is_that_of_draws_about_the_estimate():
    estimate = fwbq.Estimate(0.0, 1.0, 3.0, 8.0)
    draws = estimate.sample(400_000, rng=0)
    # The fourth moment of a Student-t with 8 degrees of freedom makes the standard error 0.4 %.
    assert np.sqrt(np.mean(draws**2)) == pytest.approx(estimate.sd, rel=0.02)


def test_columns_stand_side_by_side():
    both = fwbq.Estimate.stack([fwbq.Estimate(1.0, 0.1, 0.2), fwbq.Estimate(2.0, 0.3, 0.4)])
    low, high = both.interval(0.95)
    assert both.mean.tolist() == [1.0, 2.0] and low.shape == high.shape == (2,)
    assert list(both.to_frame().columns) == ["mean", "sd", "lower", "upper"]
    assert repr(both) == "Estimate(2 numbers)"


@pytest.mark.parametrize(
    ("mean", "scale", "written"),
    [
        (3.14159, 0.0123, "3.142 ± 0.012, 95 % in [3.117, 3.166]"),
        (12345.6, 12.0, "12346 ± 12, 95 % in [12322, 12369]"),
        (1.0 / 3.0, 0.0, "0.3333333333 ± 0, 95 % in [0.3333333333, 0.3333333333]"),
        (1.2345678e-6, 3e-8, "1.235e-06 ± 3.0e-08, 95 % in [1.176e-06, 1.293e-06]"),
    ],
)
def test_digits_follow_the_error(mean, scale, written):
    assert repr(fwbq.Estimate(mean, scale, scale)) == f"Estimate({written})"


def test_an_estimate_is_taken_apart_as_a_pair():
    value, sd = fwbq.Estimate(1.5, 0.1, 0.1)
    assert value == 1.5 and sd == pytest.approx(0.1, rel=1e-12)


def test_nothing_is_known_of_an_estimate_with_infinite_scales():
    for mean in (-np.inf, 0.0):
        nothing = fwbq.Estimate(mean, np.inf, np.inf)
        assert nothing.interval() == (-np.inf, np.inf) and nothing.quantile(0.5) == mean and nothing.sd == np.inf


def test_a_number_that_is_known_exactly_is_at_most_what_it_is():
    for df in (np.inf, 5.0):
        known = fwbq.Estimate(2.0, 0.0, 0.0, df)
        assert known.cdf([1.0, 2.0, 3.0]).tolist() == [0.0, 1.0, 1.0]
        above = fwbq.Estimate(2.0, 0.0, 1.0, df)
        assert above.cdf(2.0 - 1e-9) == 0.0 and above.cdf(2.0) == 0.5


def test_nothing_is_beyond_the_bounds():
    estimate = fwbq.Estimate(0.3, 0.2, 0.4, lower=0.0, upper=1.0)
    free = fwbq.Estimate(0.3, 0.2, 0.4)
    assert estimate.cdf(-1e-9) == 0.0 and estimate.cdf(1.0) == estimate.cdf(2.0) == 1.0
    inside = np.array([0.0, 0.2, 0.3, 0.7, 0.999])
    np.testing.assert_array_equal(estimate.cdf(inside), free.cdf(inside))
