"""Heavy tails: intervals that hold, integrals that do not exist, and runs that can be saved."""

import warnings

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.integration.model import KernelModel
from fwbq.integration.remarks import endless_tail
from fwbq.kernels import Warped
from fwbq.measures import Warp


def first(x):
    return x[:, 0]


def square(x):
    return x[:, 0] ** 2


TRUTHS = {
    "t2 root": (stats.t(2.0), lambda x: np.sqrt(2.0 + x[:, 0] ** 2), 2.221441469079183),  # pi / sqrt 2
    "t3": (stats.t(3.0), first, 0.0),
    "t3 square": (stats.t(3.0), square, 3.0),
    "pareto": (stats.pareto(1.5), first, 3.0),
    "lognorm": (stats.lognorm(2.0), first, np.exp(2.0)),
    "gamma": (stats.gamma(0.1), first, 0.1),
    "plane": (fwbq.Product([stats.t(3.0), stats.norm()]), lambda x: x[:, 0] ** 2 * np.cos(x[:, 1]), 3.0 * np.exp(-0.5)),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_is_within_the_interval(name):
    measure, f, truth = TRUTHS[name]
    result = fwbq.integrate(f, measure, n=40, rng=0)
    low, high = result.interval(0.999)
    assert low <= truth <= high
    # Kernels that do not know of the tail were off by one to five per cent, n = 60.
    assert result.sd < (0.05 if name == "plane" else 0.003) * max(abs(truth), 1.0)
    assert "quantile coordinates" in result.status


@pytest.mark.parametrize(
    ("measure", "f"),
    [(stats.cauchy(), first), (stats.t(2.0), square), (stats.pareto(1.5), square)],
    ids=["the mean of a Cauchy", "the variance of t(2)", "that of pareto(1.5)"],
)
@pytest.mark.parametrize("n", [20, 60])
def test_an_integral_that_does_not_exist_is_warned_of(measure, f, n):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = fwbq.integrate(f, measure, n=n, rng=1)
    assert any("the integral does not exist" in str(each.message) for each in caught)
    assert "the integral does not exist" in result.status


@pytest.mark.parametrize("df", [1.2, 2.0, 5.0])
def test_an_integral_that_exists_is_not(df):
    measure = fwbq.Product([stats.t(df), stats.norm()])
    warp = Warp.of(measure)
    v = np.random.default_rng(0).random((400, 2))
    x = np.column_stack([warp.to_original(v)[:, 0], stats.norm.ppf(v[:, 1])])
    noise = np.exp(np.random.default_rng(1).normal(size=400))
    assert endless_tail(warp, x, np.abs(x[:, 0])) == ""
    assert endless_tail(warp, x, noise * (1.0 + np.abs(x[:, 0]))) == ""
    assert "upper tail of coordinate 1" in endless_tail(warp, x, np.maximum(x[:, 0], 1.0) ** (1.5 * df))


def test_a_constant_is_known_exactly_and_may_be_added():
    assert fwbq.integrate(lambda x: np.full(len(x), 2.5), stats.t(2.0), n=12, rng=0).mean == 2.5
    one = fwbq.integrate(first, stats.pareto(1.5), n=16, rng=0)
    other = fwbq.integrate(lambda x: 8.0 + x[:, 0], stats.pareto(1.5), n=16, rng=0)
    assert other.mean == pytest.approx(8.0 + one.mean, abs=3.0 * one.sd)


def test_a_run_and_its_rule_can_be_saved(tmp_path):
    run = fwbq.Integration(stats.t(2.0), rng=0)
    x = run.ask(12)
    run.tell(x, np.abs(x[:, 0]))
    run.save(tmp_path / "run.json")
    again = fwbq.Integration.load(tmp_path / "run.json")
    np.testing.assert_array_equal(again.ask(6), run.ask(6))
    rule = run.result().rule
    assert isinstance(rule.embedding.kernel, Warped)
    rule.save(tmp_path / "rule.json")
    assert fwbq.load_rule(tmp_path / "rule.json").mmd2 == rule.mmd2


def test_points_of_ones_own_may_lie_anywhere():
    run = fwbq.Integration(stats.pareto(1.5), rng=0)
    x = np.array([[1.0], [1.5], [3.0], [10.0], [1e3], [1e200], [1e300]])
    run.tell(x, 1.0 / x[:, 0])
    low, high = run.result().interval(0.999)
    assert low <= 0.6 <= high


def test_a_kernel_class_is_taken_in_quantile_coordinates_and_a_kernel_is_not():
    found = fwbq.integrate(first, stats.t(3.0), kernel=fwbq.Matern52, n=16, rng=0)
    assert isinstance(found.kernel, Warped)
    given = fwbq.integrate(first, stats.t(3.0), kernel=fwbq.Matern52(1.0), n=8, rng=0)
    assert isinstance(given.kernel, fwbq.Matern52)


def test_closed_forms_take_the_place_of_quadrature():
    # Ten seconds for 60 points went into double integrals by quadrature; now there are none.
    embedding = KernelModel(fwbq.Product(stats.t(2.0)), None, "calibrated", None).first_embedding()
    assert embedding.method == "closed form"


def test_a_density_that_vanishes_at_its_bound_keeps_the_integrand_smooth():
    # E sqrt(x) = sqrt(2) exp(0.5^2 / 8). In quantile coordinates alone sqrt(x) has no slope at zero, and errs by 4e-3.
    result = fwbq.integrate(lambda x: np.sqrt(x[:, 0]), stats.lognorm(0.5, scale=2.0), n=20, rng=0)
    assert abs(result.mean - np.sqrt(2.0) * np.exp(0.5**2 / 8.0)) < 1e-4
    assert result.sd < 1e-3
