from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.special import logsumexp

from fwbq.chema import Dataset, compare, pairs


@pytest.fixture(scope="module")
def data():
    return Dataset.simulate(60, rng=6, noise=0.01).normalised()


def test_screen_finds_what_the_full_comparison_finds(data):
    full = compare(data, truncated=False, stages=(40,), race=False, rng=0)
    found = pairs.screen(data, n=(15, 25, 40), top=40, rng=0)
    assert found.best == full.best
    assert found.n_models == len(full) == 1 + 60 + 60 * 59 // 2
    order = np.argsort(-full.evidences.log_median)
    best = [full.names[i] for i in order if len(full.names[i]) == 2][:40]
    assert set(best) <= set(found.names)
    for name in best[:10]:
        assert found.log_evidence(name) == pytest.approx(full.log_evidence(name), abs=0.3)
    # The weight of what was dropped is what the full comparison gives it.
    left_out = [i for i, name in enumerate(full.names) if name not in set(found.names)]
    assert found.rest.count == len(left_out)
    exact = logsumexp(full.evidences.log_median[left_out]) - np.log(len(full))
    assert found.rest.log_weight == pytest.approx(exact, abs=0.3)
    assert np.exp(found.log_prior).sum() < 1
    rounds = found.settings["rounds"]
    assert [r["n"] for r in rounds] == [15, 25] and rounds[0]["models"] == 1770
    assert rounds[0]["survived"] >= rounds[1]["survived"] >= 40


def test_the_executor_and_the_strips_do_not_change_the_answer(data, monkeypatch):
    data = data.select(enzymes=range(40))
    monkeypatch.setattr(pairs, "_STRIP", 16)
    alone = pairs.screen(data, n=(10, 20), top=20, rng=0)
    with ThreadPoolExecutor(2) as executor:
        together = pairs.screen(data, n=(10, 20), top=20, rng=0, executor=executor)
    assert alone.names == together.names
    np.testing.assert_array_equal(alone.evidences.centre, together.evidences.centre)
    assert alone.rest.log_weight == together.rest.log_weight
    monkeypatch.setattr(pairs, "_STRIP", 64)
    monkeypatch.setattr(pairs, "ROWS", 7)
    assert pairs.screen(data, n=(10, 20), top=20, rng=0).names == alone.names


def test_columns_held_at_a_time_do_not_change_the_answer(data, monkeypatch):
    rules = pairs.ScreenRules((10, 20), top=20)
    every = pairs.survivors(pairs.Pairs(data), rules)
    monkeypatch.setattr(pairs, "ROWS", 8)
    monkeypatch.setattr(pairs, "COLUMNS", 8)
    monkeypatch.setattr(pairs, "_STRIP", 20)
    monkeypatch.setattr(pairs, "_COLUMN_VALUES", 1)  # eight columns
    some = pairs.survivors(pairs.Pairs(data), rules)
    np.testing.assert_array_equal(some.models, every.models)
    assert [row["models"] for row in some.rounds] == [row["models"] for row in every.rounds]
    # Products of other blocks are rounded otherwise, in float64 before the logarithm in float32.
    np.testing.assert_allclose(some.evidences.centre, every.evidences.centre, atol=1e-9)
    assert some.dropped + len(some.models) == 1770


def test_too_many_survivors_are_said(data):
    found = pairs.screen(data, n=(10, 20), top=5, most=8, rng=0)
    assert "only the best 8 were kept" in found.status
    assert found.settings["rounds"][0]["survived"] == 8


def test_equal_enzymes_survive_the_screen():
    data = Dataset.simulate(12, rng=3)
    enzymes = np.column_stack([data.enzymes, data.enzymes[:, 0], np.zeros(21)])
    odd = Dataset(data.times, data.substrate, data.phospho, enzymes)
    found = pairs.screen(odd, n=(10, 20), top=5, rng=0)
    assert np.isfinite(found.evidences.centre).all() and found.n_models == 1 + 14 + 91


def test_errors(data):
    with pytest.raises(ValueError, match="increasing numbers of points"):
        pairs.screen(data, n=(20, 10))
    with pytest.raises(ValueError, match="at least two enzymes"):
        pairs.screen(Dataset.simulate(1, rng=0))
    with pytest.raises(ValueError, match="three increments"):
        pairs.screen(Dataset.simulate(3, rng=0, times=[0, 1, 2]))
