from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from scipy.special import logsumexp

from fwbq.chema import Dataset, KineticFamily, compare, log_likelihood_block, pairs, prior
from fwbq.chema.kinetics import increments
from fwbq.selection.nodes import nodes
from fwbq.studies import calibration


@pytest.fixture(scope="module")
def data():
    return Dataset.simulate(60, rng=6, noise=0.01)


def kernel_of(data, k):
    parts, every = increments(data), np.arange(data.n_enzymes)
    left, right = ([side(part, k, every) for part in parts] for side in (pairs._left, pairs._right))
    return pairs.BlockLikelihood(left, right, pairs.constant_part(parts))


@pytest.mark.parametrize("conditions", [1, 2])
def test_blocks_of_pairs_are_the_likelihoods(data, conditions):
    if conditions == 2:
        data = Dataset.combine([data, Dataset.simulate(60, rng=9, times=np.arange(6))], ["a", "b"])
    k = prior(3).sample(5, rng=1)
    rows, columns = slice(3, 20), slice(20, 60)
    block = kernel_of(data, k)(rows, columns)
    models = pairs.places_in(rows, columns, 0, np.arange(17 * 40))
    assert models[:2].tolist() == [[3, 20], [3, 21]] and models[-1].tolist() == [19, 59]
    expected = log_likelihood_block(data, models.tolist(), k)
    # The logarithm is in float32, and the block says how wrong it may be.
    assert np.abs(block.values - expected).max() <= block.error < 2e-4
    assert block.collinear is None


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_blocks_do_not_depend_on_units(data, unit):
    k = prior(3).sample(3, rng=1)
    levels = Dataset(data.times / unit, data.substrate, data.phospho, data.enzymes)
    block = kernel_of(levels, k)(slice(0, 10), slice(10, 20))
    models = pairs.places_in(slice(0, 10), slice(10, 20), 0, np.arange(100))
    expected = log_likelihood_block(levels, models.tolist(), k)
    assert np.abs(block.values - expected).max() <= block.error < 0.01


def test_pairs_are_counted_once():
    assert pairs.above_diagonal(slice(0, 3), slice(3, 6)) is None
    counted = pairs.above_diagonal(slice(2, 4), slice(1, 5))
    assert pairs.places_in(slice(2, 4), slice(1, 5), 10, np.flatnonzero(counted)).tolist() == [
        [12, 13], [12, 14], [13, 14],
    ]  # fmt: skip


def test_silent_and_equal_enzymes_are_seen_in_blocks(data):
    enzymes = data.enzymes.copy()
    enzymes[:, 4] = 0.0
    enzymes[:, 7] = enzymes[:, 6]
    odd = Dataset(data.times, data.substrate, data.phospho, enzymes)
    k = np.column_stack([prior(3).sample(4, rng=1)[:, :2], np.zeros(4)])
    k[:, 2] = k[:, 1]
    block = kernel_of(odd, k)(slice(0, 8), slice(0, 8))
    collinear = block.collinear
    assert collinear is not None and collinear.reshape(8, 8)[6, 7] and not collinear.reshape(8, 8)[4, 5]
    expected, rank = log_likelihood_block(odd, [(4, 5), (3, 4), (2, 3)], k, return_rank=True)
    assert rank[0].tolist() == [2, 2, 3]
    values = block.values.reshape(4, 8, 8)[:, [4, 3, 2], [5, 4, 3]]
    assert np.abs(values - expected).max() <= block.error < 2e-4


def test_the_race_integrates_well_enough(data):
    # A constant and exponentials of the coordinates, whose integrals the large rule knows.
    places = KineticFamily(data, (data.names[:2],)).coordinates
    small, large = pairs.race_nodes(places, 2, 6), nodes(prior(3), places)
    for slope in (0.0, 0.5, -1.0, 2.0):
        a, b = (logsumexp(rule.log_weights + slope * rule.points.sum(axis=1)) for rule in (small, large))
        assert a == pytest.approx(b, abs=0.02)
    np.testing.assert_allclose(small.points[::36, 0], small.axes[0])


def test_screen_finds_what_the_full_comparison_finds(data):
    full = compare(data, stages=(40,), race=False, rng=0)
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


@pytest.mark.parametrize(("rng", "noise", "end", "adapt"), [(6, 0.01, 10.0, False), (9, 0.008, 20.0, True)])
def test_none_of_the_true_best_is_lost(rng, noise, end, adapt):
    """Against evidences of all pairs by a rule of 4,096 nodes, whose error is measured on the leading ones."""
    data = Dataset.simulate(60, rng=rng, noise=noise, times=np.linspace(0.0, end, 21))
    every = np.array(list(combinations(range(60), 2)))
    names = pairs.named(data, every.tolist())
    truth = calibration.tensor_sum(data, names, 16)
    leading = np.argsort(-truth)[:120]
    finer = calibration.tensor_sum(data, [names[i] for i in leading], 24)
    error = np.abs(finer - truth[leading]).max()
    assert error < 0.05
    found = pairs.survivors(pairs.Pairs(data), pairs.ScreenRules((20, 50, 100), top=100, adapt=adapt))
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
    found = pairs.survivors(pairs.Pairs(data), pairs.ScreenRules((20, 50, 100), top=40, adapt=True))
    assert [row["n"] for row in found.rounds] == expected and found.rounds[0]["models"] == 1770
    monkeypatch.undo()
    fixed = pairs.survivors(pairs.Pairs(data), pairs.ScreenRules((20, 50, 100), top=40))
    assert [row["n"] for row in fixed.rounds] == [20, 50, 100]


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
