"""Statistics of weighted values."""

import numpy as np

from fwbq.integration.functionals.statistics import deviation, frequency_above, quantile_at, variance

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
    np.testing.assert_allclose(frequency_above(threshold)(VALUES, weights), frequency_above(threshold)(twice, even))


def test_a_quantile_counted_from_above_is_the_same():
    for q in (0.1, 0.5, 0.93):
        np.testing.assert_allclose(
            quantile_at(q)(VALUES, EQUAL), quantile_at(q, from_above=True)(VALUES, EQUAL), rtol=1e-14
        )
        share = (quantile_at(q)(VALUES, EQUAL) > VALUES).mean(axis=0)
        assert np.all(np.abs(share - q) <= 1.0 / 50)
