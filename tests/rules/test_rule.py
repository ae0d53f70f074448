"""Rules: the stated error is true, whatever the points, and no weights do better than those of Bayesian quadrature."""

import math
import warnings
from dataclasses import replace
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import fwbq
from fwbq._linalg import CholeskyFactor, jittered_cholesky
from fwbq.rules import gram_worst_case, worst_case
from fwbq.rules.gram_worst_case import REFINEMENTS, GramWorstCase
from fwbq.rules.merging import MERGE_TOLERANCE, merge_indistinct, merge_repeats
from fwbq.rules.worst_case import streamed_evaluation

GAUSSIAN = fwbq.Gaussian([0.0], [[1.0]])


def embedding(lengthscale=1.0, variance=1.0, dim=1):
    return fwbq.embed(fwbq.ExpQuad(lengthscale, variance), fwbq.Gaussian(np.zeros(dim), np.eye(dim)))


def grid(n, half=4.0):
    return np.linspace(-half, half, n)[:, None]


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(120):
        yield


class Truth:
    """ExpQuad under N(0, I) at 120 digits, for points and a length-scale that are float64 numbers taken exactly."""

    def __init__(self, x, lengthscale, variance=1.0):
        length, self.n = mpf(float(lengthscale)), len(x)
        dim = x.shape[1]
        x = [[mpf(float(v)) for v in row] for row in x]
        self.K = mpmath.matrix(self.n, self.n)
        for i in range(self.n):
            for j in range(i + 1):
                r2 = mpmath.fsum((a - b) ** 2 for a, b in zip(x[i], x[j], strict=True))
                self.K[i, j] = self.K[j, i] = variance * mpmath.exp(-r2 / (2 * length**2))
        c = (length / mpmath.sqrt(length**2 + 1)) ** dim
        r2 = [mpmath.fsum(a * a for a in row) for row in x]
        self.z = [variance * c * mpmath.exp(-r / (2 * (length**2 + 1))) for r in r2]
        self.variance = variance * (length / mpmath.sqrt(length**2 + 2)) ** dim

    def mmd2(self, w):
        w = [mpf(float(v)) for v in w]
        return self.variance - 2 * mpmath.fdot(w, self.z) + mpmath.fdot(w, list(self.K * mpmath.matrix(w)))

    def best(self, constant=False):
        size = self.n + int(constant)
        system, right = mpmath.zeros(size), mpmath.matrix([*self.z, *([1] if constant else [])])
        for i in range(self.n):
            for j in range(self.n):
                system[i, j] = self.K[i, j]
            if constant:
                system[i, self.n] = system[self.n, i] = 1
        w = list(mpmath.lu_solve(system, right))[: self.n]
        return self.mmd2_exact(w), w

    def mmd2_exact(self, w):
        return self.variance - 2 * mpmath.fdot(w, self.z) + mpmath.fdot(w, list(self.K * mpmath.matrix(w)))


# --- The figures ------------------------------------------------------------------------------------------------------


def test_fifteen_points_within_one_per_cent():
    rule = fwbq.bayes_rule(embedding(), grid(15))
    best, _ = Truth(grid(15), 1.0).best()
    assert float(mpmath.sqrt(best)) == pytest.approx(1.9e-6, rel=0.03)
    assert rule.mmd == pytest.approx(float(mpmath.sqrt(best)), rel=0.01)


def test_forty_points_honest_and_below_1e7():
    rule = fwbq.bayes_rule(embedding(), grid(40))
    truth = Truth(grid(40), 1.0)
    assert float(mpmath.sqrt(truth.best()[0])) == pytest.approx(1.9e-9, rel=0.03)
    assert truth.mmd2(rule.weights) <= mpf(rule.mmd2) * mpf("1.0101") and rule.mmd < 1e-7
    assert "limited by rounding" in rule.status and "numerical rank" in rule.status


SETS = {
    **{f"grid {n}": grid(n) for n in (1, 2, 3, 5, 10, 13, 20, 25, 30)},
    "dense": grid(20, 1.0),
    "wide": grid(30, 7.0),
    "one side": 3.0 + grid(12, 1.0),
    "far away": 9.0 + grid(5, 1.0),
    "clustered": np.concatenate([c + 1e-3 * np.arange(5.0) for c in (-2.0, 0.0, 1.0)])[:, None],
    "near repeats": np.concatenate([grid(8, 2.0), grid(8, 2.0) + 1e-9]),
    "nearer than that": np.concatenate([grid(8, 2.0), grid(8, 2.0) + 1e-5]),
    "random": np.random.default_rng(0).normal(size=(25, 1)),
}


