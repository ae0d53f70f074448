"""A vector that is missing in all gradients is found; right gradients, kinks and single precision are not warned of."""

import numpy as np
import pytest

from fwbq._whitening import Whitening
from fwbq.inference.gradients.surrogate import GradientSurrogate, Rows, Shape
from fwbq.inference.gradients.tilt import _same, warn_of_tilt


def skewed(x):
    """A sum of log gamma densities of logarithms, each with the Jacobian x."""
    return np.sum(4.0 * x - 4.0 * np.exp(x), axis=1), 4.0 - 4.0 * np.exp(x)


def kinked(x):
    return -np.sum(np.abs(x), axis=1), -np.sign(x)


def fitted(f, d, n, change=0.0):
    x = 0.6 * np.random.default_rng(d).normal(size=(n, d))
    values, gradients = f(x)
    rows = Rows(x, values, gradients + change, np.arange(n))
    return GradientSurrogate.fit(rows, np.arange(n), Whitening(np.zeros(d), 0.5 * np.eye(d)), Shape())


@pytest.mark.parametrize("f", [skewed, kinked])
@pytest.mark.parametrize("d", [1, 3, 6])
def test_right_gradients_are_not_warned_of(f, d):
    assert not warn_of_tilt(fitted(f, d, 40))


@pytest.mark.parametrize("d", [1, 3, 6])
def test_a_missing_jacobian_is_found(d):
    with pytest.warns(RuntimeWarning, match="the same vector seems to be missing in all of them") as caught:
        assert warn_of_tilt(fitted(skewed, d, 40, change=-np.eye(d)[0]))
    # The density changes by 1 over a unit of the parameter, and the standard deviation is a half.
    said = float(str(caught[0].message).split("changes the log density by ")[1].split(".  ")[0].split(". ")[0])
    assert said == pytest.approx(0.5, abs=0.1)


def test_nothing_is_said_of_few_points():
    assert not warn_of_tilt(fitted(skewed, 3, 13, change=-1.0))


def test_a_vector_that_is_missing_is_the_same_near_and_far():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    c = np.array([1.0, -2.0, 0.5])
    assert _same(x, x @ c + 1e-3 * rng.normal(size=60), np.eye(3)) > 0.999
    # Far out only, as where a process extrapolates: near points find noise, in any direction.
    far = np.sum(x**2, axis=1) > np.median(np.sum(x**2, axis=1))
    only_far = np.where(far, x @ c, 1e-3 * x @ np.array([2.0, 1.0, 0.0]))
    assert abs(_same(x, only_far, np.eye(3))) < 0.1
    assert _same(x, np.zeros(60), np.eye(3)) == 0.0
