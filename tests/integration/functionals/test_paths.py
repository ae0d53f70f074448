"""Functions drawn from a process: their values at known points, and their covariance elsewhere."""

import numpy as np
import pytest

import fwbq
from fwbq.integration.functionals.exact import ExactEffects
from fwbq.integration.functionals.nodes import spread_nodes
from fwbq.integration.functionals.paths import Bundle
from fwbq.integration.functionals.tail import tail_nodes


def f(x):
    return np.abs(x[:, 0] - 0.4) + np.sin(3.0 * x[:, 0] * x[:, 1])


@pytest.fixture(scope="module")
def result():
    return fwbq.integrate(f, fwbq.Uniform([0.0, 0.0], [1.0, 1.0]), n=24, rng=0)


def test_every_function_passes_through_the_known_values(result):
    member = result.process.members[0]
    anchors = np.random.default_rng(0).random((40, 2))
    bundle = Bundle.drawn(member, anchors, 20, 1.0, np.random.default_rng(1))
    mean, draws, left = bundle(member.points)
    scale = np.sqrt(member.amplitude)
    # The factor of the Gram matrix may hold a jitter of 1e-14, and anchors one of 1e-10 of what is left open.
    np.testing.assert_allclose(mean, f(member.points), atol=1e-6 * scale)
    assert np.max(np.abs(draws)) < 1e-4 * scale
    assert np.max(left) < 1e-8


def test_the_covariance_of_draws_is_that_of_the_process(result):
    member = result.process.members[0]
    x = np.array([[0.05, 0.05], [0.5, 0.52], [0.9, 0.31], [0.93, 0.35]])
    bundle = Bundle.drawn(member, x, 4000, 1.0, np.random.default_rng(2))
    _, draws, _ = bundle(x)
    standard = draws / bundle.scales
    expected = member.predict(x).covariance(member.kernel(x))
    unit = np.sqrt(np.diagonal(expected))
    # An entry of a correlation matrix of 4000 draws has a standard error of at most 2^0.5 / 4000^0.5 = 0.022.
    found = standard @ standard.T / 4000 / np.outer(unit, unit)
    np.testing.assert_allclose(found, expected / np.outer(unit, unit), atol=5 * 0.023)


def test_exact_main_effects_are_averages_over_the_other_inputs(result):
    member = result.process.members[0]
    measure = fwbq.Uniform([0.0, 0.0], [1.0, 1.0])
    places = np.array([0.1, 0.62])
    exact = ExactEffects.of(member, measure).along(0, places)
    t, w = np.polynomial.legendre.leggauss(400)
    for place, effect in zip(places, exact, strict=True):
        line = np.column_stack([np.full(400, place), 0.5 + 0.5 * t])
        # A Gauss rule of 400 places has kinks of the kernel to their square, 1e-5.
        assert effect == pytest.approx(0.5 * w @ member.mean(line), abs=1e-4)


def test_kernels_that_are_no_products_have_no_exact_effects(result):
    member = result.process.members[0]
    assert ExactEffects.of(member, fwbq.Empirical(np.zeros((3, 2)))) is None


def test_blocks_of_nodes_are_independent_and_fill_the_measure():
    nodes = spread_nodes(fwbq.Gaussian([1.0, 0.0], [[1.0, 0.5], [0.5, 2.0]]), 256, 4)
    assert len(nodes.blocks()) == 4 and nodes.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(nodes.weights @ nodes.points, [1.0, 0.0], atol=1e-10)
    # Balanced weights integrate polynomials up to degree four exactly: here z^2 and z^4 of the first coordinate.
    z = nodes.points[:, 0] - 1.0
    assert nodes.weights @ z**2 == pytest.approx(1.0, abs=1e-10) and nodes.weights @ z**4 == pytest.approx(
        3.0, abs=1e-9
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_nodes_of_a_tail_have_its_probability(sign):
    from scipy.stats import norm

    measure = fwbq.Gaussian(np.zeros(3), np.eye(3))
    process = fwbq.integrate(lambda x: x.sum(axis=1), measure, n=20, rng=0).process
    threshold = sign * 4.0 * np.sqrt(3.0)
    nodes = tail_nodes(process, measure, threshold, sign)
    found = nodes.weights @ (sign * nodes.points.sum(axis=1) > abs(threshold))
    # 4096 nodes whose weights vary by 1.5 of their mean: a standard error of 2.3 %.
    assert found == pytest.approx(norm.sf(4.0), rel=0.12)
