"""Climbs by gradients: few calls in bad units, kinks and zeros on the way, and gradients that contradict the values."""

import numpy as np
import pytest

from fwbq.inference.proposers.ascent import Ascent, Top, WrongGradient, refuse_wrong_gradient


def driven(f, start, budget=100, **options):
    """Climb f from a start; return the top and the number of evaluations."""
    ascent = Ascent(np.asarray(start, dtype=float), None, budget, **options)
    spent = 0
    while len(ascent.points):
        points = ascent.points
        ascent.tell(list(range(spent, spent + len(points))), *f(points))
        spent += len(points)
    assert ascent.top is not None
    return ascent.top, spent


def gaussian(mean, cov):
    P = np.linalg.inv(cov)

    def f(x):
        r = x - mean
        return -0.5 * np.sum((r @ P) * r, axis=1), -r @ P

    return f


def years(x):
    """A regression on calendar years: intercept and slope correlated by -0.99999, and the log of the noise."""
    t = np.arange(1970.0, 2010.0)
    y = 0.02 * t - 30.0 + 0.3 * np.sin(7.0 * t)
    r = y - x[:, :1] - x[:, 1:2] * t
    w = np.exp(-2.0 * x[:, 2])
    s = np.sum(r**2, axis=1)
    values = -len(t) * x[:, 2] - 0.5 * w * s - 0.5 * (x[:, 0] / 100.0) ** 2 - 0.5 * x[:, 1] ** 2 - 0.5 * x[:, 2] ** 2
    return values, np.column_stack([w * r.sum(axis=1) - x[:, 0] / 1e4, w * (r @ t) - x[:, 1], w * s - len(t) - x[:, 2]])


def test_a_regression_on_calendar_years_takes_few_calls():
    top, spent = driven(years, np.zeros(3))
    assert spent < 60
    assert top.decrement < 1.0
    # The best line for this noise, by the normal equations; it is met within a standard deviation.
    t = np.arange(1970.0, 2010.0)
    y = 0.02 * t - 30.0 + 0.3 * np.sin(7.0 * t)
    w = np.exp(-2.0 * top.place[2])
    X = np.column_stack([np.ones(40), t])
    P = w * X.T @ X + np.diag([1e-4, 1.0])
    r = top.place[:2] - np.linalg.solve(P, w * X.T @ y)
    assert r @ P @ r < 1.0


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_curvature_at_the_top_is_found_in_any_units(scale):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))
    cov = A @ A.T + 0.1 * np.eye(4)
    factors = np.array([1.0, scale, 1.0, 1.0 / scale])
    top, spent = driven(gaussian(factors, cov * np.outer(factors, factors)), np.zeros(4))
    assert spent < 40
    found = top.root @ top.root.T / np.outer(factors, factors)
    np.testing.assert_allclose(found, cov, rtol=1e-3, atol=1e-3)
    # Laplace's method is exact for a Gaussian.
    expected = 2.0 * np.log(2.0 * np.pi) + 0.5 * np.linalg.slogdet(cov)[1]
    assert top.log_mass == pytest.approx(expected, abs=2e-3)


def test_a_start_that_is_not_finite_ends_the_climb():
    top, spent = driven(lambda x: (np.full(len(x), -np.inf), np.full(x.shape, np.nan)), np.zeros(2))
    assert (top.value, spent) == (-np.inf, 1)


def test_a_wall_on_the_way_shortens_the_step():
    def walled(x):
        values, slopes = gaussian(np.full(2, 3.0), np.eye(2))(x)
        out = x[:, 0] > 3.5
        return np.where(out, -np.inf, values), np.where(out[:, None], np.nan, slopes)

    top, _ = driven(walled, np.zeros(2))
    assert np.linalg.norm(top.place - 3.0) < 0.5


def test_a_short_climb_ends_at_a_known_mode():
    known = Top(np.zeros(2), 0.0, np.zeros(2), np.eye(2))
    top, spent = driven(gaussian(np.zeros(2), np.eye(2)), [30.0, 40.0], further=True, tops=(known,))
    assert known.holds(top.place)
    assert spent < 15


