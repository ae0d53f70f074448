"""Triples by matrix products are those of the likelihood itself."""

from itertools import combinations

import numpy as np
import pytest

from fwbq.chema import Dataset, compare, log_likelihood_block, pair_blocks, pairs, prior
from fwbq.chema.kinetics import increments
from fwbq.chema.sets import Sets
from fwbq.chema.triples import Triples, sides_beside


@pytest.fixture(scope="module")
def data():
    return Dataset.simulate(14, rng=6, noise=0.01)


def values_of(data, k, third):
    parts, before = increments(data), np.arange(third)
    sides = [sides_beside(part, k, before, third) for part in parts]
    kernel = pair_blocks.BlockLikelihood([s[0] for s in sides], [s[1] for s in sides], pair_blocks.constant_part(parts))
    block = kernel(slice(0, third), slice(0, third))
    return block.values.reshape(len(k), third, third), block.error, np.any([s[2] for s in sides], axis=0)


@pytest.mark.parametrize("conditions", [1, 2])
def test_triples_are_the_likelihoods(data, conditions):
    if conditions == 2:
        data = Dataset.combine([data, Dataset.simulate(14, rng=9, times=np.arange(8))], ["a", "b"])
    k = prior(4).sample(5, rng=1)
    values, error, dependent = values_of(data, k, 13)
    models = [(a, b, 13) for a, b in combinations(range(13), 2)]
    expected = log_likelihood_block(data, models, k)
    a, b, _ = np.array(models).T
    # The logarithm is in float32, and the block says how wrong it may be.
    assert np.abs(values[:, a, b] - expected).max() <= error < 2e-4
    assert not dependent.any()


def test_silent_and_equal_enzymes_are_seen(data):
    enzymes = data.enzymes.copy()
    enzymes[:, 4] = 0.0
    enzymes[:, 7] = enzymes[:, 13]
    odd = Dataset(data.times, data.substrate, data.phospho, enzymes)
    k = prior(4).sample(4, rng=1)
    k[:, 1] = k[:, 3]
    values, error, dependent = values_of(odd, k, 13)
    assert np.flatnonzero(dependent).tolist() == [7]
    expected, rank = log_likelihood_block(odd, [(4, 5, 13), (2, 3, 13)], k, return_rank=True)
    assert rank[0].tolist() == [3, 4]
    assert np.abs(values[:, [4, 2], [5, 3]] - expected).max() <= error < 2e-4


def test_the_screen_of_triples_is_that_of_any_sets(data):
    rules = pairs.ScreenRules((12, 20), top=20)
    quick, plain = (pairs.survivors(models, rules) for models in (Triples(data), Sets(data, 3)))
    assert quick.rounds[0]["models"] == plain.rounds[0]["models"] == 364
    np.testing.assert_array_equal(quick.models, plain.models)
    assert quick.dropped == plain.dropped == 364 - len(quick.models) > 0
    assert quick.log_dropped == pytest.approx(plain.log_dropped, abs=1e-2)


@pytest.mark.parametrize("enzymes", [3, 4, 14, 90])
def test_every_triple_is_in_one_task(enzymes):
    triples = Triples(Dataset.simulate(enzymes, rng=0))
    parts = list(triples.parts())
    assert sorted(third for part in parts for third in part) == list(range(2, enzymes))
    sizes = [sum(third * (third - 1) // 2 for third in part) for part in parts]
    assert sum(sizes) == len(triples) and min([*sizes[:-1], 20_000]) >= 20_000


def test_equal_enzymes_survive_with_their_exact_likelihood(data):
    enzymes = np.column_stack([data.enzymes[:, :8], data.enzymes[:, 0], np.zeros(len(data.times))])
    odd = Dataset(data.times, data.substrate, data.phospho, enzymes)
    found = compare(odd, max_enzymes=3, n=20, screen=pairs.ScreenRules((12,), top=10), rng=0)
    assert np.isfinite(found.evidences.centre).all() and found.n_models == 1 + 10 + 45 + 120
