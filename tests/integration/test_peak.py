"""Positive integrands with a peak."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

import fwbq
from fwbq.integration.model import KernelModel
from fwbq.integration.peak import Peak, beyond_largest, integral_of_exp, top_share
from fwbq.posterior import AveragedPosterior, IntegralPosterior


def corner_peak(c):
    """Genz's corner peak (1 + c'x)^-(d + 1) on the unit cube, and its integral by inclusion and exclusion."""
    d = len(c)
    sums = [(-1.0) ** k / (1.0 + sum(some)) for k in range(d + 1) for some in combinations(c, k)]
    # In eight dimensions the alternating sum loses eight digits, and keeps more than are compared.
    return lambda x: (1.0 + x @ np.asarray(c)) ** -(d + 1.0), float(np.sum(sums) / (factorial(d) * np.prod(c)))


def cube(dim):
    return fwbq.Uniform(np.zeros(dim), np.ones(dim))


def test_the_exact_integral_of_the_corner_peak():
    f, exact = corner_peak([1.0, 2.0])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2) / 2.0 + 0.5
    assert exact == pytest.approx(np.outer(weights, weights).ravel() @ f(grid) / 4.0, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", [0.25, 1.0])
def test_a_corner_peak_in_eight_dimensions_is_named_and_its_interval_wide(seed, scale):
    # Without the second process the integral was two times as large as the answer, and up to 11 sd above it.
    c = scale * (np.arange(1.0, 9.0) if scale < 1.0 else np.ones(8))
    f, exact = corner_peak(c)
    result = fwbq.integrate(f, cube(8), n=100, rng=seed)
    low, high = result.interval(0.95)
    assert low <= exact <= high
    assert "the integrand is positive with a peak" in result.status
    assert "`fwbq.evidence`" in result.status


def test_columns_are_judged_one_by_one():
    f, exact = corner_peak(np.ones(8))
    result = fwbq.integrate(lambda x: np.column_stack([x[:, 0], f(x)]), cube(8), n=100, rng=0)
    assert result.status.count("with a peak") == 1
    low, high = result.interval(0.95)
    assert low[1] <= exact <= high[1]
    assert result.sd[0] < 1e-4


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 1.0 + x[:, 0] ** 2 * x[:, 1],  # positive, and no peak
        lambda x: np.exp(-20.0 * np.sum((x - 0.4) ** 2, axis=1)),  # a peak that two hundred values resolve
        lambda x: np.exp(3.0 * x.sum(axis=1)) - 1.5,  # not positive everywhere
    ],
)
def test_what_the_process_predicts_well_is_left_alone(f):
    assert "with a peak" not in fwbq.integrate(f, cube(2), n=200, rng=0).status


def test_the_share_of_the_largest_values():
    values = np.ones(40)
    values[:4] = 9.0
    assert top_share(values) == pytest.approx(0.5)
    assert top_share(1e-300 * values) == pytest.approx(0.5)
    assert top_share(values[:19]) == 0.0
    assert top_share(values - 1.0) == 0.0


def test_the_integral_of_exp_of_a_process():
    # exp(-8 x - 8 y - ...) in five dimensions: a linear function, which a process on some values knows closely.
    measure = cube(5)
    x = measure.sample(150, rng=0)
    model = KernelModel(measure, None, "calibrated", None)
    found = integral_of_exp(model.fitted(x, -8.0 * x.sum(axis=1)), measure)
    assert found == pytest.approx((-np.expm1(-8.0) / 8.0) ** 5, rel=0.03)


def test_the_difference_widens():
    posterior = AveragedPosterior((IntegralPosterior(1.0, 0.4, np.inf, 1.0),), np.array([1.0]))
    peak = Peak(50, 0.8, 1.0, 1.1)
    assert posterior.widened(peak.sd).sd == pytest.approx(0.5)
    assert "5 of 50 values make 80% of their sum" in str(peak)


@pytest.mark.parametrize("seed", range(3))
def test_a_net_is_as_wide_as_a_heavy_tail_of_values_makes_it(seed):
    # Without the tail the answer was half of the integral, and that 5 to 9 sd above it.
    f, exact = corner_peak(np.full(8, 5.0))
    result = fwbq.integrate(f, cube(8), n=4096, method="net", rng=seed)
    low, high = result.interval(0.95)
    assert low <= exact <= high
    assert "the integrand is positive with a peak" in result.status
    assert "with a peak" not in fwbq.integrate(lambda x: np.exp(x.sum(axis=1)), cube(8), n=4096, rng=seed).status


def test_what_a_pareto_tail_adds():
    # t^(-1/k) with k = 0.8: the quantiles of levels 1 - (i - 1/2) / n, whose largest is (2 n)^k.
    u = (np.arange(10_000) + 0.5) / 10_000
    assert beyond_largest(u**-0.8) == pytest.approx(20_000**0.8 / 10_000 / 0.2, rel=0.2)
    assert beyond_largest(u**-0.3) == 0.0
    assert beyond_largest(u**-0.8 - 1.5) == 0.0
