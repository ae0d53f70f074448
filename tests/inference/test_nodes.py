"""Nodes: control variates that integrate to nothing, sums that are exact for Gaussians, errors that hold."""

from math import comb

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import t as student

from fwbq.inference.mixture import Mixture
from fwbq.inference.nodes import Nodes, adapted, around, draw, hermite, resample, subset


def gaussian_mixture(d, wide=2.0):
    """A proposal: the Gaussian of the target first, a wider Student-t beside it."""
    rng = np.random.default_rng(d)
    root = np.tril(0.3 * rng.standard_normal((d, d)), -1) + np.diag(rng.uniform(0.5, 2.0, d))
    mean = rng.standard_normal(d)
    return Mixture(np.array([0.6, 0.4]), np.array([mean, mean]), np.array([root, wide * root]), np.array([np.inf, 5.0]))


def standardised(q, z):
    return np.linalg.solve(q.roots[0], (z - q.means[0]).T).T


def skewed(z):
    """A smooth density, not Gaussian: coordinates with Gumbel and logistic tails, coupled."""
    return -np.exp(-z[:, 0]) - z[:, 0] - 2.0 * np.logaddexp(0.0, 1.5 * z[:, 1]) + 1.5 * z[:, 1] - 0.3 * z[:, 0] ** 2


def skewed_truth():
    axis = np.linspace(-30.0, 30.0, 3001)
    grid = np.stack(np.meshgrid(axis[1200:], axis, indexing="ij"), axis=-1).reshape(-1, 2)
    with np.errstate(over="ignore"):
        return float(logsumexp(skewed(grid)) + 2.0 * np.log(axis[1] - axis[0]))


WIDE = Mixture(
    np.array([0.7, 0.3]), np.zeros((2, 2)), np.array([1.2 * np.eye(2), 2.5 * np.eye(2)]), np.array([np.inf, 5.0])
)


@pytest.mark.parametrize(("d", "degree"), [(1, 3), (2, 3), (3, 3), (3, 2), (4, 1)])
def test_hermite_polynomials_are_orthogonal_and_have_mean_zero(d, degree):
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)  # exact up to degree 13
    grid = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), axis=-1).reshape(-1, d)
    w = np.prod(np.meshgrid(*[weights / weights.sum()] * d, indexing="ij"), axis=0).ravel()
    H = hermite(grid, degree)
    assert H.shape[1] == comb(d + degree, degree) - 1
    assert np.allclose(w @ H, 0.0, atol=1e-12)
    gram = H.T @ (w[:, None] * H)
    assert np.allclose(gram, np.diag(np.diagonal(gram)), atol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 4, 7])
def test_control_variates_have_mean_zero_under_the_proposal(d):
    nodes = draw(lambda z: np.zeros(len(z)), gaussian_mixture(d), 1024, 8, np.random.SeedSequence(0))
    controls = nodes._controls()
    error = controls.std(axis=0) / np.sqrt(len(controls))
    # Independent draws would pass five standard errors once in two million columns; these are more even still.
    assert np.all(np.abs(controls.mean(axis=0)) < 5.0 * error + 1e-12)


@pytest.mark.parametrize("d", [1, 2, 4, 7])
def test_the_sum_is_exact_for_the_gaussian_of_the_proposal(d):
    q = gaussian_mixture(d)
    nodes = draw(lambda z: 700.0 - 0.5 * np.sum(standardised(q, z) ** 2, axis=1), q, 256, 4, np.random.SeedSequence(1))
    value, error = nodes.log_integral()
    truth = 700.0 + 0.5 * d * np.log(2.0 * np.pi) + np.sum(np.log(np.diagonal(q.roots[0])))
    assert abs(value - truth) < 1e-10  # least squares lose some hundred roundings
    assert error < 1e-10


@pytest.mark.parametrize("d", [1, 3])
def test_the_sum_is_exact_for_the_gaussian_times_a_quadratic(d):
    q = gaussian_mixture(d)

    def log_joint(z):
        e = standardised(q, z)
        return -0.5 * np.sum(e**2, axis=1) + np.log(1.0 + 0.5 * e[:, 0] + 0.3 * e[:, 0] ** 2)

    value, error = draw(log_joint, q, 256, 4, np.random.SeedSequence(2)).log_integral()
    truth = np.log(1.3) + 0.5 * d * np.log(2.0 * np.pi) + np.sum(np.log(np.diagonal(q.roots[0])))
    assert abs(value - truth) < 1e-10
    assert error < 1e-10


def test_the_error_of_the_sum_holds():
    truth = skewed_truth()
    scores = []
    for seed in range(30):
        value, error = draw(skewed, WIDE, 128, 8, np.random.SeedSequence(seed)).log_integral()
        scores.append((value - truth) / error)
    beyond = np.sum(np.abs(scores) > student.ppf(0.975, 7))
    # Two of thirty are expected beyond the 95 % interval of eight replicates; seven happen once in a thousand times.
    assert beyond <= 6
    assert np.median(np.abs(scores)) > 0.1  # and it is not a multiple of the error


def test_more_nodes_have_a_smaller_error():
    errors = [draw(skewed, WIDE, size, 8, np.random.SeedSequence(0)).log_integral()[1] for size in (64, 4096)]
    assert errors[1] < errors[0] / 8.0  # at least the rate of independent draws, 64^(1/2)


def test_a_constant_moves_the_integral_and_nothing_else():
    base, moved = (draw(lambda z, c=c: skewed(z) + c, WIDE, 256, 4, np.random.SeedSequence(0)) for c in (0.0, -1e4))
    (value, error), (shifted, same) = base.log_integral(), moved.log_integral()
    assert abs(shifted - value + 1e4) < 1e-9  # 1e4 roundings
    assert np.isclose(error, same, rtol=1e-6)
    assert np.allclose(base.weights, moved.weights, rtol=1e-9)


