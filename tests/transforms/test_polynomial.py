"""The polynomial part of an integrand on a net."""

from math import comb

import numpy as np
import pytest

import fwbq
from fwbq.transforms import Polynomial, SobolNet, polynomial_part
from fwbq.transforms.polynomial import POINTS_PER_TERM


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_integral_of_the_polynomial_is_zero(dim):
    """By a Gauss rule that is exact for it."""
    rng = np.random.default_rng(dim)
    coefficients = rng.normal(size=(5,) * dim)
    coefficients[(0,) * dim] = 0.0
    nodes, weights = np.polynomial.legendre.leggauss(6)
    u = np.stack(np.meshgrid(*[0.5 * (nodes + 1.0)] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    w = np.prod(np.stack(np.meshgrid(*[0.5 * weights] * dim, indexing="ij"), axis=-1).reshape(-1, dim), axis=1)
    values = Polynomial(coefficients)(u)
    assert abs(w @ values) < 1e-13
    # The basis is orthonormal.
    assert w @ values**2 == pytest.approx(np.sum(coefficients**2), rel=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_polynomial_is_found_exactly(dim):
    u = SobolNet(dim, rng=0).points(0, 1024)
    f = 1.0 + (u @ np.arange(1.0, dim + 1.0)) ** 3
    rest = f - polynomial_part(u, f)(u)
    assert np.ptp(rest) < 1e-11 * np.ptp(f)


def test_what_is_no_polynomial_is_left_alone():
    u = SobolNet(2, rng=0).points(0, 1024)
    assert polynomial_part(u, np.where(u.sum(axis=1) < 0.7, 1.0, 0.0)) is None
    assert polynomial_part(u, np.ones(1024)) is None
    assert polynomial_part(u[:16], u[:16, 0]) is None
    four = SobolNet(4, rng=0).points(0, 1024)
    assert polynomial_part(four, four.sum(axis=1)) is None


def _wave(x):
    return np.cos(1.0 + x @ [3.0, 4.0, 2.0])


def test_smooth_functions_have_narrow_intervals_that_hold():
    """Half the width was 2e-4 and above without the polynomial, which leaves 1e-5 of the values."""
    truth = np.cos(1.0 + 4.5) * np.prod([2.0 * np.sin(a / 2.0) / a for a in (3.0, 4.0, 2.0)])
    held = 0
    for seed in range(20):
        result = fwbq.integrate(_wave, fwbq.Uniform(np.zeros(3), np.ones(3)), n=4096, method="net", rng=seed)
        low, high = result.interval(0.95)
        assert high - low < 1e-4
        held += low <= truth <= high
    assert held >= 17  # fewer than 17 of 20 have a probability of 2 % at 95 %
    assert "polynomial of degree" in result.status


def test_columns_and_failures_go_their_own_ways():
    def both(x):
        values = np.stack([np.exp(x[:, 0] + x[:, 1]), (x[:, 0] < x[:, 1]).astype(float)], axis=1)
        return np.where((np.abs(x[:, :1] - 0.5) < 1e-3), np.nan, values)

    square = fwbq.Uniform(np.zeros(2), np.ones(2))
    with pytest.warns(RuntimeWarning, match="f failed at"):
        result = fwbq.integrate(both, square, n=4096, method="net", on_error="skip", rng=0)
    low, high = result.interval(0.95)
    truth = np.array([np.expm1(1.0) ** 2, 0.5])
    assert np.all((low <= truth) & (truth <= high))


def test_rounding_stays_in_the_interval():
    """A polynomial leaves no rest, and its interval is as wide as rounding makes it."""
    result = fwbq.integrate(lambda x: 1e3 + x[:, 0], fwbq.Uniform([0.0], [1.0]), n=256, method="net", rng=0)
    low, high = result.interval(0.95)
    assert low <= 1000.5 <= high
    assert 0.0 < high - low < 1e-10


@pytest.mark.parametrize(("dim", "n"), [(1, 128), (2, 512), (3, 1024)])
def test_every_term_has_enough_points(dim, n):
    # Of an entire function, the more terms there are, the less variance is left.
    u = SobolNet(dim, rng=1).points(0, n)
    found = polynomial_part(u, np.exp(2.0 * u.sum(axis=1)))
    terms = comb(dim + found.degree, dim)
    more = comb(dim + found.degree + 1, dim)
    assert POINTS_PER_TERM * terms <= n // 2 < POINTS_PER_TERM * more
