import warnings

import mpmath as mp
import numpy as np
import pytest
from numpy.exceptions import RankWarning
from scipy.special import gammaln, logsumexp

from fwbq.chema import Dataset, candidate_models, design_matrix, log_likelihood, log_likelihood_block
from fwbq.chema.kinetics import increments, projected_squares


@pytest.fixture
def small(reference):
    chema = reference["chema"]
    return chema, Dataset(chema["t"], chema["yS"], chema["ySstar"], np.array(chema["yE"]).T)


def test_reference_design_matrices_and_likelihoods(small):
    chema, data = small
    for point in chema["points"]:
        x = design_matrix(data, point["model"], [point["K"]])[0]
        np.testing.assert_allclose(x, point["design_matrix"], rtol=1e-15)
        value = log_likelihood(data, point["model"], [point["K"]])[0]
        assert value == pytest.approx(float(point["log_L_with_half"]), abs=1e-12)
        squares, rank = projected_squares(x[None], data.rates)
        assert squares[0] / (2 * 7) == pytest.approx(float(point["b_N"]), rel=1e-13)
        assert rank[0] == 1 + len(point["model"])


def prior_rule(size):
    """Gauss-Legendre in K on [0, 8] against N(1, 1/2) truncated to K >= 0."""
    t, w = np.polynomial.legendre.leggauss(size)
    k = 4 * (t + 1)
    w = 4 * w * np.exp(-((k - 1) ** 2))
    return k, w / w.sum()


def test_reference_evidences_and_posterior(small):
    chema, data = small
    models = candidate_models(data)
    assert [list(data.columns(m)) for m in models] == chema["models"]
    found = []
    for model in models:
        d = 1 + len(model)
        k, w = prior_rule(48)
        grid = np.stack([g.ravel() for g in np.meshgrid(*[k] * d, indexing="ij")], axis=1)
        log_w = sum(np.meshgrid(*[np.log(w)] * d, indexing="ij")).ravel()
        found.append(logsumexp(log_likelihood(data, model, grid) + log_w))
    expected = [entry["value"] for entry in chema["log_marginal"]]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert found[0] == pytest.approx(float(chema["log_marginal_model0_mpquad"]), abs=1e-10)
    np.testing.assert_allclose(np.exp(found - logsumexp(found)), chema["posterior"], rtol=1e-8)


def paper_formula(x, y):
    """The closed form as the paper has it, with the factor 1/2 put right, in 60 digits."""
    with mp.workdps(60):
        n, d = x.shape
        X, Y, one = mp.matrix(x.tolist()), mp.matrix(y.tolist()), mp.ones(d, 1)
        gram = X.T * X
        omega = (1 + mp.mpf(1) / n) * gram
        v = mp.lu_solve(omega, gram * one / n + X.T * Y)
        b = ((Y.T * Y)[0] + (one.T * gram * one)[0] / n - (v.T * omega * v)[0]) / 2
        half = mp.mpf(n) / 2
        return float(mp.log(mp.gamma(half) / 2) - half * mp.log(2 * mp.pi * b) - mp.mpf(d) / 2 * mp.log(n + 1))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_equals_the_paper_in_high_precision(size):
    data = Dataset.simulate(6, rng=3, noise=0.02)
    rng = np.random.default_rng(size)
    for _ in range(4):
        model = tuple(int(j) for j in rng.choice(6, size, replace=False))
        k = rng.uniform(0.01, 3, (1, 1 + size))
        expected = paper_formula(design_matrix(data, model, k)[0], data.rates)
        assert log_likelihood(data, model, k)[0] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6])
def test_nearly_collinear_pairs_are_recomputed_accurately(distance):
    base = Dataset.simulate(2, rng=5)
    twin = base.enzymes[:, 0] * (1 + distance * np.sin(np.arange(21)))
    data = Dataset(base.times, base.substrate, base.phospho, np.column_stack([base.enzymes[:, 0], twin]))
    k = np.array([[0.7, 0.9, 0.9]])
    expected = paper_formula(design_matrix(data, (0, 1), k)[0], data.rates)
    assert log_likelihood(data, (0, 1), k)[0] == pytest.approx(expected, abs=1e-14 / distance**2 + 1e-11)


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("model", [(0, 1, 2), (0, 2, 1), (2, 0, 1)])
def test_nearly_collinear_triples_are_recomputed_accurately(distance, model):
    base = Dataset.simulate(2, rng=5)
    twin = base.enzymes[:, 0] * (1 + distance * np.sin(np.arange(21)))
    data = Dataset(
        base.times, base.substrate, base.phospho, np.column_stack([base.enzymes[:, 0], twin, base.enzymes[:, 1]])
    )
    k = np.array([[0.7, 0.9, 0.9, 0.9]])
    expected = paper_formula(design_matrix(data, model, k)[0], data.rates)
    assert log_likelihood(data, model, k)[0] == pytest.approx(expected, abs=1e-14 / distance**2 + 1e-11)


