from itertools import combinations

import numpy as np
import pytest
from scipy.special import logsumexp

from fwbq.chema import Dataset, KineticFamily, pairs, prior, screening
from fwbq.chema.survivors import ScreenRules, named
from fwbq.selection.nodes import nodes
from studies import calibration


@pytest.fixture(scope="module")
def data():
    return Dataset.simulate(60, rng=6, noise=0.01)


def test_the_race_integrates_well_enough(data):
    # A constant and exponentials of the coordinates, whose integrals the large rule knows.
    places = KineticFamily(data, (data.names[:2],)).coordinates
    small, large = screening.race_nodes(places, 2, 6), nodes(prior(3), places)
    for slope in (0.0, 0.5, -1.0, 2.0):
        a, b = (logsumexp(rule.log_weights + slope * rule.points.sum(axis=1)) for rule in (small, large))
        assert a == pytest.approx(b, abs=0.02)
    np.testing.assert_allclose(small.points[::36, 0], small.axes[0])


@pytest.mark.parametrize(("rng", "noise", "end", "adapt"), [(6, 0.01, 10.0, False), (9, 0.008, 20.0, True)])
def test_none_of_the_true_best_is_lost(rng, noise, end, adapt):
    """Against evidences of all pairs by a rule of 4,096 nodes, whose error is measured on the leading ones."""
    data = Dataset.simulate(60, rng=rng, noise=noise, times=np.linspace(0.0, end, 21))
    every = np.array(list(combinations(range(60), 2)))
    names = named(data, every.tolist())
    truth = calibration.tensor_sum(data, names, 16)
    leading = np.argsort(-truth)[:120]
    finer = calibration.tensor_sum(data, [names[i] for i in leading], 24)
    error = np.abs(finer - truth[leading]).max()
    assert error < 0.05
    found = screening.survivors(pairs.Pairs(data), ScreenRules((20, 50, 100), top=100, adapt=adapt))
    kept = {tuple(model) for model in found.models.tolist()}
    best = every[truth >= truth[leading[99]] - 2 * error]
    assert {tuple(model) for model in best.tolist()} <= kept
    assert 100 <= len(kept) < 885 and len(kept) + found.dropped == 1770
    # What is handed to the comparison holds the truth: five standard deviations of a Student-t with 99 degrees of
    # freedom are exceeded by one in a million.
    place = {tuple(model): i for i, model in enumerate(found.models.tolist())}
    at = [place[tuple(every[i])] for i in leading[:30]]
    assert np.all(np.abs(found.evidences.centre[at] - finer[:30]) < 5.0 * found.evidences.scale[at])


@pytest.mark.parametrize(("gain", "expected"), [(0.0, [20, 100]), (1e9, [100])])
def test_the_first_round_is_the_one_of_least_work(data, monkeypatch, gain, expected):
    monkeypatch.setattr(pairs.Pairs, "gain", gain)
    found = screening.survivors(pairs.Pairs(data), ScreenRules((20, 50, 100), top=40, adapt=True))
    assert [row["n"] for row in found.rounds] == expected and found.rounds[0]["models"] == 1770
    monkeypatch.undo()
    fixed = screening.survivors(pairs.Pairs(data), ScreenRules((20, 50, 100), top=40))
    assert [row["n"] for row in fixed.rounds] == [20, 50, 100]
