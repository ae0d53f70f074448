import numpy as np
import pytest

import fwbq
from fwbq.designs import candidates as module
from fwbq.designs.candidates import FirstRow, Potential


@pytest.fixture(scope="module")
def embedding():
    return fwbq.embed(fwbq.ExpQuad(0.7), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.3], [0.3, 1.0]]))


@pytest.mark.parametrize("stored_bytes", [0, 3 * 8 * 200, 2**20])
@pytest.mark.parametrize("block", [7, 64, 10_000])
def test_the_potential_is_what_it_says_after_any_steps(embedding, block, stored_bytes, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    rng = np.random.default_rng(0)
    x = embedding.measure.sample(200, rng)
    potential = Potential(embedding, x, stored_bytes)
    atoms, weights = [], np.empty(0)
    assert np.allclose(potential.values, -embedding.mean(x))
    for i in range(40):
        if i % 4 == 3:
            change = 0.1 * rng.standard_normal(len(atoms))
            potential.shift(enumerate(change.tolist()))
            weights = weights + change
        else:
            atoms.append(rng.standard_normal(2))
            rho = 1.0 if i in (0, 20) else float(rng.random())
            assert potential.add_atom(atoms[-1]) == len(atoms) - 1
            potential.step(len(atoms) - 1, rho)
            weights = np.append((1 - rho) * weights, rho)
        g = embedding.kernel(x, np.array(atoms)) @ weights
        expected = g - embedding.mean(x)
        assert np.allclose(potential.values, expected, rtol=0, atol=1e-13)
        assert np.allclose(potential(x), expected, rtol=0, atol=1e-13)
        assert potential.argmin() == int(np.argmin(expected))
        assert potential.least() == pytest.approx(expected.min(), abs=1e-13)
    assert len(potential._stored) <= stored_bytes // (8 * 200)
    assert bool(potential._stored) == bool(stored_bytes)
    row = potential.argmin()
    e = 1e-6
    for j in range(2):
        d = e * np.eye(2)[j]
        slope = (potential((x[row] + d)[None]) - potential((x[row] - d)[None])) / (2 * e)
        assert potential.gradient(x[row][None])[0, j] == pytest.approx(slope[0], abs=1e-8)


def test_many_long_steps_do_not_underflow(embedding):
    x = embedding.measure.sample(50, 0)
    potential = Potential(embedding, x)
    potential.step(potential.add_atom(x[0]), 1.0)
    for i in range(400):
        potential.step(potential.add_atom(x[1 + i % 2]), 0.9)
    g = potential.values + embedding.mean(x)
    expected = embedding.kernel(x, x[[2, 1]]) @ [0.9 / 0.99, 0.09 / 0.99]
    assert np.allclose(g, expected, rtol=0, atol=1e-14)


def test_a_step_of_zero_changes_nothing(embedding):
    x = embedding.measure.sample(50, 0)
    potential = Potential(embedding, x)
    potential.step(potential.add_atom(x[0]), 1.0)
    before = potential.values
    potential.step(potential.add_atom(x[1]), 0.0)
    assert np.array_equal(potential.values, before)
    assert np.allclose(potential(x), before, atol=1e-14)


def test_first_row():
    x = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 3.0], [1.0, 2.0], [0.0, 5.0], [-0.0, 5.0], [7.0, 7.0]])
    first = FirstRow(x)
    assert [first(i) for i in range(len(x))] == [0, 1, 2, 0, 1, 1, 6]


@pytest.mark.parametrize("n", [1, 2, 17])
def test_first_row_against_the_definition(n):
    x = np.random.default_rng(n).integers(0, 3, (n * 5, 2)).astype(float)
    first = FirstRow(x)
    for i in range(len(x)):
        assert first(i) == int(np.flatnonzero((x == x[i]).all(axis=1))[0])


@pytest.mark.parametrize("variance", [1e-300, 1e-6, 1e6, 1e300])
def test_refinement_does_not_depend_on_the_units_of_the_kernel(variance):
    measure = fwbq.Gaussian([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])
    points = [
        fwbq.FrankWolfe(fwbq.embed(fwbq.ExpQuad(0.8, v), measure), oracle="refined", candidates=50, rng=0).take(6)
        for v in (1.0, variance)
    ]
    assert np.allclose(*points, rtol=0.0, atol=1e-6)
