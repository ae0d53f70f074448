"""Climbs: the step solves its problem, Gaussians take as many evaluations as they have coefficients, walls stop it."""

import numpy as np
import pytest

import fwbq
from fwbq.inference.proposers.climb import Climb
from fwbq.inference.quadratic import Quadratic, bend, local_quadratic, unbend
from fwbq.process.basis import basis_size
from studies.problems.likelihoods import cut


def symmetric(values, rng):
    axes, _ = np.linalg.qr(rng.standard_normal((len(values), len(values))))
    return axes @ np.diag(values) @ axes.T


def gaussian(d, width, seed):
    """A Gaussian log density of standard deviations about `width`, its centre and its covariance."""
    rng = np.random.default_rng(seed)
    H = symmetric(-((width * 2.0 ** rng.uniform(-1.0, 1.0, d)) ** -2), rng)
    centre = rng.standard_normal(d)
    return lambda z: 0.5 * np.einsum("ni,ij,nj->n", z - centre, H, z - centre), centre, H


@pytest.fixture
def climb_up(climb_from):
    """A function that climbs f from the best of 2 d + 2 spread points; it returns the climb, all points and values."""

    def climb(f, d, budget, seed=0):
        z = np.random.default_rng([seed, 1]).standard_normal((2 * d + 2, d))
        g = f(z)
        return climb_from(f, z, g, int(np.argmax(g)), budget)

    return climb