@pytest.mark.parametrize("prior_mean", ["zero", "constant"])
@pytest.mark.parametrize("lengthscale", [0.3, 1.0, 2.7])
@pytest.mark.parametrize("name", SETS)
def test_stated_error_is_true(name, lengthscale, prior_mean):
    """Below the truth by at most the floor and at most 1 %, never negative, above it by at most two floors."""
    rule = fwbq.bayes_rule(embedding(lengthscale), SETS[name], prior_mean=prior_mean)
    truth = Truth(rule.points, lengthscale).mmd2(rule.weights)
    assert rule.mmd2 > 0.0 and rule.floor > 0.0
    assert truth <= mpf(rule.mmd2) * mpf("1.0101") and truth <= mpf(rule.mmd2) + mpf(rule.floor)
    assert mpf(rule.mmd2) <= truth + 2 * mpf(rule.floor)
    if prior_mean == "constant":
        assert math.fsum(rule.weights) == pytest.approx(1.0, abs=1e-15 * max(1.0, rule.sum_abs_weights))


@pytest.mark.parametrize("prior_mean", ["zero", "constant"])
@pytest.mark.parametrize("lengthscale", [0.3, 1.0])
@pytest.mark.parametrize("n", [1, 4, 9, 13])
def test_weights_are_those_of_exact_arithmetic_where_they_can_be(n, lengthscale, prior_mean):
    rule = fwbq.bayes_rule(embedding(lengthscale), grid(n), prior_mean=prior_mean)
    best, w = Truth(grid(n), lengthscale).best(prior_mean == "constant")
    np.testing.assert_allclose(rule.weights, [float(v) for v in w], atol=1e-9)
    assert rule.mmd2 == pytest.approx(float(best), rel=1e-10, abs=3 * rule.floor)


@pytest.mark.parametrize("dim, n", [(2, 30), (5, 20)])
def test_stated_error_is_true_in_more_dimensions(dim, n):
    x = np.random.default_rng(1).normal(size=(n, dim))
    for lengthscale in (0.5, 3.0):
        rule = fwbq.bayes_rule(embedding(lengthscale, dim=dim), x)
        truth = Truth(x, lengthscale).mmd2(rule.weights)
        assert truth <= mpf(rule.mmd2) * mpf("1.0101") and mpf(rule.mmd2) <= truth + 2 * mpf(rule.floor)


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("points", ["grid", "random"])
def test_many_points_give_a_positive_small_error(n, points):
    x = grid(n) if points == "grid" else np.random.default_rng(2).normal(size=(n, 1))
    rule = fwbq.bayes_rule(embedding(), x)
    assert 0.0 < rule.mmd < (1e-7 if points == "grid" else 1e-4)
    assert rule.rank < 60 and rule.sum_abs_weights < 1e4


@pytest.mark.parametrize("variance", [1e-200, 1e-30, 1e30, 1e200])
@pytest.mark.parametrize("n", [3, 15, 60])
def test_the_variance_of_the_kernel_only_scales_the_error(n, variance):
    plain, scaled = fwbq.bayes_rule(embedding(), grid(n)), fwbq.bayes_rule(embedding(variance=variance), grid(n))
    # The variance rounds every entry anew: where rounding is the limit, two floors may lie between the two.
    slack = 4 * plain.floor / plain.mmd2
    assert scaled.mmd2 / variance == pytest.approx(plain.mmd2, rel=1e-9 + slack)
    assert fwbq.uniform_rule(embedding(variance=variance), grid(n)).mmd2 / variance == pytest.approx(
        fwbq.uniform_rule(embedding(), grid(n)).mmd2, rel=1e-12
    )


def test_powers_of_two_in_the_variance_change_no_bit():
    plain, scaled = fwbq.bayes_rule(embedding(), grid(30)), fwbq.bayes_rule(embedding(variance=2.0**-600), grid(30))
    np.testing.assert_array_equal(plain.weights, scaled.weights)
    assert scaled.mmd2 == plain.mmd2 * 2.0**-600


# --- Relations --------------------------------------------------------------------------------------------------------

EMBEDDINGS = {
    "ExpQuad": embedding(0.7),
    "ExpQuad 2-d": embedding(0.7, dim=2),
    "Matern12": fwbq.embed(fwbq.Matern12(1.0), fwbq.Uniform([0.0], [1.0])),
    "Matern52 2-d": fwbq.embed(fwbq.Matern52(0.5), fwbq.Uniform([0.0, 0.0], [1.0, 2.0])),
    "periodic": fwbq.embed(fwbq.PeriodicSobolev(2), fwbq.Uniform([0.0], [1.0])),
    "truncated": fwbq.embed(fwbq.ExpQuad(1.0), fwbq.TruncatedGaussian(1.0, 0.5)),
    "random Fourier": fwbq.embed(fwbq.RandomFourier(fwbq.ExpQuad(0.8), 12, 1, rng=3), GAUSSIAN),
}


def some_points(emb, n, seed=0):
    return emb.measure.sample(n, rng=seed)


