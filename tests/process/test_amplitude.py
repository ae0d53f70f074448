"""The one meaning of each name of an amplitude."""

import numpy as np
import pytest
from scipy import stats

from fwbq import Matern52
from fwbq._linalg import CholeskyFactor
from fwbq.process import Regression, amplitude_of, calibrated, common_ratio, leave_one_out, weighted_squares
from fwbq.process.amplitude import UNSEEN, log_density_left_out


@pytest.fixture
def regression():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(12, 2))
    return Regression(CholeskyFactor.of(Matern52(0.5)(x)), rng.normal(size=(12, 3)), np.ones((12, 1)))


def squares(regression):
    """Squares of the errors of predicting each value from the others, in standard deviations: one by one."""
    C = regression.factor.lower @ regression.factor.lower.T
    out = np.empty((12, 3))
    for i in range(12):
        rest = np.arange(12) != i
        part = Regression(CholeskyFactor.of(C[np.ix_(rest, rest)]), regression.values[rest], regression.basis[rest])
        there = part.predict(C[rest][:, [i]], regression.basis[[i]])
        out[i] = (regression.values[i] - there.mean[0]) ** 2 / there.variance(C[[i], [i]])
    return out


@pytest.mark.parametrize("columns", [False, True])
def test_each_name_by_brute_force(regression, columns):
    weights = np.random.default_rng(1).uniform(size=(12, 3) if columns else 12)
    w = weights if columns else weights[:, None]
    loo = np.sum(w * squares(regression), axis=0) / w.sum(axis=0)
    likely = regression.sum_of_squares / 11.0
    expected = {"ml": likely, "marginal": likely, "loo": loo, "calibrated": np.maximum(likely, loo)}
    for name, value in expected.items():
        # Condition number of the Gram matrix about 1e4.
        np.testing.assert_allclose(amplitude_of(regression, name, weights), value, rtol=1e-9)
    np.testing.assert_array_equal(amplitude_of(regression, 2.5, weights), [2.5] * 3)


def test_each_estimate_may_be_the_larger_one(regression):
    """Leave-one-out errors of the one best predicted value are below the likelihood's amplitude, of the worst above."""
    loo = squares(regression)
    for pick, larger in ((np.argmin, "ml"), (np.argmax, "loo")):
        weights = np.full(loo.shape, 1e-6)
        np.put_along_axis(weights, pick(loo, axis=0)[None], 1.0, axis=0)
        each = {name: amplitude_of(regression, name, weights) for name in ("ml", "loo", "calibrated")}
        np.testing.assert_array_equal(each["calibrated"], each[larger])
        assert np.all(each["ml"] != each["loo"])


def test_the_density_of_values_left_out_is_that_of_normal_errors(regression):
    """Errors below 1e-9 of the range of the values count as that, so that values that are known exactly stay finite."""
    errors, variances = regression.leave_one_out()
    sd = np.sqrt(variances[:, None] * regression.amplitude + (UNSEEN * np.ptp(regression.values, axis=0)) ** 2)
    expected = np.sum(stats.norm.logpdf(errors, scale=sd) + 0.5 * np.log(2.0 * np.pi))
    assert log_density_left_out(regression) == pytest.approx(expected, rel=1e-12)
    line = np.linspace(0.0, 1.0, 12)
    known = Regression(regression.factor, 3.0 * line, np.column_stack([np.ones(12), line]))
    assert known.amplitude < 1e-20
    assert log_density_left_out(known) == pytest.approx(-12 * np.log(3.0 * UNSEEN), rel=1e-3)


def test_equal_weights_are_no_weights(regression):
    np.testing.assert_allclose(leave_one_out(regression, np.full(12, 0.3)), leave_one_out(regression), rtol=1e-14)
    np.testing.assert_array_equal(weighted_squares(regression, np.ones(12)), leave_one_out(regression, np.ones(12)))


def test_weights_reach_the_independent_points():
    """Where the Gram matrix is singular, the amplitude of a largest set of independent points counts too."""
    x = np.repeat(np.linspace(0.0, 1.0, 6)[:, None], 2, axis=0)
    factor = CholeskyFactor.of(Matern52(0.5)(x))
    assert factor.independent is not None
    values = np.sin(9.0 * x[:, 0])
    regression = Regression(factor, values, np.ones((12, 1)))
    weights = np.exp(-x[:, 0])
    rows, part = factor.independent
    assert leave_one_out(regression, weights) >= leave_one_out(regression.only(rows, part), weights[rows])


def test_a_trend_is_carried_on():
    likely, left_out = np.array([1.0, 2.0, 4.0]), np.array([2.0, 1.0, 4.0])
    np.testing.assert_array_equal(calibrated(likely, left_out), [2.0, 2.0, 4.0])
    np.testing.assert_array_equal(calibrated(likely, left_out, power=3.0), [8.0, 2.0, 4.0])
    common = common_ratio(likely, left_out)
    assert common == pytest.approx((2.0 + 0.5 + 1.0) / 3.0)
    np.testing.assert_allclose(calibrated(likely, left_out, power=2.0, ratio=common), common**2 * likely, rtol=1e-15)


def test_nothing_varies():
    zero = np.zeros(2)
    assert common_ratio(zero, zero) == 1.0
    np.testing.assert_array_equal(calibrated(zero, zero, power=2.0), zero)


def test_an_unknown_name(regression):
    with pytest.raises(ValueError, match="`estimate` must be one of"):
        amplitude_of(regression, "largest")
