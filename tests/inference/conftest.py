"""What several tests of evidence do: climb from a known point until the climb ends."""

import numpy as np
import pytest

from fwbq.inference.proposers.climb import Climb


@pytest.fixture
def climb_from():
    """A function that climbs f from row `at` of points z with values g; it returns the climb, all points and values."""

    def climb_on(f, z, g, at, budget, radius=1.0):
        climb = Climb(z[at].copy(), float(g[at]), radius, budget)
        while not climb.ended:
            finite = np.isfinite(g)
            points = climb.propose(z[finite], g[finite])
            values = f(points)
            climb.learn(points, values)
            z, g = np.vstack([z, points]), np.concatenate([g, values])
        return climb, z, g

    return climb_on