def not_above(rule, other):
    """Whether the error of a rule exceeds that of another by no more than float64 leaves open.

    What is stated lies between the truth minus the floor and the truth plus twice the floor; the last factor is the
    rounding of this comparison.
    """
    return rule.mmd2 <= (other.mmd2 + other.floor + 2 * rule.floor) * (1 + 1e-15)


@pytest.mark.parametrize("name", EMBEDDINGS)
@pytest.mark.parametrize("n", [1, 6, 40])
def test_no_weights_do_better(name, n):
    emb = EMBEDDINGS[name]
    x = some_points(emb, n)
    best = fwbq.bayes_rule(emb, x)
    rng = np.random.default_rng(0)
    others = [fwbq.uniform_rule(emb, x), fwbq.simplex_rule(emb, x), fwbq.bayes_rule(emb, x, prior_mean="constant")]
    perturbed = best.weights * (1.0 + 1e-6 * rng.normal(size=len(best)))
    others += [fwbq.weighted_rule(emb, best.points, w) for w in (perturbed, rng.dirichlet(np.ones(len(best))))]
    others.append(fwbq.bayes_rule(emb, x, max_abs_weights=1.0))
    for other in others:
        assert not_above(best, other)
    # The quadratic programme of the simplex is solved to 1e-10 of the kernel's variance.
    uniform, simplex, constant = others[:3]
    assert not_above(constant, simplex)
    assert simplex.mmd2 <= uniform.mmd2 + uniform.floor + 2 * simplex.floor + 1e-10 * emb.kernel.diag(x).max()


@pytest.mark.parametrize("lengthscale", [1.0, 3.0])
@pytest.mark.parametrize("half", [3.0, 6.0])
@pytest.mark.parametrize("n", [12, 25, 50, 100])
def test_no_weights_do_better_near_the_floor(n, half, lengthscale):
    emb, x = embedding(lengthscale), grid(n, half)
    best = fwbq.bayes_rule(emb, x)
    assert not_above(best, fwbq.simplex_rule(emb, x))
    assert not_above(best, fwbq.bayes_rule(emb, x, prior_mean="constant"))
    density = np.exp(-0.5 * x[:, 0] ** 2)  # the trapezoidal rule, excellent here
    assert not_above(best, fwbq.weighted_rule(emb, x, density / density.sum()))


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_error_never_rises_as_points_are_added(name):
    emb = EMBEDDINGS[name]
    x = some_points(emb, 40)
    rules = [fwbq.bayes_rule(emb, x[:n]) for n in range(1, 41, 3)]
    for before, after in pairwise(rules):
        assert after.mmd2 <= before.mmd2 * 1.01 + 2 * after.floor


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_kernel_functions_at_the_points_are_integrated_exactly(name):
    emb = EMBEDDINGS[name]
    rule = fwbq.bayes_rule(emb, some_points(emb, 10))
    # |w'k(., x_i) - mu(x_i)| <= mmd |k(., x_i)|; for well-conditioned points it is rounding.
    if rule.rank == len(rule) and rule.sum_abs_weights < 10:
        estimate = rule.integrate(emb.kernel(rule.points))
        np.testing.assert_allclose(estimate, emb.mean(rule.points), rtol=1e-9, atol=1e-12)
    else:
        error = rule.integrate(emb.kernel(rule.points)) - emb.mean(rule.points)
        assert np.all(np.abs(error) <= rule.mmd * np.sqrt(emb.kernel.diag(rule.points)))


@pytest.mark.parametrize("n", [8, 30])
def test_order_of_the_points_does_not_matter(n):
    emb, x = embedding(0.4), some_points(embedding(), n)
    order = np.random.default_rng(0).permutation(n)
    a, b = fwbq.bayes_rule(emb, x), fwbq.bayes_rule(emb, x[order])
    np.testing.assert_array_equal(b.points, x[order])
    assert b.mmd2 == pytest.approx(a.mmd2, rel=1e-8, abs=a.floor)
    if n == 8:
        np.testing.assert_allclose(b.weights, a.weights[order], rtol=1e-8)


def test_shifting_everything_shifts_the_rule():
    x = grid(9, 2.0)
    plain = fwbq.bayes_rule(embedding(), x)
    moved = fwbq.bayes_rule(fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([1024.0], [[1.0]])), x + 1024.0)
    np.testing.assert_allclose(moved.weights, plain.weights, rtol=1e-6)
    assert moved.mmd2 == pytest.approx(plain.mmd2, rel=1e-8)


def test_scaling_space_leaves_the_weights():
    wide = fwbq.embed(fwbq.ExpQuad(8.0), fwbq.Gaussian([0.0], [[64.0]]))
    np.testing.assert_allclose(
        fwbq.bayes_rule(wide, 8.0 * grid(9)).weights, fwbq.bayes_rule(embedding(), grid(9)).weights, rtol=1e-9
    )


