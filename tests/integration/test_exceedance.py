"""Probabilities as the target: textbook problems of structural reliability."""

import numpy as np
import pytest
from scipy.stats import norm

import fwbq
from fwbq.integration.exceedance import BATCHES, Exceedance


def four_branches(x):
    a, b = x.T
    r = np.sqrt(2.0)
    arcs = [3.0 + 0.1 * (a - b) ** 2 - (a + b) / r, 3.0 + 0.1 * (a - b) ** 2 + (a + b) / r]
    return np.min([*arcs, a - b + 6.0 / r, b - a + 6.0 / r], axis=0)


def test_resistance_and_load():
    """R - S with a reliability index of 5 / sqrt(2)."""
    measure = fwbq.Gaussian([7.0, 2.0], np.eye(2))
    found = fwbq.integrate(lambda x: x[:, 0] - x[:, 1], measure, target="probability", below=0.0, n=24, rng=0)
    truth = norm.sf(5.0 / np.sqrt(2.0))
    low, high = found.interval(0.99)
    assert low <= truth <= high and high - low < truth
    assert found.n_evaluations == 24 and "P(f < 0)" in repr(found) and "P(f < 0)" in found.status


def test_one_in_a_million_in_six_dimensions():
    measure = fwbq.Gaussian(np.zeros(6), np.eye(6))
    limit = -norm.ppf(1e-6) * np.sqrt(6.0)
    found = fwbq.integrate(lambda x: x.sum(axis=1), measure, target="probability", above=limit, n=24, rng=0)
    low, high = found.interval(0.99)
    assert low <= 1e-6 <= high and high < 1e-5


def test_a_system_of_four_branches():
    measure = fwbq.Gaussian([0.0, 0.0], np.eye(2))
    found = fwbq.integrate(four_branches, measure, target="probability", below=0.0, n=100, rng=0)
    # By 4,000,000 independent points 4.47e-3, with a standard error of 3e-5. The interval was [2.9e-3, 6.4e-3].
    low, high = found.interval(0.95)
    assert low <= 4.47e-3 <= high and high - low < 2.0 * 4.47e-3


def test_evaluations_are_used_where_nothing_is_undecided(monkeypatch):
    """Of a linear f a few values leave nothing undecided; points that were known were then chosen again and again."""
    batches = []
    choose = Exceedance.next_points

    def counted(*arguments):
        batches.append(choose(*arguments))
        return batches[-1]

    monkeypatch.setattr(Exceedance, "next_points", counted)
    measure = fwbq.Gaussian(np.zeros(2), np.eye(2))
    limit = 3.0 * np.sqrt(2.0)
    found = fwbq.integrate(lambda x: x.sum(axis=1), measure, target="probability", above=limit, n=40, rng=0)
    assert found.n_evaluations == 40 and len(batches) <= BATCHES
    low, high = found.interval(0.99)
    assert low <= norm.sf(3.0) <= high


def test_what_is_never_met_has_a_width():
    measure = fwbq.Uniform([0.0], [1.0])
    found = fwbq.integrate(lambda x: x[:, 0], measure, target="probability", above=2.0, n=12, rng=0)
    low, high = found.interval(0.95)
    assert found.mean == pytest.approx(0.0, abs=1e-3) and low == 0.0 < high
    assert found.at(8).n_evaluations == 8 and 0.0 <= found.at(8).mean <= 1.0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"above": 1.0}, "target"),
        ({"target": "probability"}, "exactly one"),
        ({"target": "probability", "above": 1.0, "method": "net"}, "net"),
        ({"target": "probability", "above": 1.0, "design": fwbq.SBQ}, "design"),
        ({"target": "median"}, "`target`"),
    ],
)
def test_contradictions_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        fwbq.integrate(lambda x: x[:, 0], fwbq.Uniform([0.0], [1.0]), n=10, rng=0, **options)


def test_one_column_at_a_time():
    with pytest.raises(ValueError, match="columns"):
        fwbq.integrate(lambda x: x, fwbq.Gaussian([0.0, 0.0], np.eye(2)), target="probability", above=1.0, n=12, rng=0)
