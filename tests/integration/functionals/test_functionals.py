"""Functionals of results: known values, invariances, refusals."""

import numpy as np
import pytest
from scipy.stats import norm, uniform

import fwbq

UNIT = fwbq.Uniform([0.0, 0.0], [1.0, 1.0])
NORMAL = fwbq.Gaussian(np.zeros(2), np.eye(2))


def ishigami(x):
    return np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


#: Variance of exp(x / 2) + y^2 on the unit square.
VARIANCE = (np.e - 1.0) - 4.0 * (np.sqrt(np.e) - 1.0) ** 2 + 4.0 / 45.0


def smooth(x):
    return np.exp(0.5 * x[:, 0]) + x[:, 1] ** 2


@pytest.fixture(scope="module")
def result():
    return fwbq.integrate(smooth, UNIT, n=30, rng=0)


def holds(estimate, truth, level=0.999):
    low, high = estimate.interval(level)
    return np.all((low <= truth) & (truth <= high))


def test_variance_quantile_and_probability_of_a_linear_function():
    found = fwbq.integrate(lambda x: 2.0 + 3.0 * x[:, 0] + 4.0 * x[:, 1], NORMAL, n=25, rng=1)
    law = norm(2.0, 5.0)
    assert holds(found.variance(), 25.0) and found.variance().sd < 1.0
    assert holds(found.std(), 5.0)
    for q in (0.3, 0.99, 1e-4):
        assert holds(found.quantile(q), law.ppf(q)), q
    for t in (-10.0, 2.0, 20.0):
        assert holds(found.probability(above=t), law.sf(t)), t
        assert found.probability(above=t).mean + found.probability(below=t).mean == pytest.approx(1.0, abs=1e-12)


def test_the_error_of_the_nodes_is_stated_where_the_process_leaves_none():
    """Of f(x) = x the process is exact, and what is left are the nodes, which count values above a threshold."""
    found = fwbq.integrate(lambda x: x[:, 0], fwbq.Gaussian([0.0], [[1.0]]), n=25, rng=0)
    off = []
    for t in np.linspace(-1.6, 1.6, 33):
        p = found.probability(above=t)
        # Eight nets of 4096 points, each with one point in every 4096th: off by at most the weight of one of them.
        assert abs(p.mean - norm.sf(t)) < 1.0 / 4096 and 0.0 < p.sd < 1.0 / 4096
        off.append(abs(p.mean - norm.sf(t)) / p.sd)
    # 1.9 sd are 2.3 standard errors of eight blocks, which one in eighteen of independent errors exceeds; eleven of 33
    # do so once in a million.
    assert np.sum(np.array(off) > 1.9) <= 10


def test_sobol_indices_of_the_ishigami_function():
    found = fwbq.integrate(ishigami, fwbq.Uniform([-np.pi] * 3, [np.pi] * 3), n=150, rng=0).sobol(["a", "b", "c"])
    assert holds(found.first, np.array([0.313905, 0.442411, 0.0]))
    assert holds(found.total, np.array([0.557589, 0.442411, 0.243684]))
    assert np.all(found.first.interval(0.95)[0] >= 0.0) and list(found.to_frame().input) == ["a", "b", "c"]


def test_the_total_index_of_a_single_input_is_one_also_where_there_is_a_kink():
    found = fwbq.integrate(lambda x: np.abs(x[:, 0] - 0.3), fwbq.Uniform([0.0], [1.0]), n=40, rng=0).sobol()
    assert holds(found.total, 1.0) and found.total.mean == pytest.approx(1.0, abs=0.005)


def test_functionals_follow_a_change_of_units(result):
    other = fwbq.integrate(lambda x: 7.0 - 100.0 * smooth(x), UNIT, n=30, rng=0)
    # The points are the same; the fit differs by rounding, which the search for length-scales may magnify.
    assert other.variance().mean == pytest.approx(1e4 * result.variance().mean, rel=1e-3)
    assert other.std().mean == pytest.approx(100.0 * result.std().mean, rel=1e-3)
    assert other.quantile(0.3).mean == pytest.approx(7.0 - 100.0 * result.quantile(0.7).mean, rel=1e-2)
    np.testing.assert_allclose(other.sobol().total.mean, result.sobol().total.mean, atol=1e-2)