def test_uniform_weights_are_optimal_on_a_lattice_up_to_shrinkage():
    emb = EMBEDDINGS["periodic"]
    x = np.arange(8)[:, None] / 8
    rule = fwbq.bayes_rule(emb, x)
    np.testing.assert_allclose(rule.weights, rule.weights[0], rtol=1e-12)
    np.testing.assert_allclose(fwbq.bayes_rule(emb, x, prior_mean="constant").weights, 1 / 8, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 7, 64, 300])
def test_equal_weights_on_a_lattice_have_the_error_of_the_closed_form(n, order):
    """Only frequencies that are multiples of n are missed: mmd2 = (k(0, 0) - 1) / n^(2 order)."""
    emb = fwbq.embed(fwbq.PeriodicSobolev(order), fwbq.Uniform([0.0], [1.0]))
    rule = fwbq.uniform_rule(emb, np.arange(n)[:, None] / n)
    truth = (emb.kernel([[0.0]])[0, 0] - 1.0) / float(n) ** (2 * order)
    assert 0.99 * truth <= rule.mmd2 <= truth + 2 * rule.floor
    assert ("limited by rounding" in rule.status) == (truth < 99 * rule.floor)


# --- Merging ----------------------------------------------------------------------------------------------------------


def test_merged_repeats_equal_removed_repeats():
    emb, x = embedding(0.5), some_points(embedding(), 12)
    again = np.concatenate([x[:5], x[3:4], x[5:], x[:2], -0.0 * x[:1], 0.0 * x[:1]])
    rule, removed = fwbq.bayes_rule(emb, again), fwbq.bayes_rule(emb, np.concatenate([x, [[0.0]]]))
    np.testing.assert_array_equal(rule.points, removed.points)
    np.testing.assert_array_equal(rule.weights, removed.weights)
    np.testing.assert_array_equal(rule.points[rule.index], again)
    assert "4 repeated points merged" in rule.status


def test_near_repeats_are_merged_by_the_kernels_distance():
    x = np.concatenate([grid(6, 2.0), grid(6, 2.0) + 1e-9])
    rule = fwbq.bayes_rule(embedding(0.5), x)
    np.testing.assert_array_equal(rule.points, grid(6, 2.0))
    np.testing.assert_array_equal(rule.index, [*range(6), *range(6)])
    # At the same distance a rough kernel tells them apart, and so does a short length-scale.
    for kernel in (fwbq.Matern12(0.5), fwbq.ExpQuad(1e-3)):
        assert len(fwbq.bayes_rule(fwbq.embed(kernel, GAUSSIAN), x)) == 12
    # Given weights are kept as they are: moving one by 1e-9 would change the rule.
    assert len(fwbq.uniform_rule(embedding(), x)) == 12


def test_a_chain_of_near_repeats_is_thinned_not_swallowed():
    step = 0.8 * MERGE_TOLERANCE**0.5
    x = step * np.arange(5)[:, None]
    keep, index = merge_indistinct(fwbq.ExpQuad(1.0)(x))
    np.testing.assert_array_equal(keep, [0, 2, 4])
    np.testing.assert_array_equal(index, [0, 0, 1, 1, 2])


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=30))
@settings(max_examples=200, deadline=None)
def test_merging_repeats_is_lossless(rows):
    x = np.array(rows, dtype=float)
    unique, index = merge_repeats(x)
    np.testing.assert_array_equal(unique[index], x)
    assert len({tuple(r) for r in unique}) == len(unique)
    assert [tuple(r) for r in unique] == list(dict.fromkeys(tuple(r) for r in x))


def test_weights_of_repeats_add_up():
    emb = embedding()
    rule = fwbq.weighted_rule(emb, [[0.0], [1.0], [0.0]], [0.25, -0.5, 0.5])
    np.testing.assert_array_equal(rule.weights, [0.75, -0.5])
    assert rule.mmd2 == fwbq.mmd2(emb, [[0.0], [1.0]], [0.75, -0.5])
    assert rule.integrate([2.0, 1.0]) == rule.integrate([2.0, 1.0, 2.0]) == 1.0


# --- Worst-case error of any weights ----------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-1e3, 1e3)), min_size=1, max_size=6), st.floats(0.05, 5.0))
@settings(max_examples=60, deadline=None)
def test_error_of_any_weights_against_exact_arithmetic(pairs, lengthscale):
    x, w = np.array(pairs)[:, :1], np.array(pairs)[:, 1]
    rule = fwbq.weighted_rule(embedding(lengthscale), x, w)
    truth = Truth(rule.points, lengthscale).mmd2(rule.weights)
    assert truth <= mpf(rule.mmd2) * mpf("1.0101") and mpf(rule.mmd2) <= truth + 2 * mpf(rule.floor)


