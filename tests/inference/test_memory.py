"""Memory: what a way remembers is written down and read exactly."""

import json

import numpy as np
import pytest

import fwbq
from fwbq.inference import memory

PRIOR = fwbq.Gaussian([0.0, 0.0], np.eye(2))


@pytest.mark.parametrize(
    "value",
    [
        np.array([1.0, np.inf, -np.inf]),
        np.random.default_rng(0).standard_normal((3, 2)),
        np.asfortranarray(np.random.default_rng(0).standard_normal((3, 2))),
        np.array([np.nan]),
        np.empty(0),
    ],
)
def test_arrays_come_back_to_the_bit_and_in_the_same_order(value):
    back = memory.array(json.loads(json.dumps(memory.plain(value), allow_nan=False)))
    np.testing.assert_array_equal(back, value)
    assert back.flags.f_contiguous == value.flags.f_contiguous


def test_numbers_that_are_not_finite_become_texts():
    assert memory.plain([np.float64(np.nan), -np.inf, np.int64(3), True, None]) == ["nan", "-inf", 3, True, None]


def two_labels(x):
    data = np.array([1.0, 1.2, -1.1, -0.9])
    return np.sum(np.logaddexp(*(-0.5 * ((x[:, [i]] - data) / 0.3) ** 2 for i in range(2))), axis=1)


def test_a_way_that_recalls_a_memory_has_the_same_memory():
    """Climbs, modes, exchanges, predictions and the surrogate of the last round."""
    run = fwbq.EvidenceRun(PRIOR, n=60, rng=0, quick=True)
    while run.n_evaluations < 45:
        x = run.ask()
        run.tell(x, two_labels(x))
    content = json.loads(json.dumps(memory.record(run._way), allow_nan=False))
    assert len(content["climbs"]) >= 1 and content["surrogate"] is not None
    assert dict(content["register"])["exchanges"]
    way = type(run._way)(run._way.chart, run._way.settings)
    memory.recall(way, content, run._data)
    assert json.loads(json.dumps(memory.record(way), allow_nan=False)) == content
