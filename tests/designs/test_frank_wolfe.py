import numpy as np
import pytest

import fwbq
from fwbq.designs import OpenLoop

STEPS = {"eq8": "herding", "ls": "line-search", "alg1": lambda i: 1.0 / (i + 1)}


def mixture20(seed):
    rng = np.random.default_rng(seed)
    a = 0.5 * rng.standard_normal((20, 2, 2))
    covs = a @ a.transpose(0, 2, 1) + 0.15 * np.eye(2)
    return fwbq.GaussianMixture(rng.dirichlet(np.full(20, 5.0)), rng.uniform(-4.0, 4.0, (20, 2)), covs)


@pytest.fixture(scope="module")
def embedding():
    return fwbq.embed(fwbq.ExpQuad(0.8), mixture20(0))


def brute_force(embedding, candidates, step, n, start):
    """The algorithm as printed, every sum formed anew."""
    chosen, weights = [start], np.array([1.0])
    K, z = embedding.kernel(candidates), embedding.mean(candidates)
    steps, errors = [1.0], [embedding.variance - 2 * z[start] + K[start, start]]
    for i in range(2, n + 1):
        g = K[:, chosen] @ weights
        x = int(np.argmin(g - z))
        gg, gm = weights @ g[chosen], weights @ z[chosen]
        gap = gg - gm - g[x] + z[x]
        rho = min(max(gap / (gg - 2 * g[x] + K[x, x]), 0.0), 1.0) if step == "line-search" else step(i)
        weights = np.append((1 - rho) * weights, rho)
        chosen.append(x)
        steps.append(rho)
        errors.append(embedding.variance - 2 * weights @ z[chosen] + weights @ K[np.ix_(chosen, chosen)] @ weights)
    return chosen, weights, np.array(steps), np.array(errors)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("rule", STEPS)
def test_reference_sequences(reference, number, rule):
    case = reference["cases"][number]
    sigma = np.sqrt(0.5) if case["sigma"].startswith("sqrt") else float(case["sigma"])
    a = reference["mixture_A"]
    measure = [
        fwbq.GaussianMixture(a["weights"], a["means"], a["covs"]),
        fwbq.TruncatedGaussian([1.0], [0.5]),
        fwbq.TruncatedGaussian([1.0, 1.0], [0.5, 0.5]),
        fwbq.Uniform([0.0, 0.0], [1.0, 2.0]),
    ][number]
    embedding = fwbq.embed(fwbq.ExpQuad(sigma), measure)
    run = next(f for f in case["fw"] if f["rule"] == rule)
    n = len(run["idx"])
    candidates = np.array(case["candidates"], dtype=float).reshape(-1, measure.dim)
    design = fwbq.FrankWolfe(embedding, step=STEPS[rule], candidates=candidates, initial=run["start"])
    design.take(n)
    trace = design.trace
    assert trace.index.tolist() == run["idx"]
    assert np.allclose(trace.step, np.array(run["step"], dtype=float), rtol=0, atol=1e-12)
    assert np.allclose(trace.mmd2, np.array(run["mmd2"], dtype=float), rtol=0, atol=1e-12)
    weights = np.zeros(len(candidates))
    np.add.at(weights, run["idx"], np.array(run["w"], dtype=float))
    merged = design.rule(n)
    assert np.allclose(merged.weights, weights[list(dict.fromkeys(run["idx"]))], rtol=0, atol=1e-13)


def test_random_features_reference(reference):
    r = reference["rff"]
    a = reference["mixture_A"]
    kernel = fwbq.RandomFourier.from_frequencies(fwbq.ExpQuad(0.8), r["W"], r["b"])
    embedding = fwbq.embed(kernel, fwbq.GaussianMixture(a["weights"], a["means"], a["covs"]))
    design = fwbq.FrankWolfe(embedding, step="line-search", candidates=r["candidates"], initial=0)
    n = len(r["fwls"]["idx"])
    design.take(n)
    assert design.trace.index.tolist() == r["fwls"]["idx"]
    assert np.allclose(design.trace.step, np.array(r["fwls"]["step"], dtype=float), rtol=0, atol=1e-12)
    # The error of the same rule under the exact kernel is another number.
    exact = fwbq.embed(fwbq.ExpQuad(0.8), embedding.measure)
    rule = design.rule(n)
    K, z, w = exact.kernel(rule.points), exact.mean(rule.points), rule.weights
    assert fwbq.mmd2(exact, rule.points, w) == pytest.approx(exact.variance - 2 * w @ z + w @ K @ w, abs=1e-13)
    assert rule.mmd2 == pytest.approx(design.trace.mmd2[n - 1], abs=1e-12)


