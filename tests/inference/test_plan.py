"""A plan: handed out in portions, complete when every point is told or given up."""

import numpy as np

from fwbq import Uniform
from fwbq.inference.plan import Plan
from fwbq.inference.space import space_of

SPACE = space_of(Uniform([0.0, 0.0], [1.0, 1.0]))
Z = np.random.default_rng(0).standard_normal((5, 2))


def test_every_point_is_handed_out_once():
    plan = Plan.of("round", Z, SPACE)
    portions = [plan.take(2), plan.take(2), plan.take(None), plan.take(3)]
    assert [len(part) for part in portions] == [2, 2, 1, 0]
    assert np.array_equal(np.vstack(portions), SPACE.to_user(Z))


def test_points_that_coincide_for_the_user_are_evaluated_once():
    # Normal scores of forty and fifty are both the upper end of a uniform distribution.
    plan = Plan.of("round", np.array([[0.0, 40.0], [0.0, 50.0], [1.0, 0.0]]), SPACE)
    assert len(plan.x) == len(plan.z) == 2


def test_a_point_given_up_completes_the_plan_but_is_not_known():
    plan = Plan.of("spread", Z, SPACE)
    for i, key in enumerate(plan.keys):
        assert not plan.complete
        plan.values[key] = np.nan if i == 2 else float(i)
    assert plan.complete and plan.told == 4
    rows, values = plan.known()
    assert rows.tolist() == [0, 1, 3, 4] and values.tolist() == [0.0, 1.0, 3.0, 4.0]


def test_the_last_points_look_around():
    plan = Plan.of("round", Z, SPACE)
    plan.exploring = 2
    assert plan.looks_around.tolist() == [False, False, False, True, True]
