"""The sign of the likelihood: certain far from the boundary, undecided on it, draws that agree with chances."""

import numpy as np
import pytest

from fwbq.inference import sign_process
from fwbq.inference.sign_process import SignProcess
from fwbq.inference.tuning import TUNING


def mirrored(d, size=20, seed=0):
    """Points and their mirror images in the plane x_1 = 0, positive on the right."""
    x = np.random.default_rng(seed).uniform(-2.0, 2.0, (size, d))
    x[:, 0] = np.abs(x[:, 0]) + 0.05
    image = x * np.where(np.arange(d) == 0, -1.0, 1.0)
    return np.vstack([x, image]), np.repeat([True, False], size)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_chance_is_one_half_on_the_plane_of_symmetry(d):
    """Mirroring changes the data's signs and leaves the prior, so u is as probable as -u on the plane."""
    process = SignProcess.fit(*mirrored(d))
    on = np.random.default_rng(1).uniform(-2.0, 2.0, (50, d))
    on[:, 0] = 0.0
    mean, variance = process.predict(on)
    # Sites settle to about 1e-4 of the log likelihood; the mean is then known to a small part of its sd.
    assert np.all(np.abs(mean) < 0.02 * np.sqrt(variance) + 1e-6)
    assert np.allclose(process.probability(on), 0.5, atol=0.01)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_chances_far_from_the_boundary_are_near_one_and_zero(d):
    process = SignProcess.fit(*mirrored(d))
    inside = np.zeros((1, d))
    inside[0, 0] = 1.5
    assert process.probability(inside)[0] > 0.98
    assert process.probability(-inside)[0] < 0.02


def test_the_chance_rises_across_the_boundary():
    process = SignProcess.fit(*mirrored(2))
    line = np.column_stack([np.linspace(-1.5, 1.5, 61), np.zeros(61)])
    assert np.all(np.diff(process.probability(line)) > -1e-6)


def test_known_points_have_their_sign():
    x, positive = mirrored(2)
    probability = SignProcess.fit(x, positive).probability(x)
    assert np.all((probability > 0.5) == positive)


def test_flipping_the_signs_flips_the_chances():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((30, 2))
    positive = np.sum(x * x, axis=1) < 1.5
    there = rng.standard_normal((40, 2))
    a, b = (SignProcess.fit(x, y).probability(there) for y in (positive, ~positive))
    assert np.allclose(a + b, 1.0, atol=1e-3)


def test_a_bent_boundary_is_followed():
    rng = np.random.default_rng(4)
    x = rng.uniform(-2.0, 2.0, (150, 2))
    there = rng.uniform(-1.9, 1.9, (500, 2))
    process = SignProcess.fit(x, np.sum(x * x, axis=1) < 1.5)
    r2 = np.sum(there * there, axis=1)
    clear = np.abs(np.sqrt(r2) - np.sqrt(1.5)) > 0.35  # 150 points in a square of side four are 0.33 apart
    assert np.mean((process.probability(there) > 0.5)[clear] == (r2 < 1.5)[clear]) > 0.98


def test_draws_agree_with_the_chances():
    process = SignProcess.fit(*mirrored(2))
    there = np.random.default_rng(5).uniform(-0.5, 0.5, (40, 2))
    p = process.probability(there)
    share = process.draw(there, 4000, np.random.default_rng(6)).mean(axis=0)
    # The approximate u is Gaussian, so its sign has chance Phi(mean / sd) exactly: only the binomial error is left.
    assert np.all(np.abs(share - p) < 4.5 * np.sqrt(p * (1.0 - p) / 4000) + 1e-3)


def test_draws_at_one_place_are_one_draw():
    process = SignProcess.fit(*mirrored(2))
    signs = process.draw(np.zeros((2, 2)), 500, np.random.default_rng(0))
    assert np.mean(signs[:, 0] == signs[:, 1]) > 0.99


def test_knowledge_never_widens():
    x, positive = mirrored(2)
    there = np.random.default_rng(7).uniform(-3.0, 3.0, (50, 2))
    _, variance = SignProcess.fit(x, positive).predict(there)
    prior = TUNING.sign.variance * (2.0 + np.sum(there * there, axis=1))
    assert np.all((variance >= 0.0) & (variance <= prior))


@pytest.mark.parametrize("positive", [[True, False], [True, True, True, False], [False, False, True]])
def test_few_points_are_enough(positive):
    x = np.linspace(-1.0, 1.0, len(positive))[:, None]
    probability = SignProcess.fit(x, np.array(positive)).probability(np.linspace(-3.0, 3.0, 7)[:, None])
    assert np.all((probability >= 0.0) & (probability <= 1.0))


def test_a_bounded_support_is_told_by_zeros_far_away():
    """Far from a disc, where every point was zero, the likelihood is not positive with a chance of one half."""
    x = np.random.default_rng(3).uniform(-6.0, 6.0, (400, 2))
    positive = np.sum(x**2, axis=1) < 1.0
    process = SignProcess.fit(x, positive)
    assert len(process.points) == TUNING.sign.most
    angle = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    ring = 5.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    # The zeros nearest to the disc alone lie within a radius of 2.4, and leave a mean chance of 0.31 here.
    assert np.mean(process.probability(ring)) < 0.15
    assert process.probability(np.zeros((1, 2)))[0] > 0.9


def test_all_points_are_kept_while_they_are_few():
    x = np.random.default_rng(4).uniform(-1.0, 1.0, (TUNING.sign.most, 2))
    assert len(sign_process._telling(x, x[:, 0] > 0.9)) == len(x)
