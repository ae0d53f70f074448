"""The surrogate from values and gradients: it meets them, it falls off, and units change nothing."""

import numpy as np
import pytest

from fwbq._whitening import Whitening
from fwbq.inference.gradients.surrogate import GradientSurrogate, Rows, Shape, best_shape
from fwbq.inference.mixture import lower_root
from fwbq.inference.tuning import TUNING


def bent(x):
    a, b = x.T
    r = b - 0.3 * a**2
    return -0.5 * a**2 - 2.0 * r**2, np.column_stack([-a + 2.4 * a * r, -4.0 * r])


def rows_of(f, x):
    values, gradients = f(x)
    return Rows(x, values, gradients, np.arange(len(x)))


@pytest.fixture
def data():
    return rows_of(bent, np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 0.6])


WHITE = Whitening(np.zeros(2), np.diag([1.0, 0.5]))


def test_it_meets_what_it_is_fitted_to_and_predicts_what_is_between(data):
    surrogate = GradientSurrogate.fit(data, np.arange(40), WHITE, Shape())
    inside = ~surrogate.beyond(data.points)
    # Noise of 1e-6 in relative variance: a thousandth of the amplitude, which is about ten here.
    np.testing.assert_allclose(surrogate(data.points)[inside], data.values[inside], atol=0.03)
    z = np.random.default_rng(1).normal(size=(200, 2)) * [0.8, 0.4]
    assert np.sqrt(np.mean((surrogate(z) - bent(z)[0]) ** 2)) < 0.02


def test_a_gaussian_is_met_where_its_mass_is():
    def gaussian(x):
        return -0.5 * np.sum(x**2, axis=1) - 3.0, -x

    data = rows_of(gaussian, np.random.default_rng(0).normal(size=(20, 3)))
    surrogate = GradientSurrogate.fit(data, np.arange(20), Whitening(np.zeros(3), np.eye(3)), Shape())
    z = np.random.default_rng(1).normal(size=(100, 3))
    z = z[~surrogate.beyond(z)]
    assert len(z) > 90
    w = np.exp(gaussian(z)[0])
    # What 20 points with gradients leave of a Gaussian that is wider than the posterior by a factor of 1.5.
    assert np.sqrt(w @ (surrogate(z) - gaussian(z)[0]) ** 2 / w.sum()) < 0.01


def test_beyond_the_radius_it_falls_at_least_linearly(data):
    surrogate = GradientSurrogate.fit(data, np.arange(40), WHITE, Shape())
    direction = np.array([0.6, -0.8])
    u = np.linspace(1.01, 10.0, 50)[:, None] * surrogate.radius * direction
    heights = surrogate(surrogate.whitening.back(u))
    fall = -np.diff(heights) / np.diff(np.linalg.norm(u, axis=1))
    assert fall.min() > surrogate.steep * (1.0 - 1e-9)
    assert surrogate(data.points).max() <= data.values.max() + TUNING.judge.cap + 1e-12


def test_powers_of_two_change_nothing(data):
    factors = np.array([2.0**-13, 2.0**7])
    scaled = Rows(data.points * factors, data.values, data.gradients / factors, data.numbers)
    one = GradientSurrogate.fit(data, np.arange(40), WHITE, Shape())
    other = GradientSurrogate.fit(scaled, np.arange(40), Whitening(np.zeros(2), np.diag(factors * [1.0, 0.5])), Shape())
    z = np.random.default_rng(2).normal(size=(50, 2))
    np.testing.assert_allclose(other(z * factors), one(z), rtol=1e-12, atol=1e-12)


def test_turned_coordinates_change_nothing_but_rounding(data):
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(2, 2)))[0]
    turned = Rows(data.points @ turn.T, data.values, data.gradients @ turn.T, data.numbers)
    one = GradientSurrogate.fit(data, np.arange(40), WHITE, Shape())
    white = Whitening(np.zeros(2), lower_root(turn @ np.diag([1.0, 0.25]) @ turn.T))
    other = GradientSurrogate.fit(turned, np.arange(40), white, Shape())
    z = np.random.default_rng(2).normal(size=(50, 2))
    # The system has a condition of 1e7 or more, and both solve it with other roundings.
    np.testing.assert_allclose(other(z @ turn.T), one(z), atol=1e-6)


def test_the_best_shape_has_the_greatest_likelihood_of_its_neighbours(data):
    rows = np.arange(40)
    best = best_shape(data, rows, WHITE, Shape(), 0)
    tried = [shape for shapes in best.neighbours for shape in shapes]
    height = {s: GradientSurrogate.fit(data, rows, WHITE, s).process.log_likelihood for s in tried}
    assert height[best] == max(height.values())
