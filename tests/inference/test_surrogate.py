"""Cliffs and boundaries: what falls deep without being zero, and densities that rise towards where they end."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr, ndtr

import fwbq


def found(f, prior, n, rng=0):
    return fwbq.evidence(f, prior, n=n, rng=rng, progress=False)


PLANE = fwbq.Gaussian([0.0, 0.0], np.eye(2))


@pytest.mark.parametrize("floor", [-20.0, -1000.0, -1e10, -1e150, -np.inf])
@pytest.mark.parametrize("n", [60, 200])
def test_a_cliff_of_any_depth_is_a_boundary(floor, n):
    # "Minus a large number where the parameters are not allowed" is what people write.
    result = found(lambda x: np.where(x[:, 0] > 0.0, 0.0, floor), stats.norm(), n)
    assert abs(result.log_evidence - np.log(0.5)) < 0.03
    low, high = result.interval()
    assert low < np.log(0.5) < high
    assert result.posterior.quantile(0.01)[0] > -0.05


def test_a_cliff_in_three_dimensions():
    s2 = 0.09
    result = found(
        lambda x: np.where(x[:, 0] > 0.0, -0.5 * np.sum((x - 0.3) ** 2, axis=1) / s2, -500.0),
        fwbq.Gaussian(np.zeros(3), np.eye(3)),
        150,
    )
    own = 0.5 * np.log(s2 / (1.0 + s2)) - 0.5 * 0.09 / (1.0 + s2)
    truth = 3.0 * own + log_ndtr(0.3 / (1.0 + s2) / np.sqrt(s2 / (1.0 + s2)))
    low, high = result.interval()
    assert low < truth < high
    assert result.sd < 0.1


@pytest.mark.parametrize("slope", [10.0, 100.0])
@pytest.mark.parametrize("n", [60, 200])
def test_a_density_that_rises_towards_its_end_has_no_mass_beyond(slope, n):
    result = found(lambda x: np.where(x[:, 0] > 0.0, -slope * x[:, 0], -np.inf), stats.norm(), n)
    truth = 0.5 * slope**2 + log_ndtr(-slope)
    low, high = result.interval()
    assert low < truth < high
    assert abs(result.log_evidence - truth) < 0.1
    mean, sd = result.posterior.expect(lambda x: x[:, 0])
    assert abs(mean - 1.0 / slope) < 3.0 * sd < 1.5 / slope


@pytest.mark.parametrize("seed", range(2))
def test_a_cut_seven_deviations_away_from_the_centre(seed):
    # Beyond the cut the likelihood would be e^24 times higher: none of that is believed.
    result = found(
        lambda x: np.where(x[:, 0] > 1.0, -0.5 * np.sum((x - 0.3) ** 2, axis=1) / 0.01, -np.inf), PLANE, 120, seed
    )
    mean, v = 0.3 / 1.01, 1.0 / 101.0
    truth = 2.0 * (0.5 * np.log(0.01 / 1.01) - 0.5 * 0.09 / 1.01) + log_ndtr((mean - 1.0) / np.sqrt(v))
    low, high = result.interval()
    assert low < truth < high
    assert abs(result.log_evidence - truth) < 0.2
    assert result.posterior.quantile(0.05)[0] > 0.98
    assert result.error_parts["boundary"] > 1e-4


def test_a_smooth_likelihood_has_no_cliff():
    # A Gaussian two hundred times narrower than the prior is 1e4 deep at most points; none of them is a contradiction.
    result = found(lambda x: -0.5 * np.sum(((x - [0.4, -1.1]) / 0.005) ** 2, axis=1), PLANE, 60)
    assert result.posterior.surrogate.sign is None
    assert result.error_parts["boundary"] == 0.0


def test_the_chance_far_beyond_a_boundary_is_nothing():
    result = found(lambda x: np.where(x[:, 0] > 0.5, 0.0, -np.inf), PLANE, 80)
    surrogate = result.posterior.surrogate
    inside, outside = np.array([[1.5, 0.0]]), np.array([[-1.5, 0.0]])
    assert surrogate.log_positive(inside)[0] == pytest.approx(0.0, abs=1e-3)
    assert surrogate.log_positive(outside)[0] < np.log(1e-4)
    assert abs(result.log_evidence - np.log(ndtr(-0.5))) < 4.0 * result.sd
