"""How far a process is believed: its own standard deviation lowers it, and only far from its points."""

from dataclasses import replace

import numpy as np
import pytest

from fwbq._whitening import Whitening
from fwbq.inference.gradients.judge import contained, propose, within
from fwbq.inference.gradients.process import GradientKernel, GradientProcess
from fwbq.inference.gradients.reach import Reach
from fwbq.inference.gradients.surrogate import GradientSurrogate, Rows, Shape
from fwbq.inference.mixture import lower_root
from fwbq.inference.tuning import TUNING

PLACES = np.random.default_rng(0).normal(size=(12, 2))
PLAIN = Whitening(np.zeros(2), np.eye(2))
everywhere = lambda z: np.ones(len(z), dtype=bool)  # noqa: E731


@pytest.fixture
def reach():
    return replace(Reach.of(PLAIN, np.eye(2), PLACES, 1.5, 3.0), lowered=2.0)


def test_it_is_the_standard_deviation_of_the_process_beyond_the_usual(reach):
    kernel = GradientKernel(1.5, 3, 0.0, 2.0)  # without the polynomial
    z = np.random.default_rng(1).normal(size=(30, 2)) * 3.0
    K = kernel.values(PLACES) + TUNING.judge.noise * np.eye(12)
    k = kernel.values(np.vstack([z, PLACES]))[:30, 30:]
    sd = np.sqrt(1.0 - np.einsum("ij,ij->i", k, np.linalg.solve(K, k.T).T))
    expected = 2.0 * 3.0 * np.maximum(sd - reach.usual, 0.0)
    # The condition of K is at most its trace over the noise, 1e7: nine digits are left.
    np.testing.assert_allclose(reach.fall(z), expected, atol=1e-7)
    assert expected.max() > 1.0


def test_the_usual_deviation_is_that_of_points_left_out(reach):
    left_out = []
    for i in range(12):
        others = np.delete(PLACES, i, axis=0)
        process = GradientKernel(1.5, 3, 0.0, 2.0)
        K = process.values(others) + TUNING.judge.noise * np.eye(11)
        k = process.values(np.vstack([others, PLACES[i : i + 1]]))[-1, :-1]
        left_out.append(np.sqrt(1.0 + TUNING.judge.noise - k @ np.linalg.solve(K, k)))
    assert reach.usual == pytest.approx(np.quantile(left_out, TUNING.judge.usual), rel=1e-5)


def test_nothing_is_lowered_at_the_points_and_all_alike_far_away(reach):
    assert reach.fall(PLACES).max() == 0.0
    far = reach.fall(np.array([[1e6, 0.0], [0.0, -1e6]]))
    np.testing.assert_allclose(far, 6.0 * (1.0 - reach.usual), rtol=1e-9)
    assert replace(reach, lowered=0.0).fall(np.array([[1e6, 0.0]])).max() == 0.0


def ridge(x):
    """A thin parabola: the second parameter follows the square of the first to a fiftieth."""
    a, b = x.T
    r = (b - 0.5 * a**2) / 0.02
    return -0.5 * a**2 - 0.5 * r**2, np.column_stack([-a + r * a / 0.02, -r / 0.02])


def test_the_mass_of_a_bent_ridge_stays_where_points_are():
    rng = np.random.default_rng(2)
    a = rng.normal(size=10)
    x = np.column_stack([a, 0.5 * a**2 + 0.02 * rng.normal(size=10)])
    values, gradients = ridge(x)
    data = Rows(x, values, gradients, np.arange(10))
    white = Whitening(x.mean(axis=0), lower_root(np.cov(x.T)))
    surrogate = GradientSurrogate.fit(data, np.arange(10), white, Shape(0.5))
    held = contained(surrogate, everywhere, white, np.random.SeedSequence(0))
    z = rng.normal(size=(2000, 2)) @ (2.0 * white.root.T) + white.centre
    assert held.reach.lowered > 0.0
    lower = surrogate(z) - held(z)
    assert lower.min() >= 0.0
    np.testing.assert_allclose(held(x), surrogate(x), atol=1e-9)
    assert np.isfinite(within(held, everywhere)(z)).all()


def test_a_surrogate_that_is_right_is_not_lowered():
    x = np.random.default_rng(3).normal(size=(40, 3))
    data = Rows(x, -0.5 * np.sum(x**2, axis=1), -x, np.arange(40))
    surrogate = GradientSurrogate.fit(data, np.arange(40), Whitening(np.zeros(3), np.eye(3)), Shape())
    density, _, mass = propose(surrogate, everywhere, surrogate.base, 20, np.random.SeedSequence(4))
    assert density.surrogate.reach.lowered == 0.0
    # The surrogate of 40 points with gradients leaves less than a hundredth of a Gaussian.
    assert mass == pytest.approx(1.5 * np.log(2.0 * np.pi), abs=0.02)


def test_the_amplitude_is_that_of_greatest_likelihood():
    rng = np.random.default_rng(5)
    kernel = GradientKernel(2.0, 3, 0.01, 2.0)
    x = rng.normal(size=(15, 2))
    K = kernel.values(x) + 1e-6 * np.diag(kernel.variances(x)[:15])
    y = rng.normal(size=15)
    process = GradientProcess.fit(kernel, x, y, None, 1e-6)
    sizes = np.linspace(0.5, 2.0, 301) * process.amplitude
    solved = y @ np.linalg.solve(K, y)
    heights = -15.0 * np.log(sizes) - 0.5 * solved / sizes**2
    assert sizes[np.argmax(heights)] == pytest.approx(process.amplitude, rel=0.01)
