import numpy as np
import pytest

import fwbq


@pytest.fixture(scope="module")
def embedding():
    means = [[-1.5, 0.5], [0.75, -1.0], [1.0, 1.75]]
    covs = [[[0.5, 0.125], [0.125, 0.25]], [[0.375, -0.0625], [-0.0625, 0.625]], [[0.25, 0.0], [0.0, 0.25]]]
    return fwbq.embed(fwbq.ExpQuad(0.8), fwbq.GaussianMixture([0.25, 0.5, 0.25], means, covs))


@pytest.mark.parametrize("corrective", [False, True])
def test_relations_along_a_run(embedding, corrective):
    design = fwbq.BlendedPairwise(embedding, corrective=corrective, candidates=1000, rng=0)
    n = 60
    points = design.take(n)
    trace = design.trace
    assert len(np.unique(points, axis=0)) == n == len(trace)
    assert np.array_equal(points, design.candidates[trace.index])
    assert (trace.gap >= 0).all() and (np.diff(trace.mmd2) < 0).all()
    for m in (1, 2, 10, 33, n):
        rule = design.rule(m)
        assert (rule.weights > 0).all() and rule.weights.sum() == pytest.approx(1.0, abs=1e-13)
        assert {tuple(x) for x in rule.points} <= {tuple(x) for x in points[:m]}
        assert rule.mmd2 == pytest.approx(trace.mmd2[m - 1], abs=1e-13)
        best = fwbq.simplex_rule(embedding, points[:m])
        if corrective:
            assert rule.mmd2 == pytest.approx(best.mmd2, rel=1e-6, abs=1e-12)
        else:
            assert rule.mmd2 >= best.mmd2 - 1e-12
        h = embedding.kernel(design.candidates, rule.points) @ rule.weights - embedding.mean(design.candidates)
        inner = rule.weights @ (embedding.kernel(rule.points) @ rule.weights - embedding.mean(rule.points))
        assert trace.gap[m - 1] == pytest.approx(inner - h.min(), abs=1e-12)
        bayes = fwbq.bayes_rule(embedding, points[:m])
        assert bayes.mmd2 <= rule.mmd2 + rule.floor + 2 * bayes.floor


@pytest.mark.parametrize("corrective", [False, True])
def test_portions_give_the_same_bits(embedding, corrective):
    whole = fwbq.BlendedPairwise(embedding, corrective=corrective, candidates=500, rng=0)
    points = whole.take(30)
    parts = fwbq.BlendedPairwise(embedding, corrective=corrective, candidates=500, rng=0)
    for n in (2, 7, 1, 30, 15):
        assert np.array_equal(parts.take(n), points[:n])
        assert np.array_equal(parts.rule(n).weights, whole.rule(n).weights)
    assert np.array_equal(parts.trace.mmd2, whole.trace.mmd2)


def test_an_interrupted_run_goes_on_with_the_same_bits(embedding):
    calls = []

    def oracle(potential):
        calls.append(0)
        if len(calls) == 25:
            raise KeyboardInterrupt
        return potential.argmin()

    design = fwbq.BlendedPairwise(embedding, candidates=500, oracle=oracle, rng=0)
    with pytest.raises(KeyboardInterrupt):
        design.take(40)
    assert 0 < len(design) < 40
    smooth = fwbq.BlendedPairwise(embedding, candidates=500, rng=0)
    assert np.array_equal(design.take(40), smooth.take(40))
    assert np.array_equal(design.trace.mmd2, smooth.trace.mmd2)
    assert np.array_equal(design.rule(40).weights, smooth.rule(40).weights)


def test_positive_weights_better_than_other_positive_rules(embedding):
    n = 50
    candidates = embedding.measure.sample(3000, 0)
    fw = fwbq.FrankWolfe(embedding, candidates=candidates).rule(n).mmd2
    pairwise = fwbq.BlendedPairwise(embedding, candidates=candidates).rule(n).mmd2
    corrective = fwbq.BlendedPairwise(embedding, candidates=candidates, corrective=True).rule(n).mmd2
    assert corrective < pairwise < fw / 5


def test_periodic_sobolev_figure():
    embedding = fwbq.embed(fwbq.PeriodicSobolev(3), fwbq.Uniform([0.0] * 3, [1.0] * 3))
    candidates = embedding.measure.sample(10_000, 1)
    pairwise = fwbq.BlendedPairwise(embedding, candidates=candidates).rule(128)
    corrective = fwbq.BlendedPairwise(embedding, candidates=candidates, corrective=True).rule(128)
    assert len(pairwise) <= 128 and (pairwise.weights > 0).all() and pairwise.mmd2 < 4.9e-4
    assert len(corrective) <= 128 and (corrective.weights > 0).all() and corrective.mmd2 < 1.5e-4


@pytest.mark.parametrize("corrective", [False, True])
def test_the_optimum_over_few_candidates(embedding, corrective):
    candidates = embedding.measure.sample(25, 3)
    design = fwbq.BlendedPairwise(embedding, corrective=corrective, candidates=candidates)
    with pytest.warns(RuntimeWarning, match="of the 100 points asked for exist: optimal"):
        points = design.take(100)
    n = len(points)
    assert n <= 25 and "optimal" in design.status
    best = fwbq.simplex_rule(embedding, candidates)
    assert design.rule(n).mmd2 == pytest.approx(best.mmd2, rel=1e-8, abs=1e-13)
    with pytest.warns(RuntimeWarning, match="100"):
        assert np.array_equal(design.take(100), points)