def test_blocks_of_triples_are_single_triples():
    data = Dataset.simulate(9, rng=4)
    k = np.random.default_rng(1).uniform(0.05, 2.5, (5, 4))
    every = [model for model in candidate_models(data, max_enzymes=3) if len(model) == 3]
    block = log_likelihood_block(data, every, k)
    single = np.stack([log_likelihood(data, model, k) for model in every], axis=1)
    # The least singular value of the design matrices, columns of length one, is 0.2: rounding of 1e-16 is
    # amplified by its inverse square, and in the logarithm by N / 2 = 10.
    np.testing.assert_allclose(block, single, rtol=0, atol=1e-11)


def test_brute_force_integral_over_rates_and_noise():
    # One column, N = 3: the definition, integrated numerically.
    data = Dataset([0, 1, 2, 3], [1.0, 0.8, 0.7, 0.6], [0.4, 0.7, 0.5, 0.6], [[1.0]] * 4)
    x, y, n = design_matrix(data, (), [[0.8]])[0][:, 0], data.rates, 3
    t, w = np.polynomial.legendre.leggauss(300)
    log_sigma, w_sigma = 7.0 * t + 2.0, 7.0 * w  # d sigma / sigma
    sigma = np.exp(log_sigma)[:, None]
    width = sigma * np.sqrt(n / (x @ x))
    v = 1.0 + 14.0 * width * t
    error = np.sum((y - v[:, :, None] * x) ** 2, axis=2)
    joint = (2 * np.pi * sigma**2) ** (-n / 2) * np.exp(-error / (2 * sigma**2))
    joint *= np.exp(-0.5 * ((v - 1.0) / width) ** 2) / (np.sqrt(2 * np.pi) * width)
    value = w_sigma @ np.sum(14.0 * width * w * joint, axis=1)
    assert log_likelihood(data, (), [[0.8]])[0] == pytest.approx(np.log(value), abs=1e-8)


def marginal(x, y):
    """Independent of our algebra: Y ~ N(X1, s^2 (I + N P)), s integrated out; P by the pseudo-inverse."""
    n = len(y)
    projector = x @ np.linalg.pinv(x, rcond=1e-9)
    covariance = np.eye(n) + n * projector
    r = y - x.sum(axis=1)
    b = 0.5 * r @ np.linalg.solve(covariance, r)
    half_log_det = 0.5 * np.linalg.slogdet(covariance)[1]
    return gammaln(n / 2) - np.log(2) - n / 2 * np.log(2 * np.pi * b) - half_log_det


def with_enzymes(data, enzymes):
    return Dataset(data.times, data.substrate, data.phospho, enzymes)


def test_a_silent_enzyme_leaves_the_model_without_it():
    data = Dataset.simulate(2, rng=1)
    silent = with_enzymes(data, np.column_stack([data.enzymes[:, 0], np.zeros(21)]))
    k = np.array([[0.5, 1.2, 0.7], [2.0, 0.1, 0.4]])
    with pytest.warns(RankWarning, match="dependent columns"):
        both = log_likelihood(silent, ("E1", "E2"), k)
    np.testing.assert_allclose(both, log_likelihood(silent, ("E1",), k[:, :2]), rtol=1e-13)
    with pytest.warns(RankWarning):
        alone = log_likelihood(silent, ("E2",), k[:, :2])
    np.testing.assert_allclose(alone, log_likelihood(silent, (), k[:, :1]), rtol=1e-13)
    values, rank = log_likelihood_block(silent, [("E1", "E2")], k, return_rank=True)
    assert rank.tolist() == [[2], [2]]
    np.testing.assert_array_equal(values[:, 0], both)


def test_equal_enzymes_span_what_one_does():
    data = Dataset.simulate(1, rng=1)
    twins = with_enzymes(data, np.repeat(data.enzymes, 2, axis=1))
    k = np.array([[0.5, 1.2, 1.2]])
    values, rank = log_likelihood_block(twins, [(0, 1)], k, return_rank=True)
    assert rank[0, 0] == 2
    assert values[0, 0] == pytest.approx(marginal(design_matrix(twins, (0, 1), k)[0], twins.rates), abs=1e-9)
    # The prior expects 1 of each, so together they are one enzyme with twice the level.
    double = with_enzymes(data, 2 * data.enzymes)
    assert values[0, 0] == pytest.approx(log_likelihood(double, (0,), k[:, :2])[0], abs=1e-10)