@pytest.mark.parametrize("prior_mean", ["zero", "constant"])
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_equal_weights_have_equal_errors_to_the_bit(name, prior_mean):
    emb = EMBEDDINGS[name]
    for n in (1, 20):
        rule = fwbq.bayes_rule(emb, some_points(emb, n), prior_mean=prior_mean)
        assert fwbq.mmd2(emb, rule.points, rule.weights) == rule.mmd2


def test_blocks_give_the_same_as_the_whole(monkeypatch):
    emb, x = embedding(0.3, dim=2), np.random.default_rng(3).normal(size=(50, 2))
    w = np.random.default_rng(4).normal(size=50)
    whole = fwbq.weighted_rule(emb, x, w)
    monkeypatch.setattr(worst_case, "_BLOCK_ENTRIES", 333)
    parts = fwbq.weighted_rule(emb, x, w)
    assert (parts.mmd2, parts.floor) == (whole.mmd2, pytest.approx(whole.floor, rel=1e-12))


def test_stated_is_continuous_increasing_and_understates_by_one_per_cent_at_most():
    values = np.concatenate([[-5.0, 0.0], np.geomspace(1e-3, 1e4, 400)])
    stated = np.array([worst_case.Evaluation(v, 1.0).stated for v in values])
    assert np.all(np.diff(stated) >= 0.0) and np.all(stated >= 1.0)
    assert np.all(stated >= 0.99 * (values + 1.0)) and np.all(stated[values > 100] == values[values > 100])
    assert np.max(np.diff(stated[1:]) / np.diff(values[1:])) <= 1.0 + 1e-9


def test_an_embedding_known_less_precisely_raises_the_floor(monkeypatch):
    emb = embedding()
    exact = fwbq.bayes_rule(emb, grid(20))
    monkeypatch.setattr(type(emb), "accuracy", 1e-10)
    rough = fwbq.bayes_rule(emb, grid(20))
    assert rough.floor > 1e-10 > exact.floor and rough.mmd2 > 1e-10 > exact.mmd2


# --- Options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior_mean", ["zero", "constant"])
@pytest.mark.parametrize("cap", [1.0, 1.3, 5.0, 1e9])
@pytest.mark.parametrize("points", ["dense", "random", "grid 10"])
def test_cap_on_the_weights(points, cap, prior_mean):
    free = fwbq.bayes_rule(embedding(), SETS[points], prior_mean=prior_mean)
    rule = fwbq.bayes_rule(embedding(), SETS[points], prior_mean=prior_mean, max_abs_weights=cap)
    assert rule.sum_abs_weights <= cap * (1 + 1e-11)
    if free.sum_abs_weights <= cap:
        np.testing.assert_array_equal(rule.weights, free.weights)
    else:
        assert "capped at" in rule.status
        assert not_above(free, rule)
        assert rule.sum_abs_weights > 0.98 * cap or prior_mean == "constant"
    if prior_mean == "constant":
        assert rule.weights.sum() == pytest.approx(1.0, abs=1e-10)


def test_a_looser_cap_never_costs():
    rules = [fwbq.bayes_rule(embedding(), SETS["dense"], max_abs_weights=c) for c in (0.5, 1.0, 2.0, 10.0, 100.0)]
    assert all(not_above(looser, tighter) for tighter, looser in pairwise(rules))


def test_bad_input_is_named():
    emb = embedding()
    for call, match in [
        (lambda: fwbq.bayes_rule(emb, [0.0, 1.0]), r"points\[:, None\]"),
        (lambda: fwbq.bayes_rule(emb, np.empty((0, 1))), "`points` must have at least one row"),
        (lambda: fwbq.bayes_rule(emb, [[np.nan]]), "`points` must be finite"),
        (lambda: fwbq.bayes_rule(emb, [[0.0]], prior_mean="one"), "`prior_mean` must be one of"),
        (lambda: fwbq.bayes_rule(emb, [[0.0]], max_abs_weights=-1.0), "`max_abs_weights` must be a positive"),
        (
            lambda: fwbq.bayes_rule(emb, [[0.0]], prior_mean="constant", max_abs_weights=0.5),
            "`max_abs_weights` must be at least 1",
        ),
        (lambda: fwbq.weighted_rule(emb, [[0.0]], [1.0, 2.0]), r"`weights` must be a vector of shape \(1,\)"),
        (lambda: fwbq.mmd2(emb, [[0.0]], [np.inf]), "`weights` must be finite"),
        (lambda: fwbq.bayes_rule(emb, [[0.0]]).integrate([1.0, 2.0]), "`values` must be values of shape"),
    ]:
        with pytest.raises(ValueError, match=match):
            call()