@pytest.mark.parametrize("corrective", [False, True])
def test_repeats_a_single_candidate_and_n_one(embedding, corrective):
    base = embedding.measure.sample(12, 0)
    a = fwbq.BlendedPairwise(embedding, corrective=corrective, candidates=base)
    b = fwbq.BlendedPairwise(embedding, corrective=corrective, candidates=np.concatenate([base, base[::-1], base]))
    assert np.array_equal(a.take(8), b.take(8))
    single = fwbq.BlendedPairwise(embedding, corrective=corrective, candidates=[[0.1, 0.2]])
    with pytest.warns(RuntimeWarning, match="1 of the 4"):
        assert single.take(4).tolist() == [[0.1, 0.2]]
    assert single.rule(1).weights.tolist() == [1.0]
    one = fwbq.BlendedPairwise(embedding, corrective=corrective, candidates=base, initial=4)
    assert np.array_equal(one.take(1), base[4:5]) and one.rule(1).weights.tolist() == [1.0]


@pytest.mark.parametrize("corrective", [False, True])
def test_a_weighted_coreset_of_a_sample(corrective):
    rng = np.random.default_rng(0)
    sample = np.concatenate([rng.normal(-2, 0.5, (400, 1)), rng.normal(1, 1.0, (600, 1))])
    sample = np.concatenate([sample, sample[:100]])  # a chain that stayed where it was
    weights = rng.dirichlet(np.ones(len(sample)))
    measure = fwbq.Empirical(sample, weights)
    embedding = fwbq.embed(fwbq.ExpQuad(0.5), measure)
    design = fwbq.BlendedPairwise(embedding, corrective=corrective)
    rule = design.rule(25)
    assert {tuple(x) for x in rule.points} <= {tuple(x) for x in sample}
    assert (rule.weights > 0).all() and rule.weights.sum() == pytest.approx(1.0)
    thinned = fwbq.mmd2(embedding, sample[::44], np.full(len(sample[::44]), 1 / len(sample[::44])))
    assert rule.mmd2 < thinned / 100
    assert rule.weights @ rule.points[:, 0] == pytest.approx(weights @ sample[:, 0], abs=0.02)


def test_stein_thinning_goes_to_the_target_and_not_to_the_chain():
    # Metropolis from far away; the burn-in is in the sample and must get next to no weight.
    rng = np.random.default_rng(1)
    x, chain = 8.0, []
    for _ in range(1500):
        y = x + rng.normal()
        if np.log(rng.random()) < 0.5 * (x * x - y * y):
            x = y
        chain.append([x])
    chain = np.array(chain)
    kernel = fwbq.Stein(fwbq.ExpQuad(1.0), lambda z: -z)
    embedding = fwbq.embed(kernel, fwbq.Empirical(chain))
    for design in (fwbq.BlendedPairwise(embedding, corrective=True), fwbq.FrankWolfe(embedding, step="line-search")):
        rule = design.rule(20)
        assert {tuple(p) for p in rule.points} <= {tuple(p) for p in chain}
        assert rule.weights @ rule.points[:, 0] == pytest.approx(0.0, abs=0.1)
        assert rule.weights @ rule.points[:, 0] ** 2 == pytest.approx(1.0, abs=0.15)
        assert abs(chain.mean()) > 0.05 and np.abs(rule.points[rule.weights > 1e-3]).max() < 4.0


def test_random_features(embedding):
    kernel = fwbq.RandomFourier(embedding.kernel, 40, 2, rng=0)
    approximate = fwbq.embed(kernel, embedding.measure)
    design = fwbq.BlendedPairwise(approximate, candidates=2000, corrective=True, rng=0)
    # 40 features: the mean element is reached, by a few dozen points, and the run ends.
    with pytest.warns(RuntimeWarning, match="optimal"):
        rule = design.rule(200)
    assert 10 < len(rule) <= 60
    assert rule.mmd2 < 1e-12
    # The exact kernel sees what 40 features do not.
    assert fwbq.mmd2(embedding, rule.points, rule.weights) > 1e-6


def test_the_refined_oracle(embedding):
    candidates = embedding.measure.sample(100, 0)
    coarse = fwbq.BlendedPairwise(embedding, candidates=candidates, corrective=True).rule(25)
    fine = fwbq.BlendedPairwise(embedding, candidates=candidates, corrective=True, oracle="refined")
    assert fine.rule(25).mmd2 < coarse.mmd2
    assert (fine.trace.index == -1).any()
    assert fine.rule(25).mmd2 == pytest.approx(fine.trace.mmd2[24], abs=1e-12)


@pytest.mark.parametrize(
    "arguments", [{"oracle": "none"}, {"candidates": -1}, {"initial": 10**9}, {"candidates": [1.0]}]
)
def test_errors_name_the_parameter(embedding, arguments):
    with pytest.raises(ValueError, match=f"`{next(iter(arguments))}`"):
        fwbq.BlendedPairwise(embedding, **arguments)