@pytest.mark.parametrize("step", ["line-search", OpenLoop(1.0), OpenLoop(2.0), OpenLoop(4.5), lambda i: i**-0.5])
@pytest.mark.parametrize(
    "kernel", [fwbq.ExpQuad(0.8, variance=2.5), fwbq.Matern32(0.7), 0.5 * fwbq.Matern52([0.7, 2.0])]
)
def test_equals_the_printed_algorithm(kernel, step):
    embedding = fwbq.embed(kernel, fwbq.Uniform([0.0, -1.0], [1.0, 2.0]))
    candidates = embedding.measure.sample(300, 4)
    design = fwbq.FrankWolfe(embedding, step=step, candidates=candidates, initial=7)
    n = 60
    index, weights, steps, errors = brute_force(embedding, candidates, step, n, 7)
    assert np.array_equal(design.take(n), candidates[index])
    assert design.trace.index.tolist() == index
    assert np.allclose(design.trace.step, steps, rtol=0, atol=1e-12)
    assert np.allclose(design.trace.mmd2, errors, rtol=0, atol=1e-13)
    merged = np.zeros(300)
    np.add.at(merged, index, weights)
    assert np.allclose(design.rule(n).weights, merged[list(dict.fromkeys(index))], atol=1e-14)


@pytest.mark.parametrize("step", ["herding", "open-loop", "line-search"])
def test_portions_give_the_same_bits(embedding, step):
    whole = fwbq.FrankWolfe(embedding, step=step, candidates=2000, rng=1)
    points = whole.take(50)
    parts = fwbq.FrankWolfe(embedding, step=step, candidates=2000, rng=1)
    for n in (3, 1, 20, 21, 50, 8):
        assert np.array_equal(parts.take(n), points[:n])
    assert np.array_equal(parts.trace.mmd2, whole.trace.mmd2)
    assert np.array_equal(parts.rule(30).weights, whole.rule(30).weights)
    assert not np.array_equal(points, fwbq.FrankWolfe(embedding, step=step, candidates=2000, rng=2).take(50))


def test_an_interrupted_run_goes_on_with_the_same_bits(embedding):
    calls = []

    def failing(i):
        calls.append(i)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return 2.0 / (i + 1)

    design = fwbq.FrankWolfe(embedding, step=failing, candidates=500, rng=1)
    with pytest.raises(KeyboardInterrupt):
        design.take(30)
    smooth = fwbq.FrankWolfe(embedding, step=OpenLoop(2.0), candidates=500, rng=1)
    assert np.array_equal(design.take(30), smooth.take(30))
    assert np.array_equal(design.trace.mmd2, smooth.trace.mmd2)
    assert np.array_equal(design.trace.gap, smooth.trace.gap)


def test_herding_has_equal_weights(embedding):
    design = fwbq.FrankWolfe(embedding, candidates=500, rng=0)
    rule = design.rule(40)
    counts = np.bincount(rule.index)
    assert np.allclose(rule.weights * 40, counts, rtol=1e-14)
    assert np.allclose(design.trace.step, 1 / np.arange(1, 41), rtol=1e-15)


