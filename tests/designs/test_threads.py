"""One design in many threads gives the points that one thread gets."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fwbq

EMBEDDING = fwbq.embed(fwbq.Matern32(0.4), fwbq.Uniform([0.0, 0.0], [1.0, 1.0]))
DESIGNS = {
    "MonteCarlo": lambda: fwbq.MonteCarlo(EMBEDDING, rng=1),
    "Sobol": lambda: fwbq.QMC(EMBEDDING, rng=1),
    "lattice": lambda: fwbq.QMC(EMBEDDING, sequence="lattice", rng=1),
    "FrankWolfe": lambda: fwbq.FrankWolfe(EMBEDDING, candidates=200, rng=1),
    "line search": lambda: fwbq.FrankWolfe(EMBEDDING, step="line-search", candidates=200, rng=1),
    "BlendedPairwise": lambda: fwbq.BlendedPairwise(EMBEDDING, candidates=200, rng=1),
    "SBQ": lambda: fwbq.SBQ(EMBEDDING, candidates=200, rng=1),
    "RandomPivot": lambda: fwbq.RandomPivot(EMBEDDING, candidates=200, rng=1),
}


@pytest.fixture
def impatient():
    """Threads change places a thousand times as often as they do by default."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", DESIGNS)
def test_threads_get_the_points_of_one_thread(name):
    alone = DESIGNS[name]()
    points, weights, mmd2 = alone.take(60), [alone.rule(n).weights for n in (7, 31)], alone.trace.mmd2
    for _ in range(5):
        design = DESIGNS[name]()

        def work(k, design=design):
            found = [design.take(n) for n in range(1 + k, 61, 5)]
            return found, [design.rule(n).weights for n in (7, 31)], len(design.trace)

        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(work, range(4)))
        for found, rules, _ in results:
            for taken in found:
                np.testing.assert_array_equal(taken, points[: len(taken)])
            for made, expected in zip(rules, weights, strict=True):
                np.testing.assert_array_equal(made, expected)
        np.testing.assert_array_equal(design.take(60), points)
        # Sums over other portions of 60 kernel values of size 1 round differently, by less than 60 * 4 roundoffs.
        np.testing.assert_allclose(design.trace.mmd2, mmd2, rtol=0.0, atol=1e-13)


@pytest.mark.usefixtures("impatient")
def test_threads_never_get_the_same_point_to_evaluate():
    for seed in range(5):
        run = fwbq.Integration(fwbq.Uniform([0.0], [1.0]), rng=seed)

        def work(_, run=run):
            points = [run.ask(1) for _ in range(3)]
            for x in points:
                run.tell(x, x[:, 0] ** 2)
            return points

        with ThreadPoolExecutor(4) as pool:
            asked = [x.tobytes() for points in pool.map(work, range(4)) for x in points]
        assert len(set(asked)) == len(asked) == run.n_evaluations == 12
        assert run.result().mean == pytest.approx(1 / 3, abs=1e-2)


@pytest.mark.parametrize("name", ["MonteCarlo", "Sobol", "lattice"])
@pytest.mark.parametrize("through", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_goes_on_by_itself(name, through):
    design = DESIGNS[name]()
    design.take(3)
    np.testing.assert_array_equal(through(design).take(9), design.take(9))