@pytest.mark.parametrize("n_times", [3, 4, 5])
def test_fewer_increments_than_columns(n_times):
    data = Dataset.simulate(4, rng=2, times=np.arange(n_times))
    k = np.random.default_rng(0).uniform(0.1, 2, (5, 4))
    for size in (1, 2, 3):
        model = tuple(range(size))
        values, rank = log_likelihood_block(data, [model], k[:, : 1 + size], return_rank=True)
        assert np.all(rank == min(n_times - 1, 1 + size))
        expected = [marginal(x, data.rates) for x in design_matrix(data, model, k[:, : 1 + size])]
        np.testing.assert_allclose(values[:, 0], expected, atol=1e-7)


def test_no_phosphorylated_substrate_and_zero_constants_are_finite():
    data = Dataset([0, 1, 2, 3, 4], [1.0, 0.5, 0.3, 0.2, 0.1], [0, 0, 0, 0, 0.3], np.ones((5, 2)) + np.eye(5)[:, :2])
    values, rank = log_likelihood_block(data, [(0, 1)], [[0.0, 0.0, 0.0]], return_rank=True)
    assert np.isfinite(values).all() and rank[0, 0] == 2


def test_only_the_column_space_and_the_prior_prediction_matter():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((1, 9, 3)), rng.standard_normal(9)
    m = rng.standard_normal((3, 3))
    m += np.outer(1 - m.sum(axis=1), np.ones(3)) / 3  # rows sum to one: (x m) 1 = x 1
    a, b = projected_squares(x, y), projected_squares(x @ m, y)
    assert a[0] == pytest.approx(b[0], rel=1e-11)
    # Orthogonal transformations of the rates change nothing.
    q, _ = np.linalg.qr(rng.standard_normal((9, 9)))
    assert projected_squares(q @ x, q @ y)[0] == pytest.approx(a[0], rel=1e-12)


def test_block_equals_single_models_by_name_index_and_order():
    data = Dataset.simulate(7, rng=4)
    k = np.random.default_rng(1).uniform(0.05, 2.5, (11, 3))
    pairs = candidate_models(data)[8:]
    block = log_likelihood_block(data, pairs, k)
    for j, model in enumerate(pairs):
        np.testing.assert_allclose(block[:, j], log_likelihood(data, data.columns(model), k), rtol=1e-13, atol=1e-12)
        swapped = log_likelihood(data, model[::-1], k[:, [0, 2, 1]])
        np.testing.assert_allclose(block[:, j], swapped, rtol=1e-12, atol=1e-11)
    order = [3, 0, 6, 2, 1, 5, 4]
    shuffled = data.select(enzymes=order)
    np.testing.assert_allclose(log_likelihood_block(shuffled, pairs, k), block, rtol=1e-13, atol=1e-12)


def test_few_models_among_many_enzymes_take_the_other_route_to_the_same_values():
    data = Dataset.simulate(30, rng=4)
    k = np.random.default_rng(1).uniform(0.05, 2.5, (5, 3))
    every = candidate_models(data)[31:]
    some = [every[i] for i in (0, 17, 200, 434)]
    block = log_likelihood_block(data, every, k)
    np.testing.assert_allclose(log_likelihood_block(data, some, k), block[:, [0, 17, 200, 434]], rtol=1e-13, atol=1e-11)


def test_conditions_add_up_and_later_times_do_not_matter():
    one, two = Dataset.simulate(4, rng=1, regulators=(0,)), Dataset.simulate(4, rng=2, regulators=(0,))
    both = Dataset.combine([one, two], ["a", "b"]).with_rates("own")
    k = np.random.default_rng(1).uniform(0.05, 2.5, (6, 3))
    total = log_likelihood(one, (1, 2), k) + log_likelihood(two, (1, 2), k)
    np.testing.assert_allclose(log_likelihood(both, (1, 2), k), total, rtol=1e-13)
    later = Dataset(one.times + 100.0, one.substrate, one.phospho, one.enzymes)
    np.testing.assert_allclose(log_likelihood(later, (1, 2), k), log_likelihood(one, (1, 2), k), rtol=1e-10)


def test_units_matter_through_the_prior_mean_only():
    # In other units of time everything scales, except that the prior expects rates of 1: the limit of long units
    # of time is that of a prior mean 0.
    data = Dataset.simulate(2, rng=1)
    n, k = 20, np.array([[1.0, 1.0]])
    x, y = design_matrix(data, (0,), k)[0], data.rates
    rss = float(y @ y - y @ x @ np.linalg.lstsq(x, y, rcond=None)[0])
    expected = 0.5 * (float(y @ y) + n * rss) / (n + 1)
    far = data.rescaled(time=1e9)
    b = projected_squares(design_matrix(far, (0,), k), far.rates)[0][0] / (2 * (n + 1))
    assert b / 1e18 == pytest.approx(expected, rel=1e-7)


