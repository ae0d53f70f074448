"""Positive integrands whose few values are skewed."""

import numpy as np
import pytest

import fwbq
from fwbq.integration.skew import MOST_ERRORS, Skew
from fwbq.posterior import AveragedPosterior, IntegralPosterior


def cube(dim):
    return fwbq.Uniform(np.zeros(dim), np.ones(dim))


def corners(x):
    """Product of |4 x_i - 2|, of mean one: large in the corners, where 25 points are not."""
    return np.prod(np.abs(4.0 * x - 2.0), axis=1)


@pytest.mark.parametrize("seed", [1, 3])
def test_the_interval_reaches_what_the_logarithms_say(seed):
    # Without the second process the integral was 1.7 to 3.3 half-widths above the answer.
    result = fwbq.integrate(corners, cube(5), n=25, rng=seed)
    assert "positive and skewed" in result.status
    low, high = result.interval(0.99)
    assert low <= 1.0 <= high


def test_an_integrand_with_another_sign_or_another_shape_is_left_alone():
    for f in (lambda x: corners(x) - 0.5, lambda x: 1.0 + x.sum(axis=1) + 0.1 * np.sin(9.0 * x[:, 0])):
        assert "skewed" not in fwbq.integrate(f, cube(5), n=25, rng=1).status


def test_the_scale_of_the_answer_does_not_matter():
    one, other = (fwbq.integrate(lambda x, c=c: c * corners(x), cube(5), n=25, rng=1) for c in (1.0, 2.0**40))
    assert other.sd == pytest.approx(2.0**40 * one.sd, rel=1e-6)


def test_the_difference_is_added_to_the_error_up_to_a_limit():
    posterior = AveragedPosterior((IntegralPosterior(1.0, 0.3, np.inf, 1.0),), np.ones(1))
    wider = posterior.widened(Skew(1.0, 1.4, 10.0).sd)
    assert wider.sd == pytest.approx(0.5) and wider.mean == 1.0
    assert Skew(1.0, 1e9, 0.5).sd == MOST_ERRORS * 0.5
