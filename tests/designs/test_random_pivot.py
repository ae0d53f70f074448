"""Randomly pivoted Cholesky: the law of its draws, and its relations."""

import numpy as np
import pytest

import fwbq


@pytest.fixture(scope="module")
def gaussian():
    return fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Gaussian([0.0, 0.0], np.eye(2)))


def remaining_variance(kernel, candidates, chosen):
    if len(chosen) == 0:
        return kernel.diag(candidates)
    k = kernel(candidates, candidates[chosen])
    return kernel.diag(candidates) - (k * np.linalg.solve(kernel(candidates[chosen]), k.T).T).sum(1)


def test_pivots_follow_the_remaining_variance(gaussian):
    """First and second pivots of 1500 runs against their exact probabilities, by a chi-square distance."""
    kernel = fwbq.ExpQuad(1.0) + fwbq.Stein(fwbq.ExpQuad(1.0), lambda x: -x)  # a diagonal that is not constant
    candidates = np.array([[0.0, 0.0], [0.4, 0.0], [1.0, 1.0], [-2.0, 0.5]])
    embedding = fwbq.embed(kernel, gaussian.measure)
    first = remaining_variance(kernel, candidates, [])
    first = first / first.sum()
    joint = np.zeros((4, 4))
    for i in range(4):
        rest = np.maximum(remaining_variance(kernel, candidates, [i]), 0.0)
        rest[i] = 0.0
        joint[i] = first[i] * rest / rest.sum()
    runs, seen = 1500, np.zeros((4, 4))
    for child in np.random.default_rng(0).spawn(runs):
        design = fwbq.RandomPivot(embedding, candidates, child)
        design.take(2)
        seen[tuple(design.trace.index)] += 1
    off = ~np.eye(4, dtype=bool)
    assert seen[~off].sum() == 0
    chi2 = ((seen - runs * joint)[off] ** 2 / (runs * joint[off])).sum()
    assert chi2 < 31.3  # 11 degrees of freedom, 0.1 %


def test_weights_of_a_sample_enter_the_draw():
    sample = np.array([[0.0], [10.0], [20.0]])
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Empirical(sample, [0.7, 0.3, 0.0]))
    picks = np.zeros(3)
    for child in np.random.default_rng(0).spawn(400):
        picks[fwbq.RandomPivot(embedding, rng=child).take(1)[0, 0].astype(int) // 10] += 1
    assert picks[2] == 0
    assert picks[0] == pytest.approx(280, abs=40)
    with pytest.warns(RuntimeWarning, match="2 of the 3"):
        assert len(fwbq.RandomPivot(embedding, rng=0).take(3)) == 2


def test_same_points_however_asked(gaussian):
    at_once = fwbq.RandomPivot(gaussian, candidates=500, rng=3)
    in_steps = fwbq.RandomPivot(gaussian, candidates=500, rng=3)
    for n in (1, 4, 2, 20):
        in_steps.take(n)
    assert np.array_equal(at_once.take(40), in_steps.take(40))
    assert not np.array_equal(at_once.take(40), fwbq.RandomPivot(gaussian, candidates=500, rng=4).take(40))


def test_an_interrupted_step_draws_the_same_pivot_again(gaussian, monkeypatch):
    design, undisturbed = (fwbq.RandomPivot(gaussian, candidates=300, rng=0) for _ in range(2))
    design.take(5)

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(fwbq.RandomPivot, "_duality_gap", interrupt)
    with pytest.raises(KeyboardInterrupt):
        design.take(12)
    monkeypatch.undo()
    assert np.array_equal(design.take(20), undisturbed.take(20))


def test_rule_is_bayesian_quadrature(gaussian):
    design = fwbq.RandomPivot(gaussian, candidates=1000, rng=0)
    rule = design.rule(25)
    assert rule.kind == "bayes"
    assert np.array_equal(rule.weights, fwbq.bayes_rule(gaussian, design.take(25)).weights)
    assert design.trace.mmd2[24] == pytest.approx(rule.mmd2, rel=1e-8)
    assert (np.diff(design.trace.mmd2) <= 0).all()


def test_better_than_independent_draws_and_no_better_than_greedy(gaussian):
    design = [fwbq.RandomPivot(gaussian, candidates=2000, rng=seed).rule(40).mmd for seed in range(5)]
    random = [fwbq.bayes_rule(gaussian, fwbq.MonteCarlo(gaussian, rng=seed).take(40)).mmd for seed in range(5)]
    assert np.median(design) < 0.5 * np.median(random)


def test_coreset_of_a_chain():
    """A Stein kernel on a biased sample: the weights put the moments of the target right."""
    rng = np.random.default_rng(0)
    sample = rng.normal(0.4, 1.3, size=(1500, 2))
    kernel = fwbq.Stein(fwbq.ExpQuad(2.0), lambda x: -x)
    embedding = fwbq.embed(kernel, fwbq.Gaussian([0.0, 0.0], np.eye(2)))
    rule = fwbq.RandomPivot(embedding, sample, rng=1).rule(60)
    assert rule.prior_mean == "constant"
    assert rule.integrate(rule.points) == pytest.approx([0.0, 0.0], abs=0.02)
    assert rule.integrate((rule.points**2).mean(1)) == pytest.approx(1.0, abs=0.03)


def test_ends_at_the_rank_of_random_features():
    kernel = fwbq.RandomFourier(fwbq.ExpQuad(1.0), 9, 2, rng=0)
    design = fwbq.RandomPivot(fwbq.embed(kernel, fwbq.Gaussian([0.0, 0.0], np.eye(2))), candidates=300, rng=0)
    with pytest.warns(RuntimeWarning, match="9 of the 30"):
        assert len(design.take(30)) == 9
    assert "rank 9" in design.status


def test_one_candidate_and_repeats(gaussian):
    assert len(fwbq.RandomPivot(gaussian, [[0.0, 0.0]], rng=0).take(1)) == 1
    design = fwbq.RandomPivot(gaussian, np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0), rng=0)
    with pytest.warns(RuntimeWarning, match="2 of the 4"):
        design.take(4)
    assert sorted(design.trace.index) == [0, 5]
