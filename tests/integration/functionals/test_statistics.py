"""Statistics of weighted values."""

import numpy as np

from fwbq.integration.functionals.statistics import deviation, frequency_above, frequency_below, quantile_at, variance

VALUES = np.random.default_rng(0).standard_normal((50, 3)) + 1e6
EQUAL = np.full(50, 1.0 / 50)


def test_variance_and_deviation_of_equal_weights_are_numpys():
    # Values of 1e6 have a rounding error of 1e-10.
    np.testing.assert_allclose(variance(VALUES, EQUAL), VALUES.var(axis=0), rtol=1e-9)
    np.testing.assert_allclose(deviation(VALUES, EQUAL), VALUES.std(axis=0), rtol=1e-9)


def test_a_weight_of_two_is_a_value_that_comes_twice():
    weights = np.ones(50)
    weights[::2] = 2.0
    twice = np.repeat(VALUES, weights.astype(int), axis=0)
    weights /= weights.sum()
    even = np.full(len(twice), 1.0 / len(twice))
    np.testing.assert_allclose(variance(VALUES, weights), variance(twice, even), rtol=1e-9)
    threshold = 1e6 + 0.3
    one, other = frequency_above(threshold)(VALUES, weights), frequency_above(threshold)(twice, even)
    # Next to the threshold a value counts in part, two that are equal one after the other: at most one of 75 apart.
    np.testing.assert_allclose(one, other, atol=1.0 / 75)


def test_frequencies_interpolate_the_distribution_function_of_quantiles():
    weights = np.random.default_rng(1).dirichlet(np.ones(50))
    for q in (0.1, 0.5, 0.93):
        for column in VALUES.T:
            (level,) = quantile_at(q)(column[:, None], weights)
            # Values of 1e6 have a rounding error of 1e-10, and lie about 0.01 or more apart.
            np.testing.assert_allclose(frequency_above(level)(column[:, None], weights), 1.0 - q, atol=1e-7)
            np.testing.assert_allclose(frequency_below(level)(column[:, None], weights), q, atol=1e-7)


def test_frequencies_beyond_all_values_are_zero_and_one():
    for threshold, above in ((0.0, 1.0), (2e6, 0.0)):
        np.testing.assert_allclose(frequency_above(threshold)(VALUES, EQUAL), above, rtol=1e-14)
        np.testing.assert_allclose(frequency_below(threshold)(VALUES, EQUAL), 1.0 - above, rtol=1e-14)


def test_a_quantile_counted_from_above_is_the_same():
    for q in (0.1, 0.5, 0.93):
        np.testing.assert_allclose(
            quantile_at(q)(VALUES, EQUAL), quantile_at(q, from_above=True)(VALUES, EQUAL), rtol=1e-14
        )
        share = (quantile_at(q)(VALUES, EQUAL) > VALUES).mean(axis=0)
        assert np.all(np.abs(share - q) <= 1.0 / 50)
