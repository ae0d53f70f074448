"""Simulators in closed form: exact means, and values that can be had in another way."""

import numpy as np
import pytest

from studies.problems import simulators
from studies.problems.simulators import SIMULATORS

EXACT = [name for name, simulator in SIMULATORS.items() if simulator.exact is not None]


@pytest.mark.parametrize("name", EXACT)
def test_exact_moments_are_those_of_many_points(name):
    mean, std = SIMULATORS[name].reference()
    of_points, spread = simulators._reference(name)
    assert of_points == pytest.approx(mean, abs=1e-5 * std)
    assert spread == pytest.approx(std, rel=1e-4)


@pytest.mark.parametrize("simulator", SIMULATORS.values(), ids=SIMULATORS)
def test_values_are_finite_and_one_for_each_row(simulator):
    x = simulator.measure.sample(20, rng=0)
    before = x.copy()
    f = simulator.f(x)
    assert f.shape == (20,) and np.isfinite(f).all() and np.ptp(f) > 0.0
    assert np.array_equal(x, before)
    np.testing.assert_allclose(simulator.f(x[3:4]), f[3:4], rtol=1e-12)


def test_values_that_can_be_had_in_another_way():
    f = {name: simulator.f for name, simulator in SIMULATORS.items()}
    assert f["robot-arm"](np.array([[0, 0, 0, 0, 0.1, 0.2, 0.3, 0.4]]))[0] == pytest.approx(1.0)
    folded = [[0.3, np.pi, np.pi, np.pi, 0.1, 0.2, 0.3, 0.4]]
    assert f["robot-arm"](np.array(folded))[0] == pytest.approx(0.2)
    # Half the range of every input but 3, 5 and 7, whose w is 5/6; a sum of 3 linear terms, 3 pairs and no more.
    w = 5.0 / 6.0
    pairs = -15.0 * w**2 + 2.0 * w**2  # inputs (3, 5) have -15; (3, 7) and (5, 7) have (-1)^(i + j) = 1
    assert f["morris"](np.full((1, 20), 0.5))[0] == pytest.approx(60.0 * w + pairs)
    assert f["friedman"](np.array([[0.5, 1.0, 0.5, 0.0, 0.0]]))[0] == pytest.approx(10.0)
    assert f["ishigami"](np.array([[np.pi / 2, np.pi / 2, 1.0]]))[0] == pytest.approx(8.1)
    assert f["dette-pepelyshev"](np.zeros((1, 8)))[0] == pytest.approx(16.0 + 9.0 + 16.0)
    assert f["welch"](np.zeros((1, 20)))[0] == 0.0
    assert f["bratley"](np.ones((1, 10)))[0] == 0.0


def test_the_piston_is_in_equilibrium():
    """The volume V under the formula's root solves P0 V0 T / (T0 V) = P + (19.62 M - ...) / S, a quadratic in V."""
    mass, surface, volume, spring, pressure, ambient, filling = x = [45.0, 0.01, 0.005, 3000.0, 1e5, 293.0, 350.0]
    time = SIMULATORS["piston"].f(np.array([x]))[0]
    stiffness = mass * (2.0 * np.pi / time) ** 2
    v = np.sqrt(surface**2 * pressure * volume * ambient / (filling * (stiffness - spring)))
    force = pressure * surface + 19.62 * mass - spring * volume / surface
    assert spring * v**2 / surface**2 + force * v / surface == pytest.approx(pressure * volume * ambient / filling)