@pytest.mark.parametrize("step", ["herding", "open-loop", "line-search"])
def test_relations_along_a_run(embedding, step):
    design = fwbq.FrankWolfe(embedding, step=step, candidates=3000, rng=0)
    n = 120
    design.take(n)
    trace = design.trace
    # g after n points, its gap and its error, formed anew.
    for m in (1, 2, 17, n):
        rule = design.rule(m)
        assert rule.mmd2 == pytest.approx(trace.mmd2[m - 1], abs=1e-13)
        assert (rule.weights >= 0).all() and rule.weights.sum() == pytest.approx(1.0, abs=1e-13)
        h = embedding.kernel(design.candidates, rule.points) @ rule.weights - embedding.mean(design.candidates)
        inner = rule.weights @ (embedding.kernel(rule.points) @ rule.weights - embedding.mean(rule.points))
        assert trace.gap[m - 1] == pytest.approx(inner - h.min(), abs=1e-13)
        best = fwbq.bayes_rule(embedding, design.take(m))
        assert best.mmd2 <= rule.mmd2 + rule.floor + 2 * best.floor
    assert (trace.gap >= 0).all() and (trace.mmd2 >= 0).all()
    # mu lies so near the hull of the candidates that the gap bounds the error itself here.
    assert (trace.mmd2 <= 2 * trace.gap).all()
    if step == "line-search":
        assert (np.diff(trace.mmd2) <= 1e-15).all()


def test_the_first_point_is_the_best_single_one(embedding):
    design = fwbq.FrankWolfe(embedding, candidates=200, rng=0)
    alone = [fwbq.mmd2(embedding, x[None], [1.0]) for x in design.candidates]
    assert design.take(1).tolist() == [design.candidates[int(np.argmin(alone))].tolist()]


def test_any_starting_point(embedding):
    candidates = embedding.measure.sample(200, 0)
    by_row = fwbq.FrankWolfe(embedding, candidates=candidates, initial=11)
    by_point = fwbq.FrankWolfe(embedding, candidates=candidates, initial=candidates[11])
    assert np.array_equal(by_row.take(20), by_point.take(20))
    assert by_point.trace.index[0] == -1 and by_row.trace.index[0] == 11
    assert np.allclose(by_row.trace.mmd2, by_point.trace.mmd2, atol=1e-14)
    outside = fwbq.FrankWolfe(embedding, candidates=candidates, initial=[30.0, 30.0], step="line-search")
    assert outside.take(1).tolist() == [[30.0, 30.0]]
    assert outside.rule(10).mmd2 == pytest.approx(outside.trace.mmd2[9], abs=1e-13)


@pytest.mark.parametrize("step", ["herding", "line-search"])
def test_the_refined_oracle_goes_lower(embedding, step):
    candidates = embedding.measure.sample(100, 0)
    coarse = fwbq.FrankWolfe(embedding, step=step, candidates=candidates)
    fine = fwbq.FrankWolfe(embedding, step=step, candidates=candidates, oracle="refined")
    n = 40
    coarse.take(n)
    fine.take(n)
    assert (fine.trace.index[1:] == -1).sum() > n / 2
    assert fine.trace.mmd2[-1] < 0.75 * coarse.trace.mmd2[-1]
    assert fine.rule(n).mmd2 == pytest.approx(fine.trace.mmd2[-1], abs=1e-13)
    # Stationary points of the potential that was searched.
    rule = fine.rule(n - 1)
    x = fine.take(n)[-1:]
    slope = embedding.kernel.gradient_sum(x, rule.points, rule.weights) - embedding.mean_gradient(x)
    assert np.abs(slope).max() < 1e-4


def test_the_refined_oracle_stays_in_the_support():
    embedding = fwbq.embed(fwbq.ExpQuad(0.3), fwbq.Uniform([0.0, 0.0], [1.0, 1.0]))
    x = fwbq.FrankWolfe(embedding, candidates=50, oracle="refined", rng=0).take(60)
    assert (x >= 0).all() and (x <= 1).all()
    assert ((x == 0) | (x == 1)).any()


def test_an_oracle_of_ones_own(embedding):
    candidates = embedding.measure.sample(300, 0)
    seen = []

    def oracle(potential):
        seen.append(potential.values)
        row = int(np.argmin(potential.values))
        assert potential.at(row) == pytest.approx(float(potential(candidates[row : row + 1])[0]), abs=1e-13)
        return row if len(seen) % 2 else potential.candidates[row]

    ours = fwbq.FrankWolfe(embedding, candidates=candidates, oracle=oracle)
    usual = fwbq.FrankWolfe(embedding, candidates=candidates)
    assert np.array_equal(ours.take(20), usual.take(20))
    assert len(seen) == 19 and seen[0].shape == (300,)


