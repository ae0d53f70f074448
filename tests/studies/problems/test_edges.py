"""Singular ends, kinks and heavy tails: values against integrations that share nothing with them."""

import pickle

import numpy as np
import pytest
from scipy import stats

from studies.problems import edges


@pytest.mark.parametrize("name", edges.FAMILIES)
def test_integrands_take_many_points_and_travel(name):
    family = edges.FAMILIES[name]
    for dim in family.dims:
        problem = family.draw(dim, np.random.default_rng(1))
        x = problem.measure.sample(7, rng=0)
        f = problem.f(x)
        assert f.shape == (7,)
        assert np.array_equal(pickle.loads(pickle.dumps(problem.f))(x), f)


@pytest.mark.parametrize("name", [name for name in edges.FAMILIES if not name.startswith("tail")])
def test_values_by_the_midpoint_rule(name):
    problem = edges.FAMILIES[name].draw(2, np.random.default_rng(2))
    m = 1000
    u = (np.arange(m) + 0.5) / m
    value = problem.f(np.stack(np.meshgrid(u, u), axis=-1).reshape(-1, 2)).mean()
    # The worst end, x^0.2 or log x, costs the rule about one part in m^1.2, a kink one in m^2.
    assert value == pytest.approx(problem.value, rel=2e-3)


# E |x| of t(nu) is 2 sqrt(nu) / ((nu - 1) B(nu / 2, 1 / 2)): sqrt 2 for 2, 2 sqrt 3 / pi for 3. E sqrt(2 + x^2) under
# t(2) is sqrt 2 times the integral of 1 / (1 + s^2) over the line.
KNOWN = [
    (stats.t(2.0), "absolute", 1.0, np.sqrt(2.0)),
    (stats.t(3.0), "absolute", 1.0, 2.0 * np.sqrt(3.0) / np.pi),
    (stats.t(3.0), "identity", 1.0, 0.0),
    (stats.t(2.0), "root", np.sqrt(2.0), np.pi / np.sqrt(2.0)),
    (stats.pareto(1.5), "identity", 1.0, 3.0),
    (stats.lognorm(2.0), "absolute", 1.0, np.exp(2.0)),
    (stats.gamma(0.1), "identity", 1.0, 0.1),
]


@pytest.mark.parametrize(("p", "kind", "c", "value"), KNOWN)
def test_values_under_heavy_tails(p, kind, c, value):
    f = edges.Growing(kind, c)
    assert f.integral(p) == pytest.approx(value, rel=1e-10, abs=1e-12)
    assert f.integral(p, 1600) == pytest.approx(f.integral(p), rel=1e-11, abs=1e-12)
