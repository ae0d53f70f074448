"""What a run knows: the top so far, zeros, values too deep to be squared."""

import numpy as np

from fwbq import Gaussian
from fwbq.inference.known import Known
from fwbq.inference.space import space_of

SPACE = space_of(Gaussian(np.zeros(2), np.eye(2)))


def told(*portions):
    known = Known.nothing(SPACE)
    for z, values in portions:
        known = known.joined(np.array(z), SPACE.to_user(np.array(z)), np.array(values))
    return known


def test_in_one_portion_or_several_it_is_the_same():
    z = np.random.default_rng(0).standard_normal((6, 2))
    values = np.array([-3.0, -np.inf, 1.0, -8.0, 2.0, 0.5])
    whole, parts = told((z, values)), told((z[:1], values[:1]), (z[1:4], values[1:4]), (z[4:], values[4:]))
    for name in ("z", "x", "values", "remote", "tops", "joint"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


def test_the_top_never_falls_and_zeros_do_not_count():
    z = np.zeros((4, 2))
    known = told((z, [-np.inf, -1.0, -np.inf, -5.0]))
    level = -np.log(2.0 * np.pi)
    assert np.array_equal(known.tops, [-np.inf, level - 1.0, level - 1.0, level - 1.0])
    assert known.top == level - 1.0
    assert known.positive.tolist() == [False, True, False, True]
    assert known.highest_first[:2] == [1, 3]


def test_before_the_first_value_the_top_is_minus_infinity():
    assert Known.nothing(SPACE).top == -np.inf
    assert len(Known.nothing(SPACE)) == 0


def test_the_deepest_values_are_raised_and_the_others_are_not():
    known = told((np.zeros((3, 2)), [0.0, -1e5, -1e300]))
    assert known.bounded[1] == known.joint[1]
    assert known.bounded[2] == known.top - 1e7