def test_repeated_candidates_count_once(embedding):
    base = embedding.measure.sample(37, 0)
    repeated = np.concatenate([base, base[::-1], base])
    a = fwbq.FrankWolfe(embedding, candidates=base, step="line-search")
    b = fwbq.FrankWolfe(embedding, candidates=repeated, step="line-search")
    a.take(80)
    b.take(80)
    assert a.trace.index.tolist() == b.trace.index.tolist()
    assert len(np.unique(a.trace.index)) < 38 < 80
    assert np.allclose(a.trace.mmd2, b.trace.mmd2, atol=1e-14)


@pytest.mark.parametrize("step", ["herding", "open-loop", "line-search"])
def test_a_single_candidate(embedding, step):
    design = fwbq.FrankWolfe(embedding, step=step, candidates=[[0.3, -0.2]])
    assert np.array_equal(design.take(5), np.tile([[0.3, -0.2]], (5, 1)))
    rule = design.rule(5)
    assert len(rule) == 1 and rule.weights[0] == pytest.approx(1.0, abs=1e-15)
    assert np.allclose(design.trace.mmd2, design.trace.mmd2[0], rtol=0, atol=1e-14)
    assert (design.trace.gap <= 1e-14).all()  # zero but for some dozens of roundings of numbers below one


def test_the_error_is_never_negative_where_the_mean_element_is_reached():
    # A measure on three of the candidates: line search gets to zero error.
    points = np.array([[0.0], [1.0], [2.5], [4.0]])
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Empirical(points[:3], [0.2, 0.5, 0.3]))
    design = fwbq.FrankWolfe(embedding, step="line-search", candidates=points)
    design.take(3000)
    assert (design.trace.mmd2 >= 0).all()
    assert design.trace.mmd2[-1] < 1e-6
    for n in (10, 300, 3000):
        assert design.trace.mmd2[n - 1] == pytest.approx(design.rule(n).mmd2, abs=1e-12)


def test_candidates_far_outside_the_support():
    embedding = fwbq.embed(fwbq.ExpQuad(0.5), fwbq.Uniform([0.0], [1.0]))
    design = fwbq.FrankWolfe(embedding, candidates=[[1e6], [-1e8], [50.0], [0.5]], step="line-search")
    assert design.take(1).tolist() == [[0.5]]
    rule = design.rule(6)
    assert rule.mmd2 == pytest.approx(design.trace.mmd2[5], abs=1e-13)


def test_the_default_candidates(embedding):
    assert len(fwbq.FrankWolfe(embedding, rng=0).candidates) == 10_000
    sample = embedding.measure.sample(30, 0)
    empirical = fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Empirical(sample))
    assert np.array_equal(fwbq.FrankWolfe(empirical, rng=0).candidates, sample)
    few = fwbq.FrankWolfe(empirical, candidates=7, rng=0).candidates
    assert len(np.unique(few, axis=0)) == 7 and {tuple(x) for x in few} <= {tuple(x) for x in sample}
    assert len(fwbq.FrankWolfe(empirical, candidates=100, rng=0).candidates) == 30


@pytest.mark.parametrize("dim", [1, 2, 5, 10])
def test_any_dimension(dim):
    embedding = fwbq.embed(fwbq.ExpQuad(np.sqrt(dim)), fwbq.Gaussian(np.zeros(dim), np.eye(dim)))
    design = fwbq.FrankWolfe(embedding, candidates=2000, rng=0)
    assert design.take(40).shape == (40, dim)
    assert design.rule(40).mmd2 < np.median([fwbq.MonteCarlo(embedding, rng=s).rule(40).mmd2 for s in range(5)]) / 2


def test_a_million_candidates():
    embedding = fwbq.embed(fwbq.ExpQuad(0.5), fwbq.Uniform([0.0, 0.0], [1.0, 1.0]))
    design = fwbq.FrankWolfe(embedding, candidates=1_000_000, rng=0)
    assert design.take(5).shape == (5, 2)
    assert design.rule(5).mmd2 == pytest.approx(design.trace.mmd2[4], abs=1e-13)


