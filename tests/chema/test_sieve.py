"""No model is dropped that the judge would keep."""

import numpy as np
import pytest

from fwbq.chema import Dataset, KineticFamily, candidate_models, log_likelihood_block, prior, screening
from fwbq.chema.judge import Judge
from fwbq.chema.sieve import Sieve
from fwbq.chema.sifter import Found, Look, Sifter, threshold
from fwbq.kernels import Matern32


def judge_of(data, n=12, size=2, nodes=6, rough=1.0):
    places = KineticFamily(data, (data.names[:size],)).coordinates
    k = prior(1 + size).sample(n, rng=0)
    kernel = Matern32(np.full(1 + size, 1.5))
    return Judge(k, places.forward(k), screening.race_nodes(places, size, nodes), 1e-3, kernel, rough)


@pytest.fixture(scope="module")
def data():
    return Dataset.simulate(60, rng=6, noise=0.01)


@pytest.mark.parametrize("nodes", [4, 6])
@pytest.mark.parametrize(
    ("rng", "noise", "times", "n"),
    [(6, 0.01, 21, 12), (1, 0.1, 21, 12), (2, 0.001, 11, 20), (3, 0.03, 7, 30), (4, 0.3, 15, 10), (5, 0.005, 21, 40)],
)
def test_the_bound_of_the_sieve_is_above_that_of_the_judge(rng, noise, times, n, nodes):
    """Whatever the noise and the number of times and points: a pair is dropped only if the judge would drop it."""
    data = Dataset.simulate(25, rng=rng, noise=noise, times=np.linspace(0.0, 10.0, times))
    judge = judge_of(data, n, nodes=nodes)
    values = log_likelihood_block(data, candidate_models(data)[26:], judge.points)
    centre, width = judge(values)
    quick, upper = Sieve(judge)(values)
    # Float64 leaves errors of 1e-12 or so, far below those of float32, which the bound contains.
    assert np.all(upper >= centre + width - 1e-9)
    # It differs by what it does not know of the second-order term, and by the straight lines for exponentials.
    assert np.all(np.abs(quick - centre) <= 2.0 + 0.05)
    # Values that are wrong by a little are allowed for.
    shaken = values + 0.01 * np.random.default_rng(0).uniform(-1.0, 1.0, values.shape)
    assert np.all(Sieve(judge)(shaken, 0.01)[1] >= centre + width)


@pytest.mark.parametrize("rough", [1.0, 4.0])
@pytest.mark.parametrize("scale", [0.1, 10.0, 300.0, 3000.0])
def test_the_bound_holds_for_likelihoods_of_any_depth(data, scale, rough):
    """Random smooth and rough log likelihoods, nearly flat ones and such as span thousands of natural logarithms."""
    judge = judge_of(data, 20, rough=rough)
    rng = np.random.default_rng(1)
    smooth = -((judge.where @ rng.normal(size=(3, 200)) - rng.normal(size=200)) ** 2)
    values = scale * np.hstack([smooth, -rng.exponential(size=(20, 200))])
    centre, width = judge(values)
    _, upper = Sieve(judge)(values)
    assert np.all(upper >= centre + width - 1e-9)


def test_likelihoods_of_zero(data):
    judge = judge_of(data)
    values = -np.random.default_rng(2).exponential(size=(12, 4))
    values[3, 0] = values[:, 1] = values[4:, 2] = -np.inf
    centre, width = judge(values)
    quick, upper = Sieve(judge)(values)
    assert np.isneginf([centre[1], quick[1], upper[1]]).all()
    others = [0, 2, 3]
    assert np.all(upper[others] >= (centre + width)[others] - 1e-9) and np.isfinite(upper[others]).all()


def test_the_sieve_does_not_believe_a_slope_without_bounds_either(data):
    # Log likelihoods that rise steeply towards a corner: beyond the points the mean of the process goes on rising.
    judge = judge_of(data)
    slope = judge.where @ np.array([[60.0, -60.0], [60.0, 60.0], [60.0, -60.0]])
    centre, width = judge(slope)
    quick, upper = Sieve(judge)(slope)
    assert np.all(np.abs(quick - centre) <= 2.0 + 0.05)
    assert np.all(upper >= centre + width - 1e-9)


def test_the_quick_sums_lose_nothing_that_the_judge_keeps(data):
    """With the errors of their nodes measured on the leading models and allowed for."""
    places = KineticFamily(data, (data.names[:2],)).coordinates
    judge = screening._judge(prior(3).sample(20, rng=3), places, 2, 1e-3)
    every = np.array(list(np.ndindex(60, 60)))
    every = every[every[:, 0] < every[:, 1]]
    values = log_likelihood_block(data, every.tolist(), judge.points)
    judge = judge.fitted(values, screening._reference(places, 2))
    assert [len(each.nodes.points) for each in judge.chain()] == [64, 216, 1728]
    assert judge.quick.quick.allowance > judge.allowance > 0.0
    centre, width = judge(values)
    floor = threshold(centre - width, 50)
    sifter = Sifter(Look(judge, floor, 50, 10_000), 2)
    sifter.add(values, every.__getitem__)
    found = sifter.found()
    kept = centre + width >= floor
    np.testing.assert_array_equal(found.models, every[kept])
    assert 50 <= len(found.models) < 1000 and found.dropped == np.sum(~kept)
    # Before the last round the sieves alone decide, and keep more.
    sifter = Sifter(Look(judge, floor, 50, 10_000, last=False), 2)
    sifter.add(values, every.__getitem__)
    early = {tuple(model) for model in sifter.found().models.tolist()}
    assert early > {tuple(model) for model in found.models.tolist()} and len(early) < len(every)
    # What was dropped weighs what the judge says, but for what the sieves do not know of each.
    assert found.log_dropped == pytest.approx(np.logaddexp.reduce(centre[~kept]), abs=0.3)


def test_what_is_doubtful_is_kept(data):
    judge = judge_of(data)
    values = -np.random.default_rng(2).exponential(size=(12, 5))
    sifter = Sifter(Look(judge, 1000.0, 5, 10), 2)
    models, which = np.arange(10).reshape(5, 2), np.array([False, True, False, False, True])
    sifter.add(values, models.__getitem__, counted=np.array([True, True, True, False, False]), doubtful=which)
    found = sifter.found()
    assert found.models.tolist() == [[2, 3]] and found.dropped == 2 and np.isinf(found.width).all()


def test_threshold():
    lower = np.array([3.0, 1.0, 2.0, 5.0])
    assert threshold(lower, 2) == 3.0
    assert threshold(lower, 5) == -np.inf


def test_nothing_is_found_where_nothing_was_looked_at():
    merged = Found.merge([Found.nothing(3), Found.nothing(3, 2, -1.0)])
    assert merged.models.shape == (0, 3) and merged.dropped == 2 and merged.log_dropped == -1.0
