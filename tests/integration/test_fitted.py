"""The process behind an integral: it passes through the values, covers between them, and has the same integral."""

import pickle

import numpy as np
import pytest
from scipy import stats

import fwbq


def f(x):
    return np.sin(3.0 * x[:, 0]) + 0.3 * x[:, 0]


@pytest.fixture(scope="module", params=["averaged", "fixed", "correlated", "heavy tails", "infinite density"])
def found(request):
    if request.param == "correlated":
        measure = fwbq.Gaussian([0.5, 0.0], [[1.0, 0.6], [0.6, 1.0]])
        return fwbq.integrate(lambda x: f(x) + x[:, 1], measure, n=30, rng=0)
    if request.param == "heavy tails":
        return fwbq.integrate(lambda x: np.cos(x[:, 0]), stats.t(3), n=40, rng=0)
    if request.param == "infinite density":
        return fwbq.integrate(lambda x: np.exp(-x[:, 0]), stats.gamma(0.1), n=30, rng=0)
    kernel = fwbq.Matern52(0.8) if request.param == "fixed" else None
    return fwbq.integrate(f, fwbq.Gaussian([0.0], [[1.0]]), n=16, kernel=kernel, rng=0)


def test_it_passes_through_the_values(found):
    at = found.process.at(found.points)
    scale = np.ptp(found.values)
    # Far out in a tail, where points hardly count, rounding leaves f itself open; the sd says how far.
    assert np.all(np.abs(at.mean - found.values) <= 1e-5 * scale + at.sd)
    tails = found.rule.embedding.measure.dim == 1 and not isinstance(found.rule.embedding.measure, fwbq.Gaussian)
    assert np.quantile(at.sd, 0.75 if tails else 1.0) < 1e-3 * scale


def test_its_integral_is_the_integral(found):
    """The mean of the process, integrated by brute force, is the estimate: to the error of 2^14 points of a net."""
    measure = found.rule.embedding.measure
    points = fwbq.QMC(found.rule.embedding, rng=0).take(2**14)
    mean = found.process.at(points).mean
    assert np.mean(mean) == pytest.approx(found.mean, abs=2e-3 * np.std(mean))
    assert measure.dim == points.shape[1]


def test_draws_have_the_moments_of_the_marginals(found):
    """Mean within five standard errors; the central half of the draws within the binomial error of 2000."""
    points = found.rule.embedding.measure.sample(6, rng=3)
    at, drawn = found.process.at(points), found.process.sample(points, 2000, rng=1)
    low, high = at.interval(0.5)
    inside = np.mean((drawn >= low) & (drawn <= high), axis=0)
    assert np.all(np.abs(inside - 0.5) < 5.0 * np.sqrt(0.25 / 2000))
    assert np.all(np.abs(drawn.mean(axis=0) - at.mean) < 6.0 * at.sd / np.sqrt(2000))


def test_it_travels(found):
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.process.at(found.points).mean, found.process.at(found.points).mean)


def test_fewer_values_give_what_they_alone_would_give(found):
    less = found.at(10)
    assert less.n_evaluations == 10 and less.sd > found.sd
    np.testing.assert_array_equal(less.points, found.points[:10])
    with pytest.raises(ValueError, match="`n` must be at most the"):
        found.at(len(found.points) + 1)


def test_two_values_are_too_few_for_a_process():
    few = fwbq.integrate(f, fwbq.Gaussian([0.0], [[1.0]]), n=2, rng=0)
    with pytest.raises(ValueError, match="at least three values"):
        _ = few.process
