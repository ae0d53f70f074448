"""Coordinates: round trips, the density of the prior in them, and the points that begin a run."""

import numpy as np
import pytest
from scipy import stats

from fwbq import Empirical, Gaussian, GaussianMixture, Product, TruncatedGaussian, Uniform
from fwbq.inference.space import Free, NormalScores, Sample, Standardised, space_of

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
    space = space_of(prior)
    z = within(prior.dim)
    # Five standard deviations out a rounding eps of the distribution function moves z by eps / phi(5) = 1.5e-10; the
    # quantiles of SciPy are good to some hundred roundings.
    assert np.allclose(space.from_user(space.to_user(z)), z, rtol=0.0, atol=1e-7)


@parametrize
def test_draws_come_back(prior):
    space = space_of(prior)
    x = prior.sample(500, rng=1)
    back = space.to_user(space.from_user(x))
    # A draw within 1e-3 of the end of the range has lost three digits of its distance to it.
    assert np.allclose(back, x, rtol=1e-9, atol=1e-12)


@parametrize
def test_coordinates_keep_the_order(prior):
    space = space_of(prior)
    line = np.linspace(-5.0, 5.0, 101)
    for i in range(prior.dim):
        z = np.zeros((101, prior.dim))
        z[:, i] = line
        assert np.all(np.diff(space.to_user(z)[:, i]) > 0.0)


@parametrize
@pytest.mark.parametrize("far", [9.0, 20.0])
def test_points_far_in_the_tails_are_points_of_the_prior(prior, far):
    # A climb may step anywhere: what comes out must be a finite point at which a likelihood can be evaluated.
    space = space_of(prior)
    z = far * np.vstack([np.ones(prior.dim), -np.ones(prior.dim)])
    x = space.to_user(z)
    assert np.isfinite(x).all()
    assert np.isfinite(space.log_prior(z)).all()
    if space.prior.factors is not None:
        assert np.all((x >= prior.lower) & (x <= prior.upper))


@parametrize
def test_the_log_prior_is_the_density_in_the_coordinates(prior):
    """log p(z) = log p(x) + log |dx / dz|, with the Jacobian by central differences."""
    space = space_of(prior)
    z = np.random.default_rng(2).uniform(-2.5, 2.5, (50, prior.dim))
    h = 1e-5
    jacobian = np.empty((len(z), prior.dim, prior.dim))
    for i in range(prior.dim):
        step = h * np.eye(prior.dim)[i]
        jacobian[:, :, i] = (space.to_user(z + step) - space.to_user(z - step)) / (2.0 * h)
    expected = prior.log_density(space.to_user(z)) + np.linalg.slogdet(jacobian)[1]
    # Truncation h^2 and cancellation eps |x| / (h |dx|), with |x| a hundred times |dx| for the box at 100.
    assert np.allclose(space.log_prior(z), expected, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, prior in SMOOTH.items() if prior.dim <= 2])
def test_the_prior_integrates_to_one(name):
    space = space_of(SMOOTH[name])
    axis = np.linspace(-9.0, 9.0, 361)
    grid = np.stack(np.meshgrid(*[axis] * space.dim, indexing="ij"), axis=-1).reshape(-1, space.dim)
    # The trapezoidal rule with twenty steps to a standard deviation is exact to rounding for Gaussians.
    total = np.sum(np.exp(space.log_prior(grid))) * (axis[1] - axis[0]) ** space.dim
    assert abs(total - 1.0) < 1e-9


@pytest.mark.parametrize("name", [name for name, prior in SMOOTH.items() if "scipy" not in name])
def test_the_first_points_have_the_moments_of_the_prior(name):
    prior = SMOOTH[name]
    space = space_of(prior)
    x = space.to_user(space.first(4096, np.random.default_rng(3)))
    # Independent points would be off by 0.016 standard deviations; five times that never happens.
    assert np.all(np.abs(x.mean(axis=0) - prior.expectation) < 0.08 * prior.scale)
    assert np.allclose(x.std(axis=0), prior.scale, rtol=0.1)


@pytest.mark.parametrize("prior", [*SMOOTH.values(), None], ids=[*SMOOTH, "none"])
def test_fewer_first_points_are_the_beginning_of_more(prior):
    space = Free(np.array([1.0, 2.0]), 0.5) if prior is None else space_of(prior)
    few, many = (space.first(size, np.random.default_rng(4)) for size in (5, 23))
    assert np.array_equal(few, many[:5])


def test_the_kind_of_coordinates():
    kinds = {name: type(space_of(prior)) for name, prior in SMOOTH.items()}
    assert kinds.pop("mixture") is Standardised
    assert set(kinds.values()) == {NormalScores}
    assert isinstance(space_of(Empirical([[0.0], [1.0]])), Sample)
    with pytest.raises(TypeError, match="`prior`"):
        space_of("a prior")


def test_without_a_prior_the_coordinates_are_shifted_and_scaled():
    space = Free(np.array([1.0, -1.0]), np.array([2.0, 0.5]))
    z = within(2)
    assert np.allclose(space.to_user(z), [1.0, -1.0] + z * [2.0, 0.5], rtol=1e-15)
    assert np.allclose(space.from_user(space.to_user(z)), z, rtol=0.0, atol=1e-14)
    assert np.allclose(space.log_prior(z), np.log(2.0 * 0.5))
    assert np.array_equal(space.to_user(space.first(3, np.random.default_rng(0)))[0], [1.0, -1.0])


def test_a_sample_is_its_points_each_once():
    prior = Empirical([[2.0], [1.0], [2.0], [5.0], [7.0]], [0.1, 0.3, 0.2, 0.4, 0.0])
    space = space_of(prior)
    x = space.to_user(space.support)
    assert np.allclose(x[:, 0], [1.0, 2.0, 5.0])
    assert np.allclose(np.exp(space.log_weights), [0.3, 0.3, 0.4])
    first = space.first(10, np.random.default_rng(0))
    assert len(np.unique(first)) == len(first) == 3


def test_the_end_of_what_the_parameters_follow():
    space = space_of(Product([stats.lognorm(1.0), stats.uniform(1.0, 2.0)]))
    z = np.array([[0.0, 0.0], [30.0, 0.0], [-30.0, 0.0], [0.0, 7.0], [0.0, 9.0], [0.0, -9.0], [38.0, 0.0]])
    assert space.at_end(z).tolist() == [False, False, False, False, True, True, True]
    assert not space_of(SMOOTH["gaussian"]).at_end(np.full((1, 2), 100.0)).any()
