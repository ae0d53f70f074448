"""Joint optimisation of points: its gradient, its optimum where that is known, and what it keeps."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

import fwbq
from fwbq.designs import Design, optimal
from fwbq.paper.simulation import mixture


@pytest.fixture(scope="module")
def gaussian():
    return fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.2], [0.2, 0.7]]))


def error(embedding, x, prior_mean="zero"):
    """Squared worst-case error of the optimal weights by the formula."""
    K, z = embedding.kernel(x), embedding.mean(x)
    v = embedding.variance - z @ np.linalg.solve(K, z)
    if prior_mean == "constant":
        inverse_one = np.linalg.solve(K, np.ones(len(x)))
        v += (1 - z @ inverse_one) ** 2 / inverse_one.sum()
    return v


EMBEDDINGS = {
    "ExpQuad": lambda: fwbq.embed(fwbq.ExpQuad([0.7, 1.1], 2.5), fwbq.Gaussian([0.0, 1.0], [[1.0, 0.3], [0.3, 0.5]])),
    "Matern52": lambda: fwbq.embed(fwbq.Matern52(0.6), fwbq.Uniform([0.0, 0.0], [1.0, 2.0])),
    "Sum": lambda: fwbq.embed(fwbq.ExpQuad(1.0) + fwbq.Matern32(0.5), fwbq.Gaussian([0.0, 0.0], [1.0, 0.5])),
    "RandomFourier": lambda: fwbq.embed(
        fwbq.RandomFourier(fwbq.ExpQuad(0.8), 30, 2, rng=1), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])
    ),
    "Stein": lambda: fwbq.embed(
        fwbq.Stein(fwbq.ExpQuad(1.5), lambda x: -x, lambda x: np.tile(-np.eye(2), (len(x), 1, 1))),
        fwbq.Gaussian([0.0, 0.0], np.eye(2)),
    ),
}


class TestGradient:
    # with a Stein kernel and a zero mean the rule is empty
    @pytest.mark.parametrize(
        ("name", "prior_mean"),
        [(k, m) for k in EMBEDDINGS for m in ("zero", "constant") if (k, m) != ("Stein", "zero")],
    )
    def test_refined_points_are_stationary(self, name, prior_mean):
        """A wrong gradient would stop elsewhere: the difference quotient of log v vanishes where the search ended."""
        embedding = EMBEDDINGS[name]()
        start = embedding.measure.sample(4, np.random.default_rng(2))
        rule = fwbq.bayes_rule(embedding, start, prior_mean=prior_mean)
        moved = fwbq.refine(rule, max_iterations=2000)
        assert moved.prior_mean == prior_mean
        assert moved.mmd2 < 0.95 * rule.mmd2

        def slope(x):
            return approx_fprime(x.ravel(), lambda y: np.log(error(embedding, y.reshape(x.shape), prior_mean)), 1e-6)

        lower, upper = embedding.measure.lower, embedding.measure.upper
        inside = ((moved.points > lower + 1e-3) & (moved.points < upper - 1e-3)).ravel()
        assert inside.any()
        assert np.abs(slope(moved.points)[inside]).max() < 0.01 * np.abs(slope(start)).max()

    def test_fixed_weights_against_a_derivative_free_search(self, gaussian):
        start = np.array([[-1.0, 0.2], [0.3, 0.9], [0.5, -0.8]])
        weights = np.array([0.2, 0.3, 0.35])
        moved = fwbq.refine(fwbq.weighted_rule(gaussian, start, weights))
        found = minimize(
            lambda y: fwbq.mmd2(gaussian, y.reshape(3, 2), weights),
            start.ravel(),
            method="Nelder-Mead",
            options={"maxfev": 4000, "xatol": 1e-6, "fatol": 1e-14},
        )
        assert moved.mmd2 == pytest.approx(found.fun, rel=1e-5)
        assert np.array_equal(moved.weights, weights)


class TestRefine:
    def test_three_times_below_sbq(self):
        rule = fwbq.SBQ(fwbq.embed(fwbq.ExpQuad(0.8), mixture(0)), rng=0).rule(100)
        assert fwbq.refine(rule, max_iterations=200).mmd < rule.mmd / 3

    @pytest.mark.parametrize("kind", ["bayes", "uniform", "simplex", "design"])
    def test_keeps_the_kind_and_lowers_the_error(self, gaussian, kind):
        x = gaussian.measure.sample(12, np.random.default_rng(0))
        rule = {
            "bayes": lambda: fwbq.bayes_rule(gaussian, x),
            "uniform": lambda: fwbq.uniform_rule(gaussian, x),
            "simplex": lambda: fwbq.simplex_rule(gaussian, x),
            "design": lambda: fwbq.FrankWolfe(gaussian, step="line-search", candidates=300, rng=0).rule(12),
        }[kind]()
        moved = fwbq.refine(rule)
        assert moved.kind == kind
        assert moved.mmd2 < 0.6 * rule.mmd2
        if kind in ("uniform", "design"):
            assert moved.weights == pytest.approx(rule.weights, abs=1e-15)
        if kind == "simplex":
            assert (moved.weights >= 0).all()
            assert moved.weights.sum() == pytest.approx(1.0)

    def test_uniform_rule_with_repeats_keeps_its_weights(self, gaussian):
        rule = fwbq.uniform_rule(gaussian, [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
        assert fwbq.refine(rule).weights == pytest.approx([2 / 3, 1 / 3])

    @pytest.mark.parametrize(
        "measure",
        [fwbq.Uniform([0.0, -1.0], [1.0, 2.0]), fwbq.TruncatedGaussian([1.0, 1.0], [0.5, 0.5])],
        ids=["Uniform", "TruncatedGaussian"],
    )
    def test_points_stay_in_the_support(self, measure):
        embedding = fwbq.embed(fwbq.ExpQuad(0.5), measure)
        rule = fwbq.refine(fwbq.bayes_rule(embedding, measure.sample(20, np.random.default_rng(0))))
        assert (rule.points >= measure.lower).all()
        assert (rule.points <= measure.upper).all()

    def test_at_the_float64_floor(self):
        embedding = fwbq.embed(fwbq.ExpQuad(2.0), fwbq.Gaussian([0.0], [[1.0]]))
        rule = fwbq.bayes_rule(embedding, np.linspace(-5, 5, 25)[:, None])
        moved = fwbq.refine(rule)
        assert 0.0 < moved.mmd2 <= rule.mmd2

    def test_coordinates_of_very_different_size(self):
        """A change of units moves nothing but the units."""
        plain = fwbq.embed(fwbq.ExpQuad([0.8, 0.8]), fwbq.Gaussian([0.0, 0.0], np.eye(2)))
        units = np.array([1e-3, 1e4])
        scaled = fwbq.embed(fwbq.ExpQuad(0.8 * units), fwbq.Gaussian([0.0, 0.0], np.diag(units**2)))
        x = np.random.default_rng(0).normal(size=(8, 2))
        a = fwbq.refine(fwbq.bayes_rule(plain, x))
        b = fwbq.refine(fwbq.bayes_rule(scaled, x * units))
        assert b.mmd2 == pytest.approx(a.mmd2, rel=1e-4)

    def test_cap_on_the_weights(self, gaussian):
        rule = fwbq.SBQ(gaussian, candidates=500, rng=0).rule(30)
        moved = fwbq.refine(rule, max_iterations=20, max_abs_weights=1.01)
        assert moved is rule or moved.sum_abs_weights <= 1.01 * (1 + 1e-9)

    def test_errors(self, gaussian):
        sample = fwbq.Empirical([[0.0], [1.0], [2.0]])
        embedding = fwbq.embed(fwbq.ExpQuad(1.0), sample)
        with pytest.raises(ValueError, match="Empirical"):
            fwbq.refine(fwbq.SBQ(embedding).rule(2))
        with pytest.raises(ValueError, match="embedding"):
            fwbq.refine(dataclasses.replace(fwbq.bayes_rule(gaussian, [[0.0, 0.0]]), embedding=None))
        with pytest.raises(ValueError, match="max_iterations"):
            fwbq.refine(fwbq.bayes_rule(gaussian, [[0.0, 0.0]]), max_iterations=0)


class TestOBQ:
    def test_one_point_is_the_mean_of_a_gaussian(self):
        embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.3, -0.7], [0.5, 2.0]))
        assert fwbq.OBQ(embedding, candidates=50, rng=0).take(1) == pytest.approx(np.array([[0.3, -0.7]]), abs=1e-4)

    def test_two_points_by_exhaustion(self):
        embedding = fwbq.embed(fwbq.ExpQuad(0.7), fwbq.Uniform([0.0], [1.0]))
        grid = np.linspace(0, 1, 121)
        best = min(error(embedding, np.array([[a], [b]])) for i, a in enumerate(grid) for b in grid[i + 1 :])
        rule = fwbq.OBQ(embedding, candidates=50, rng=0).rule(2)
        assert rule.mmd2 <= best
        assert rule.points.sum() == pytest.approx(1.0, abs=1e-3)

    @pytest.mark.parametrize("n", [1, 3, 10])
    def test_not_above_sbq_of_the_same_seed(self, gaussian, n):
        sbq = fwbq.SBQ(gaussian, candidates=400, rng=5).rule(n)
        rule = fwbq.OBQ(gaussian, candidates=400, rng=5).rule(n)
        assert rule.mmd2 <= sbq.mmd2
        assert len(rule) == n

    def test_more_starts_do_no_harm(self, gaussian):
        one, five = (fwbq.OBQ(gaussian, candidates=300, rng=1, starts=s).rule(9).mmd2 for s in (1, 5))
        assert five <= one

    def test_a_set_for_each_n_whatever_was_asked_before(self, gaussian):
        """take(n) is a function of n alone, and the set for 6 does not begin with the set for 4."""
        first, second = (fwbq.OBQ(gaussian, candidates=200, rng=2) for _ in range(2))
        points = first.take(6)
        for n in (11, 3, 4):
            second.take(n)
        assert np.array_equal(second.take(6), points)
        assert np.array_equal(first.take(6), points)
        assert not np.array_equal(second.take(4), points[:4])
        assert not isinstance(first, Design)

    def test_solves_each_n_once(self, gaussian, monkeypatch):
        design = fwbq.OBQ(gaussian, candidates=200, rng=2, starts=2)
        design.take(5)
        monkeypatch.setattr(optimal, "descend", None)
        design.take(5)
        assert len(design.rule(5)) == 5

    def test_trace_and_status(self, gaussian):
        design = fwbq.OBQ(gaussian, candidates=200, rng=2)
        assert len(design) == 0
        assert "nothing" in design.status
        assert len(design.trace) == 0
        rule = design.rule(4)
        design.take(2)
        assert len(design) == 4
        assert design.trace.mmd2[3] == pytest.approx(rule.mmd2, rel=1e-6)
        assert np.isnan(design.trace.mmd2[[0, 2]]).all()
        assert design.trace.mmd2[1] > design.trace.mmd2[3]
        assert "solved n = 2, 4" in design.status

    def test_ends_at_the_rank(self):
        embedding = fwbq.embed(fwbq.ExpQuad(3.0), fwbq.Gaussian([0.0], [[1.0]]))
        with pytest.warns(RuntimeWarning, match="of the 40 points"):
            points = fwbq.OBQ(embedding, candidates=300, rng=0, max_iterations=20).take(40)
        assert 3 < len(points) < 40

    def test_constant_mean(self, gaussian):
        rule = fwbq.OBQ(gaussian, candidates=200, rng=0, prior_mean="constant").rule(5)
        assert rule.prior_mean == "constant"
        assert rule.weights.sum() == pytest.approx(1.0)

    def test_sample_cannot_be_moved(self):
        with pytest.raises(ValueError, match="Empirical"):
            fwbq.OBQ(fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Empirical([[0.0], [1.0]])))

    @pytest.mark.parametrize("argument", ["starts", "max_iterations"])
    def test_counts(self, gaussian, argument):
        with pytest.raises(ValueError, match=argument):
            fwbq.OBQ(gaussian, **{argument: 0})