def test_columns_are_what_each_is_by_itself(result):
    both = fwbq.integrate(lambda x: np.column_stack([smooth(x), x[:, 0]]), UNIT, n=30, rng=0)
    assert both.variance().mean.shape == (2,) and holds(both.variance(), np.array([VARIANCE, 1.0 / 12.0]), 0.9999)
    assert both.probability(above=0.5).mean.shape == (2,)
    indices = both.sobol()
    assert indices.first.mean.shape == (2, 2) and len(indices.to_frame()) == 4
    np.testing.assert_allclose(indices.first.mean[1], [1.0, 0.0], atol=1e-3)


def test_the_same_question_has_the_same_answer(result):
    again = fwbq.integrate(smooth, UNIT, n=30, rng=0)
    assert again.variance().mean == result.variance().mean
    assert again.probability(above=1.0).interval(0.95) == result.probability(above=1.0).interval(0.95)


def test_an_event_that_was_never_met_has_a_probability_with_a_width(result):
    for far in (result.probability(above=50.0), result.probability(below=-3.0)):
        low, high = far.interval(0.95)
        assert low == 0.0 and 0.0 < high < 0.1
    constant = fwbq.integrate(lambda x: np.ones(len(x)), UNIT, n=20, rng=0)
    assert constant.probability(above=2.0).interval(0.95) == pytest.approx((0.0, 3.689 / 20), abs=1e-3)


def test_a_net_has_wider_intervals_that_hold():
    net = fwbq.integrate(smooth, UNIT, n=4096, method="net", rng=0)
    assert net.variance().mean == pytest.approx(VARIANCE, rel=1e-2)
    assert holds(net.variance(), VARIANCE) and holds(net.std(), np.sqrt(VARIANCE))
    never = net.probability(above=100.0)
    assert never.mean == 0.0 and 0.0 < never.interval(0.95)[1] < 4.0 / 4096
    low, high = net.quantile(0.5).interval(0.95)
    assert low < net.quantile(0.5).mean < high
    with pytest.raises(ValueError, match='method="process"'):
        net.sobol()
    with pytest.raises(ValueError, match="cannot bound"):
        net.quantile(1e-5)


def test_all_points_of_a_sample_leave_nothing_open():
    sample = fwbq.Empirical(np.random.default_rng(0).random((12, 2)))
    found = fwbq.integrate(smooth, sample, n=12, rng=0)
    f = smooth(sample.points)
    assert found.variance().mean == pytest.approx(f.var(), rel=1e-12) and found.variance().sd == 0.0
    assert found.probability(above=1.5).mean == pytest.approx(np.mean(f > 1.5), rel=1e-14)


def test_correlated_inputs_have_no_sobol_indices():
    found = fwbq.integrate(smooth, fwbq.Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]), n=15, rng=0)
    with pytest.raises(ValueError, match="independent"):
        found.sobol()
    assert found.variance().mean > 0.0


def test_exactly_one_threshold_is_needed(result):
    with pytest.raises(ValueError, match="exactly one"):
        result.probability()
    with pytest.raises(ValueError, match="exactly one"):
        result.probability(above=1.0, below=2.0)
    with pytest.raises(ValueError, match="`above` must be a finite number, got nan"):
        result.probability(above=np.nan)
    with pytest.raises(ValueError, match="`below` must be a finite number, got -inf"):
        result.probability(below=-np.inf)
    with pytest.raises(ValueError, match="`q`"):
        result.quantile(1.0)


def test_heavy_tails_have_functionals_too():
    from scipy import stats

    found = fwbq.integrate(lambda x: np.log(x[:, 0]) / 1.5, fwbq.Product([stats.lognorm(1.5)]), n=25, rng=0)
    assert holds(found.variance(), 1.0) and holds(found.probability(above=1.0), norm.sf(1.0))


def test_inputs_have_the_names_that_the_measure_gives_them():
    inputs = fwbq.Product([norm(), uniform()], names=["load", "length"])
    result = fwbq.integrate(lambda x: x[:, 0] + x[:, 1], inputs, n=20, rng=0)
    assert result.sobol().names == ("load", "length") and result.sobol(["a", "b"]).names == ("a", "b")
    assert [ax.get_xlabel() for ax in result.plot_effects()] == ["load", "length"]
