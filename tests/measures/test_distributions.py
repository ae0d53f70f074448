"""Distributions of scipy.stats as measures: frozen ones, the newer objects, histograms."""

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.measures import as_measure, from_spec

new = pytest.mark.skipif(not hasattr(stats, "Normal"), reason="SciPy before 1.15 has no such objects")
KERNEL = fwbq.Matern32(0.7)
X = np.array([[-0.5], [0.3], [2.0]])


def same_embedding(measure, other, rtol=1e-13):
    a, b = fwbq.embed(KERNEL, measure), fwbq.embed(KERNEL, other)
    np.testing.assert_allclose(a.mean(X), b.mean(X), rtol=rtol)
    np.testing.assert_allclose(a.variance, b.variance, rtol=rtol)
    return a


def test_one_distribution_is_a_measure_of_one_coordinate():
    alone = fwbq.Product(stats.gamma(2.0))
    assert alone.dim == 1
    same_embedding(alone, fwbq.Product([stats.gamma(2.0)]))
    same_embedding(stats.gamma(2.0), alone)
    result = fwbq.integrate(lambda x: x[:, 0] ** 2, stats.gamma(2.0), n=20, rng=0)
    low, high = result.interval(0.999)
    assert low <= 6.0 <= high


@pytest.mark.parametrize("bad", [3, "norm", stats.norm, None])
def test_what_is_no_measure_is_named(bad):
    with pytest.raises(TypeError, match="`measure` must be"):
        as_measure(bad)


@new
def test_gaussian_and_uniform_objects_have_closed_forms():
    measure = fwbq.Product([stats.Normal(mu=1.0, sigma=2.0), stats.Uniform(a=-1.0, b=3.0)])
    kernel = fwbq.Matern32([0.7, 0.9])
    emb = fwbq.embed(kernel, measure)
    assert emb.method == "closed form"
    one, two = (
        fwbq.embed(fwbq.Matern32(0.7), fwbq.Gaussian(1.0, 4.0)),
        fwbq.embed(fwbq.Matern32(0.9), fwbq.Uniform(-1.0, 3.0)),
    )
    assert emb.variance == pytest.approx(one.variance * two.variance, rel=1e-14)
    again = from_spec(json.loads(json.dumps(measure.spec())))
    assert fwbq.embed(kernel, again).variance == emb.variance


@new
def test_any_object_is_taken():
    gamma = stats.make_distribution(stats.gamma)(a=2.0)
    emb = same_embedding(gamma, stats.gamma(2.0), rtol=1e-12)
    assert emb.method == "1-d quadrature"
    truncated = stats.truncate(stats.Normal(mu=0.0, sigma=1.0), lb=-1.0, ub=2.0)
    same_embedding(truncated, fwbq.TruncatedGaussian(0.0, 1.0, -1.0, 2.0), rtol=1e-12)
    measure = fwbq.Product(gamma)
    assert measure.mean[0] == pytest.approx(2.0) and measure.scale[0] == pytest.approx(np.sqrt(2.0))
    sample = measure.sample(4000, rng=0)
    assert abs(sample.mean() - 2.0) < 5.0 * np.sqrt(2.0 / 4000)
    np.testing.assert_array_equal(measure.sample(3, rng=1), measure.sample(3, rng=1))
    np.testing.assert_allclose(measure.log_density([[1.0]]), stats.gamma(2.0).logpdf(1.0))
    with pytest.raises(ValueError, match="cannot be saved"):
        measure.spec()


def test_histograms_are_sums_of_uniform_densities():
    """Their jumps lie between floats, wherever the bins do."""
    edges = np.array([0.1, 0.37, 1.0, 1.0 + 1 / 3, 2.9])
    counts = np.array([3.0, 1.0, 0.0, 5.0])
    emb = fwbq.embed(KERNEL, stats.rv_histogram((counts, edges), density=False)())
    parts = [fwbq.embed(KERNEL, fwbq.Uniform(a, b)) for a, b in pairwise(edges)]
    expected = sum(share * part.mean(X) for share, part in zip(counts / counts.sum(), parts, strict=True))
    np.testing.assert_allclose(emb.mean(X), expected, rtol=1e-12)
    # Four bins need a few panels each; unknown jumps would be closed in on by dozens of halvings.
    assert sum(len(side.edges) for side in emb.lines[0].p.sides()) < 40


def test_a_multivariate_normal_is_a_gaussian():
    cov = [[1.0, 0.3], [0.3, 2.0]]
    measure = as_measure(stats.multivariate_normal([1.0, 2.0], cov))
    assert isinstance(measure, fwbq.Gaussian)
    np.testing.assert_array_equal(measure.mean, [1.0, 2.0])
    np.testing.assert_array_equal(measure.cov, cov)


def gamma_objects():
    """Return the same distribution as both kinds of objects, where SciPy has both."""
    frozen = [stats.gamma(2.0)]
    return [*frozen, stats.make_distribution(stats.gamma)(a=2.0)] if hasattr(stats, "make_distribution") else frozen


@pytest.mark.parametrize("prior", gamma_objects(), ids=lambda p: type(p).__name__)
def test_a_distribution_is_a_prior(prior):
    """Three exponential data with sum 3 have a rate r ~ Gamma(2): the evidence is Gamma(5) / (Gamma(2) 4^5).

    A start, and a point of one's own, are mapped to the quantiles of the prior.
    """

    def log_likelihood(x):
        return 3.0 * np.log(x[:, 0]) - 3.0 * x[:, 0]

    found = fwbq.evidence(log_likelihood, prior, start=[1.2], n=30, rng=0)
    low, high = found.interval(0.999)
    assert low <= np.log(24.0 / 1024.0) <= high
    assert high - low < 0.1
    assert np.min(np.abs(found.points - 1.2)) < 1e-9
    run = fwbq.EvidenceRun(prior, n=30, rng=0)
    run.tell([[0.9]], log_likelihood(np.array([[0.9]])))
    assert run.n_evaluations == 1
    spread = fwbq.designs.Spread(prior, fwbq.selection.Standard(as_measure(prior)))
    assert spread.take(3).min() > 0.0


def test_a_run_under_a_distribution_is_saved(tmp_path):
    run = fwbq.EvidenceRun(stats.gamma(2.0), n=30, rng=0)
    run.tell([[0.9], [1.4]], [-1.0, -2.0])
    run.save(tmp_path / "run.json")
    np.testing.assert_array_equal(fwbq.EvidenceRun.load(tmp_path / "run.json").ask(), run.ask())
