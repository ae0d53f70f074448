"""Do the intervals hold the truth as often as they say? A hundred random problems, seeded."""

import warnings

import numpy as np
import pytest
from scipy import stats

import fwbq
from studies import problems

FAMILIES = ("genz-oscillatory", "genz-gaussian", "matern12-uniform", "matern32-uniform", "matern52-uniform")
LEVEL = 0.95


def holds(family, seed):
    problem = problems.draw(family, 1, np.random.default_rng([seed, *family.encode()]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a poor fit is what is counted here
        result = fwbq.integrate(problem.f, problem.measure, n=12, rng=seed, progress=False)
    low, high = result.interval(LEVEL)
    slack = 1e-13 * abs(problem.value)  # what a sum of this size may lose to rounding
    return low - slack <= problem.value <= high + slack, (high - low) / 2.0, problem.value


@pytest.fixture(scope="module")
def outcomes():
    return [holds(family, seed) for family in FAMILIES for seed in range(20)]


def test_intervals_hold_the_truth_as_often_as_they_say(outcomes):
    held = sum(inside for inside, _, _ in outcomes)
    n = len(outcomes)
    assert n == 100
    # If 95 % held, fewer than this would be seen once in a thousand times.
    assert held >= stats.binom(n, LEVEL).ppf(1e-3)


def test_intervals_are_not_wide_for_the_sake_of_it(outcomes):
    # The functions are of order one: an interval that holds everything would pass the test above.
    widths = [width for _, width, _ in outcomes]
    assert np.median(widths) < 0.2


def test_the_binomial_bound_sees_an_interval_that_is_too_narrow():
    # At half the width a Gaussian interval holds 67 %: the bound must refuse that, nearly always.
    bound = stats.binom(100, LEVEL).ppf(1e-3)
    assert stats.binom(100, 0.67).sf(bound - 1) < 1e-3
