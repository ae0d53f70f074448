"""The quadratic at a top is measured exactly, in whatever axes it begins."""

import numpy as np
import pytest

from fwbq.inference.modes import Mode
from fwbq.inference.proposers.curvature import Curvature
from fwbq.inference.quadratic import Quadratic


def measured(f, mode, most=10_000):
    curvature = Curvature.at(mode, most)
    asked = 0
    while not curvature.ended:
        points = curvature.propose()
        asked += len(points)
        curvature.learn(points, f(points))
    return curvature, asked


def gaussian(d, rng):
    """A correlated Gaussian, with widths from 0.01 to 100."""
    A = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.logspace(-2.0, 2.0, d)
    K = np.linalg.inv(A @ A.T)
    mean = A @ rng.normal(size=d)
    return lambda z: 3.0 - 0.5 * np.einsum("ni,ij,nj->n", z - mean, K, z - mean), mean, K


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("factor", [0.3, 1.0, 3.0])
def test_a_gaussian_is_exact_whatever_the_axes(d, factor):
    f, mean, K = gaussian(d, np.random.default_rng(d))
    begun = Quadratic(mean, 3.0, np.zeros(d), -(factor**2) * K)
    curvature, asked = measured(f, Mode(begun))
    # Second differences of values of order one, over widths that span four decades: rounding, not truth, limits them.
    np.testing.assert_allclose(-curvature.peak.curvature, K, atol=1e-7 * np.abs(K).max())
    np.testing.assert_allclose(curvature.mode.peak.centre, mean, atol=1e-6 * np.abs(mean).max())
    assert curvature.mode.peak.constant == pytest.approx(3.0, abs=1e-9)
    assert asked <= Curvature.cost(d) + 2 * d * (factor != 1.0)


def test_from_a_slope_it_goes_on_to_the_top():
    d = 4
    f, mean, K = gaussian(d, np.random.default_rng(1))
    root = np.linalg.cholesky(np.linalg.inv(K))
    begun = Quadratic(mean + root @ np.full(d, 1.2), 0.0, np.zeros(d), -K)
    curvature, _ = measured(f, Mode(begun))
    assert curvature.top.decrement < 1.0
    np.testing.assert_allclose(np.linalg.solve(root, curvature.mode.peak.centre - mean), 0.0, atol=1e-6)
    assert curvature.began is begun.centre


def test_it_keeps_to_its_evaluations():
    d = 6
    f, mean, K = gaussian(d, np.random.default_rng(2))
    for most in (2 * d + 1, Curvature.cost(d) - 1, Curvature.cost(d)):
        curvature, asked = measured(f, Mode(Quadratic(mean, 3.0, np.zeros(d), -K)), most)
        assert asked <= most
        assert bool(np.any(curvature.correlations)) == (most == Curvature.cost(d))


def test_zeros_of_the_density_are_walls_and_no_values():
    def half(z):
        return np.where(z[:, 0] < 0.5, -0.5 * np.sum(z**2, axis=1), -np.inf)

    curvature, _ = measured(half, Mode(Quadratic(np.zeros(3), 0.0, np.zeros(3), -np.eye(3))))
    assert np.all(np.isfinite(curvature.peak.curvature))
    assert np.all(np.linalg.eigvalsh(curvature.peak.curvature) < 0.0)
    nowhere = Curvature.at(Mode(Quadratic(np.full(3, 2.0), 0.0, np.zeros(3), -np.eye(3))), 100)
    nowhere.learn(nowhere.propose(), half(nowhere.propose()))
    assert nowhere.ended


def test_a_direction_that_rises_is_wide_and_not_endless():
    def saddle(z):
        return -0.5 * z[:, 0] ** 2 + 0.1 * z[:, 1] ** 2 - 0.01 * z[:, 1] ** 4

    curvature, _ = measured(saddle, Mode(Quadratic(np.zeros(2), 0.0, np.zeros(2), -np.eye(2))))
    assert np.all(np.isfinite(Mode(curvature.peak).root))
