"""ANOVA kernels under independent coordinates, against tensor rules that share no code with the embedding."""

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.embeddings import cross

KERNELS = {
    "all orders": fwbq.Anova(fwbq.ExpQuad([0.7, 1.1, 2.0], 1.7), [0.4, 3.0, 0.9]),
    "order 1": fwbq.Anova(fwbq.ExpQuad([0.7, 1.1, 2.0]), [0.4, 3.0, 0.9], order=1),
    "order 2": fwbq.Anova(fwbq.ExpQuad([0.7, 1.1, 2.0], 0.6), [0.4, 3.0, 0.9], order=2),
}
each = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def tensor(*rules):
    """Points (N, d) and weights (N,) of a product of one-dimensional rules."""
    points = np.stack(np.meshgrid(*(x for x, _ in rules), indexing="ij"), axis=-1).reshape(-1, len(rules))
    weights = np.ones(1)
    for _, w in rules:
        weights = np.multiply.outer(weights, w).ravel()
    return points, weights


def legendre(lower, upper):
    # Entire functions on a few length-scales: 24 nodes leave rounding only.
    x, w = np.polynomial.legendre.leggauss(24)
    return lower + 0.5 * (x + 1.0) * (upper - lower), 0.5 * w


def hermite(mean, sd):
    x, w = np.polynomial.hermite_e.hermegauss(60)
    return mean + sd * x, w / w.sum()


MEASURES = {
    "Uniform": (fwbq.Uniform([0.0, -1.0, 0.5], [1.0, 2.0, 3.0]), [legendre(0, 1), legendre(-1, 2), legendre(0.5, 3)]),
    "Gaussian": (
        fwbq.Gaussian([0.1, 0.0, -1.0], np.diag([0.09, 0.25, 1.0])),
        [hermite(0.1, 0.3), hermite(0.0, 0.5), hermite(-1.0, 1.0)],
    ),
    "Product": (
        fwbq.Product([stats.uniform(), stats.norm(0.2, 0.4), stats.uniform(-1.0, 2.0)]),
        [legendre(0.0, 1.0), hermite(0.2, 0.4), legendre(-1.0, 1.0)],
    ),
}


@pytest.mark.parametrize(("measure", "rules"), MEASURES.values(), ids=MEASURES)
@each
def test_against_a_tensor_rule(kernel, measure, rules):
    points, weights = tensor(*rules)
    embedding = fwbq.embed(kernel, measure)
    x = measure.sample(5, rng=0)
    assert embedding.method == "closed form"
    np.testing.assert_allclose(embedding.mean(x), kernel(x, points) @ weights, rtol=1e-10)
    slopes = kernel.gradient_sum(x, points, weights)
    np.testing.assert_allclose(embedding.mean_gradient(x), slopes, rtol=1e-10, atol=1e-11 * np.abs(slopes).max())
    inner = fwbq.embed(kernel, measure).mean(points)
    assert embedding.variance == pytest.approx(weights @ inner, rel=1e-10)


@each
def test_two_measures(kernel):
    (p, rules), (q, _) = MEASURES["Uniform"], MEASURES["Gaussian"]
    points, weights = tensor(*rules)
    assert cross(kernel, p, q) == pytest.approx(weights @ fwbq.embed(kernel, q).mean(points), rel=1e-10)
    assert cross(kernel, p, q) == pytest.approx(cross(kernel, q, p), rel=1e-12)


def test_first_order_integrals_are_sums_of_those_of_coordinates():
    laws = [stats.beta(0.5, 1.5), stats.gamma(2.0), stats.t(4.0)]
    kernel = fwbq.Anova(fwbq.Matern32([0.4, 1.0, 2.0]), [0.5, 1.0, 2.0], order=1)
    embedding = fwbq.embed(kernel, fwbq.Product(laws))
    parts = [
        fwbq.embed(fwbq.Matern32(length), fwbq.Product([law])) for length, law in zip((0.4, 1, 2), laws, strict=True)
    ]
    x = np.array([[0.2, 1.0, -0.5], [0.9, 3.0, 4.0]])
    expected = 1.0 + sum(w * part.mean(x[:, [i]]) for i, (w, part) in enumerate(zip((0.5, 1, 2), parts, strict=True)))
    np.testing.assert_allclose(embedding.mean(x), expected / 4.5, rtol=1e-13)
    assert embedding.accuracy == pytest.approx(sum(part.accuracy for part in parts))


def test_all_orders_are_a_product_over_coordinates():
    """The factors, each embedded by itself, give the same numbers: main effects of a fit are made of them."""
    kernel, (measure, _) = KERNELS["all orders"], MEASURES["Uniform"]
    embedding, x = fwbq.embed(kernel, measure), np.array([[0.2, 1.0, 1.5]])
    lines = [fwbq.embed(part, side) for part, side in zip(kernel.factors(3), measure.factors, strict=True)]
    assert embedding.mean(x)[0] == pytest.approx(
        np.prod([e.mean(x[:, [i]])[0] for i, e in enumerate(lines)]), rel=1e-14
    )
    assert embedding.variance == pytest.approx(np.prod([e.variance for e in lines]), rel=1e-14)


def test_dependent_coordinates_are_refused():
    with pytest.raises(TypeError, match="coordinates of the measure depend on each other"):
        fwbq.embed(fwbq.Anova(fwbq.ExpQuad(1.0)), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]))
    with pytest.raises(TypeError, match="Anova has no embedding"):
        fwbq.embed(fwbq.Anova(fwbq.ExpQuad(1.0)), fwbq.GaussianMixture([0.5, 0.5], [[0.0], [1.0]], [[[1.0]], [[1.0]]]))