def test_rules_are_values():
    x = grid(3)
    rule = fwbq.bayes_rule(embedding(), x)
    x[:] = 0.0
    assert rule.points[0, 0] == -4.0
    for array in (rule.points, rule.weights, rule.index):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        rule.mmd2 = 0.0
    assert repr(rule).count("\n") == 0 and "3 points in 1 dimension" in repr(rule)
    assert rule.mmd == rule.mmd2**0.5 and len(rule) == 3
    assert fwbq.uniform_rule(embedding(), grid(40)).rank == fwbq.bayes_rule(embedding(), grid(40)).rank


# --- Kernels with explicit features, and without a mean element -------------------------------------------------------


def random_fourier(n_features):
    return fwbq.embed(fwbq.RandomFourier(fwbq.ExpQuad(0.8), n_features, 1, rng=3), GAUSSIAN)


@pytest.mark.parametrize("n_features, n", [(40, 10), (12, 12), (12, 60)])
@pytest.mark.parametrize("prior_mean", ["zero", "constant"])
def test_primal_algebra_agrees_with_dense_least_squares(n_features, n, prior_mean):
    emb = random_fourier(n_features)
    x = np.random.default_rng(5).normal(size=(n, 1))
    rule = fwbq.bayes_rule(emb, x, prior_mean=prior_mean)
    phi, m = emb.kernel.features(x), emb.mean_features
    residual = rule.weights @ phi - m
    # Each entry is a sum of n + 1 products, off by as many roundings of its terms; its square by twice that times it.
    roundoff = np.finfo(float).eps / 2
    off = np.linalg.norm((n + 1) * roundoff * (np.abs(rule.weights) @ np.abs(phi) + np.abs(m)))
    square = residual @ residual
    allowance = 2 * off * (np.sqrt(square) + off) + (n_features + 1) * roundoff * square
    assert square - rule.floor - allowance <= rule.mmd2 <= square + 2 * rule.floor + allowance
    # The gradient of the squared error vanishes, along 1 or in full.
    gradient = phi @ residual
    if prior_mean == "constant":
        assert math.fsum(rule.weights) == pytest.approx(1.0, abs=1e-15 * rule.sum_abs_weights)
        gradient = gradient - gradient.mean()
    assert np.max(np.abs(gradient)) < 1e-10
    assert rule.rank <= min(n, n_features)


def test_features_make_the_error_vanish_once_they_are_seen():
    rule = fwbq.bayes_rule(random_fourier(12), np.random.default_rng(6).normal(size=(30, 1)))
    assert rule.mmd2 < 1e-22 and rule.rank == 12


def test_features_and_gram_matrix_state_the_same_error():
    emb = random_fourier(12)
    x = np.random.default_rng(7).normal(size=(6, 1))
    w = fwbq.bayes_rule(emb, x).weights
    gram = GramWorstCase(emb.kernel(x), emb.mean(x), emb.variance).evaluate(w)
    assert fwbq.mmd2(emb, x, w) == pytest.approx(gram.value, abs=gram.floor)


def test_streams_and_gram_matrix_state_the_same_error_and_floor():
    emb = fwbq.embed(fwbq.Matern32(0.3, variance=1e3), GAUSSIAN)
    x = np.random.default_rng(7).normal(size=(40, 1))
    for w in (np.full(40, 1 / 40), 1e4 * np.random.default_rng(8).normal(size=40)):
        gram = GramWorstCase(emb.kernel(x), emb.mean(x), emb.variance).evaluate(w)
        stream = streamed_evaluation(emb.kernel, x, w, emb.mean(x), emb.variance)
        assert stream.value == pytest.approx(gram.value, rel=1e-12)
        assert stream.floor == pytest.approx(gram.floor, rel=1e-12)


def test_no_further_jitter_is_tried_where_rounding_does_not_limit_the_error():
    emb = fwbq.embed(fwbq.Matern12(0.3), GAUSSIAN)
    x = np.linspace(-2.0, 2.0, 9)[:, None]
    found = list(GramWorstCase(emb.kernel(x), emb.mean(x), emb.variance).candidates(constant=False))
    assert found[-1][1].value > 100.0 * found[-1][1].floor
    assert len(found) <= 1 + REFINEMENTS


def test_zero_mean_element_needs_the_constant():
    emb = fwbq.embed(fwbq.Stein(fwbq.ExpQuad(1.0), lambda x: -x), GAUSSIAN)
    x = np.random.default_rng(8).normal(size=(20, 1))
    with pytest.warns(RuntimeWarning, match='prior_mean="constant"'):
        nothing = fwbq.bayes_rule(emb, x)
    np.testing.assert_array_equal(nothing.weights, 0.0)
    assert nothing.mmd2 == 0.0 and 'prior_mean="constant"' in nothing.status
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rule = fwbq.bayes_rule(emb, x, prior_mean="constant")
    K = emb.kernel(x)
    assert math.fsum(rule.weights) == pytest.approx(1.0, abs=1e-15 * rule.sum_abs_weights)
    assert rule.mmd2 == pytest.approx(rule.weights @ K @ rule.weights, rel=1e-6, abs=2 * rule.floor)
    assert rule.mmd2 < fwbq.uniform_rule(emb, x).mmd2
    # Moments of N(0, 1) come out of an unnormalised score.
    assert rule.integrate(x[:, 0] ** 2) == pytest.approx(1.0, abs=0.05)


