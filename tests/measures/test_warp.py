"""Coordinates in which heavy tails end: there and back, the ratio of densities, and who gets them."""

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.measures import Warp

HEAVY = {
    "t2": stats.t(2.0, 0.3, 1.5),
    "cauchy": stats.cauchy(),
    "pareto": stats.pareto(1.5),
    "lognorm": stats.lognorm(2.0),
    "gamma": stats.gamma(0.1),
    "powerlaw": stats.powerlaw(0.2),
}
each = pytest.mark.parametrize("p", HEAVY.values(), ids=HEAVY.keys())


@each
def test_there_and_back(p):
    warp = Warp.of(fwbq.Product(p))
    v = np.linspace(0.002, 0.998, 250)[:, None]
    x = warp.to_original(v)
    assert np.all(np.diff(x[:, 0]) >= 0.0)
    # The inverse of the incomplete beta function is good to 1e-12 or so. Old versions of SciPy have the distribution
    # function of a Cauchy measure as 1/2 + arctan(x) / pi, whose rounding is divided by its slope in v.
    slack = 1e-9 + 2.0**-52 / warp.ratio(v)
    assert np.all(np.abs(warp.to_warped(x) - v)[:, 0] <= slack)


@each
def test_the_ratio_is_the_density_of_the_law(p):
    warp = Warp.of(fwbq.Product(p))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    v, weights = 0.5 * (1.0 + nodes)[:, None], 0.5 * weights
    ratio = warp.ratio(v)
    # A polynomial of degree ten at most: the rule is exact.
    assert weights @ ratio == pytest.approx(1.0, abs=1e-13)
    lower = warp.to_original(np.array([[0.3]]))[0, 0]
    nodes, scaled = 0.3 * v, 0.3 * weights
    assert scaled @ warp.ratio(nodes) == pytest.approx(float(p.cdf(lower)), rel=1e-9)


@each
def test_slopes_are_derivatives(p):
    warp = Warp.of(fwbq.Product(p))
    v, h = np.array([[0.3], [0.45], [0.6]]), 1e-4
    x = warp.to_original(v)
    speed, fall = warp.slopes(x, v)
    dx = (warp.to_original(v + h) - warp.to_original(v - h)) / (2.0 * h)
    # Central differences are off by the third derivative times h^2 / 6, at most 1e-3 of the slope for a power of 10.
    np.testing.assert_allclose(speed * dx, 1.0, rtol=1e-3)
    logs = np.log(warp.ratio(v + h)) - np.log(warp.ratio(v - h))
    np.testing.assert_allclose(fall[:, 0], logs / (2.0 * h), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("p", "powers"),
    [
        (stats.norm(), None), (stats.uniform(), None), (stats.expon(), None), (stats.laplace(), None),
        (stats.gamma(0.5), None), (stats.beta(0.5, 0.5), None), (stats.lognorm(0.25), None), (stats.t(20.0), None),
        (stats.t(5.0), (6.0, 6.0)), (stats.pareto(1.5), (1.0, 6.0)), (stats.gamma(0.1), (1.0, 4.0)),
        (stats.powerlaw(0.2), (1.0, 1.0)), (stats.beta(0.1, 0.1), None), (stats.weibull_min(0.5), (1.0, 6.0)),
        (stats.lognorm(0.5), (5.0, 6.0)), (stats.lognorm(2.0), (1.0, 6.0)), (stats.invgamma(2.0), (6.0, 6.0)),
    ],
)  # fmt: skip
def test_only_heavy_tails_and_singular_bounds_are_warped(p, powers):
    warp = Warp.of(fwbq.Product(p))
    assert (None if warp is None else tuple(warp.powers[0])) == powers


def test_coordinates_share_the_powers_and_others_are_left_alone():
    warp = Warp.of(fwbq.Product([stats.t(3.0), stats.norm(1.0, 2.0), stats.cauchy()]))
    np.testing.assert_array_equal(warp.powers, [[3.5, 3.5], [0.0, 0.0], [3.5, 3.5]])
    x = np.array([[0.5, 7.0, -3.0]])
    assert warp.to_warped(x)[0, 1] == 7.0
    assert warp.reference.distributions[1].mean() == 1.0
    assert warp.reference.distributions[2].support() == (0.0, 1.0)


def test_measures_without_such_coordinates_have_no_warp():
    assert Warp.of(fwbq.Gaussian(0.0, 1.0)) is None
    assert Warp.of(fwbq.Uniform(0.0, 1.0)) is None


@pytest.mark.parametrize("powers", [[[0.5, 2.0]], [[2.0, 2.0], [2.0, 2.0]], [[2.0, -1.0]]])
def test_wrong_powers_are_named(powers):
    with pytest.raises(ValueError, match="`powers` must have shape"):
        Warp(fwbq.Product(stats.cauchy()), powers)
