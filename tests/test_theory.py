"""Bounds against high-precision values, a space where D and R are known, and runs."""

import mpmath
import numpy as np
import pytest

import fwbq
from fwbq import theory

RULES = {"FWBQ": "herding", "FWLSBQ": "line-search"}


@pytest.fixture(scope="module")
def circle():
    """k(x, y) = cos(x - y): features on the unit circle; p = (1 + 0.8 cos x) / 2 pi, mu = (0.4, 0), D = 2, R = 0.6."""
    kernel = fwbq.RandomFourier.from_frequencies(fwbq.ExpQuad(1.0), [[1.0], [1.0]], [0.0, -np.pi / 2])
    x = 2 * np.pi * np.arange(720)[:, None] / 720
    return fwbq.embed(kernel, fwbq.Empirical(x, (1 + 0.8 * np.cos(x[:, 0])) / 720))


@pytest.fixture(scope="module")
def mixture():
    return fwbq.embed(fwbq.ExpQuad(0.8), fwbq.GaussianMixture([0.5, 0.5], [[-1.0, 0.0], [1.0, 1.0]], [0.4, 0.6]))


class TestAgainstReference:
    def test_consistency(self, reference):
        for case in reference["bounds"]:
            for name, step in RULES.items():
                bound = theory.consistency_bound(case["n"], case["D"], case["R"], step=step)
                assert float(bound) == pytest.approx(float(case["mmd_printed"][name]), rel=1e-14)

    def test_contraction(self, reference):
        for case in reference["bounds"]:
            for name, step in RULES.items():
                args = case["n"], case["gamma"], case["D"], case["R"]
                bound = float(theory.contraction_bound(*args, step=step))
                assert bound == pytest.approx(float(case["contraction_square_repaired"][name]), rel=1e-13)
                bound = float(theory.contraction_bound(*args, step=step, printed=True))
                assert bound == pytest.approx(float(case["contraction_printed"][name]), rel=1e-13)

    def test_worst_case(self, reference):
        for case in reference["bounds"]:
            for name in RULES:
                mass = theory.worst_case_contraction(case["gamma"], float(case["mmd_printed"][name]))
                assert float(mass) == pytest.approx(float(case["worst_case_at_mmd_bound"][name]), rel=1e-13)