# --- Values computed independently ------------------------------------------------------------------------------------


def reference_embedding(case):
    sigma = 0.5**0.5 if "sqrt" in case["sigma"] else float(case["sigma"])
    return fwbq.embed(fwbq.ExpQuad(sigma), fwbq.TruncatedGaussian(1.0, 0.5))


def test_reference_ill_conditioned(reference):
    for case in reference["ill_conditioned_truncated_gaussian_d1"]:
        rule = fwbq.bayes_rule(reference_embedding(case), np.array(case["points"], dtype=float).reshape(-1, 1))
        truth = float(case["var"])
        assert truth <= rule.mmd2 * 1.0101
        if float(case["cond"]) < 1e14:
            assert rule.mmd2 == pytest.approx(truth, rel=1e-3)
            assert rule.status == "ok"
        assert rule.mmd2 < 1e-5 or float(case["cond"]) < 1e14


def test_reference_random_features(reference):
    case = reference["rff"]
    kernel = fwbq.RandomFourier.from_frequencies(
        fwbq.ExpQuad(0.8), np.array(case["W"], dtype=float), np.array(case["b"], dtype=float)
    )
    mixture = {k: np.array(v, dtype=float) for k, v in reference["mixture_A"].items()}
    emb = fwbq.embed(kernel, fwbq.GaussianMixture(mixture["weights"], mixture["means"], mixture["covs"]))
    rule = fwbq.bayes_rule(emb, np.array(case["candidates"], dtype=float)[case["bq_points"]])
    np.testing.assert_allclose(rule.weights, np.array(case["bq_weights"], dtype=float), rtol=1e-8)
    assert rule.mmd2 == pytest.approx(float(case["bq_var_under_khat"]), rel=1e-9)
    exact = fwbq.embed(fwbq.ExpQuad(0.8), emb.measure)
    assert fwbq.mmd2(exact, rule.points, np.array(case["bq_weights"], dtype=float)) == pytest.approx(
        float(case["mmd2_of_those_weights_under_EQ_sigma_0_8"]), rel=1e-10
    )


def reference_cases(reference):
    mixture = {k: np.array(v, dtype=float) for k, v in reference["mixture_A"].items()}
    measures = {
        "A": fwbq.GaussianMixture(mixture["weights"], mixture["means"], mixture["covs"]),
        "B1": fwbq.TruncatedGaussian(1.0, 0.5),
        "C": fwbq.TruncatedGaussian([1.0, 1.0], 0.5),
        "E": fwbq.Uniform([0.0, 0.0], [1.0, 2.0]),
    }
    for case in reference["cases"]:
        sigma = 0.5**0.5 if "sqrt" in case["sigma"] else float(case["sigma"])
        emb = fwbq.embed(fwbq.ExpQuad(sigma), measures[case["name"].split(":")[0]])
        yield case, emb, np.array(case["candidates"], dtype=float)


def test_reference_frank_wolfe_and_sequential_rules(reference):
    """Errors and weights of the reference's own points and weights, for every n, repeats among them."""
    checked = good = 0
    for case, emb, x in reference_cases(reference):
        values = np.array(case["test_function"]["values_at_candidates"], dtype=float)
        for run in case["fw"]:
            chosen = x[run["idx"]]
            for n, (error, variance) in enumerate(zip(run["mmd2"], run["bq_var"], strict=True), start=1):
                rule = fwbq.bayes_rule(emb, chosen[:n])
                assert float(variance) <= rule.mmd2 * 1.0101
                if rule.rank == len(rule) and rule.status.endswith(("ok", "merged")):
                    assert rule.mmd2 == pytest.approx(float(variance), rel=1e-10, abs=1e-12 + rule.floor)
                    good += 1
                assert rule.mmd2 <= float(error) * (1 + 1e-12)
                if run["rule"] == "eq8":
                    assert fwbq.uniform_rule(emb, chosen[:n]).mmd2 == pytest.approx(float(error), rel=1e-12, abs=1e-14)
                checked += 1
            np.testing.assert_array_equal(rule.points, x[run["bq_points"]])
            weights = np.array(run["bq_weights"], dtype=float)
            if np.abs(weights).sum() < 10:
                np.testing.assert_allclose(rule.weights, weights, atol=1e-9)
                assert rule.integrate(values[run["bq_points"]]) == pytest.approx(float(run["bq_mean"]), rel=1e-10)
            final = fwbq.weighted_rule(emb, chosen, np.array(run["w"], dtype=float))
            assert final.mmd2 == pytest.approx(float(run["mmd2"][-1]), rel=1e-12, abs=1e-14)
            assert final.integrate(values[run["idx"]]) == pytest.approx(float(run["fw_estimate"]), rel=1e-12)
        sbq = case["sbq"]
        for n, variance in enumerate(sbq["var"], start=1):
            rule = fwbq.bayes_rule(emb, x[sbq["idx"][:n]])
            assert rule.mmd2 == pytest.approx(float(variance), rel=1e-10, abs=1e-12 + 2 * rule.floor)
        weights = np.array(sbq["weights_final"], dtype=float)
        np.testing.assert_allclose(rule.weights, weights, atol=1e-8 * np.abs(weights).max())
    assert checked > 200 and good > 0.8 * checked


