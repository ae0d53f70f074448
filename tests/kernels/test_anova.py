"""ANOVA kernels in several dimensions: the sum over sets, its limits, and the derivatives that a search needs."""

from itertools import combinations

import numpy as np
import pytest

from fwbq import Anova, ExpQuad, Matern12, Matern32, Matern52
from fwbq.kernels import Differences, PeriodicSobolev

LENGTHS = np.array([0.3, 0.6, 1.0, 2.0, 0.8])
WEIGHTS = np.array([0.3, 1.0, 5.0, 0.1, 0.7])
BASES = (ExpQuad, Matern12, Matern32, Matern52)
ORDERS = (None, 1, 2)
each = pytest.mark.parametrize("base", BASES, ids=lambda base: base.__name__)
each_order = pytest.mark.parametrize("order", ORDERS)


def by_sets(kernel, x, y):
    """The definition, set by set."""
    d = x.shape[1]
    w = kernel.weights(d)
    g = [factor(x[:, [i]], y[:, [i]]) for i, factor in enumerate(kernel.unit.factors(d))]
    most = d if kernel.order is None else kernel.order
    total, norm = np.zeros((len(x), len(y))), 0.0
    for q in range(most + 1):
        for chosen in combinations(range(d), q):
            total = total + np.prod([w[i] * g[i] for i in chosen], axis=0) * np.ones_like(total)
            norm += np.prod(w[list(chosen)])
    return kernel.variance * total / norm


@pytest.fixture
def points():
    rng = np.random.default_rng(3)
    return rng.random((40, 5)), rng.random((7, 5))


@each
@each_order
def test_the_sum_over_sets(base, order, points):
    x, y = points
    kernel = Anova(base(LENGTHS, 1.7), WEIGHTS, order)
    # Sums and products of positive numbers: a few roundings each.
    np.testing.assert_allclose(kernel(x, y), by_sets(kernel, x, y), rtol=1e-13)
    np.testing.assert_allclose(kernel.columns(x)(y[0]), kernel(x, y)[:, 0], rtol=1e-13)


@each_order
def test_many_rows_are_those_of_a_few(order):
    x = np.random.default_rng(0).random((700, 4))
    kernel = Anova(ExpQuad(0.5), 0.7, order)
    assert np.array_equal(kernel(x)[600:], kernel(x[600:], x))
    assert np.array_equal(kernel(x), kernel(x).T)


@each_order
def test_gram_matrices_are_positive(order, points):
    K = Anova(Matern32(0.4), 0.6, order)(points[0])
    assert np.linalg.eigvalsh(K)[0] > -1e-13 * len(K)


def test_large_weights_give_the_product_kernel(points):
    x, y = points
    np.testing.assert_allclose(Anova(Matern52(LENGTHS, 2.0), 1e14)(x, y), Matern52(LENGTHS, 2.0)(x, y), rtol=1e-11)


def test_small_weights_leave_the_first_order(points):
    x, y = points
    weight = 1e-6
    # The second order is 10 pairs of 1e-12 beside one.
    np.testing.assert_allclose(Anova(ExpQuad(0.5), weight)(x, y), Anova(ExpQuad(0.5), weight, 1)(x, y), atol=1e-11)


@pytest.mark.parametrize(("order", "sides"), [(1, 2), (2, 3)])
def test_functions_of_limited_order_have_no_differences_of_more(order, sides):
    """The alternating sum over the corners of a box in order + 1 coordinates is zero, and one of fewer is not."""
    rng = np.random.default_rng(5)
    kernel, y = Anova(ExpQuad(0.5), 1.0, order), rng.random((3, 4))

    def alternating(sides):
        low, high = rng.random(4), rng.random(4)
        total = 0.0
        for corner in np.ndindex(*[2] * sides):
            x = low.copy()
            x[:sides] = np.where(corner, high[:sides], low[:sides])
            total = total + (-1) ** sum(corner) * kernel(x[None], y)
        return np.abs(total).max()

    assert alternating(sides) < 1e-14
    assert alternating(sides - 1) > 1e-4


def test_coordinates_may_change_places(points):
    x, y = points
    order = np.array([3, 0, 4, 2, 1])
    kernel, turned = Anova(ExpQuad(LENGTHS), WEIGHTS, 2), Anova(ExpQuad(LENGTHS[order]), WEIGHTS[order], 2)
    np.testing.assert_allclose(turned(x[:, order], y[:, order]), kernel(x, y), rtol=1e-14)


@each
@each_order
def test_pullback_against_differences(base, order, points):
    x = points[0][:12]
    pairs = Differences.of(x)
    u = np.random.default_rng(1).normal(size=66)
    theta, step = np.log(np.concatenate([LENGTHS, WEIGHTS])), 1e-5

    def contracted(theta):
        return Anova(base(np.exp(theta[:5]), 1.7), np.exp(theta[5:]), order).pullback(pairs)[0] @ u

    k, pull = Anova(base(LENGTHS, 1.7), WEIGHTS, order).pullback(pairs)
    np.testing.assert_allclose(pairs.matrix(k, 1.7), Anova(base(LENGTHS, 1.7), WEIGHTS, order)(x), rtol=1e-13)
    slopes = [(contracted(theta + h) - contracted(theta - h)) / (2 * step) for h in step * np.eye(10)]
    # Central differences: step^2 from the third derivative, 1e-16 / step from rounding.
    np.testing.assert_allclose(pull(u), slopes, atol=1e-8 * np.abs(u).sum())


def test_what_cannot_be_made_is_named():
    with pytest.raises(TypeError, match="`kernel`"):
        Anova(PeriodicSobolev(1))
    with pytest.raises(ValueError, match="`weight` must be positive"):
        Anova(ExpQuad(1.0), 0.0)
    with pytest.raises(ValueError, match="`weight`"):
        Anova(ExpQuad([1.0, 2.0]), [1.0, 2.0, 3.0])
    for order in (0, 3, True, "all"):
        with pytest.raises(ValueError, match="`order` must be 1, 2 or None"):
            Anova(ExpQuad(1.0), order=order)
    with pytest.raises(TypeError, match="Matern12 has no covariance of derivatives"):
        Anova(Matern12(1.0)).gradient_covariance(np.zeros((1, 2)))
