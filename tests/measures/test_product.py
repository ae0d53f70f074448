"""Products with blocks, names and lists of distributions."""

import json

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.measures import as_measure, from_spec

PAIR = fwbq.Gaussian([1.0, 2.0], [[1.0, 0.6], [0.6, 1.0]])
BLOCKS = fwbq.Product(
    [stats.lognorm(0.5), PAIR, fwbq.Uniform([0.0, 1.0], [1.0, 4.0]), fwbq.TruncatedGaussian(1.0, 0.5),
     fwbq.Copula([stats.expon(), stats.beta(2.0, 3.0)], 0.4), stats.multivariate_t([0.0, 1.0], np.eye(2), 7.0)],
)  # fmt: skip


def test_a_product_is_its_parts_side_by_side():
    assert BLOCKS.dim == 10 and BLOCKS.factors is None
    x = BLOCKS.sample(5, rng=0)
    where = [slice(0, 1), slice(1, 3), slice(3, 5), slice(5, 6), slice(6, 8), slice(8, 10)]
    parts = sum(p.log_density(x[:, s]) for p, s in zip(BLOCKS.parts, where, strict=True))
    np.testing.assert_allclose(BLOCKS.log_density(x), parts, rtol=1e-14)
    np.testing.assert_array_equal(BLOCKS.lower[3:6], [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(BLOCKS.upper[3:5], [1.0, 4.0])
    u = np.random.default_rng(1).random((6, 10))
    y = BLOCKS.from_uniform(u)
    np.testing.assert_allclose(BLOCKS.from_latent(BLOCKS.to_latent(y)), y, rtol=1e-12, atol=1e-13)
    z = np.random.default_rng(2).normal(size=(4, 10))
    np.testing.assert_allclose(BLOCKS.to_normal(BLOCKS.from_normal(z)), z, atol=1e-11)
    log_det = np.linalg.slogdet(BLOCKS._latent_slopes(y))[1]
    np.testing.assert_allclose(
        BLOCKS.log_density(y), BLOCKS.latent.log_density(BLOCKS.to_latent(y)) + log_det, rtol=1e-10
    )


def test_products_within_products_are_taken_apart():
    inner = fwbq.Product([stats.norm(), stats.gamma(2.0)])
    assert len(fwbq.Product([inner, stats.uniform()]).parts) == 3
    assert repr(fwbq.Product(fwbq.Gaussian(0.0, 1.0)).parts[0]) == repr(fwbq.Gaussian(0.0, 1.0))


def test_moments_are_computed_once():
    calls = []

    class Counted(stats.rv_continuous):
        def _pdf(self, x):
            return np.exp(-x)

        def _cdf(self, x):
            return -np.expm1(-x)

        def _ppf(self, q):
            return -np.log1p(-q)

        def _stats(self, *args, **kwargs):
            calls.append(1)
            return 1.0, 1.0, 2.0, 6.0

    p = fwbq.Product([Counted(a=0.0, name="counted")()])
    first = len(calls)
    for _ in range(5):
        np.testing.assert_array_equal(p.scale, [1.0])
        np.testing.assert_array_equal(p.mean, [1.0])
    assert len(calls) - first <= 2
    with pytest.raises(ValueError, match="read-only"):
        p.scale[0] = 2.0


def test_files_keep_every_bit():
    names = [f"input {i}" for i in range(10)]
    p = fwbq.Product(BLOCKS.distributions, names=names)
    again = from_spec(json.loads(json.dumps(p.spec())))
    assert again.names == tuple(names)
    np.testing.assert_array_equal(again.from_uniform(np.full((1, 10), 0.3)), p.from_uniform(np.full((1, 10), 0.3)))
    assert fwbq.Product([stats.norm()]).spec() == {
        "type": "Product",
        "distributions": [{"name": "norm", "args": [], "kwds": {}}],
    }


def test_lists_are_measures_wherever_a_measure_is_taken():
    inputs = [stats.norm(1.0, 2.0), PAIR]
    assert as_measure(inputs).dim == as_measure(tuple(inputs)).dim == 3
    assert as_measure([PAIR]) is PAIR
    kernel = fwbq.ExpQuad([0.7, 1.0, 1.3])
    assert fwbq.embed(kernel, inputs).variance == fwbq.embed(kernel, fwbq.Product(inputs)).variance
    model = fwbq.Model(lambda x: -0.5 * np.sum(x**2, axis=1), inputs)
    assert model.measure.dim == 3


@pytest.mark.parametrize(
    ("bad", "error", "match"),
    [
        (stats.norm, TypeError, r"`measure` .*family stats\.norm: call it"),
        ([stats.norm(), stats.gamma], TypeError, r"`measure\[1\]` .*family stats\.gamma: call it"),
        (stats.multivariate_normal, TypeError, "call it"),
        ([0.0, 1.0], TypeError, r"`measure\[0\]` .*the number 0\.0.*fwbq\.Discrete.*stats\.uniform"),
        ([(0.0, 1.0), stats.norm()], TypeError, r"tuple within the list: pass one flat list.*stats\.uniform"),
        ([[stats.norm()]], TypeError, "list within the list"),
        ([], ValueError, "got none"),
        ({"a": stats.norm(), "b": stats.norm}, TypeError, r"`measure\[1\]` .*the family stats\.norm: call it"),
        (np.zeros((3, 2)), TypeError, r"array of shape \(3, 2\).*fwbq\.Empirical.*fwbq\.Uniform"),
        (stats.gaussian_kde([1.0, 2.0, 4.0]), TypeError, "gaussian_kde, which has no quantiles.*fwbq.Empirical"),
        ([fwbq.GaussianMixture([1.0], [[0.0]], 1.0), stats.norm()], TypeError, "cannot be a block"),
        ([stats.norm([0.0, 1.0])], ValueError, "one distribution per coordinate"),
    ],
)
def test_what_is_no_measure_is_told_what_to_do(bad, error, match):
    with pytest.raises(error, match=match):
        as_measure(bad)


def test_names_must_fit():
    with pytest.raises(ValueError, match="`names` must be 2 strings"):
        fwbq.Product([stats.norm(), stats.norm()], names=["a"])
    assert fwbq.Product([stats.norm(), stats.norm()]).names == ("x1", "x2")


@pytest.mark.parametrize("seed", [0, 1])
def test_an_integral_over_blocks_holds_its_known_value(seed):
    """E[x y z u] = exp(1/8) E[y z] / 2 with E[y z] = 0.6 + 1 * 2."""
    inputs = [stats.lognorm(0.5), PAIR, stats.uniform()]
    result = fwbq.integrate(lambda x: np.prod(x, axis=1), inputs, n=100, rng=seed)
    low, high = result.interval(0.99)
    assert low <= np.exp(0.125) * 2.6 * 0.5 <= high and high - low < 0.3


def test_names_are_in_tables_and_figures():
    p = fwbq.Product([stats.norm(), stats.gamma(2.0)], names=["dose", "rate"])
    result = fwbq.integrate(lambda x: x[:, 0] ** 2 + x[:, 1], p, n=20, rng=0)
    assert list(result.to_frame().columns) == ["dose", "rate", "value"]
    assert list(result.rule.to_frame().columns) == ["dose", "rate", "weight"]
    ax = result.plot_process(coordinates=(0, 1))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose", "rate")
    found = fwbq.evidence(lambda x: -0.5 * np.sum((x - 1.0) ** 2, axis=1), p, n=40, rng=0)
    assert list(found.to_frame().columns) == ["dose", "rate", "log_likelihood"]
    assert "dose = " in found._repr_html_() and "rate" in found.posterior._repr_html_()


def test_the_keys_of_a_dict_are_names():
    inputs = {"dose": stats.norm(), "rate": stats.gamma(2.0)}
    assert as_measure(inputs).names == fwbq.Product(inputs).names == ("dose", "rate")
    assert fwbq.Copula(inputs, 0.3).names == ("dose", "rate")
    assert fwbq.Product(inputs, names=["x", "y"]).names == ("x", "y")


def test_distributions_made_from_data_need_no_parameters():
    """A histogram, and values with probabilities, are families to SciPy, of which none is left to choose."""
    histogram = stats.rv_histogram((np.array([1.0, 3.0]), np.array([0.0, 1.0, 2.0])))
    values = stats.rv_discrete(values=([1, 2, 5], [0.2, 0.3, 0.5]))
    p = fwbq.Product([histogram, values])
    np.testing.assert_allclose(p.expectation, [1.25, 3.3], rtol=1e-12)
    assert as_measure(histogram).dim == 1
    assert fwbq.integrate(lambda x: x[:, 0] ** 2, values, rng=0).mean == pytest.approx(13.9, rel=1e-12)
