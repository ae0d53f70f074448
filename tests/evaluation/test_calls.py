"""One call of f, and whether f takes many points or one."""

import numpy as np
import pytest

from fwbq.evaluation.calls import find_out_at_once

X = np.random.default_rng(0).normal(size=(4, 3))


class Watched:
    def __init__(self, f):
        self.f, self.shapes = f, []

    def __call__(self, x):
        self.shapes.append(x.shape)
        return self.f(x)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_function_of_many_points_is_called_with_all_of_them(n):
    f = Watched(lambda x: x[:, 0] ** 2)
    vectorized, given = find_out_at_once(f, X[:n])
    assert vectorized is True
    np.testing.assert_array_equal(given, X[:n, 0] ** 2)
    assert f.shapes == [(n, 3)] + [(1, 3)] * (n == 3)  # as many values as coordinates may mean one point


@pytest.mark.parametrize("f", [lambda x: float(x[0]), lambda x: x.sum(), lambda x: x[0] ** 2, lambda x: x @ x])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_of_a_function_of_one_point_the_first_value_is_returned(f, n):
    vectorized, given = find_out_at_once(f, X[:n])
    assert vectorized is False
    assert given == [f(X[0])]


def test_a_single_point_does_not_tell():
    vectorized, given = find_out_at_once(lambda x: np.sum(x**2, axis=-1), X[:1])
    assert vectorized is None
    np.testing.assert_array_equal(given, np.sum(X[:1] ** 2, axis=1))


def test_what_can_be_called_neither_way_raises_what_it_raised_for_many():
    def f(x):
        raise ValueError(f"shape {x.shape}")

    with pytest.raises(ValueError, match=r"shape \(4, 3\)"):
        find_out_at_once(f, X)
    vectorized, given = find_out_at_once(lambda x: np.zeros((2, 2)), X)
    assert vectorized is None and np.shape(given) == (2, 2)


def test_f_may_change_its_argument():
    def rude(x):
        x[:] = 0.0
        return x[:, 0]

    before = X.copy()
    find_out_at_once(rude, X)
    np.testing.assert_array_equal(X, before)