def test_random_features_converge_to_the_kernel(embedding):
    candidates = embedding.measure.sample(1000, 0)
    kernel = fwbq.RandomFourier(embedding.kernel, 400, 2, rng=0)
    approximate = fwbq.embed(kernel, embedding.measure)
    design = fwbq.FrankWolfe(approximate, candidates=candidates)
    rule = design.rule(60)
    assert rule.mmd2 == pytest.approx(design.trace.mmd2[59], abs=1e-12)
    exact = fwbq.mmd2(embedding, rule.points, rule.weights)
    assert exact < 0.2 * (1 - embedding.variance) / 60 * 10
    assert abs(exact - rule.mmd2) < 0.05


def test_the_open_loop_steps():
    assert [OpenLoop(1.0)(i) for i in (1, 2, 5)] == [1.0, 0.5, 0.2]
    assert OpenLoop()(1) == 1.0 and OpenLoop()(4) == pytest.approx(2 / 5)
    with pytest.raises(ValueError, match="`ell`"):
        OpenLoop(0.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"step": "armijo"}, r"`step`.*herding"),
        ({"oracle": "magic"}, r"`oracle`.*refined"),
        ({"candidates": 0}, "`candidates`"),
        ({"candidates": [1.0, 2.0]}, r"`candidates`.*\[:, None\]"),
        ({"candidates": [[1.0]]}, "`candidates`"),
        ({"candidates": [[np.nan, 0.0]]}, "`candidates`"),
        ({"candidates": np.empty((0, 2))}, "`candidates`"),
        ({"candidates": 50, "initial": 50}, "`initial`"),
        ({"candidates": 50, "initial": [1.0]}, "`initial`"),
        ({"rng": "seed"}, "`rng`"),
    ],
)
def test_errors_name_the_parameter(embedding, arguments, words):
    with pytest.raises((ValueError, TypeError), match=words):
        fwbq.FrankWolfe(embedding, **arguments)


def test_a_step_out_of_range_is_named(embedding):
    with pytest.raises(ValueError, match=r"`step`.*\[0, 1\].*2\.0"):
        fwbq.FrankWolfe(embedding, candidates=50, step=lambda i: float(i), rng=0).take(2)


@pytest.mark.parametrize("seed", range(2))
def test_accuracy_of_the_issue(seed):
    embedding = fwbq.embed(fwbq.ExpQuad(0.8), mixture20(seed))
    fw = fwbq.FrankWolfe(embedding, rng=seed)
    ls = fwbq.FrankWolfe(embedding, step="line-search", rng=seed)
    fw.take(400)
    ls.take(400)
    assert 2e-4 < fw.trace.mmd2[99] < 6e-4 and 2e-5 < fw.trace.mmd2[399] < 5e-5
    assert 3e-4 < ls.trace.mmd2[99] < 7e-4 and ls.trace.mmd2[399] > 1.5 * fw.trace.mmd2[399]
    assert fwbq.bayes_rule(embedding, fw.take(100)).mmd2 < 2e-4
    assert fwbq.bayes_rule(embedding, fw.take(400)).mmd2 < 3e-6
    assert fwbq.bayes_rule(embedding, ls.take(100)).mmd2 < 2.5e-4
    distinct = len(np.unique(ls.trace.index))
    assert distinct < len(np.unique(fw.trace.index)) <= 400


def test_the_first_point_may_be_an_index_of_numpy_or_a_point():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0], [1.0]))
    plain = fwbq.FrankWolfe(embedding, initial=3, rng=0).take(4)
    np.testing.assert_array_equal(fwbq.FrankWolfe(embedding, initial=np.int64(3), rng=0).take(4), plain)
    np.testing.assert_array_equal(fwbq.FrankWolfe(embedding, initial=[0.25], rng=0).take(1), [[0.25]])


def test_an_error_says_whether_the_first_point_or_the_oracle_is_wrong():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0], [1.0]))
    design = fwbq.FrankWolfe(embedding, candidates=10, oracle=lambda potential: 99, rng=0)
    assert len(design.take(1)) == 1  # the first point is not the oracle's
    with pytest.raises((IndexError, ValueError), match="`oracle`"):
        design.take(2)
    with pytest.raises((IndexError, ValueError), match="`initial`"):
        fwbq.FrankWolfe(embedding, candidates=10, initial=99, rng=0).take(1)
