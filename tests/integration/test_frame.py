"""Coordinates of skew inputs."""

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.integration.frame import in_scores

# The flow through a borehole (Harper and Gupta, 1983), in m^3 a year.
NAMES = ("rw", "r", "Tu", "Hu", "Tl", "Hl", "L", "Kw")
BOXES = [(63070.0, 115600.0), (990.0, 1110.0), (63.1, 116.0), (700.0, 820.0), (1120.0, 1680.0), (9855.0, 12045.0)]
RADIUS = (7.71, 1.0056)


def borehole(x):
    rw, r, tu, hu, tl, hl, length, kw = x.T
    log = np.log(r / rw)
    return 2.0 * np.pi * tu * (hu - hl) / (log * (1.0 + 2.0 * length * tu / (log * rw**2 * kw) + tu / tl))


def in_logarithm(x):
    return borehole(np.column_stack([x[:, 0], np.exp(x[:, 1]), x[:, 2:]]))


def inputs(radius):
    return fwbq.Product([stats.norm(0.1, 0.0161812), radius, *(stats.uniform(a, b - a) for a, b in BOXES)], names=NAMES)


def test_a_lognormal_input_is_as_good_as_its_logarithm():
    # In the quantile coordinates of heavy tails alone the error was eighty times as large.
    lognormal = inputs(stats.lognorm(RADIUS[1], scale=np.exp(RADIUS[0])))
    skew = fwbq.integrate(borehole, lognormal, n=50, rng=0)
    normal = fwbq.integrate(in_logarithm, inputs(stats.norm(*RADIUS)), n=50, rng=0)
    assert skew.mean == pytest.approx(normal.mean, abs=1e-6 * normal.std().mean)
    assert skew.sd == pytest.approx(normal.sd, rel=1e-2)
    assert "skew inputs were transformed to normal scores" in skew.status
    # No point is farther out than those of a sample.
    assert np.max(np.abs(np.log(skew.points[:, 1]) - RADIUS[0])) < 4.5 * RADIUS[1]
    assert list(skew.to_frame().columns) == [*NAMES, "value"]


@pytest.mark.parametrize("seed", range(3))
def test_a_polynomial_of_a_lognormal_input_keeps_to_the_input(seed):
    measure = fwbq.Product([stats.lognorm(1.0), stats.uniform()])
    result = fwbq.integrate(lambda x: x[:, 0] ** 2 * x[:, 1], measure, n=50, rng=seed)
    assert "normal scores" not in result.status
    assert result.mean == pytest.approx(0.5 * np.exp(2.0), rel=1e-3)


def test_a_run_goes_on_in_the_coordinates_that_it_was_saved_in(tmp_path):
    measure = fwbq.Product([stats.lognorm(0.5), stats.uniform()])
    run = fwbq.Integration(measure, rng=0)
    for _ in range(3):
        x = run.ask(8)
        run.tell(x, np.log(x[:, 0]) + x[:, 1] ** 2)
    run.save(tmp_path / "run.json")
    again = fwbq.Integration.load(tmp_path / "run.json")
    assert again.result().mean == run.result().mean
    assert again.result().status == run.result().status
    np.testing.assert_array_equal(again.ask(5), run.ask(5))


def test_scores_of_a_measure_without_skew_inputs_are_a_damaged_file(tmp_path):
    run = fwbq.Integration(fwbq.Uniform([0.0], [1.0]), rng=0)
    x = run.ask(6)
    run.tell(x, x[:, 0] ** 2)
    record = run._state.record() | {"scores": True}
    with pytest.raises(ValueError, match="without skew inputs"):
        type(run._state).of_record(record, run.measure)


def test_sobol_indices_of_skew_inputs():
    # log x + u: variances 1/4 and 1/12.
    measure = fwbq.Product([stats.lognorm(0.5), stats.uniform()])
    result = fwbq.integrate(lambda x: np.log(x[:, 0]) + x[:, 1], measure, n=40, rng=0)
    indices = result.sobol()
    np.testing.assert_allclose(indices.first.mean, [0.75, 0.25], atol=5e-3)


def test_the_same_law_in_other_coordinates():
    measure = fwbq.Product([stats.norm(), stats.lognorm(0.5), stats.gamma(2.0), stats.uniform()])
    twin = in_scores(measure)
    u = np.random.default_rng(0).random((20, 4))
    x = measure.from_uniform(u)
    np.testing.assert_allclose(twin.from_uniform(u), x, rtol=1e-12)
    y = twin.to_latent(x)
    np.testing.assert_allclose(y[:, [0, 3]], x[:, [0, 3]], rtol=1e-12)
    np.testing.assert_allclose(stats.norm.cdf(y[:, 1:3]), u[:, 1:3], rtol=1e-9)
    assert in_scores(fwbq.Gaussian([0.0], [[1.0]])) is None
