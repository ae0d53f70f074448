"""Gauss-Legendre rules are exact where they must be, and grids have the order that reshaping relies on."""

import numpy as np
import pytest

from fwbq._gauss import gauss_legendre, tensor_grid


@pytest.mark.parametrize("order", [1, 2, 5, 20, 160])
def test_polynomials_are_integrated_exactly_up_to_their_degree(order):
    nodes, weights = gauss_legendre(order, 0.0, 3.0)
    scaled = nodes / 3.0
    for degree in (0, 1, 2 * order - 1):
        assert weights @ scaled**degree == pytest.approx(3.0 / (degree + 1), rel=1e-12)
    # Not beyond: the error for degree 2 order is order!^4 / ((2 order + 1) (2 order)!^2) of the interval's length.
    if order <= 5:
        assert abs(weights @ scaled ** (2 * order) - 3.0 / (2 * order + 1)) > 1e-7


def test_the_shared_arrays_cannot_be_written_to():
    for array in gauss_legendre(7):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_the_last_coordinate_of_a_grid_runs_fastest():
    axes = [np.array([0.0, 1.0]), np.array([2.0, 3.0, 4.0]), np.array([5.0])]
    grid = tensor_grid(axes)
    assert grid.shape == (6, 3)
    values = (grid[:, 0] * 100 + grid[:, 1]).reshape(2, 3, 1)
    np.testing.assert_array_equal(values[:, :, 0], axes[0][:, None] * 100 + axes[1])
