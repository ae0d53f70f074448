import numpy as np
import pytest

from fwbq.chema import Dataset, log_likelihood_block, pair_blocks, pairs, prior
from fwbq.chema.kinetics import increments


@pytest.fixture(scope="module")
def data():
    return Dataset.simulate(60, rng=6, noise=0.01)


def kernel_of(data, k):
    parts, every = increments(data), np.arange(data.n_enzymes)
    left, right = ([side(part, k, every) for part in parts] for side in (pairs._left, pairs._right))
    return pair_blocks.BlockLikelihood(left, right, pair_blocks.constant_part(parts))


@pytest.mark.parametrize("conditions", [1, 2])
def test_blocks_of_pairs_are_the_likelihoods(data, conditions):
    if conditions == 2:
        data = Dataset.combine([data, Dataset.simulate(60, rng=9, times=np.arange(6))], ["a", "b"])
    k = prior(3).sample(5, rng=1)
    rows, columns = slice(3, 20), slice(20, 60)
    block = kernel_of(data, k)(rows, columns)
    models = pair_blocks.places_in(rows, columns, 0, np.arange(17 * 40))
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
    models = pair_blocks.places_in(slice(0, 10), slice(10, 20), 0, np.arange(100))
    expected = log_likelihood_block(levels, models.tolist(), k)
    assert np.abs(block.values - expected).max() <= block.error < 0.01


def test_pairs_are_counted_once():
    assert pair_blocks.above_diagonal(slice(0, 3), slice(3, 6)) is None
    counted = pair_blocks.above_diagonal(slice(2, 4), slice(1, 5))
    assert pair_blocks.places_in(slice(2, 4), slice(1, 5), 10, np.flatnonzero(counted)).tolist() == [
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
