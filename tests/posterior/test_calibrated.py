"""The scale of an error that sits in a part of the space."""

import numpy as np
import pytest

from fwbq.posterior.calibrated import LOCAL, LOCAL_SCALE, SPREAD, _local


def shared(n, k, total=1.0):
    """The squares of what leaving out each of n values does, of which k share the total."""
    return np.where(np.arange(n) < k, total / k, 0.0)


@pytest.mark.parametrize("k", [1, 150, 200, 250, 400, 1000])
def test_an_error_is_local_where_a_small_part_of_the_points_has_it(k):
    n = 1000
    expected = 2.0 * LOCAL_SCALE * float(np.clip((SPREAD - k / n) / (SPREAD - LOCAL), 0.0, 1.0))
    assert float(_local(shared(n, k, 4.0))) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_it_is_of_the_size_of_the_error_and_apart_for_each_integral():
    shifts = np.column_stack([shared(100, 1), shared(100, 1, 9.0), shared(100, 100), np.zeros(100)])
    np.testing.assert_allclose(_local(shifts), LOCAL_SCALE * np.array([1.0, 3.0, 0.0, 0.0]), atol=1e-12)
