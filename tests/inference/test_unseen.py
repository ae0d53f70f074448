"""What the surrogate does not know of: a top that rises, starts that wait, a support that few points outline."""

import numpy as np
import pytest

import fwbq
from fwbq.inference import unseen as room


def told(f, n, rng=0, dim=2):
    run = fwbq.EvidenceRun(fwbq.Gaussian(np.zeros(dim), np.eye(dim)), n=n, rng=rng)
    while run.n_evaluations < n:
        x = run.ask(n - run.n_evaluations)
        run.tell(x, f(x))
    return run


def inside(radius):
    return lambda x: np.where(np.sum((x - 0.3) ** 2, axis=1) < radius**2, -np.sum(x**2, axis=1), -np.inf)


def test_a_smooth_likelihood_leaves_nothing_unseen():
    found = told(lambda x: -8.0 * np.sum((x - 0.3) ** 2, axis=1), 40).result()
    assert found.error_parts["unseen"] == 0.0


@pytest.mark.parametrize("n", [20, 40, 80])
def test_few_positive_values_leave_a_support_open_and_many_do_not(n):
    known = told(inside(0.8), n)._known
    each = 6.0 / known.positive.sum()
    assert room._outline(known) == pytest.approx(2.0 * max(each**2 - 1.0 / 9.0, 0.0))
    assert (room._outline(known) > 0.0) == (known.positive.sum() < 18)


def test_without_a_zero_there_is_no_support_to_outline():
    assert room._outline(told(lambda x: -np.sum(x**2, axis=1), 12)._known) == 0.0


def test_nothing_bounds_the_evidence_without_a_prior():
    run = fwbq.EvidenceRun(start=[0.0, 0.0], n=30, rng=0)
    while run.n_evaluations < 30:
        x = run.ask(30 - run.n_evaluations)
        run.tell(x, -np.sum(x**2, axis=1))
    assert room.bound(run._known, run._climbs) == np.inf


def test_with_a_prior_the_bound_is_that_of_the_largest_likelihood():
    run = told(lambda x: -8.0 * np.sum((x - 0.3) ** 2, axis=1), 40)
    climb = run._climbs.highest
    ball = np.pi * climb.radius**2
    least = run._known.top - 1.0 + np.log(ball)
    assert room.bound(run._known, run._climbs) == pytest.approx(max(run._known.values.max() - least, 1.0))


@pytest.mark.parametrize("dim", [2, 5])
def test_only_in_few_dimensions_later_points_settle_a_climb_that_has_not_arrived(dim):
    run = told(lambda x: -8.0 * np.sum((x - 0.3) ** 2, axis=1), 100, dim=dim)
    for climb in run._climbs.each:
        climb.arrived, climb.spent = False, 50  # more than a quadratic has coefficients
    # A small and a large error of the surrogate: where points can settle the matter the first leaves less open.
    near, far = (room._still_rising(run._known, run._climbs, error) for error in (0.01, 10.0))
    assert far > 0.0
    assert near < far if dim == 2 else near == far
