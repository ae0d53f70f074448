"""SBQ against references, against the greedy rule by brute force, and by its relations."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import fwbq
from fwbq.paper.simulation import mixture
from fwbq.process import greedy as remaining


def measure_of(name, reference):
    if name.startswith("A"):
        return fwbq.GaussianMixture(**{key: reference["mixture_A"][key] for key in ("weights", "means", "covs")})
    if name.startswith("B1"):
        return fwbq.TruncatedGaussian([1.0], [0.5])
    if name.startswith("C"):
        return fwbq.TruncatedGaussian([1.0, 1.0], [0.5, 0.5])
    assert name.startswith("E")
    return fwbq.Uniform([0.0, 0.0], [1.0, 2.0])


def greedy(embedding, candidates, n, prior_mean="zero"):
    """Indices and errors of SBQ by the definition: the rule is solved again for every candidate."""
    chosen, errors = [], []
    for _ in range(n):
        best = np.full(len(candidates), np.inf)
        for j in range(len(candidates)):
            if j in chosen:
                continue
            x = candidates[[*chosen, j]]
            K, z, one = embedding.kernel(x), embedding.mean(x), np.ones(len(x))
            a, b = np.linalg.solve(K, z), np.linalg.solve(K, one)
            best[j] = embedding.variance - z @ a
            if prior_mean == "constant":
                best[j] += (1 - one @ a) ** 2 / (one @ b)
        chosen.append(int(np.argmin(best)))
        errors.append(best.min())
    return chosen, np.array(errors)


@pytest.fixture(scope="module")
def gaussian():
    return fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.2], [0.2, 0.7]]))


EMBEDDINGS = {
    "ExpQuad": lambda: fwbq.embed(fwbq.ExpQuad([0.7, 1.1], 2.5), fwbq.Gaussian([0.0, 1.0], [[1.0, 0.3], [0.3, 0.5]])),
    "Matern32": lambda: fwbq.embed(fwbq.Matern32(0.6), fwbq.Uniform([0.0, 0.0], [1.0, 2.0])),
    "PeriodicSobolev": lambda: fwbq.embed(fwbq.PeriodicSobolev(2), fwbq.Uniform([0.0] * 3, [1.0] * 3)),
    "RandomFourier": lambda: fwbq.embed(
        fwbq.RandomFourier(fwbq.ExpQuad(0.8), 40, 2, rng=1), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])
    ),
    "Empirical": lambda: fwbq.embed(
        fwbq.ExpQuad(1.0), fwbq.Empirical(np.random.default_rng(5).normal(size=(25, 2)), np.arange(1, 26) / 325)
    ),
}


class TestReference:
    def test_indices_and_errors(self, reference):
        for case in reference["cases"]:
            sigma = np.sqrt(0.5) if case["sigma"] == "sqrt(1/2)" else float(case["sigma"])
            embedding = fwbq.embed(fwbq.ExpQuad(sigma), measure_of(case["name"], reference))
            design = fwbq.SBQ(embedding, candidates=case["candidates"])
            expected = case["sbq"]
            design.take(len(expected["idx"]))
            assert design.trace.index.tolist() == expected["idx"], case["name"]
            assert design.trace.mmd2 == pytest.approx([float(v) for v in expected["var"]], abs=1e-12, rel=0)
            weights = [float(w) for w in expected["weights_n3"]]
            assert design.rule(3).weights == pytest.approx(weights, rel=1e-10)


class TestDefinition:
    @pytest.mark.parametrize("prior_mean", ["zero", "constant"])
    @pytest.mark.parametrize("name", EMBEDDINGS)
    def test_brute_force(self, name, prior_mean):
        embedding = EMBEDDINGS[name]()
        candidates = embedding.measure.sample(30, np.random.default_rng(0))
        if name == "Empirical":
            candidates = embedding.measure.points
        chosen, errors = greedy(embedding, candidates, 8, prior_mean)
        design = fwbq.SBQ(embedding, candidates, prior_mean=prior_mean)
        design.take(8)
        assert design.trace.mmd2 == pytest.approx(errors, rel=1e-8, abs=1e-13)
        assert design.trace.index.tolist() == chosen

    @pytest.mark.parametrize("prior_mean", ["zero", "constant"])
    def test_gap_and_error_are_those_of_the_rule(self, gaussian, prior_mean):
        design = fwbq.SBQ(gaussian, candidates=200, rng=0, prior_mean=prior_mean)
        for n in (1, 2, 7, 20):
            rule = design.rule(n)
            assert rule.prior_mean == prior_mean
            assert design.trace.mmd2[n - 1] == pytest.approx(rule.mmd2, rel=1e-9)
            difference = (
                gaussian.mean(design.candidates) - gaussian.kernel(design.candidates, rule.points) @ rule.weights
            )
            inner = rule.weights @ (gaussian.mean(rule.points) - gaussian.kernel(rule.points) @ rule.weights)
            assert design.trace.gap[n - 1] == pytest.approx(difference.max() - inner, abs=1e-12)

    def test_blocks_of_rows_change_nothing(self, gaussian, monkeypatch):
        whole = fwbq.SBQ(gaussian, candidates=300, rng=0).take(40)
        monkeypatch.setattr(remaining, "BLOCK_ROWS", 7)
        assert np.array_equal(fwbq.SBQ(gaussian, candidates=300, rng=0).take(40), whole)


class TestRelations:
    def test_same_points_however_asked(self, gaussian):
        at_once = fwbq.SBQ(gaussian, candidates=500, rng=7)
        in_steps = fwbq.SBQ(gaussian, candidates=500, rng=7)
        for n in (1, 2, 10, 5, 30):
            in_steps.take(n)
        assert np.array_equal(at_once.take(30), in_steps.take(30))
        assert np.array_equal(at_once.trace.mmd2, in_steps.trace.mmd2)
        assert np.array_equal(at_once.take(12), at_once.take(30)[:12])

    def test_extending_adds_only_what_is_new(self, gaussian, monkeypatch):
        design = fwbq.SBQ(gaussian, candidates=100, rng=0)
        design.take(10)
        calls = []
        add = remaining.RemainingCovariance.add
        monkeypatch.setattr(remaining.RemainingCovariance, "add", lambda *given: calls.append(given[1]) or add(*given))
        design.take(10)
        design.take(14)
        assert len(calls) == 4

    def test_an_interrupted_step_leaves_no_trace(self, gaussian, monkeypatch):
        design, undisturbed = (fwbq.SBQ(gaussian, candidates=300, rng=0) for _ in range(2))
        design.take(5)

        def interrupt(self):
            raise KeyboardInterrupt

        # by then the factor and the residuals hold the sixth point, and the design does not
        monkeypatch.setattr(fwbq.SBQ, "_duality_gap", interrupt)
        with pytest.raises(KeyboardInterrupt):
            design.take(12)
        monkeypatch.undo()
        assert len(design) == 5
        assert np.array_equal(design.take(20), undisturbed.take(20))
        assert np.array_equal(design.trace.mmd2, undisturbed.trace.mmd2)

    def test_error_falls_at_every_point(self, gaussian):
        design = fwbq.SBQ(gaussian, candidates=1000, rng=0)
        design.take(60)
        assert (np.diff(design.trace.mmd2) < 0).all()

    def test_beats_other_points(self, gaussian):
        sbq = fwbq.SBQ(gaussian, candidates=2000, rng=0).rule(30)
        other = fwbq.MonteCarlo(gaussian, rng=0).take(30)
        assert sbq.mmd2 < 0.2 * fwbq.bayes_rule(gaussian, other).mmd2

    def test_shift_and_scale(self):
        x = np.random.default_rng(0).normal(size=(200, 2))
        plain = fwbq.SBQ(fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Gaussian([0.0, 0.0], np.eye(2))), x)
        moved = fwbq.SBQ(fwbq.embed(fwbq.ExpQuad(1.6, 9.0), fwbq.Gaussian([5.0, -1.0], 4 * np.eye(2))), 2 * x + [5, -1])
        plain.take(25)
        moved.take(25)
        assert np.array_equal(plain.trace.index, moved.trace.index)
        assert moved.trace.mmd2 == pytest.approx(9 * plain.trace.mmd2, rel=1e-9)

    def test_order_of_candidates_does_not_matter(self, gaussian):
        x = gaussian.measure.sample(300, np.random.default_rng(2))
        order = np.random.default_rng(3).permutation(300)
        assert np.allclose(fwbq.SBQ(gaussian, x).take(20), fwbq.SBQ(gaussian, x[order]).take(20), atol=0)

    def test_seed_gives_the_candidates_of_frank_wolfe(self, gaussian):
        assert np.array_equal(
            fwbq.SBQ(gaussian, candidates=50, rng=4).candidates,
            fwbq.FrankWolfe(gaussian, candidates=50, rng=4).candidates,
        )


class TestEnd:
    def test_numerical_rank_of_a_smooth_kernel(self):
        embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
        design = fwbq.SBQ(embedding, candidates=2000, rng=0)
        with pytest.warns(RuntimeWarning, match=r"of the 100 points"):
            points = design.take(100)
        assert 8 < len(points) < 30
        assert "rank" in design.status or "floor" in design.status
        assert len(np.unique(points)) == len(points)
        assert (design.trace.mmd2 >= 0).all()
        with pytest.warns(RuntimeWarning):
            again = design.take(100)
        assert np.array_equal(again, points)
        with pytest.warns(RuntimeWarning):
            assert len(design.rule(50)) == len(points)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(design.take(len(points))) == len(points)

    def test_rank_of_random_features(self):
        kernel = fwbq.RandomFourier(fwbq.ExpQuad(1.0), 12, 2, rng=0)
        embedding = fwbq.embed(kernel, fwbq.Gaussian([0.0, 0.0], np.eye(2)))
        with pytest.warns(RuntimeWarning):
            design = fwbq.SBQ(embedding, candidates=400, rng=0)
            assert len(design.take(40)) <= 12
        assert design.trace.mmd2[-1] < 1e-12
        # measured under the kernel that the features stand for, the error is that of an approximation
        exact = fwbq.embed(kernel.kernel, embedding.measure)
        rule = design.rule(6)
        assert fwbq.mmd2(exact, rule.points, rule.weights) > rule.mmd2

    def test_more_than_the_distinct_candidates(self, gaussian):
        distinct = gaussian.measure.sample(6, np.random.default_rng(0))
        design = fwbq.SBQ(gaussian, np.repeat(distinct, 4, axis=0))
        with pytest.warns(RuntimeWarning, match="6 of the 10"):
            points = design.take(10)
        assert len(points) == 6
        assert (design.trace.index % 4 == 0).all(), "a repeated candidate stands for its first occurrence"

    def test_one_candidate(self, gaussian):
        design = fwbq.SBQ(gaussian, [[0.3, 0.1]])
        assert np.array_equal(design.take(1), [[0.3, 0.1]])
        z = gaussian.mean([[0.3, 0.1]])[0]
        assert design.trace.mmd2[0] == pytest.approx(gaussian.variance - z * z, rel=1e-14)
        with pytest.warns(RuntimeWarning, match="1 of the 2"):
            assert len(design.take(2)) == 1

    def test_candidates_where_the_mean_element_vanishes(self, gaussian):
        design = fwbq.SBQ(gaussian, [[1e3, 0.0], [2e3, 0.0]])
        assert len(design.take(2)) == 2
        assert design.trace.mmd2 == pytest.approx([gaussian.variance] * 2)

    def test_empirical_measure_is_integrated_exactly_by_its_own_points(self):
        sample = np.random.default_rng(0).normal(size=(7, 2))
        design = fwbq.SBQ(fwbq.embed(fwbq.ExpQuad(0.5), fwbq.Empirical(sample)))
        rule = design.rule(7)
        assert design.trace.mmd2[-1] < 1e-14
        order = [int(np.argmin(((sample - x) ** 2).sum(1))) for x in rule.points]
        assert sorted(order) == list(range(7))
        assert rule.weights == pytest.approx(np.full(7, 1 / 7), rel=1e-7)


class TestStein:
    @pytest.fixture(scope="class")
    def embedding(self):
        sample = np.random.default_rng(1).normal(size=(800, 2))
        return fwbq.embed(fwbq.Stein(fwbq.ExpQuad(1.5), lambda x: -x), fwbq.Empirical(sample))

    def test_constant_by_default(self):
        target = fwbq.Gaussian([0.0, 0.0], np.eye(2))
        embedding = fwbq.embed(fwbq.Stein(fwbq.ExpQuad(1.5), target.score), target)
        design = fwbq.SBQ(embedding, candidates=500, rng=0)
        rule = design.rule(30)
        assert rule.prior_mean == "constant"
        assert rule.weights.sum() == pytest.approx(1.0)
        assert rule.integrate((rule.points**2).sum(1)) == pytest.approx(2.0, abs=0.05)
        chosen, errors = greedy(embedding, design.candidates[:40], 5, "constant")
        small = fwbq.SBQ(embedding, design.candidates[:40])
        small.take(5)
        assert small.trace.index.tolist() == chosen
        assert small.trace.mmd2 == pytest.approx(errors, rel=1e-9)

    def test_zero_mean_is_refused(self):
        target = fwbq.Gaussian([0.0], [[1.0]])
        with pytest.raises(ValueError, match="prior_mean"):
            fwbq.SBQ(fwbq.embed(fwbq.Stein(fwbq.ExpQuad(1.0), target.score), target), prior_mean="zero")


@pytest.mark.parametrize("d", [1, 3, 6, 10])
def test_dimensions(d):
    embedding = fwbq.embed(fwbq.ExpQuad(2.0), fwbq.Gaussian(np.zeros(d), np.eye(d)))
    design = fwbq.SBQ(embedding, candidates=500, rng=0)
    assert design.take(8).shape == (8, d)
    assert (np.diff(design.trace.mmd2) < 0).all()


def test_unknown_prior_mean(gaussian):
    with pytest.raises(ValueError, match="prior_mean"):
        fwbq.SBQ(gaussian, prior_mean="linear")


class TestFigures:
    def test_paper_mixtures(self):
        at_100, at_400 = [], []
        for seed in range(5):
            design = fwbq.SBQ(fwbq.embed(fwbq.ExpQuad(0.8), mixture(seed)), candidates=10_000, rng=seed)
            design.take(400)
            at_100.append(design.trace.mmd2[99])
            at_400.append(design.trace.mmd2[399])
        assert max(at_100) < 3.2e-5
        assert max(at_400) < 5e-9

    def test_periodic_sobolev(self):
        embedding = fwbq.embed(fwbq.PeriodicSobolev(3), fwbq.Uniform([0.0] * 3, [1.0] * 3))
        assert fwbq.SBQ(embedding, rng=0).rule(128).mmd2 <= 1.5e-4


@pytest.mark.parametrize("variance", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("prior_mean", ["zero", "constant"])
def test_the_units_of_the_kernel_do_not_matter(variance, prior_mean):
    measure = fwbq.Gaussian([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])
    points = [
        fwbq.SBQ(fwbq.embed(fwbq.ExpQuad(0.8, v), measure), candidates=200, rng=0, prior_mean=prior_mean).take(10)
        for v in (1.0, variance)
    ]
    assert np.array_equal(*points)


def test_the_factor_is_freed_with_its_design(gaussian):
    """It may take gigabytes: nothing may hold it until the search for circles of references comes by."""
    gc.disable()
    try:
        design = fwbq.SBQ(gaussian, candidates=50, rng=0, known=[[0.0, 0.0]])
        design.take(3)
        factor = weakref.ref(design._factor)
        del design
        assert factor() is None
    finally:
        gc.enable()