class TestFormulas:
    @pytest.mark.parametrize(("n", "gamma", "d", "r"), [(1, 0.1, 1.4, 0.3), (37, 0.02, 2.0, 0.7), (4, 3.0, 50.0, 20.0)])
    def test_contraction_in_high_precision(self, n, gamma, d, r):
        n_, g, D, R = (mpmath.mpf(v) for v in (n, gamma, d, r))
        herding = 2 * mpmath.sqrt(2) * D**2 / (mpmath.sqrt(mpmath.pi) * R * g * n_)
        herding *= mpmath.exp(-(g**2) * R**2 * n_**2 / (8 * D**4))
        search = 2 * D / (mpmath.sqrt(mpmath.pi) * g)
        search *= mpmath.exp(-(R**2) * n_ / (2 * D**2) - g**2 / (4 * D**2) * mpmath.exp(R**2 * n_ / D**2))
        assert float(theory.contraction_bound(n, gamma, d, r)) == pytest.approx(float(herding), rel=1e-12)
        bound = theory.contraction_bound(n, gamma, d, r, step="line-search")
        assert float(bound) == pytest.approx(float(search), rel=1e-12)

    def test_contraction_is_mills_bound_of_the_consistency_bound(self):
        n = np.arange(1, 60)
        for step in theory.STEPS:
            s = theory.consistency_bound(n, 2.0, 0.6, step=step)
            expected = np.sqrt(2 / np.pi) * s / 0.3 * np.exp(-(0.3**2) / (2 * s**2))
            assert theory.contraction_bound(n, 0.3, 2.0, 0.6, step=step) == pytest.approx(expected, rel=1e-12, abs=0)

    def test_no_overflow_far_out(self):
        bound = theory.contraction_bound([10**3, 10**6, 10**9], 0.1, 2.0, 1.0, step="line-search")
        assert (bound == 0.0).all()
        assert (theory.contraction_bound([10**5, 10**9], 0.1, 2.0, 1.0) == 0.0).all()
        assert float(theory.consistency_bound(10**9, 2.0, 1.0, step="line-search")) == 0.0

    def test_repaired_contraction_does_not_depend_on_units_and_the_printed_one_does(self):
        def at(s, printed):
            return float(theory.contraction_bound(5, 0.5 * s, 2.0 * s, 0.5 * s, step="line-search", printed=printed))

        assert at(100.0, False) == pytest.approx(at(1.0, False), rel=1e-12)
        assert at(100.0, True) < 0.5 * at(1.0, True)

    def test_printed_contraction_is_false(self):
        """k = 10^4 cos(x - x'), x_1 = pi/2, f = 100 sin x: posterior N(0, 40^2) with the truth 0 and n = 1."""
        d, r = 200.0, 60.0
        mass = float(mpmath.erfc(60 / (40 * mpmath.sqrt(2))))
        assert mass == pytest.approx(0.1336, abs=1e-4)
        assert float(theory.contraction_bound(1, 60.0, d, r, step="line-search", printed=True)) < 0.01 < mass
        assert float(theory.contraction_bound(1, 60.0, d, r, step="line-search")) >= mass

    def test_worst_case_is_the_mass_of_the_shifted_normal_and_grows_with_the_deviation(self):
        sd, norm, gamma = 0.2, 0.7, 0.5
        shifted = mpmath.ncdf((-gamma - norm * sd) / sd) + 1 - mpmath.ncdf((gamma - norm * sd) / sd)
        assert float(theory.worst_case_contraction(gamma, sd, norm=norm)) == pytest.approx(float(shifted), rel=1e-13)
        assert (np.diff(theory.worst_case_contraction(gamma, np.linspace(0.01, 3, 50), norm=norm)) > 0).all()
        assert float(theory.worst_case_contraction(1.0, 2.0, norm=0.0)) == pytest.approx(
            float(mpmath.erfc(0.5 / 2**0.5))
        )
        assert float(theory.worst_case_contraction(0.1, 0.0)) == 0.0

    def test_theorem_2_covers_the_worst_case_although_its_proof_does_not(self):
        """Its slack is that of the constants of Theorem 1: the sharp ones bound the posterior deviation."""
        n = np.arange(1, 400)
        for ratio in (0.05, 0.2, 0.5):
            for step in theory.STEPS:
                sd = np.minimum(theory.consistency_bound(n, 2.0, 2.0 * ratio, step=step, sharp=True), 2.0)
                for gamma in (0.01, 0.1, 1.0, 5.0):
                    worst = theory.worst_case_contraction(gamma, sd)
                    bound = theory.contraction_bound(n, gamma, 2.0, 2.0 * ratio, step=step)
                    assert (worst <= bound * (1 + 1e-9)).all()

    def test_sharp_is_sharper(self):
        n = np.arange(1, 300)
        for step in theory.STEPS:
            sharp, plain = (theory.consistency_bound(n, 2.0, 0.4, step=step, sharp=s) for s in (True, False))
            assert (sharp < plain).all()

    def test_no_ball(self):
        assert np.isinf(theory.consistency_bound(10, 2.0, 0.0)).all()
        assert float(theory.consistency_bound(10, 2.0, 0.0, step="line-search")) == pytest.approx(2.0 * np.sqrt(2))

    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (lambda: theory.consistency_bound(0, 1.0, 0.5), "`n`"),
            (lambda: theory.consistency_bound(2.5, 1.0, 0.5), "`n`"),
            (lambda: theory.consistency_bound(2, 1.0, 1.5), "`radius`"),
            (lambda: theory.consistency_bound(2, -1.0, 0.5), "`diameter`"),
            (lambda: theory.consistency_bound(2, 1.0, 0.5, step="newton"), "`step`"),
            (lambda: theory.contraction_bound(2, 0.0, 1.0, 0.5), "`gamma`"),
            (lambda: theory.worst_case_contraction(1.0, 1.0, norm=-1.0), "`norm`"),
        ],
    )
    def test_errors_name_the_parameter(self, call, words):
        with pytest.raises(ValueError, match=words):
            call()


