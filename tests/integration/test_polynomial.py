"""Integrands that are polynomials: found from few values, under any measure with independent coordinates."""

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.embeddings.coordinates import densities_of
from fwbq.integration.polynomial import _orthonormal, find_polynomial

MARGINALS = {
    "uniform": stats.uniform(-1.0, 3.0),
    "norm": stats.norm(1.0, 2.0),
    "gamma": stats.gamma(2.0),
    "beta": stats.beta(0.5, 0.5),
    "lognorm": stats.lognorm(0.3),
    "truncnorm": stats.truncnorm(-1.0, 2.0),
    "poisson": stats.poisson(3.0),
    "bernoulli": stats.bernoulli(0.3),
}


@pytest.mark.parametrize("name", MARGINALS)
def test_polynomials_are_orthonormal_under_every_distribution(name):
    p = densities_of(fwbq.Product([MARGINALS[name]]))[0]
    nodes, weights = p.nodes()
    degree = 20 if name in ("uniform", "beta") else 6
    at = _orthonormal(p, nodes, degree)
    gram = (at * weights) @ at.T
    # Two values have polynomials of degree zero and one, and no others.
    expected = np.diag([1.0, 1.0] + [0.0] * 5) if name == "bernoulli" else np.eye(degree + 1)
    np.testing.assert_allclose(gram, expected, atol=1e-9)


@pytest.mark.parametrize("name", MARGINALS)
def test_the_nodes_of_a_density_have_its_moments(name):
    nodes, weights = densities_of(fwbq.Product([MARGINALS[name]]))[0].nodes()
    for k in (1, 2, 3):
        assert weights @ nodes**k == pytest.approx(MARGINALS[name].moment(k), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_polynomial_of_few_terms_is_found_and_integrated(seed):
    """Three random products of degree up to three of five inputs of five kinds, from 100 values."""
    rng = np.random.default_rng(seed)
    marginals = [MARGINALS[name] for name in ("uniform", "norm", "gamma", "truncnorm", "poisson")]
    measure = fwbq.Product(marginals)
    x = measure.sample(100, rng=rng)
    powers = rng.multinomial(rng.integers(1, 4, size=3), np.full(5, 0.2))
    factors = rng.normal(size=3)
    values = 1.0 + np.prod(x[:, None, :] ** powers, axis=2) @ factors
    truth = 1.0 + factors @ [np.prod([p.moment(k) for p, k in zip(marginals, row, strict=True)]) for row in powers]
    found = find_polynomial(measure, x, values)
    assert found is not None
    assert found.degree == powers.sum(axis=1).max()
    assert abs(found.mean - truth) <= 4.0 * found.sd
    assert found.sd <= 1e-9 * np.std(values)


def test_products_of_neighbours_in_twenty_inputs():
    """A sum of 19 of the 190 products of two inputs: exact from 200 values, and said so."""
    result = fwbq.integrate(
        lambda x: (x[:, :-1] * x[:, 1:]).sum(axis=1), fwbq.Uniform(np.zeros(20), np.ones(20)), n=200, rng=0
    )
    low, high = result.interval(0.95)
    assert low <= 4.75 <= high
    assert result.sd < 1e-10
    assert "a polynomial of degree 2" in result.status


def test_high_powers_of_two_inputs():
    """sum_j (x y)^(2 j), j = 1 to 5, on [-1, 1]^2: low nearly everywhere, with a peak in each corner."""
    result = fwbq.integrate(
        lambda x: sum((x[:, 0] * x[:, 1]) ** (2 * j) for j in range(1, 6)),
        fwbq.Uniform([-1.0, -1.0], [1.0, 1.0]),
        n=200,
        rng=0,
    )
    low, high = result.interval(0.95)
    assert low <= sum((2 * j + 1) ** -2.0 for j in range(1, 6)) <= high
    assert result.sd < 1e-10
    assert "a polynomial of degree 20" in result.status


def test_each_column_is_judged_by_itself():
    def f(x):
        return np.column_stack([x[:, 0] ** 2 + x[:, 1], np.abs(x[:, 0] - 0.3)])

    result = fwbq.integrate(f, fwbq.Uniform([0.0, 0.0], [1.0, 1.0]), n=40, rng=0)
    low, high = result.interval(0.95)
    assert result.sd[0] < 1e-12 < 1e-5 < result.sd[1]
    assert low[0] <= 5.0 / 6.0 <= high[0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.abs(x - 0.4).sum(axis=1),
        lambda x: np.exp(-x.sum(axis=1)),
        lambda x: (x[:, 0] > 0.5) * 1.0,
        lambda x: np.sqrt(x).prod(axis=1),
        lambda x: np.random.default_rng(0).normal(size=len(x)),
    ],
)
@pytest.mark.parametrize("n", [10, 50, 200])
def test_other_functions_are_no_polynomials(f, n):
    measure = fwbq.Uniform(np.zeros(4), np.ones(4))
    x = measure.sample(n, rng=1)
    assert find_polynomial(measure, x, f(x)) is None


def test_noise_is_no_polynomial_and_a_constant_none_either():
    measure = fwbq.Uniform([0.0, 0.0], [1.0, 1.0])
    x = measure.sample(80, rng=2)
    values = x[:, 0] * x[:, 1] + 1e-4 * np.random.default_rng(3).normal(size=80)
    assert find_polynomial(measure, x, values) is None
    assert find_polynomial(measure, x, np.full(80, 2.0)) is None
    assert find_polynomial(fwbq.Empirical(x), x, x[:, 0]) is None


@pytest.mark.parametrize("c", [1e-250, -3.0, 1e250])
def test_the_unit_of_the_values_does_not_matter(c):
    measure = fwbq.Gaussian([0.0, 1.0], np.eye(2))
    x = measure.sample(30, rng=4)
    values = 2.0 + x[:, 0] ** 2 * x[:, 1]
    one, other = find_polynomial(measure, x, values), find_polynomial(measure, x, c * values)
    assert (one.terms, one.degree) == (other.terms, other.degree)
    assert other.mean == pytest.approx(3.0 * c, rel=1e-12)
