"""Every kind of bad input gets an error that names the parameter; every good one comes back in the agreed form."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fwbq
from fwbq import _validate
from fwbq.kernels import ProductKernel, Scaled, Sum

NAN, INF = math.nan, math.inf
FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)


def test_masked_values_are_refused_and_masks_that_hide_nothing_are_not():
    masked = np.ma.array([[0.0], [1.0], [999.0]], mask=[[False], [False], [True]])
    with pytest.raises(ValueError, match=r"`x` has masked values.*np\.ma\.compress_rows\(x\)"):
        _validate.points(masked, "x")
    with pytest.raises(ValueError, match="`points` has masked values"):
        fwbq.Empirical(masked)
    with pytest.raises(ValueError, match="`values` has masked values"):
        fwbq.uniform_rule(fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0], [1.0])), [[0.2], [0.4], [0.6]]).integrate(
            masked[:, 0]
        )
    with pytest.raises(ValueError, match="`substrate` has masked values"):
        fwbq.chema.Dataset([0.0, 1.0, 2.0], masked[:, 0], [1.0, 1.0, 1.0], [[1.0], [1.0], [1.0]])
    assert fwbq.Empirical(np.ma.array([[0.0], [1.0]])).mean.tolist() == [0.5]


@settings(max_examples=300, deadline=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), elements=FLOATS))
def test_points_accepts_exactly_finite_matrices(x):
    good = x.ndim == 2 and x.shape[1] > 0 and np.isfinite(x).all()
    if good:
        checked = _validate.points(x, "x")
        assert checked.dtype == np.float64 and checked.flags.c_contiguous and np.array_equal(checked, x)
    else:
        with pytest.raises(ValueError, match="`x`"):
            _validate.points(x, "x")


@settings(max_examples=200, deadline=None)
@given(FLOATS)
def test_numbers_are_accepted_exactly_in_their_ranges(x):
    checks = {
        _validate.positive: 0 < x < INF,
        _validate.nonnegative: 0 <= x < INF,
        _validate.probability: 0 < x < 1,
    }
    for check, good in checks.items():
        if good:
            assert check(x, "number") == x
        else:
            with pytest.raises(ValueError, match="`number`"):
                check(x, "number")


@settings(max_examples=200, deadline=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=2, max_side=4), elements=st.floats(-2, 1e3) | st.just(NAN)))
def test_length_scales_are_accepted_exactly_when_positive_and_not_tiny(length):
    if length.ndim == 1 and (length >= 1e-100).all():
        assert np.array_equal(fwbq.ExpQuad(length).lengthscale, length)
    else:
        with pytest.raises(ValueError, match="`lengthscale`"):
            fwbq.ExpQuad(length)


@settings(max_examples=200, deadline=None)
@given(hnp.arrays(np.float64, st.integers(1, 6), elements=st.floats(-0.2, 1)))
def test_simplex_accepts_exactly_normalised_weights(w):
    if (w >= 0).all() and abs(w.sum() - 1) < 1e-10:
        assert np.allclose(_validate.simplex(w, "weights"), w, rtol=1e-8)
    else:
        with pytest.raises(ValueError, match="`weights`"):
            _validate.simplex(w, "weights")
    if w.sum() > 0.1 and (w >= 0).all():
        normalised = _validate.simplex(w / w.sum(), "weights")
        assert np.array_equal(_validate.simplex(normalised, "weights"), normalised)


@settings(max_examples=150, deadline=None)
@given(hnp.arrays(np.float64, (3, 3), elements=st.floats(-3, 3)), st.floats(-1.0, 1.0))
def test_covariance_accepts_exactly_positive_definite(a, shift):
    c = a @ a.T + shift * np.eye(3)
    smallest = np.linalg.eigvalsh(c)[0]
    if smallest > 1e-9:
        checked = _validate.covariance(c, "cov", 3)
        assert np.array_equal(checked, checked.T) and np.allclose(checked, c)
    elif smallest < -1e-9:
        with pytest.raises(ValueError, match=r"`cov` must be positive definite.*smallest eigenvalue"):
            _validate.covariance(c, "cov", 3)


@settings(max_examples=200, deadline=None)
@given(FLOATS, FLOATS)
def test_bounds_are_accepted_exactly_in_order_and_neither_too_close_nor_too_far_apart(lower, upper):
    if math.isfinite(lower) and math.isfinite(upper) and 1e-100 <= upper - lower <= 1e100:
        assert fwbq.Uniform(lower, upper).dim == 1
    else:
        with pytest.raises(ValueError, match=r"`lower`|`upper`"):
            fwbq.Uniform(lower, upper)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.integers(-5, 5), FLOATS, st.text(max_size=3), st.booleans(), st.none()))
def test_count_accepts_exactly_whole_numbers(n):
    if type(n) is int and n >= 1:
        assert _validate.count(n, "n") == n
    else:
        with pytest.raises((TypeError, ValueError), match="`n`"):
            _validate.count(n, "n")


BAD = [
    # what is called, the parameter named, a word of the remedy
    (lambda: fwbq.ExpQuad(1.0)(np.zeros(3)), "x", r"x\[:, None\]"),
    (lambda: fwbq.ExpQuad(1.0)(0.5), "x", "one row per point"),
    (lambda: fwbq.ExpQuad(1.0)(np.zeros((3, 2)), np.zeros((3, 1))), "y", r"shape \(n, 2\)"),
    (lambda: fwbq.ExpQuad([1.0, 2.0])(np.zeros((3, 3))), "x", r"shape \(n, 2\)"),
    (lambda: fwbq.ExpQuad(1.0)([[NAN]]), "x", "remove or replace NaN"),
    (lambda: fwbq.ExpQuad(1.0)([[1.0, INF]]), "x", r"index \(0, 1\)"),
    (lambda: fwbq.ExpQuad(1.0)([["a"]]), "x", "real numbers"),
    (lambda: fwbq.ExpQuad(1.0)([[1j]]), "x", "real numbers"),
    (lambda: fwbq.ExpQuad(1.0)([[1.0], [1.0, 2.0]]), "x", "rectangular"),
    (lambda: fwbq.ExpQuad(0.0), "lengthscale", "positive"),
    (lambda: fwbq.ExpQuad(-1.0), "lengthscale", "positive"),
    (lambda: fwbq.ExpQuad([1.0, NAN]), "lengthscale", "positive"),
    (lambda: fwbq.ExpQuad([[1.0]]), "lengthscale", "vector"),
    (lambda: fwbq.ExpQuad([]), "lengthscale", "vector"),
    (lambda: fwbq.ExpQuad(True), "lengthscale", "number"),
    (lambda: fwbq.ExpQuad("long"), "lengthscale", "real numbers"),
    (lambda: fwbq.Matern52(1.0, variance=0.0), "variance", "positive"),
    (lambda: fwbq.Matern52(1.0, variance=[1.0]), "variance", "single number"),
    (lambda: fwbq.PeriodicSobolev(4), "order", "1, 2, 3"),
    (lambda: fwbq.PeriodicSobolev(1.0), "order", "int"),
    (lambda: fwbq.RandomFourier(fwbq.PeriodicSobolev(1), 3, 1), "kernel", "ExpQuad"),
    (lambda: fwbq.RandomFourier(fwbq.ExpQuad(1.0), 0, 1), "n_features", ">= 1"),
    (lambda: fwbq.RandomFourier(fwbq.ExpQuad([1.0, 1.0]), 5, 3), "dim", "agree"),
    (lambda: fwbq.RandomFourier(fwbq.ExpQuad(1.0), 5, 3, rng="seed"), "rng", "default_rng"),
    (lambda: fwbq.RandomFourier.from_frequencies(fwbq.ExpQuad(1.0), [[1.0]], [0.0, 1.0]), "phases", r"\(1,\)"),
    (lambda: fwbq.RandomFourier.from_frequencies(fwbq.ExpQuad(1.0), np.zeros((0, 1)), []), "frequencies", "one row"),
    (lambda: fwbq.Stein(fwbq.Matern12(1.0), lambda x: -x), "kernel", "second derivative"),
    (lambda: fwbq.Stein(fwbq.ExpQuad(1.0), 3.0), "score", "function"),
    (lambda: fwbq.Stein(fwbq.ExpQuad(1.0), lambda x: x, 3.0), "score_gradient", "function"),
    (lambda: fwbq.Stein(fwbq.ExpQuad(1.0), lambda x: x[:, 0])(np.zeros((2, 1))), "score", r"return shape \(2, 1\)"),
    (lambda: fwbq.Stein(fwbq.ExpQuad(1.0), lambda x: x * NAN)([[0.0]]), r"score\(x\)", "finite"),
    (lambda: -1.0 * fwbq.ExpQuad(1.0), "scale", "positive"),
    (lambda: Scaled(2.0, 3.0), "kernel", "kernel"),
    (lambda: Sum([]), "kernels", "at least one"),
    (lambda: ProductKernel([fwbq.ExpQuad(1.0), 2.0]), "kernels", "kernels"),
    (lambda: fwbq.ExpQuad([1.0, 1.0]) + fwbq.ExpQuad([1.0] * 3), "kernels", "dimension"),
    (lambda: fwbq.ExpQuad(1.0).gradient_sum([[0.0]], [[0.0]], [1.0, 2.0]), "weights", "shape"),
    (lambda: fwbq.Matern12(1.0).gradient_covariance([[0.0]]), "kernel", "have none"),
    (lambda: fwbq.Gaussian([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]), "cov", "positive definite"),
    (lambda: fwbq.Gaussian([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]]), "cov", r"\(C \+ C.T\)"),
    (lambda: fwbq.Gaussian([0.0, 0.0], [1.0, 2.0, 3.0]), "cov", r"shape \(3,\)"),
    (lambda: fwbq.Gaussian([0.0], 0.0), "cov", "positive definite"),
    (lambda: fwbq.Gaussian([0.0], NAN), "cov", "finite"),
    (lambda: fwbq.Gaussian([[0.0]], 1.0), "mean", r"\(d,\)"),
    (lambda: fwbq.Gaussian(NAN, 1.0), "mean", "finite"),
    (lambda: fwbq.GaussianMixture([0.5, 0.4], [[0.0], [1.0]], 1.0), "weights", "divide"),
    (lambda: fwbq.GaussianMixture([1.5, -0.5], [[0.0], [1.0]], 1.0), "weights", ">= 0"),
    (lambda: fwbq.GaussianMixture([1.0], [[0.0], [1.0]], 1.0), "weights", r"\(2,\)"),
    (lambda: fwbq.GaussianMixture([0.5, 0.5], [0.0, 1.0], 1.0), "means", "None"),
    (lambda: fwbq.GaussianMixture([], np.zeros((0, 1)), 1.0), "means", "one row"),
    (lambda: fwbq.GaussianMixture([0.5, 0.5], np.eye(2), np.ones((3, 2, 2))), "covs", r"\(2, 2, 2\)"),
    (lambda: fwbq.GaussianMixture([0.5, 0.5], np.eye(2), [np.eye(2), -np.eye(2)]), r"covs\[1\]", "positive definite"),
    (lambda: fwbq.TruncatedGaussian(0.0, 1.0, 1.0, 0.0), "lower", "swap"),
    (lambda: fwbq.TruncatedGaussian(0.0, 1.0, NAN), "lower", "NaN"),
    (lambda: fwbq.TruncatedGaussian(0.0, -1.0), "variance", "positive"),
    (lambda: fwbq.TruncatedGaussian([0.0, 0.0], [1.0, 1.0, 1.0]), "variance", "length"),
    (lambda: fwbq.TruncatedGaussian(INF, 1.0), "mean", "finite"),
    (lambda: fwbq.Uniform([0.0, 1.0], [1.0, 1.0]), "lower", "coordinate 1"),
    (lambda: fwbq.Uniform(0.0, INF), "upper", "finite"),
    (lambda: fwbq.Uniform([], []), "lower", "vector"),
    (lambda: fwbq.Product([]), "distributions", "stats.gamma"),
    (lambda: fwbq.Product(3.0), "distributions", "stats.gamma"),
    (lambda: fwbq.Product([3.0]), r"distributions\[0\]", "put it into f"),
    (lambda: fwbq.Empirical([0.0, 1.0]), "points", "None"),
    (lambda: fwbq.Empirical(np.zeros((0, 2))), "points", "one row"),
    (lambda: fwbq.Empirical([[0.0], [1.0]], [1.0, 1.0]), "weights", "divide"),
    (lambda: fwbq.Gaussian(0.0, 1.0).sample(-1), "n", ">= 0"),
    (lambda: fwbq.Gaussian(0.0, 1.0).sample(2.5), "n", "int"),
    (lambda: fwbq.Gaussian(0.0, 1.0).sample(2, rng=-1), "rng", "default_rng"),
    (lambda: fwbq.Gaussian(0.0, 1.0).from_uniform([[1.5]]), "u", "unit cube"),
    (lambda: fwbq.Gaussian(0.0, 1.0).log_density([0.0]), "x", "None"),
    (lambda: fwbq.Gaussian([0.0, 0.0], 1.0).score([[0.0]]), "x", "coordinate"),
    (lambda: fwbq.kernels.from_spec({"type": "Cubic"}), "spec", "ExpQuad"),
    (lambda: fwbq.kernels.from_spec([1]), "spec", "type"),
    (lambda: fwbq.kernels.from_spec({"type": "ExpQuad"}), "spec", "lengthscale"),
    (lambda: fwbq.kernels.from_spec({"type": "Sum", "kernels": 3}), "spec", "damaged"),
    (lambda: fwbq.kernels.from_spec({"type": "ExpQuad", "lengthscale": "long", "variance": 1}), "spec", "damaged"),
    (lambda: fwbq.measures.from_spec({"type": "Product", "distributions": [3]}), "spec", "damaged"),
    (lambda: fwbq.measures.from_spec({"type": "Gaussian", "mean": [0.0]}), "spec", "cov"),
    (lambda: fwbq.measures.from_spec({"type": "Product", "distributions": [{"name": "poisson"}]}), "spec", "no cont"),
    (lambda: _validate.values([1.0, 2.0], "values", 3), "values", "one row per point"),
    (lambda: _validate.values([1.0, NAN], "values", 2), "values", "index 1"),
    (lambda: _validate.choice("c", "method", ["a", "b"]), "method", "'a', 'b'"),
    (lambda: _validate.choice(True, "order", (1, 2)), "order", "1, 2"),
    (lambda: _validate.vector([[1.0]], "v"), "v", r"shape \(1, 1\)"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(BAD)))
def test_the_error_names_the_parameter_and_the_remedy(case):
    call, name, remedy = BAD[case]
    with pytest.raises((TypeError, ValueError), match=rf"(?s)`{name}`.*{remedy}"):
        call()


def test_distributions_that_cannot_be_used_are_named():
    from scipy import stats

    for bad in (stats.norm, stats.norm([0.0, 1.0]), stats.norm(0.0, -1.0)):
        with pytest.raises((TypeError, ValueError), match=r"`distributions\[1\]`"):
            fwbq.Product([stats.norm(), bad])


def test_values_are_copied_and_cannot_be_written_to():
    length, mean, cov = np.ones(2), np.zeros(2), np.eye(2)
    kernel, measure = fwbq.ExpQuad(length), fwbq.Gaussian(mean, cov)
    length[0], mean[0], cov[0, 0] = 5.0, 5.0, 5.0
    assert kernel.lengthscale[0] == 1.0 and measure.mean[0] == 0.0 and measure.cov[0, 0] == 1.0
    for array in (kernel.lengthscale, measure.mean, measure.cov):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2.0
    with pytest.raises(AttributeError):
        kernel.variance = 3.0


def test_generator_is_passed_through_and_seeds_agree():
    rng = np.random.default_rng(3)
    assert _validate.generator(rng) is rng
    assert _validate.generator(3).random() == np.random.default_rng(3).random()


@pytest.mark.parametrize("wrong", [None, fwbq.ExpQuad(1.0)])
def test_what_is_not_an_embedding_or_a_rule_is_named(wrong):
    makers = [fwbq.MonteCarlo, fwbq.QMC, fwbq.FrankWolfe, fwbq.BlendedPairwise, fwbq.SBQ, fwbq.OBQ, fwbq.RandomPivot]
    for design in makers:
        with pytest.raises(TypeError, match=r"`embedding` must be an Embedding.*pass fwbq\.embed"):
            design(wrong)
    for make in (fwbq.bayes_rule, fwbq.uniform_rule, fwbq.simplex_rule):
        with pytest.raises(TypeError, match=r"`embedding` must be an Embedding.*pass fwbq\.embed"):
            make(wrong, [[0.0]])
    with pytest.raises(TypeError, match=r"`rule` must be a Rule.*pass e\.g\."):
        fwbq.condition(wrong, [0.0])
    with pytest.raises(TypeError, match=r"`rule` must be a Rule.*pass e\.g\."):
        fwbq.refine(wrong)


def test_none_is_called_none_and_not_nan():
    with pytest.raises(TypeError, match=r"`lengthscale` .* got None"):
        fwbq.ExpQuad(None)
    with pytest.raises(TypeError, match=r"`x` .*\[None\]"):
        _validate.points([[0.0], [None]])