@pytest.mark.parametrize("wider", [1.0, 1e3, 1e5])
def test_a_metric_from_elsewhere_that_is_far_too_narrow_is_noticed(wider):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 5))
    f = gaussian(np.zeros(5), (A @ A.T + 0.3 * np.eye(5)) * wider**2)
    ascent = Ascent(5.0 * wider * rng.normal(size=5), np.eye(5), 60, further=True)
    spent = 0
    while len(ascent.points):
        ascent.tell([spent], *f(ascent.points))
        spent += 1
    assert ascent.top is not None
    assert ascent.top.value > -0.5
    assert spent < 40


def test_steps_near_a_known_mode_are_no_longer_than_the_way_there():
    top = Top(np.zeros(3), 0.0, np.zeros(3), np.diag([1e-3, 1.0, 1e3]))
    z = np.array([4e-3, 0.0, 0.0])
    assert top.share(z, np.array([0.0, 16.0, 0.0])) == pytest.approx(0.25)
    assert top.share(z, np.array([0.0, 0.0, 2e3])) == 1.0
    assert top.share(np.zeros(3), np.ones(3)) == 0.0


def test_a_climb_comes_back_along_a_slope_whose_curvature_was_learnt_elsewhere():
    # A funnel: steep and curved where the log scale is large, and a straight slope where it is small.
    def f(x):
        s = np.exp(x[:, -1:])
        r = 20.0 * (x[:, :-1] * s - 1.0)
        values = -0.5 * np.sum(r**2 / 100.0 + x[:, :-1] ** 2, axis=1) + x[:, -1] - 0.125 * s[:, 0] ** 2
        inner = -r * 20.0 * s / 100.0 - x[:, :-1]
        outer = -np.sum(r * 20.0 * x[:, :-1] * s / 100.0, axis=1) + 1.0 - 0.25 * s[:, 0] ** 2
        return values, np.column_stack([inner, outer])

    first = Ascent(np.zeros(5), None, 200)
    spent = 0
    while len(first.points):
        first.tell(list(range(spent, spent + len(first.points))), *f(first.points))
        spent += len(first.points)
    top = first.top
    u = np.random.default_rng(0).standard_normal((10, 5))
    u *= 7.0 * np.sqrt(5.0) / np.linalg.norm(u, axis=1, keepdims=True)
    back = 0
    for start in top.place + u @ top.root.T:
        ascent = Ascent(start, top.root, 30, True, (top,))
        spent = 0
        while len(ascent.points):
            ascent.tell([spent], *f(ascent.points))
            spent += 1
        back += top.holds(ascent.top.place)
    assert back >= 5


@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.5, 2.0, 10.0])
def test_sign_and_scale_are_checked_at_the_start(factor):
    f = gaussian(np.array([1.0, 2.0]), np.array([[1.0, 0.5], [0.5, 2.0]]))

    def wrong(x):
        values, gradients = f(x)
        return values, factor * gradients

    with pytest.raises(WrongGradient, match="the gradients are not those of the values"):
        driven(wrong, np.zeros(2))


def test_a_start_on_a_kink_is_not_a_wrong_gradient():
    """The top of a Laplace prior, where its derivative is taken to be zero."""

    def laplace(x):
        return -np.sum(np.abs(x), axis=1), -np.sign(x)

    top, _ = driven(laplace, np.zeros(3))
    assert np.abs(top.place).max() < 0.1
    with pytest.raises(WrongGradient):
        driven(lambda x: (laplace(x)[0], np.sign(x)), np.zeros(3))


@pytest.mark.parametrize("level", [0.0, -1e5])
def test_single_precision_is_not_refused(level):
    f = gaussian(np.array([1.0, 2.0]), np.diag([0.04, 9.0]))

    def single(x):
        values, gradients = f(x)
        return (values + level).astype(np.float32).astype(float), gradients.astype(np.float32).astype(float)

    top, _ = driven(single, np.array([3.0, 3.0]))
    assert np.abs(top.place - [1.0, 2.0]).max() < 3.0


def test_what_single_precision_leaves_decides_nothing():
    x = np.array([[0.0, 1e-6]])
    refuse_wrong_gradient(x, np.array([-1.0]), np.array([[0.0, 5.0]]), np.zeros(2), -1.0, np.zeros(2))
    with pytest.raises(WrongGradient):
        refuse_wrong_gradient(1e6 * x, np.array([-1.0]), np.array([[0.0, 5.0]]), np.zeros(2), -1.0, np.zeros(2))
