"""Coordinates: round trips, the density of the prior in them, and the points that begin a run."""

import numpy as np
import pytest
from scipy import stats

from fwbq import Empirical, Gaussian, GaussianMixture, Product, TruncatedGaussian, Uniform
from fwbq.inference.chart import NoPrior, NormalScores, SamplePoints, Standardised, chart_of

SMOOTH = {
    "gaussian": Gaussian([1.0, -2.0], [[4.0, 1.9], [1.9, 1.0]]),
    "uniform": Uniform([-3.0, 100.0], [1.0, 101.0]),
    "truncated": TruncatedGaussian([0.5], [2.0], lower=0.0),
    "truncated on both sides": TruncatedGaussian([0.0], [1.0], lower=-0.5, upper=2.0),
    "truncated far in the upper tail": TruncatedGaussian([0.0], [1.0], lower=9.0),
    "truncated far in the lower tail": TruncatedGaussian([0.0], [1.0], lower=-12.0, upper=-9.0),
    "scipy distributions": Product([stats.lognorm(1.0), stats.gamma(0.7), stats.t(3)]),
    "mixture": GaussianMixture([0.3, 0.7], [[0.0, 0.0], [5.0, 1.0]], [np.eye(2), [[0.5, 0.2], [0.2, 0.3]]]),
}
parametrize = pytest.mark.parametrize("prior", SMOOTH.values(), ids=SMOOTH)


def within(dim, size=200, seed=0):
    """Points within five standard deviations, where 1 - Phi still has nine digits."""
    return np.random.default_rng(seed).uniform(-5.0, 5.0, (size, dim))


@parametrize
def test_coordinates_come_back(prior):
    chart = chart_of(prior)
    z = within(prior.dim)
    # Five standard deviations out a rounding eps of the distribution function moves z by eps / phi(5) = 1.5e-10; the
    # quantiles of SciPy are good to some hundred roundings.
    assert np.allclose(chart.from_user(chart.to_user(z)), z, rtol=0.0, atol=1e-7)


@parametrize
def test_draws_come_back(prior):
    chart = chart_of(prior)
    x = prior.sample(500, rng=1)
    back = chart.to_user(chart.from_user(x))
    # A draw within 1e-3 of the end of the range has lost three digits of its distance to it.
    assert np.allclose(back, x, rtol=1e-9, atol=1e-12)


@parametrize
def test_coordinates_keep_the_order(prior):
    chart = chart_of(prior)
    line = np.linspace(-5.0, 5.0, 101)
    for i in range(prior.dim):
        z = np.zeros((101, prior.dim))
        z[:, i] = line
        assert np.all(np.diff(chart.to_user(z)[:, i]) > 0.0)


@parametrize
@pytest.mark.parametrize("far", [9.0, 20.0])
def test_points_far_in_the_tails_are_points_of_the_prior(prior, far):
    # A climb may step anywhere: what comes out must be a finite point at which a likelihood can be evaluated.
    chart = chart_of(prior)
    z = far * np.vstack([np.ones(prior.dim), -np.ones(prior.dim)])
    x = chart.to_user(z)
    assert np.isfinite(x).all()
    assert np.isfinite(chart.log_prior(z)).all()
    if chart.prior.factors is not None:
        assert np.all((x >= prior.lower) & (x <= prior.upper))


@parametrize
def test_the_log_prior_is_the_density_in_the_coordinates(prior):
    """log p(z) = log p(x) + log |dx / dz|, with the Jacobian by central differences."""
    chart = chart_of(prior)
    z = np.random.default_rng(2).uniform(-2.5, 2.5, (50, prior.dim))
    h = 1e-5
    jacobian = np.empty((len(z), prior.dim, prior.dim))
    for i in range(prior.dim):
        step = h * np.eye(prior.dim)[i]
        jacobian[:, :, i] = (chart.to_user(z + step) - chart.to_user(z - step)) / (2.0 * h)
    expected = prior.log_density(chart.to_user(z)) + np.linalg.slogdet(jacobian)[1]
    # Truncation h^2 and cancellation eps |x| / (h |dx|), with |x| a hundred times |dx| for the box at 100.
    assert np.allclose(chart.log_prior(z), expected, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, prior in SMOOTH.items() if prior.dim <= 2])
def test_the_prior_integrates_to_one(name):
    chart = chart_of(SMOOTH[name])
    axis = np.linspace(-9.0, 9.0, 361)
    grid = np.stack(np.meshgrid(*[axis] * chart.dim, indexing="ij"), axis=-1).reshape(-1, chart.dim)
    # The trapezoidal rule with twenty steps to a standard deviation is exact to rounding for Gaussians.
    total = np.sum(np.exp(chart.log_prior(grid))) * (axis[1] - axis[0]) ** chart.dim
    assert abs(total - 1.0) < 1e-9


@pytest.mark.parametrize("name", [name for name, prior in SMOOTH.items() if "scipy" not in name])
def test_the_first_points_have_the_moments_of_the_prior(name):
    prior = SMOOTH[name]
    chart = chart_of(prior)
    x = chart.to_user(chart.first(4096, np.random.default_rng(3)))
    # Independent points would be off by 0.016 standard deviations; five times that never happens.
    assert np.all(np.abs(x.mean(axis=0) - prior.expectation) < 0.08 * prior.scale)
    assert np.allclose(x.std(axis=0), prior.scale, rtol=0.1)


@pytest.mark.parametrize("prior", [*SMOOTH.values(), None], ids=[*SMOOTH, "none"])
def test_fewer_first_points_are_the_beginning_of_more(prior):
    chart = NoPrior(np.array([1.0, 2.0]), 0.5) if prior is None else chart_of(prior)
    few, many = (chart.first(size, np.random.default_rng(4)) for size in (5, 23))
    assert np.array_equal(few, many[:5])


