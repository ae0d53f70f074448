"""Integrals of which all values are equal."""

import warnings

import numpy as np
import pytest

import fwbq
from fwbq.integration.equal import all_equal, unseen, varied, widened
from fwbq.posterior import AveragedPosterior, IntegralPosterior

SQUARE = fwbq.Uniform([0.0, 0.0], [1.0, 1.0])


def corner(x):
    """A column that varies beside one that differs from zero on a hundredth of the square."""
    return np.column_stack([np.exp(x[:, 0]), 1.0 * (x.min(axis=1) > 0.9)])


@pytest.mark.parametrize("seed", range(6))
def test_zeros_beside_a_smooth_column_are_not_believed(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = fwbq.integrate(corner, SQUARE, tol=2e-3, rng=seed)
    # Half the width of the 95 % interval is within 2e-3; twice that is four standard deviations.
    assert result.success and result.mean[1] == pytest.approx(0.01, abs=4e-3)
    assert result.sd[1] > 0.0


@pytest.mark.parametrize("n, method", [(20, "process"), (256, "net")])
def test_a_column_of_equal_values_has_an_error_and_is_named(n, method):
    result = fwbq.integrate(
        lambda x: np.column_stack([np.sin(5.0 * x[:, 0]), 0.0 * x[:, 0]]), SQUARE, n=n, method=method, rng=0
    )
    assert f"all {n} values of column 2 are equal" in result.status
    low, high = result.interval(0.95)
    assert result.mean[1] == pytest.approx(0.0, abs=1e-15)
    # 3 / n times the range of the other column; a net has a Student-t distribution, which is a tenth wider.
    width = 3.0 / n * np.ptp(result.values[:, 0])
    assert 0.99 * width <= (high[1] - low[1]) / 2.0 <= 1.15 * width


def test_more_columns_than_have_kernels_of_their_own():
    steps = np.arange(1.0, 20.0)
    result = fwbq.integrate(lambda x: np.column_stack([np.sin(steps * x[:, :1]), np.ones(len(x))]), SQUARE, n=20, rng=0)
    assert result.sd[-1] > 0.0
    assert "all 20 values of column 20 are equal" in result.status


def test_equal_columns_alone_are_constants():
    result = fwbq.integrate(lambda x: np.ones((len(x), 2)), SQUARE, n=20, rng=0)
    np.testing.assert_array_equal(result.sd, [0.0, 0.0])
    assert result.status.endswith("is below 0.15")
    assert "all 20 values are equal" in result.status


def test_which_columns_vary():
    values = np.array([[1.0, 2.0, np.inf], [1.0, 3.0, np.inf]])
    np.testing.assert_array_equal(varied(values), [False, True, False])
    np.testing.assert_array_equal(varied(np.array([2.0, 2.0])), [False])


def test_the_remark_counts_and_shortens():
    values = np.column_stack([np.arange(4.0), np.zeros((4, 7))])
    assert "each of the columns 2, 3, 4, 5, 6, ... are equal" in all_equal(values)
    assert all_equal(values[:1]) == ""


def test_the_error_scales_with_the_values():
    values = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0], [0.0, 4.0]])
    np.testing.assert_allclose(unseen(8.0 * values), 8.0 * unseen(values), rtol=1e-14)
    assert unseen(values[:, :1]) is None
    assert unseen(values[:, 1:]) is None


def test_every_kind_of_posterior_is_widened():
    values = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0]])
    single = IntegralPosterior([0.0, 2.0], [0.0, 0.5], 2.0, [0.0, 1.0])
    least = unseen(values)
    np.testing.assert_array_equal(widened(single, values).scale, [least[0], 0.5])
    average = AveragedPosterior((single, single), np.array([0.5, 0.5]))
    np.testing.assert_array_equal(widened(average, values).components[1].scale, [least[0], 0.5])
    assert widened(single, values[:, 1:]) is single
