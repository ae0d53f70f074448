"""Widths and curvature at the start of a log joint density without a prior."""

import numpy as np
import pytest

from fwbq.inference.proposers.metric import Metric
from fwbq.inference.quadratic import local_quadratic


def measured(log_density, dim, n=400):
    """Run a measurement; return it with all points and values."""
    metric = Metric.of(dim, n)
    z, values = np.empty((0, dim)), np.empty(0)
    while not metric.ended:
        points = metric.propose()
        metric.learn(len(z), log_density(points), float(log_density(np.zeros((1, dim)))[0]))
        z, values = np.vstack([z, points]), np.append(values, log_density(points))
    return metric, z, values


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_curvature_of_a_gaussian_is_known_whatever_its_scales_and_correlations(dim):
    rng = np.random.default_rng(dim)
    scales = 10.0 ** rng.uniform(-2, 2, size=dim)
    mixed = rng.standard_normal((dim, dim))
    covariance = scales[:, None] * (mixed @ mixed.T + 0.1 * np.eye(dim)) * scales
    precision = np.linalg.inv(covariance)
    centre = scales * rng.standard_normal(dim)

    def log_density(z):
        return -0.5 * np.einsum("ni,ij,nj->n", z - centre, precision, z - centre)

    metric, z, values = measured(log_density, dim)
    assert metric.measured and not len(metric.open)
    # Conditional widths are those of the diagonal of the precision, exactly for a Gaussian.
    np.testing.assert_allclose(metric.steps, 1.0 / np.sqrt(np.diagonal(precision)), rtol=1e-4)
    model = local_quadratic(z / metric.steps, values, 0, 1.0)
    found = model.curvature / metric.steps[:, None] / metric.steps
    sizes = np.sqrt(np.outer(np.diagonal(precision), np.diagonal(precision)))
    np.testing.assert_allclose(-found / sizes, precision / sizes, atol=1e-4)


def test_pairs_of_axes_are_asked_only_where_there_is_room():
    assert not Metric.of(5, 400).paired
    assert Metric.of(13, 400).paired  # 78 pairs
    assert Metric.of(1, 400).paired
    assert Metric.of(5, 100) is None


def test_a_start_without_density_ends_the_measurement():
    metric, z, _ = measured(lambda z: np.full(len(z), -np.inf), 3)
    assert metric.ended and len(z) == 1


def test_pairs_are_not_asked_for_on_axes_that_were_not_measured():
    metric, z, _ = measured(lambda z: np.zeros(len(z)), 2)
    assert np.array_equal(metric.steps, np.ones(2))
    assert all(np.count_nonzero(row) <= 1 for row in z)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e3, 1e5])
def test_a_scale_far_too_wide_for_an_exponential_is_noticed(scale):
    """The logarithm of a standard deviation: a thousand units away the density is finite in no double, or 1e-300."""

    def log_density(z):
        with np.errstate(over="ignore"):
            level, log_sd = scale * z[:, 0], scale * z[:, 1]
            return -50.0 * log_sd - 25.0 * (1.0 + level**2) * np.exp(-2.0 * log_sd)

    metric, _, _ = measured(log_density, 2)
    assert metric.measured and not len(metric.open)
    # The curvatures at the start are 50 and 100.
    np.testing.assert_allclose(metric.steps * scale, [1.0 / np.sqrt(50.0), 0.1], rtol=0.5)
