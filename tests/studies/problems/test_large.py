import pickle
import zlib

import numpy as np
import pytest

from studies.problems import large


@pytest.mark.parametrize("name", large.FAMILIES)
def test_values_agree_with_sampling(name):
    family = large.FAMILIES[name]
    for dim in (family.dims[0], family.dims[-1]):
        rng = np.random.default_rng([dim, zlib.crc32(name.encode())])
        problem = pickle.loads(pickle.dumps(family.draw(dim, rng)))
        values = problem.f(problem.measure.sample(200_000, rng=rng))
        # Five standard errors, fixed seeds.
        assert abs(values.mean() - problem.value) < 5.0 * values.std() / np.sqrt(200_000)


def test_keister_in_one_dimension_is_closed():
    # E cos(a x) under N(0, 1/2) is exp(-a^2 / 4).
    assert np.isclose(large.Keister(1.3).integral(1), np.exp(-(1.3**2) / 4.0), rtol=1e-11)
