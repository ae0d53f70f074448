"""The way of values: who proposes when, and that points which coincide are evaluated once."""

import numpy as np

import fwbq
from fwbq.inference.settings import Proposal


def proposers(prior, f, n, **kwargs):
    """Who proposed each batch of a run."""
    run = fwbq.EvidenceRun(prior, n=n, rng=0, quick=True, **kwargs)
    names = []
    while run.n_evaluations < n and run.ended is None:
        x = run.ask()
        if len(x):
            names.append(run._batch.proposal.proposer)
            run.tell(x, f(x))
    return names


def narrow(x):
    return -0.5 * np.sum(((x - 0.4) / 0.1) ** 2, axis=1)


def test_first_the_spread_then_climbs_then_rounds_and_one_exchange():
    names = proposers(fwbq.Gaussian([0.0, 0.0], np.eye(2)), lambda x: narrow(x) - 40.0 * x[:, 0], 60)
    assert list(dict.fromkeys(names)) == ["spread", "climb", "round", "exchange"]
    assert names.count("exchange") == 1


def test_a_sample_is_not_climbed_on():
    prior = fwbq.Empirical(np.random.default_rng(0).normal(size=(40, 2)))
    assert set(proposers(prior, narrow, 60)) == {"spread", "round"}


def test_points_that_coincide_for_the_user_are_evaluated_once():
    # Normal scores of forty and fifty are both the upper end of a uniform distribution.
    way = fwbq.EvidenceRun(fwbq.Uniform([0.0, 0.0], [1.0, 1.0]), n=20, rng=0)._way
    z = np.array([[0.0, 40.0], [0.0, 50.0], [1.0, 0.0]])
    assert np.array_equal(way._distinct("round", z).z, z[[0, 2]])
    assert way._distinct("round", z[:0]) is None


def test_the_last_points_look_around():
    assert Proposal("round", np.zeros((5, 2)), exploring=2).looks_around.tolist() == [False] * 3 + [True] * 2
