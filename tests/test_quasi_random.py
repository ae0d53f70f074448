"""The deterministic sequence fills the unit cube evenly."""

import numpy as np
import pytest
from scipy.stats import qmc

from fwbq._quasi_random import quasi_random


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_it_is_nested_inside_the_cube_and_even(dim):
    points = quasi_random(1024, dim)
    assert points.shape == (1024, dim) and points.min() >= 0.0 and points.max() < 1.0
    np.testing.assert_array_equal(quasi_random(300, dim), points[:300])
    # The squared centred discrepancy of independent points is this in the mean; that of the sequence is half a
    # per cent of it on the line, 1, 9 and 16 % in two, three and five dimensions.
    independent = ((5 / 4) ** dim - (13 / 12) ** dim) / 1024
    assert qmc.discrepancy(points) < 0.25 * independent


def test_the_points_on_the_line_have_three_distances():
    """The three-distance theorem: multiples of a number, modulo one, are spaced by at most three lengths."""
    gaps = np.diff(np.sort(quasi_random(500, 1)[:, 0]))
    assert len(np.unique(gaps.round(10))) <= 3
