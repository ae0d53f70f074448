"""Kernels of latent coordinates against sums over many points of the measure, and through a change of variables."""

import json

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq import kernels
from fwbq.kernels import Transported

MEASURES = [
    fwbq.Copula([stats.expon(), stats.lognorm(0.4)], 0.6),
    fwbq.MultivariateT([0.0, 1.0], [[1.0, 0.4], [0.4, 2.0]], 6.0),
    fwbq.Product([fwbq.Copula([stats.gamma(2.0), stats.norm()], -0.3), fwbq.Uniform(0.0, 2.0)]),
]


def tensor(measure, n=60):
    """Gauss-Hermite nodes of the normal scores, carried to the measure, with their weights."""
    z, w = np.polynomial.hermite_e.hermegauss(n)
    grid = np.stack(np.meshgrid(*[z] * measure.dim, indexing="ij"), axis=-1).reshape(-1, measure.dim)
    weights = np.prod(np.stack(np.meshgrid(*[w / w.sum()] * measure.dim, indexing="ij"), axis=-1), axis=-1).ravel()
    return measure.from_normal(grid), weights


@pytest.mark.parametrize("measure", MEASURES, ids=lambda p: type(p).__name__)
def test_mean_and_variance_are_integrals_under_the_measure(measure):
    """A smooth kernel of latent coordinates, by Gauss-Hermite rules in the normal scores: 60 nodes leave 1e-7."""
    kernel = Transported(fwbq.ExpQuad(2.0, 1.5), measure)
    emb = fwbq.embed(kernel, measure)
    nodes, weights = tensor(measure, 40 if measure.dim == 3 else 80)
    x = measure.sample(4, rng=0)
    tolerance = 1e-6
    np.testing.assert_allclose(emb.mean(x), kernel(x, nodes) @ weights, rtol=tolerance)
    assert emb.variance == pytest.approx(float(emb.mean(nodes) @ weights), rel=tolerance)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda p: type(p).__name__)
def test_gradients(measure):
    kernel = Transported(fwbq.Matern52(0.9), measure)
    emb = fwbq.embed(kernel, measure)
    x, y, h = measure.sample(3, rng=0), measure.sample(2, rng=1), 1e-6
    for i in range(measure.dim):
        step = h * np.eye(measure.dim)[i]
        slope = (kernel(x + step, y) - kernel(x - step, y)) / (2.0 * h)
        np.testing.assert_allclose(kernel.gradient(x, y)[:, :, i], slope, rtol=1e-5, atol=1e-7)
        mean = (emb.mean(x + step) - emb.mean(x - step)) / (2.0 * h)
        np.testing.assert_allclose(emb.mean_gradient(x)[:, i], mean, rtol=1e-5, atol=1e-7)


def test_it_is_saved_and_refuses_other_measures():
    p = MEASURES[0]
    kernel = Transported(fwbq.Matern32([0.5, 1.0]), p)
    again = kernels.from_spec(json.loads(json.dumps(kernel.spec())))
    x = p.sample(3, rng=0)
    np.testing.assert_array_equal(again(x), kernel(x))
    assert fwbq.embed(again, p).variance == fwbq.embed(kernel, p).variance
    with pytest.raises(TypeError, match="made for the measure"):
        fwbq.embed(kernel, fwbq.Copula([stats.expon(), stats.lognorm(0.4)], 0.5))
    with pytest.raises(ValueError, match="must have latent coordinates"):
        Transported(fwbq.ExpQuad(1.0), fwbq.Gaussian(0.0, 1.0))
    with pytest.raises(TypeError, match="Transported"):
        fwbq.embed(fwbq.ExpQuad(1.0), p)


def test_its_line_names_the_measure_without_its_parameters():
    kernel = Transported(fwbq.Matern32(0.5), fwbq.Copula([stats.lognorm(0.3), stats.gamma(2.0)], 0.5))
    assert repr(kernel) == "Transported(Matern32(lengthscale=0.5, variance=1.0), Copula of 2 coordinates)"