class TestDiameter:
    @pytest.mark.parametrize(
        "kernel",
        [
            fwbq.ExpQuad(0.5, 3.0),
            fwbq.Matern32(1.0) + fwbq.ExpQuad(2.0),
            fwbq.Stein(fwbq.ExpQuad(1.0), lambda x: -x),
            fwbq.RandomFourier(fwbq.ExpQuad(1.0), 7, 2, rng=0),
        ],
        ids=lambda k: type(k).__name__,
    )
    def test_all_pairs(self, kernel):
        x = np.random.default_rng(0).normal(size=(2 * theory.polytope.BLOCK + 37, 2))
        K = kernel(x)
        squared = np.diag(K)[:, None] + np.diag(K) - 2 * K
        assert theory.diameter(kernel, x) == pytest.approx(np.sqrt(squared.max()), rel=1e-12)

    def test_unit_diagonal(self):
        kernel, x = fwbq.ExpQuad(1.0), np.array([[0.0], [0.3], [1.1]])
        assert theory.diameter(kernel, x) == pytest.approx(np.sqrt(2 * (1 - np.exp(-(1.1**2) / 2))), rel=1e-14)

    def test_upper_bound(self, mixture, circle):
        for embedding, x in ((mixture, mixture.measure.sample(300, 0)), (circle, circle.measure.points)):
            exact, bound = theory.diameter(embedding.kernel, x), theory.diameter_bound(embedding, x)
            assert exact <= bound * (1 + 1e-12) <= 2 * exact * (1 + 2e-12)  # equal on the circle, but for rounding

    def test_large_sets_are_bounded(self, mixture, monkeypatch):
        monkeypatch.setattr(theory.table, "PAIRS", 100)
        design = fwbq.SBQ(mixture, candidates=150, rng=0)
        assert theory.compare(design, 5).diameter == theory.diameter_bound(mixture, design.candidates)

    def test_one_point(self):
        assert theory.diameter(fwbq.ExpQuad(1.0), [[0.5, 0.5]]) == 0.0


class TestKnownSpace:
    def test_diameter(self, circle):
        assert theory.diameter(circle.kernel, circle.measure.points) == pytest.approx(2.0, abs=1e-12)

    @pytest.mark.parametrize("step", ["herding", "line-search"])
    def test_runs_obey_their_bounds(self, circle, step):
        radius = 0.6 - 1e-4  # the polygon of 720 corners lies inside the disc by 1 - cos(pi / 720) = 1e-5
        design = fwbq.FrankWolfe(circle, step=step, initial=240)
        n = np.arange(1, 201)
        design.take(200)
        mmd = np.sqrt(design.trace.mmd2)
        assert (mmd <= theory.consistency_bound(n, 2.0, radius, step=step, sharp=True) + 1e-7).all()
        assert (mmd <= theory.root_n_bound(n, 2.0)).all()

    @pytest.mark.parametrize("step", ["herding", "line-search"])
    def test_radius_is_bounded_from_above_and_approached(self, circle, step):
        design = fwbq.FrankWolfe(circle, step=step, initial=240)
        design.take(100)
        trace = design.trace
        good = trace.mmd2 > 1e-12  # beyond, the direction mu - g is rounding error
        bound = theory.radius_bound(trace.gap[good], trace.mmd2[good])
        assert (bound >= 0.6 - 1e-4).all()
        assert bound[-1] < 0.8
        assert (np.diff(bound) <= 0).all()

    def test_table_is_not_void(self, circle):
        table = theory.compare(fwbq.FrankWolfe(circle, initial=240), 150)
        assert not table.void
        assert "steady" in table.verdict
        assert (table.mmd <= table.gap + 1e-9).all()
        assert (table.line_search_sharp <= table.line_search).all()