@pytest.mark.parametrize("kernel", [fwbq.Matern32(0.5), fwbq.ExpQuad(1.0)])
def test_a_quick_rule_states_the_error_of_its_own_weights(kernel):
    embedding = fwbq.embed(kernel, fwbq.Gaussian([0.0], [[1.0]]))
    x = np.linspace(-3.0, 3.0, 30)[:, None]
    thorough = fwbq.bayes_rule(embedding, x, prior_mean="constant")
    quick = fwbq.bayes_rule(embedding, x, prior_mean="constant", thorough=False)
    error = fwbq.mmd2(embedding, quick.points, quick.weights)
    assert abs(quick.mmd2 - error) <= quick.floor + 1e-12 * error
    assert quick.mmd2 >= thorough.mmd2 - thorough.floor
    assert quick.weights.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kernel", [fwbq.ExpQuad(1.0), fwbq.Matern12(0.3)], ids=repr)
def test_a_quick_rule_holds_the_factor_of_its_points(kernel):
    x = np.concatenate([np.linspace(0.0, 1.0, 25), [0.5]])[:, None]
    quick = fwbq.bayes_rule(fwbq.embed(kernel, fwbq.Uniform([0.0], [1.0])), x, thorough=False)
    expected = CholeskyFactor.of(kernel(quick.points))
    assert len(quick) == 25
    assert np.array_equal(quick.factor.lower, expected.lower)
    assert quick.factor.jitter == expected.jitter


def test_a_notebook_shows_kernel_and_measure_where_they_are_known():
    rule = fwbq.uniform_rule(fwbq.embed(fwbq.ExpQuad(1.0), GAUSSIAN), [[0.0], [1.0]])
    assert "ExpQuad" in rule._repr_html_() and "Gaussian" in rule._repr_html_()
    bare = replace(rule, embedding=None)
    assert "ExpQuad" not in bare._repr_html_() and "worst-case error" in bare._repr_html_()


def test_near_the_floor_jitters_rise_by_tens_while_they_may_help(monkeypatch):
    tried = []

    def recorded(K, jitter):
        lower, used = jittered_cholesky(K, jitter)
        tried.append(used)
        return lower, used

    monkeypatch.setattr(gram_worst_case, "jittered_cholesky", recorded)
    embedding = fwbq.embed(fwbq.ExpQuad(2.0), GAUSSIAN)
    rule = fwbq.bayes_rule(embedding, np.random.default_rng(0).normal(size=(60, 1)))
    assert rule.mmd2 < 100.0 * rule.floor
    assert len(tried) > 2
    np.testing.assert_allclose(np.divide(tried[1:], tried[:-1]), 10.0)


def test_errors_common_to_all_entries_multiply_the_sums():
    one = np.ones(1)
    found = worst_case.total(1.0, one, one, [1.0], 0.0, 0.0, 1.0)
    # k_PP = 1, 2 w'z = 2 and w'Kw = 1; beside them only the errors of the mean elements, 2 |w z|.
    assert (found.value, found.floor) == (0.0, pytest.approx(6.0 * worst_case.COMMON_ERROR, abs=0.0))


def test_a_refinement_that_diverges_is_begun_again_with_more_jitter(monkeypatch):
    """As where K has rounding errors above the jitter; whether it has depends on the processor."""
    x = np.linspace(0.0, 1.0, 6)
    K = np.exp(-0.5 * (x[:, None] - x) ** 2 / 0.1)
    real, factors = GramWorstCase._refined, []

    def refined(self, lower, constant):
        factors.append(lower)
        for k, (w, _) in enumerate(real(self, lower, constant)):
            w = w * 1e4**k if len(factors) == 1 else w
            yield w, self._exact.dot(w)

    monkeypatch.setattr(GramWorstCase, "_refined", refined)
    w, _ = GramWorstCase(K, K.mean(axis=1), float(K.mean())).quick_weights(True)
    assert len(factors) == 2
    np.testing.assert_allclose(w, 1.0 / 6.0, rtol=1e-6)  # the mean of K over these very points
    assert np.diagonal(factors[1]).min() > np.diagonal(factors[0]).min()