def test_tiny_and_huge_levels_keep_their_direction():
    data = Dataset.simulate(2, rng=1)
    k = np.array([[1.0, 1.0, 0.5]])
    for factor in (1e-180, 1e-20):
        tiny = data.rescaled(enzymes=[1.0, 1 / factor])
        x = design_matrix(data, (0, 1), k)[0]
        n, y = 20, data.rates
        rss = np.sum((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2)
        prior = y - x[:, 0] - x[:, 1]
        b = 0.5 * (prior @ prior + n * rss) / (n + 1)
        expected = gammaln(n / 2) - np.log(2) - n / 2 * np.log(2 * np.pi * b) - 1.5 * np.log(n + 1)
        assert log_likelihood(tiny, (0, 1), k)[0] == pytest.approx(expected, abs=1e-9)
    assert np.isfinite(log_likelihood(data.rescaled(enzymes=1e-90), (0, 1), k)[0])


def test_the_same_blocks_whatever_their_number(monkeypatch):
    from fwbq.chema import residuals

    data = Dataset.simulate(9, rng=4)
    k = np.random.default_rng(1).uniform(0.0, 2.5, (13, 3))
    pairs = candidate_models(data)[10:]
    whole = log_likelihood_block(data, pairs, k)
    monkeypatch.setattr(residuals, "_BLOCK", 1)
    monkeypatch.setattr(residuals, "MATRICES", 1)
    np.testing.assert_allclose(log_likelihood_block(data, pairs, k), whole, rtol=1e-13, atol=1e-12)


def test_candidate_models_are_counted():
    data = Dataset.simulate(26, rng=0)
    assert len(candidate_models(data)) == 352
    assert candidate_models(data, 0) == [()]
    assert len(candidate_models(data, 3)) == 352 + 2600
    assert candidate_models(data)[1] == ("E1",) and candidate_models(data)[-1] == ("E25", "E26")
    big = Dataset(np.arange(3), np.ones(3), np.ones(3), np.ones((3, 5000)))
    with pytest.raises(ValueError, match="12,502,501 models are too many"):
        candidate_models(big)


@pytest.mark.parametrize(
    ("model", "k", "message"),
    [
        (("E9",), [[1, 1]], "no enzyme is called 'E9'"),
        ((7,), [[1, 1]], "index 7 is out of range"),
        (("E1", "E1"), [[1, 1, 1]], "has an enzyme twice"),
        ("E1", [[1, 1]], r"write \('E1',\)"),
        (("E1",), [[1, 1, 1]], "K"),
        (("E1",), [[1, -1]], "must not be negative"),
        (("E1",), [[1, np.nan]], "K"),
    ],
)
def test_errors_are_named(model, k, message):
    with pytest.raises(ValueError, match=message):
        log_likelihood(Dataset.simulate(3, rng=0), model, k)


def test_more_errors():
    data = Dataset.simulate(4, rng=0)
    with pytest.raises(TypeError, match="name or its column index"):
        log_likelihood(data, (1.5,), [[1, 1]])
    with pytest.raises(ValueError, match="same number of enzymes"):
        log_likelihood_block(data, [("E1",), ("E1", "E2")], [[1, 1]])
    with pytest.raises(ValueError, match="at most 2 enzymes"):
        log_likelihood(data, (0, 1, 2), [[1, 1, 1, 1]], truncated=True)
    flat = Dataset(np.arange(4), np.ones(4), np.zeros(4), np.zeros((4, 1)))
    with pytest.raises(ValueError, match="without any error"):
        log_likelihood(flat, (), [[1.0]])
    both = Dataset.combine([data, data], ["a", "b"])
    assert design_matrix(both, (), [[1.0]]).shape == (1, 40, 1)
    with pytest.raises(ValueError, match="several sets of rates"):
        design_matrix(both.with_rates("own"), (), [[1.0]])


def test_full_rank_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log_likelihood(Dataset.example(), ("E7", "E19"), [[1.0, 1.0, 1.0]])


def test_increments_are_those_of_the_data():
    data = Dataset.example()
    (part,) = increments(data)
    np.testing.assert_array_equal(part.rates, np.diff(data.phospho) / np.diff(data.times))
    np.testing.assert_allclose(part.enzymes * part.unit, data.enzymes[:-1], rtol=1e-15)