def test_a_sample_is_summed_exactly():
    log_weights = np.log([0.2, 0.3, 0.5])
    values = np.array([-1000.0, -1001.0, -1003.0])
    nodes = Nodes(np.arange(3.0)[:, None], values, values + log_weights, None, 1)
    assert nodes.log_integral() == (pytest.approx(logsumexp(values + log_weights), rel=1e-15), 0.0)


def test_weights_and_moments_are_those_of_the_target():
    q = gaussian_mixture(2)
    shift = np.array([0.5, -0.3])
    nodes = draw(
        lambda z: -0.5 * np.sum((standardised(q, z) - shift) ** 2, axis=1), q, 4096, 4, np.random.SeedSequence(3)
    )
    assert np.isclose(nodes.weights.sum(), 1.0)
    mean, cov = nodes.moments()
    size = nodes.effective * len(nodes.points)
    root = q.roots[0]
    assert np.allclose(mean, q.means[0] + root @ shift, atol=5.0 * np.sqrt(np.trace(root @ root.T) / size))
    assert np.allclose(cov, root @ root.T, atol=10.0 * np.trace(root @ root.T) / np.sqrt(size))


def test_adaptation_finds_mass_that_the_proposal_hardly_meets():
    def narrow(z):
        return -0.5 * np.sum(((z - [3.0, -2.0]) / [0.2, 0.4]) ** 2, axis=1)

    seed = np.random.SeedSequence(0)
    before = draw(narrow, WIDE, 256, 4, seed)
    after = adapted(narrow, WIDE, 256, 4, seed)
    assert after.effective > 3.0 * before.effective
    value, error = after.log_integral()
    assert abs(value - np.log(2.0 * np.pi * 0.2 * 0.4)) < student.ppf(0.9995, 3) * error
    assert error < before.log_integral()[1]


def test_resampling_is_in_proportion():
    rng = np.random.default_rng(0)
    logs = rng.standard_normal(50)
    nodes = Nodes(np.arange(50.0)[:, None], logs, logs, None, 1)
    counts = np.bincount(resample(nodes, 1000), minlength=50)
    assert counts.sum() == 1000
    assert np.all(np.abs(counts - 1000 * nodes.weights) < 1.0 + 1e-9)
    # Half the power of a density drawn evenly: weights to the power one half.
    even = Nodes(nodes.points, logs, logs, None, 1)
    root = np.exp(0.5 * logs) / np.exp(0.5 * logs).sum()
    assert np.all(np.abs(np.bincount(resample(even, 1000, power=0.5), minlength=50) - 1000 * root) < 1.0 + 1e-9)


def test_components_around_nodes_stand_on_nodes():
    nodes = draw(skewed, WIDE, 256, 4, np.random.SeedSequence(0))
    q = around(nodes)
    known = {row.tobytes() for row in nodes.points}
    assert all(row.tobytes() in known for row in q.means)
    assert np.isclose(q.weights.sum(), 1.0)


def test_a_subset_stands_for_all():
    nodes = draw(skewed, WIDE, 4096, 4, np.random.SeedSequence(0))
    z, w = subset(nodes, 1024)
    assert len(z) == 1024 and np.isclose(w.sum(), 1.0)
    spread = np.sqrt(np.diagonal(nodes.moments()[1]))
    # A thousand independent points would be off by 0.03 standard deviations.
    assert np.all(np.abs(w @ z - nodes.moments()[0]) < 0.02 * spread)
    # Where few are effective the weights are equal and the points picked.
    narrow = draw(lambda z: -0.5 * np.sum((z / 0.05) ** 2, axis=1), WIDE, 4096, 4, np.random.SeedSequence(0))
    z, w = subset(narrow, 512)
    assert np.all(w == 1.0 / 512)
    assert np.all(np.abs(z).max(axis=0) < 0.5)
    # A sample that is small enough is taken whole.
    small = Nodes(np.arange(3.0)[:, None], np.zeros(3), np.log([0.2, 0.3, 0.5]), None, 1)
    assert np.allclose(subset(small, 10)[1], [0.2, 0.3, 0.5])


def test_a_subset_without_the_heavy_nodes_is_not_taken():
    """Three nodes late in the sequence hold the mass: the first ones, even among themselves, do not stand for it."""
    proposal = gaussian_mixture(2)
    nodes = draw(lambda z: proposal.log_density(z), proposal, 1024, 4, np.random.SeedSequence(0))
    ratio = nodes.log_ratio.copy()
    ratio[[1500, 2500, 3500]] += 20.0
    heavy = Nodes(nodes.points, nodes.log_joint, ratio, proposal, 4)
    z, w = subset(heavy, 256)
    held = np.isin(z[:, 0], nodes.points[[1500, 2500, 3500], 0])
    assert w[held].sum() == pytest.approx(heavy.weights[[1500, 2500, 3500]].sum(), abs=3.0 / 256.0)


def test_the_standard_error_is_that_of_few_randomisations():
    """Intervals of plus and minus 2.365 scales, for seven degrees of freedom, hold the integral in 95 of 100 cases."""
    truth = skewed_truth()
    errors = []
    for seed in range(200):
        value, sd = draw(skewed, WIDE, 64, 8, np.random.SeedSequence(seed)).log_integral()
        errors.append(abs(value - truth) / (sd * np.sqrt(5.0 / 7.0)))
    # Two hundred cases of a chance of 0.95: three standard deviations are 0.046.
    assert 0.90 < np.mean(np.array(errors) < student.ppf(0.975, 7)) <= 1.0
