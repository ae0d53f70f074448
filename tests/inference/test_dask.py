"""An evidence on a real cluster, Dask's scheduler and worker processes on this machine: the same bits."""

import os
import signal

import numpy as np
import pytest

import fwbq

PRIOR = fwbq.Gaussian(np.zeros(2), np.eye(2))


def bent(x):
    return float(-0.5 * ((x[1] - 0.6 * x[0] ** 2) / 0.3) ** 2 - 0.5 * ((x[0] - 0.4) / 0.6) ** 2)


@pytest.fixture(scope="module")
def client(dask_cluster):
    with dask_cluster() as client:
        yield client


@pytest.fixture(scope="module")
def here():
    return fwbq.evidence(bent, PRIOR, n=25, rng=0, vectorized=False, progress=False)


def same(found, expected):
    assert np.array_equal(found.points, expected.points) and np.array_equal(found.values, expected.values)
    assert found.log_evidence == expected.log_evidence and found.sd == expected.sd


def test_a_cluster_changes_no_bit(client, here):
    with client.get_executor() as executor:
        same(fwbq.evidence(bent, PRIOR, n=25, rng=0, vectorized=False, progress=False, executor=executor), here)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_worker_that_is_killed_on_the_way_changes_no_bit(client, here, tmp_path):
    marker = str(tmp_path / "killed")

    def deadly(x):
        if x[0] > 0.3 and not os.path.exists(marker):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return bent(x)

    with client.get_executor() as executor:
        found = fwbq.evidence(
            deadly, PRIOR, n=25, rng=0, vectorized=False, progress=False, executor=executor,
            journal=tmp_path / "run.db", tag="deadly",
        )  # fmt: skip
    assert os.path.exists(marker)
    same(found, here)


def bent_with_gradient(x):
    r = (x[1] - 0.6 * x[0] ** 2) / 0.3
    return bent(x), [1.2 * x[0] * r / 0.3 - (x[0] - 0.4) / 0.36, -r / 0.3]


def test_gradients_come_back_from_a_cluster(client):
    options = {"n": 40, "rng": 0, "vectorized": False, "progress": False, "gradient": True}
    alone = fwbq.evidence(bent_with_gradient, PRIOR, **options)
    with client.get_executor() as executor:
        same(fwbq.evidence(bent_with_gradient, PRIOR, **options, executor=executor), alone)