class TestRuns:
    @pytest.mark.parametrize("design", [fwbq.FrankWolfe, fwbq.SBQ, fwbq.RandomPivot])
    def test_gap_bounds_the_error_where_the_hull_holds_the_mean(self, design):
        sample = np.random.default_rng(3).normal(size=(300, 2))
        run = design(fwbq.embed(fwbq.ExpQuad(0.7), fwbq.Empirical(sample)), rng=0)
        run.take(40)
        mmd = np.sqrt(run.trace.mmd2)
        assert (mmd <= theory.gap_bound(run.trace.gap, sharp=True) + 1e-9).all()
        assert (mmd <= theory.gap_bound(run.trace.gap) + 1e-9).all()

    def test_radius_from_the_definition(self, mixture):
        """max_x <v, k(., x) - mu> with v = (mu - g) / |mu - g|, from kernel values alone."""
        design = fwbq.FrankWolfe(mixture, candidates=400, rng=1)
        points = design.take(15)
        least = np.inf
        for n in range(1, 16):
            w, x = np.full(n, 1 / n), points[:n]
            difference = mixture.mean(design.candidates) - mixture.kernel(design.candidates, x) @ w
            with_mu = mixture.variance - w @ mixture.mean(x)
            norm = np.sqrt(fwbq.mmd2(mixture, x, w))
            least = min(least, (difference.max() - with_mu) / norm)
            assert theory.radius_bound(design.trace.gap[:n], design.trace.mmd2[:n])[-1] == pytest.approx(
                least, rel=1e-9
            )

    def test_infinite_dimension_is_void(self, mixture):
        for design in (fwbq.FrankWolfe(mixture, candidates=800, rng=0), fwbq.SBQ(mixture, candidates=800, rng=0)):
            table = theory.compare(design, 128)
            assert table.void
            assert "void" in table.verdict
            assert table.radius[-1] < 0.8 * table.radius[4]
            assert (np.diff(table.radius) <= 0).all()
            assert (table.mmd <= table.root_n).all()
            assert "void" in repr(table)

    def test_frame(self, mixture):
        frame = theory.compare(fwbq.SBQ(mixture, candidates=200, rng=0), 10).to_frame()
        assert list(frame["n"]) == list(range(1, 11))
        assert {"n", "mmd", "root_n", "gap", "radius", "herding", "line_search"} <= set(frame.columns)

    def test_design_without_gap(self, mixture):
        table = theory.compare(fwbq.MonteCarlo(mixture, rng=0), 10)
        assert np.isnan(table.radius).all()
        assert not table.void
        assert "no duality gap" in table.verdict

    def test_design_that_ends_early_gives_a_short_table(self, mixture):
        table = theory.compare(fwbq.SBQ(mixture, candidates=[[0.0, 0.0], [1.0, 0.0]]), 5)
        assert len(table) == 2

    def test_diameter_over_given_points(self, mixture):
        far = [[0.0, 0.0], [9.0, 9.0]]
        assert theory.compare(fwbq.SBQ(mixture, candidates=50, rng=0), 3, points=far).diameter == pytest.approx(2**0.5)


@pytest.mark.parametrize(("gamma", "sd", "name"), [(-0.1, 1.0, "gamma"), (0.1, [1.0, -1.0], "sd")])
def test_a_negative_distance_or_deviation_is_named(gamma, sd, name):
    with pytest.raises(ValueError, match=f"`{name}` must be >= 0"):
        theory.worst_case_contraction(gamma, sd)


def test_a_single_candidate_has_no_diameter_and_the_bounds_say_so():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    table = theory.compare(fwbq.FrankWolfe(embedding, candidates=[[0.3]]), 3)
    assert table.diameter == 0.0 and table.void and "single point" in table.verdict
    assert np.allclose(table.mmd**2, fwbq.mmd2(embedding, [[0.3]], [1.0])) and np.isnan(table.line_search).all()
