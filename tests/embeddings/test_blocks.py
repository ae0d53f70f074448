"""Kernels under products with blocks and discrete values."""

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.embeddings import cross

PAIR = fwbq.Gaussian([1.0, 2.0], [[1.0, 0.6], [0.6, 1.0]])


def test_blocks_multiply():
    kernel = fwbq.ExpQuad([0.5, 0.8, 1.1, 0.9], 2.0)
    p = fwbq.Product([stats.gamma(2.0), PAIR, fwbq.Uniform(0.0, 3.0)])
    emb = fwbq.embed(kernel, p)
    parts = [
        fwbq.embed(fwbq.ExpQuad(0.5, 2.0), stats.gamma(2.0)),
        fwbq.embed(fwbq.ExpQuad([0.8, 1.1]), PAIR),
        fwbq.embed(fwbq.ExpQuad(0.9), fwbq.Uniform(0.0, 3.0)),
    ]
    x = p.sample(4, rng=0)
    means = [part.mean(x[:, s]) for part, s in zip(parts, (slice(0, 1), slice(1, 3), slice(3, 4)), strict=True)]
    np.testing.assert_allclose(emb.mean(x), np.prod(means, axis=0), rtol=1e-14)
    assert emb.variance == pytest.approx(np.prod([part.variance for part in parts]), rel=1e-14)
    h = 1e-6
    for i in range(4):
        step = h * np.eye(4)[i]
        slope = (emb.mean(x + step) - emb.mean(x - step)) / (2.0 * h)
        np.testing.assert_allclose(emb.mean_gradient(x)[:, i], slope, rtol=1e-6, atol=1e-9)
    with pytest.raises(TypeError, match="depend on each other"):
        fwbq.embed(fwbq.Matern32(1.0), p)


def test_independent_blocks_are_coordinates():
    kernel = fwbq.Matern32([0.5, 0.8, 1.1])
    p = fwbq.Product([fwbq.Uniform([0.0, 1.0], [1.0, 2.0]), fwbq.Gaussian(0.5, 2.0)])
    same = fwbq.Product([stats.uniform(), stats.uniform(1.0, 1.0), stats.norm(0.5, np.sqrt(2.0))])
    a, b = fwbq.embed(kernel, p), fwbq.embed(kernel, same)
    assert a.method == "closed form" and a.variance == pytest.approx(b.variance, rel=1e-14)


@pytest.mark.parametrize(
    "kernel", [fwbq.ExpQuad([0.7, 1.2]), fwbq.Matern12([0.7, 1.2]), fwbq.ExpQuad(1.0) + fwbq.Matern52(0.5)]
)
def test_discrete_values_are_summed(kernel):
    values, weights = np.array([0.0, 1.0, 2.5]), np.array([0.2, 0.5, 0.3])
    p = fwbq.Product([stats.norm(), fwbq.Discrete(values, weights)])
    emb = fwbq.embed(kernel, p)
    nodes, w = np.polynomial.legendre.leggauss(200)
    x = np.array([[0.3, 1.0], [-1.0, 0.4]])
    for point, found in zip(x, emb.mean(x), strict=True):
        expected = 0.0
        for low, high in ((-9.0, point[0]), (point[0], 9.0)):  # Matern12 has a kink at the point
            y = low + 0.5 * (high - low) * (1.0 + nodes)
            mass = 0.5 * (high - low) * w * stats.norm.pdf(y)
            for v, weight in zip(values, weights, strict=True):
                expected += weight * float(kernel(point[None], np.column_stack([y, np.full(len(y), v)]))[0] @ mass)
        assert found == pytest.approx(expected, rel=1e-10)
    exact = sum(
        a
        * b
        * cross(
            kernel, fwbq.Product([stats.norm(), fwbq.Discrete([u])]), fwbq.Product([stats.norm(), fwbq.Discrete([v])])
        )
        for u, a in zip(values, weights, strict=True)
        for v, b in zip(values, weights, strict=True)
    )
    assert emb.variance == pytest.approx(exact, rel=1e-12)
    assert "exact sum" in emb.method
    h = 1e-6
    for i in range(2):
        step = h * np.eye(2)[i]
        slope = (emb.mean(x + step) - emb.mean(x - step)) / (2.0 * h)
        np.testing.assert_allclose(emb.mean_gradient(x)[:, i], slope, rtol=1e-5, atol=1e-8)


def test_random_features_have_the_characteristic_function_of_discrete_values():
    kernel = fwbq.RandomFourier(fwbq.ExpQuad(1.0), 40, 2, rng=0)
    p = fwbq.Product([stats.norm(), fwbq.Discrete([0.0, 1.5], [0.25, 0.75])])
    parts = [fwbq.embed(kernel, fwbq.Product([stats.norm(), fwbq.Discrete([v])])).mean_features for v in (0.0, 1.5)]
    np.testing.assert_allclose(
        fwbq.embed(kernel, p).mean_features, 0.25 * parts[0] + 0.75 * parts[1], rtol=1e-12, atol=1e-15
    )
