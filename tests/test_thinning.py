import numpy as np
import pytest

import fwbq
from fwbq import _extras, thinning


def banana(seed, n=20_000):
    """Random-walk Metropolis for x1 ~ N(0, 1), x2 given x1 ~ N(x1^2 - 1, 1/4)."""
    rng = np.random.default_rng(seed)
    steps, levels = 0.8 * rng.normal(size=(n, 2)), np.log(rng.random(n))
    states = np.empty((n, 2))
    a, b = 0.0, -1.0
    log_density = -0.5 * a * a - 2.0 * (b - a * a + 1.0) ** 2
    for i in range(n):
        x, y = a + steps[i, 0], b + steps[i, 1]
        proposed = -0.5 * x * x - 2.0 * (y - x * x + 1.0) ** 2
        if levels[i] < proposed - log_density:
            a, b, log_density = x, y, proposed
        states[i] = a, b
    return states


def moments(x):
    return np.stack([x[:, 0], x[:, 0] ** 2, x[:, 1], x[:, 1] ** 2, x[:, 0] * x[:, 1], np.cos(2 * x[:, 0] + x[:, 1])], 1)


def test_better_than_every_400th_state_of_a_banana():
    """Averages of 50 states of 20,000, against those of the chain, over four chains."""
    ours, naive = [], []
    for seed in range(4):
        chain = banana(seed)
        features = moments(chain)
        unit = features.std(axis=0)
        for errors, states in ((ours, fwbq.thin(chain, 50).points), (naive, chain[399::400])):
            errors.append((moments(states).mean(axis=0) - features.mean(axis=0)) / unit)
    ours, naive = np.sqrt(np.mean(np.square(ours), axis=0)), np.sqrt(np.mean(np.square(naive), axis=0))
    # Every 400th state is a random sample of 50: its errors are about 0.14 standard deviations.
    assert np.mean(ours) < 0.5 * np.mean(naive)


def test_states_are_rows_of_the_chain_and_different():
    chain = np.repeat(banana(0, 500), 2, axis=0)
    chosen = fwbq.thin(chain, 40)
    np.testing.assert_array_equal(chosen.points, chain[chosen.index])
    assert len(np.unique(chosen.points, axis=0)) == 40
    assert np.all(np.diff(chosen.index) > 0)
    assert 0.0 < chosen.mmd < chosen.mmd_every


def test_blocks_and_units_hardly_matter(monkeypatch):
    chain = banana(1, 3000)
    index = fwbq.thin(chain, 15).index
    np.testing.assert_array_equal(fwbq.thin(chain, 15).index, index)
    monkeypatch.setattr(thinning, "BLOCK", 257)
    np.testing.assert_allclose(fwbq.thin(chain, 15).mmd, fwbq.thin(chain * [1e6, 1e-6] + [0.0, 3.0], 15).mmd, rtol=0.2)
    assert np.mean(np.isin(fwbq.thin(chain, 15).index, index)) > 0.9  # sums in another order may settle a tie otherwise


def test_only_some_states_are_searched_but_all_are_counted(monkeypatch):
    monkeypatch.setattr(thinning, "CANDIDATES", 100)
    chain = np.concatenate([np.random.default_rng(0).normal(size=(5000, 1)), np.full((1, 1), 3.0)])
    chosen = fwbq.thin(chain, 30)
    assert np.isin(chosen.index, np.linspace(0, 5000, 100).astype(int)).all()
    assert abs(chosen.points.mean()) < 0.1


def test_memory_map_and_degenerate_coordinates(tmp_path):
    chain = banana(2, 2000)
    wide = np.column_stack([chain, np.full(2000, 7.0), chain.sum(axis=1)])  # a constant, and a sum of the others
    np.save(tmp_path / "chain.npy", wide)
    chosen = fwbq.thin(np.load(tmp_path / "chain.npy", mmap_mode="r"), 10)
    np.testing.assert_array_equal(chosen.points, wide[chosen.index])
    assert chosen.mmd < 0.5 * chosen.mmd_every


def test_single_state_and_constant_chain():
    assert fwbq.thin([[1.0, 2.0]], 1).points.tolist() == [[1.0, 2.0]]
    with pytest.raises(ValueError, match=r"`n` must be at most .*, 1, got 2: choose fewer"):
        fwbq.thin(np.ones((10, 2)), 2)


@pytest.mark.parametrize(
    ("states", "n", "error", "words"),
    [
        (np.zeros(5), 1, ValueError, r"`states` must have shape \(N, d\)"),
        (np.zeros((0, 2)), 1, ValueError, "at least one state"),
        ([[np.nan, 1.0]], 1, ValueError, "`states`"),
        ([["a"]], 1, (TypeError, ValueError), "`states`"),
        (np.eye(3), 0, ValueError, "`n` must be a whole number >= 1"),
        (np.eye(3), 1.5, TypeError, "`n` must be a whole number"),
    ],
)
def test_bad_input(states, n, error, words):
    with pytest.raises(error, match=words):
        fwbq.thin(states, n)


def test_inference_data_in_and_out():
    pytest.importorskip("arviz")
    xr = pytest.importorskip("xarray")
    chain = banana(3, 4000)
    sizes = ("chain", "draw")
    columns = {
        "x": ((*sizes, "x_dim_0"), chain.reshape(2, 2000, 2)),
        "label": (sizes, np.arange(4000.0).reshape(2, 2000)),
    }
    data = _extras.inference_data(xr.Dataset(columns), "a test")
    thinned = fwbq.thin_arviz(data, 12, variables=["x"])
    assert thinned.posterior.sizes == {"chain": 1, "draw": 12, "x_dim_0": 2}
    index = fwbq.thin(chain, 12).index
    np.testing.assert_array_equal(thinned.posterior["x"].values[0], chain[index])
    np.testing.assert_array_equal(thinned.posterior["label"].values[0], index)
    with pytest.raises(ValueError, match="`variables` must name variables of the posterior, x, label, got 'y'"):
        fwbq.thin_arviz(data, 3, variables=["y"])
    with pytest.raises(ValueError, match="for an array use `thin`"):
        fwbq.thin_arviz(chain, 3)
