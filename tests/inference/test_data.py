"""The data of a run: one store for what is asked, told and failed, the top so far, values too deep to be squared."""

import numpy as np
import pytest

from fwbq import Gaussian
from fwbq.inference.chart import chart_of
from fwbq.inference.data import Data

CHART = chart_of(Gaussian(np.ones(2), 4.0 * np.eye(2)))
Z = np.random.default_rng(0).standard_normal((6, 2))
VALUES = np.array([-3.0, -np.inf, 1.0, -8.0, 2.0, 0.5])
COLUMNS = ("x", "z", "values", "gradient", "noise", "failed")


def told(z, values):
    data = Data.nothing(CHART).asked(np.array(z))
    return data.told(data.x, np.array(values))


def same(one, other, names=COLUMNS):
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_whatever_the_order_of_telling_it_is_the_same():
    asked = Data.nothing(CHART).asked(Z)
    whole = asked.told(asked.x, VALUES)
    for order in ([5, 4, 3, 2, 1, 0], [2, 0, 5, 1, 4, 3]):
        data = asked
        for i in order:
            assert data.waiting[i]
            data = data.told(data.x[[i]], VALUES[[i]])
        same(data, whole, (*COLUMNS, "tops", "joint"))
        assert not data.waiting.any()


def test_the_top_never_falls_and_zeros_do_not_count():
    z = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    known = told(z, [-np.inf, -1.0, -np.inf, -5.0])
    level = -0.5 - np.log(2.0 * np.pi)
    assert np.array_equal(known.tops, [-np.inf, level - 1.0, level - 1.0, level - 1.0])
    assert known.top == level - 1.0
    assert known.positive.tolist() == [False, True, False, True]
    assert known.highest_first[:2] == [1, 3]


def test_before_the_first_value_the_top_is_minus_infinity():
    assert Data.nothing(CHART).top == -np.inf
    assert len(Data.nothing(CHART)) == 0


def test_the_deepest_values_are_raised_and_the_others_are_not():
    known = told(Z[:3], [0.0, -1e5, -1e300])
    assert known.bounded[1] == known.joint[1]
    assert known.bounded[2] == known.top - 1e7


def test_points_of_ones_own_follow_those_that_wait():
    data = Data.nothing(CHART).asked(Z[:2])
    own = np.array([[0.3, 0.4], [0.5, 0.6]])
    data = data.told(np.vstack([own, data.x[:1]]), np.array([-1.0, -2.0, -3.0]))
    assert data.values[[0, 2, 3]].tolist() == [-3.0, -1.0, -2.0]
    assert data.waiting.tolist() == [False, True, False, False]
    assert np.array_equal(data.evaluated.x, np.vstack([data.x[:1], own]))
    assert np.allclose(CHART.to_user(data.z[2:]), own, rtol=1e-14)


def test_a_value_told_twice_is_no_news_and_another_one_is_refused():
    data = told(Z, VALUES)
    same(data.told(data.x[:3], VALUES[:3] * (1.0 + 1e-13)), data)
    with pytest.raises(ValueError, match="was told before"):
        data.told(data.x[2:3], np.array([1.1]))
    with pytest.raises(ValueError, match="was told before"):
        data.told(data.x[1:2], np.array([0.0]))  # it was a likelihood of zero
    own = np.full((2, 2), 0.7)
    assert len(data.told(own, np.array([1.0, 1.0]))) == len(data) + 1
    with pytest.raises(ValueError, match="was told before"):
        data.told(own, np.array([1.0, 2.0]))


def test_failed_points_wait_no_longer_and_may_have_a_value_later():
    data = Data.nothing(CHART).asked(Z[:3])
    data = data.told(data.x[:1], VALUES[:1]).given_up(data.x)
    assert data.failed.tolist() == [False, True, True] and not data.waiting.any()
    assert np.array_equal(data.failures, Z[1:3])
    assert len(data.evaluated) == 1 and not data.evaluated.failed.any()
    data = data.told(data.x[1:2], np.array([-4.0]))
    assert data.failed.tolist() == [False, False, True] and data.values[1] == -4.0


def test_gradients_are_kept_where_they_are_known():
    data = Data.nothing(CHART).asked(Z[:3])
    slopes = np.array([[1.0, 2.0], [np.nan, 3.0]])
    data = data.told(data.x[:2], VALUES[:2], slopes)
    assert data.gradient[0].tolist() == [1.0, 2.0]
    assert np.isnan(data.gradient[1:]).all()
    again = data.told(data.x[1:2], VALUES[1:2], np.array([[5.0, 6.0]]))
    assert again.gradient[1].tolist() == [5.0, 6.0]
    assert np.array_equal(again.evaluated.gradient, [[1.0, 2.0], [5.0, 6.0]])