SUBPROBLEMS = {
    "concave": ([-3.0, -1.0, -0.2], [0.5, -1.0, 2.0]),
    "concave, small slope": ([-3.0, -1.0, -0.2], [1e-3, 1e-3, 0.0]),
    "saddle": ([-3.0, -1.0, 2.0], [0.5, -1.0, 0.3]),
    "convex": ([1.0, 2.0, 3.0], [0.5, -1.0, 2.0]),
    "flat in one direction": ([-3.0, 0.0, 0.0], [0.5, 0.2, 0.0]),
    "no slope at a saddle": ([-3.0, -1.0, 2.0], [0.0, 0.0, 0.0]),
    "no slope along the axis that rises": ([-3.0, -1.0, 2.0], [0.5, -1.0, 0.0]),
    "nothing": ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", SUBPROBLEMS)
@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("radius", [0.1, 1.0, 30.0])
def test_the_step_is_the_highest_point_within_the_radius(name, rotated, radius):
    values, slope = (np.array(x) for x in SUBPROBLEMS[name])
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((3, 3)))[0] if rotated else np.eye(3)
    model = Quadratic(np.zeros(3), 1.0, axes @ slope, axes @ np.diag(values) @ axes.T)
    s = model.step(radius)
    assert np.linalg.norm(s) <= radius * (1.0 + 1e-12)
    directions = rng.standard_normal((20_000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    tried = radius * directions * rng.uniform(size=(20_000, 1)) ** (1.0 / 6.0)
    best = max(model(tried).max(), model(radius * directions).max())
    rise = float(model(s[None])[0]) - 1.0
    # 20,000 directions leave gaps of about 0.02: the best of them is a little below the top, never above it.
    assert rise >= (best - 1.0) - 1e-9 * max(1.0, best - 1.0)


def test_the_gain_is_the_rise_to_the_top():
    rng = np.random.default_rng(1)
    model = Quadratic(rng.standard_normal(4), 3.0, rng.standard_normal(4), symmetric([-5.0, -1.0, -2.0, -0.1], rng))
    top = model.centre + model.step(np.inf)
    assert np.isclose(float(model(top[None])[0]) - 3.0, model.gain(), rtol=1e-12)
    assert model.concave


def test_a_curvature_of_lower_rank_has_no_maximum():
    # Fewer points than coefficients leave directions without curvature, whose eigenvalues are roundings of either sign.
    rng = np.random.default_rng(3)
    for _ in range(200):
        a = rng.standard_normal(3)
        model = Quadratic(np.zeros(3), 0.0, rng.standard_normal(3), -np.outer(a, a))
        assert not model.concave
        assert np.isfinite(model.step(1.0)).all()
    assert Quadratic(np.zeros(2), 0.0, np.zeros(2), -np.diag([1e8, 1e-2])).concave


def test_a_climb_that_few_points_describe_goes_on():
    problem = cut(rng=3)
    found = fwbq.evidence(problem.log_likelihood, problem.prior, n=40, rng=0, progress=False)
    assert abs(found.log_evidence - problem.log_evidence) < 4.0 * found.sd


@pytest.mark.parametrize("d", [1, 2, 4])
def test_a_quadratic_is_recovered_from_as_many_points_as_it_has_coefficients(d):
    f, centre, H = gaussian(d, 0.3, d)
    z = centre + 0.5 * np.random.default_rng(2).standard_normal((basis_size("quadratic", d) + 1, d))
    model = local_quadratic(z, f(z), 0, 0.5)
    # Weights up to 10^3 and points a few radii away leave the accuracy of the least squares at about 1e-9.
    assert np.allclose(model.curvature, H, rtol=1e-6, atol=1e-6 * np.abs(H).max())
    assert np.allclose(model.slope, H @ (z[0] - centre), rtol=1e-6, atol=1e-6 * np.abs(model.slope).max())


def test_equal_values_have_a_flat_model():
    z = np.random.default_rng(0).standard_normal((9, 2))
    model = local_quadratic(z, np.full(9, -7.0), 3, 1.0)
    assert model.constant == -7.0
    assert not model.slope.any() and not model.curvature.any()


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("width", [2e-4, 5e-3, 0.1, 1.0])
def test_a_gaussian_takes_as_many_evaluations_as_it_has_coefficients(d, width, climb_up):
    f, _, H = gaussian(d, width, 10 * d)
    climb, z, g = climb_up(f, d, 12 * d + 12)
    assert climb.arrived
    reached = int(np.argmax(g > -0.05)) + 1  # evaluations until the top was within a twentieth, the spread included
    # With all coefficients known the next step is the top itself; one more where rounding 200 widths away blurs it,
    # and a few while points in a line leave a coefficient unknown.
    assert reached <= basis_size("quadratic", d) + 2 * d + 3
    model = local_quadratic(z, g, int(np.argmax(g)), climb.radius)
    assert np.allclose(model.curvature, H, rtol=0.0, atol=1e-3 * np.abs(H).max())


@pytest.mark.parametrize("constant", [1e6, -1e6])
def test_a_constant_changes_nothing_but_rounding(constant, climb_up):
    f, *_ = gaussian(3, 0.05, 7)
    plain, *_ = climb_up(f, 3, 60)
    moved, *_ = climb_up(lambda z: f(z) + constant, 3, 60)
    assert moved.arrived
    assert abs(plain.value - (moved.value - constant)) < 0.1


@pytest.mark.parametrize("d", [1, 2, 4])
def test_a_climb_stops_at_a_wall_of_minus_infinity(d):
    f, centre, _ = gaussian(d, 0.5, 3)

    def walled(z):
        return np.where(z[:, 0] < centre[0] - 0.2, f(z), -np.inf)

    rng = np.random.default_rng(0)
    z = centre + rng.standard_normal((4 * d + 4, d))
    z[:, 0] = centre[0] - 0.3 - np.abs(z[:, 0] - centre[0])
    g = walled(z)
    assert np.isfinite(g).all()
    at = int(np.argmax(g))
    climb = Climb(z[at].copy(), float(g[at]), 1.0, 80)
    start = climb.value
    while not climb.ended:
        finite = np.isfinite(g)
        points = climb.propose(z[finite], g[finite])
        assert np.isfinite(points).all()
        values = walled(points)
        climb.learn(points, values)
        z, g = np.vstack([z, points]), np.concatenate([g, values])
    assert np.isfinite(climb.value) and climb.value >= start
    assert climb.value == g.max()
    assert climb.spent <= 80 + 2 * d


def test_a_climb_that_falls_short_says_so(climb_up):
    climb, *_ = climb_up(lambda z: -np.sum(np.abs(z) ** 0.5, axis=1) * 100.0, 3, 5)
    assert climb.ended and not climb.arrived
    assert climb.budget <= 0


def test_what_is_ahead_is_the_sum_of_a_geometric_series():
    climb = Climb(np.zeros(1), 0.0, 1.0, 100)
    climb._kind = "simplex"
    heights = -(2.0 ** -np.arange(0.0, 8.0))  # every two steps rise by a quarter of the two before
    for height in heights:
        climb.value = -np.inf
        climb.learn(np.zeros((1, 1)), np.array([height]))
    last = heights[-1] - heights[-3]
    assert climb.ahead() == pytest.approx(last * (1.0 + 1.0 / 4.0 + 1.0 / 16.0 + 1.0 / 48.0), rel=1e-12)


def test_bending_is_undone_and_keeps_small_changes():
    rises = np.array([-1e200, -50.0, -1e-9, 0.0, 1.5])
    bent = bend(rises, 2.0)
    assert np.all(np.diff(bent) > 0.0) and np.isfinite(bent).all()
    # The exponential of a logarithm of 460 multiplies the rounding of 1e-16 by that.
    assert np.allclose([unbend(float(y), 2.0) for y in bent], rises, rtol=1e-12, atol=0.0)
    assert bent[2] == pytest.approx(rises[2], rel=1e-8)
    assert np.array_equal(bend(rises, np.inf), rises)
    # A rise of the whole scale has no logarithm.
    assert np.isfinite(bend(np.array([2.0, 5.0]), 2.0)).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_ridge_is_followed_in_long_steps(seed, climb_up):
    # A thousand times narrower across than along, where the density falls like a Student's: a region as wide as the
    # ridge is narrow would take hundreds of steps.
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((2, 2)))[0]

    def ridge(z):
        along, across = (z @ axes).T
        return -2.5 * np.log1p((along / 0.1) ** 2) - 0.5 * (across / 1e-3) ** 2

    climb, *_ = climb_up(ridge, 2, 60, seed)
    assert climb.arrived
    assert climb.value > -0.1
    lengths = np.sort(np.linalg.norm(climb.shape, axis=0))
    assert lengths[1] > 10.0 * lengths[0]


def test_a_climb_that_stalls_on_a_slope_may_be_far_from_the_top():
    climb = Climb(np.zeros(2), 0.0, 1e-3, 10)
    climb._kind = "simplex"
    for _ in range(10):
        climb.learn(np.zeros((1, 2)), np.array([-1.0]))
    assert climb.ended and not climb.arrived and climb.ahead() == 0.0
    climb.model = Quadratic(np.zeros(2), 0.0, np.array([0.0, 40.0]), np.diag([-1e6, 0.0]))
    climb.shape = np.diag([0.1, 10.0])
    assert climb.short() == pytest.approx(40.0, rel=1e-12)
