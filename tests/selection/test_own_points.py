"""Models with likelihoods too narrow for shared points get points of their own, or errors that say so."""

import numpy as np
import pytest

from fwbq.chema import Dataset, compare
from fwbq.selection import Evidences
from studies.calibration import dataset, exact_log_evidences


@pytest.fixture(scope="module")
def hard() -> Dataset:
    """A likelihood with a narrow peak near K = 0 and a low wide one: the rates are far smaller than the prior's."""
    return dataset(102)[0].rescaled(time=1 / 30)


@pytest.fixture(scope="module")
def found(hard):
    return compare(hard, max_enzymes=1, units="given", truncated=False, checks=False, stop=0.95, rng=0, progress=False)


def test_a_narrow_leader_is_right_to_what_is_stated(hard, found):
    """Shared points alone leave it 2.8 too low with a stated standard deviation of 0.3 (200 points)."""
    exact = exact_log_evidences(hard, [("E17",)])[0][0]
    assert found.best == ("E17",) and "{E17}" in found.settings["own_points"]
    low, high = (float(end[found.names.index(found.best)]) for end in found.evidences.interval(0.999))
    assert low <= exact <= high
    assert found.log_evidence(("E17",)) == pytest.approx(exact, abs=0.1)


def test_narrow_likelihoods_that_keep_shared_points_have_wide_errors(hard):
    few = compare(hard, max_enzymes=1, units="given", truncated=False, checks=False, n=20, rng=0, progress=False)
    exact = exact_log_evidences(hard, [name for name in few.names if name])[0]
    alone = np.array([bool(name) for name in few.names])
    low, high = (end[alone] for end in few.evidences.interval(0.99))
    assert "own_points" not in few.settings  # too few points for a run of one's own
    assert np.mean((low <= exact) & (exact <= high)) > 0.9
    assert few.evidences.log_sd[few.names.index(("E17",))] > 1.0


def test_the_same_call_gives_the_same_bits_and_a_journal_repeats_nothing(hard, found, tmp_path):
    settings = {"max_enzymes": 1, "units": "given", "truncated": False, "checks": False, "stop": 0.95, "rng": 0}
    again = [compare(hard, journal=tmp_path / "run.db", progress=False, **settings) for _ in range(2)]
    for each in again:
        np.testing.assert_array_equal(each.evidences.centre, found.evidences.centre)
        assert each.n_evaluations == found.n_evaluations


def test_a_budget_leaves_no_room_for_points_of_ones_own(hard):
    options = {"max_enzymes": 1, "units": "given", "truncated": False, "checks": False, "n": 50, "rng": 0}
    spent = compare(hard, budget=27 * 50, race=False, progress=False, **options)
    assert "own_points" not in spent.settings and spent.n_evaluations <= 27 * 50


def test_likelihoods_as_wide_as_the_prior_keep_shared_points():
    found = compare(Dataset.example(), checks=False, truncated=False, rng=0, progress=False)
    assert "own_points" not in found.settings


def test_contenders_with_wide_errors_are_named():
    data = Dataset.simulate(3, rng=0)
    still = data.with_values(phospho=np.full(21, 2.0))  # nothing tells its models apart
    with pytest.warns(RuntimeWarning, match="standard deviation above 3, and could be the highest"):
        compare(still, n=20, checks=False, rng=0, progress=False)


def test_widening_adds_variances_and_leaves_what_is_not_a_logarithm():
    one = np.ones(3)
    kinds = np.array(["log", "positive", "log"], dtype="<U8")
    given = Evidences(kinds, np.array([0.0, 1.0, -np.inf]), 0.75 * one, 9.0 * one, np.zeros(3))
    np.testing.assert_allclose(given.widened(one).scale, [1.25, 0.75, 0.75])