def test_the_kind_of_coordinates():
    kinds = {name: type(chart_of(prior)) for name, prior in SMOOTH.items()}
    assert kinds.pop("mixture") is Standardised
    assert set(kinds.values()) == {NormalScores}
    assert isinstance(chart_of(Empirical([[0.0], [1.0]])), SamplePoints)
    with pytest.raises(TypeError, match="`prior`"):
        chart_of("a prior")


def test_without_a_prior_the_coordinates_are_shifted_and_scaled():
    chart = NoPrior(np.array([1.0, -1.0]), np.array([2.0, 0.5]))
    z = within(2)
    assert np.allclose(chart.to_user(z), [1.0, -1.0] + z * [2.0, 0.5], rtol=1e-15)
    assert np.allclose(chart.from_user(chart.to_user(z)), z, rtol=0.0, atol=1e-14)
    assert np.allclose(chart.log_prior(z), np.log(2.0 * 0.5))
    assert np.array_equal(chart.to_user(chart.first(3, np.random.default_rng(0)))[0], [1.0, -1.0])


def test_a_sample_is_its_points_each_once():
    prior = Empirical([[2.0], [1.0], [2.0], [5.0], [7.0]], [0.1, 0.3, 0.2, 0.4, 0.0])
    chart = chart_of(prior)
    x = chart.to_user(chart.support)
    assert np.allclose(x[:, 0], [1.0, 2.0, 5.0])
    assert np.allclose(np.exp(chart.log_weights), [0.3, 0.3, 0.4])
    first = chart.first(10, np.random.default_rng(0))
    assert len(np.unique(first)) == len(first) == 3


def test_the_end_of_what_the_parameters_follow():
    chart = chart_of(Product([stats.lognorm(1.0), stats.uniform(1.0, 2.0)]))
    z = np.array([[0.0, 0.0], [30.0, 0.0], [-30.0, 0.0], [0.0, 7.0], [0.0, 9.0], [0.0, -9.0], [38.0, 0.0]])
    assert chart.at_end(z).tolist() == [False, False, False, False, True, True, True]
    assert not chart_of(SMOOTH["gaussian"]).at_end(np.full((1, 2), 100.0)).any()


def charts():
    for name, prior in SMOOTH.items():
        yield name, chart_of(prior)
    yield "no prior", NoPrior(np.array([1.0, -1.0]), np.array([2.0, 0.5]))
    yield "a sample", chart_of(Empirical(np.random.default_rng(0).normal([3.0, -1.0], [2.0, 0.1], (50, 2))))


@pytest.mark.parametrize(("name", "chart"), list(charts()), ids=[name for name, _ in charts()])
def test_gradients_in_coordinates_are_those_of_the_log_joint_density(name, chart):
    """The chain rule against central differences, for a function with a gradient in every direction."""
    d = chart.dim
    z = np.random.default_rng(5).uniform(-2.5, 2.5, (40, d))
    x = chart.to_user(z)
    centre, size = x.mean(axis=0), x.std(axis=0)

    def log_joint(z):
        s = (chart.to_user(z) - centre) / size
        return np.sum(np.sin(s), axis=1) - 0.3 * np.sum(s, axis=1) ** 2 + chart.log_prior(z)

    s = (x - centre) / size
    gradient = (np.cos(s) - 0.6 * np.sum(s, axis=1, keepdims=True)) / size
    h = 1e-5
    expected = np.column_stack([(log_joint(z + h * e) - log_joint(z - h * e)) / (2.0 * h) for e in np.eye(d)])
    # Truncation of order h^2 times third derivatives (up to 1e3 for the gamma distribution), cancellation eps / h times
    # the size of x in its own deviations (a hundred for the box at 100).
    found = chart.gradient_to_coordinates(z, gradient)
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_gradient_that_is_not_known_stays_so():
    for _, chart in charts():
        z = np.zeros((2, chart.dim))
        gradient = np.ones((2, chart.dim))
        gradient[1] = np.nan
        found = chart.gradient_to_coordinates(z, gradient)
        assert np.isfinite(found[0]).all() and np.isnan(found[1]).all()


def test_at_the_end_of_a_support_only_the_prior_has_a_slope():
    chart = chart_of(Uniform([0.0], [1.0]))
    assert chart.gradient_to_coordinates(np.array([[9.0]]), np.array([[5.0]])).tolist() == [[-9.0]]


def test_what_differs_between_kinds_of_prior():
    sample, gaussian = chart_of(Empirical(np.arange(6.0).reshape(3, 2))), chart_of(SMOOTH["gaussian"])
    free = NoPrior(np.zeros(2), 1.0)
    assert [chart.discrete for chart in (sample, gaussian, free)] == [True, False, False]
    assert [chart.has_prior for chart in (sample, gaussian, free)] == [True, True, False]
    z = sample.first(3, np.random.default_rng(0))
    assert sample.total(z[:2], np.zeros(2)) is None
    assert sample.total(z, np.log([1.0, 2.0, 3.0])) == pytest.approx(np.log(2.0), abs=1e-12)
    assert gaussian.total(z, np.zeros(3)) is None
    far = np.array([[0.0, 0.0], [9.0, 0.0]])
    assert [chart.far(far, 4.0).tolist() for chart in (sample, gaussian, free)] == [[], [1], [1]]
    zeros = np.ones((1, 2))
    assert [len(chart.settled(far, zeros)) for chart in (sample, gaussian, free)] == [3, 2, 2]
    assert [chart.rest([1], 4, 3) for chart in (sample, gaussian, free)] == [[0, 2], [], []]
