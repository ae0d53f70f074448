import numpy as np
import pytest

import fwbq
from fwbq.designs.monte_carlo import BLOCK

MIXTURE = fwbq.GaussianMixture(
    [0.3, 0.7], [[-1.0, 0.5], [1.0, -0.5]], [[[1.0, 0.5], [0.5, 0.8]], [[0.3, 0.0], [0.0, 0.6]]]
)


@pytest.fixture(scope="module")
def embedding():
    return fwbq.embed(fwbq.ExpQuad(0.8), MIXTURE)


def test_points_do_not_depend_on_the_portions(embedding):
    n = BLOCK + 300
    whole = fwbq.MonteCarlo(embedding, rng=3).take(n)
    parts = fwbq.MonteCarlo(embedding, rng=3)
    for m in (5, 12, 1, BLOCK - 1, BLOCK + 1, n, 7):
        assert np.array_equal(parts.take(m), whole[:m])


def test_two_designs_of_one_generator_differ_and_do_not_disturb_each_other(embedding):
    rng = np.random.default_rng(0)
    a, b = fwbq.MonteCarlo(embedding, rng=rng), fwbq.MonteCarlo(embedding, rng=rng)
    a.take(3)
    b.take(BLOCK + 3)
    rng = np.random.default_rng(0)
    c = fwbq.MonteCarlo(embedding, rng=rng)
    assert np.array_equal(a.take(BLOCK + 9), c.take(BLOCK + 9))
    assert not np.array_equal(a.take(9), b.take(9))


def test_points_follow_the_measure(embedding):
    x = fwbq.MonteCarlo(embedding, rng=0).take(20_000)
    # Mean and second moment of the mixture, within five standard errors.
    means = np.array([[-1.0, 0.5], [1.0, -0.5]])
    weights = np.array([0.3, 0.7])
    error = x.mean(axis=0) - weights @ means
    assert np.all(np.abs(error) < 5 * x.std(axis=0) / np.sqrt(len(x)))


def test_weights_are_equal_and_the_trace_is_the_error_of_the_rule(embedding):
    design = fwbq.MonteCarlo(embedding, rng=1)
    n = 700  # more than two blocks of the trace
    design.take(300)
    assert len(design.trace) == 300
    early = design.trace.mmd2.copy()
    rule = design.rule(n)
    assert np.allclose(rule.weights, 1 / n)
    trace = design.trace
    assert np.array_equal(trace.mmd2[:300], early)
    for m in (1, 2, 256, 257, 300, n):
        assert trace.mmd2[m - 1] == pytest.approx(fwbq.mmd2(embedding, design.take(m), np.full(m, 1 / m)), abs=1e-13)
    assert np.allclose(trace.step, 1 / np.arange(1, n + 1))
    assert np.isnan(trace.gap).all() and (trace.index == -1).all()


def test_expected_error_is_known(embedding):
    # E MMD^2 = (int k(x, x) p - p[mu]) / n, here k(x, x) = 1.
    n = 16
    errors = [fwbq.MonteCarlo(embedding, rng=seed).rule(n).mmd2 for seed in range(200)]
    expected = (1 - embedding.variance) / n
    assert abs(np.mean(errors) - expected) < 4 * np.std(errors) / np.sqrt(len(errors))


def test_status_and_length(embedding):
    design = fwbq.MonteCarlo(embedding, rng=0)
    assert len(design) == 0 and len(design.trace) == 0
    design.take(4)
    assert design.status == "4 points; can be extended"
    assert design.embedding is embedding


@pytest.mark.parametrize("n", [0, -1, 1.5, "3"])
def test_impossible_numbers_of_points_are_named(embedding, n):
    with pytest.raises((ValueError, TypeError), match="`n`"):
        fwbq.MonteCarlo(embedding, rng=0).take(n)


def test_what_is_returned_is_a_copy(embedding):
    design = fwbq.MonteCarlo(embedding, rng=0)
    x = design.take(5)
    x[:] = 0.0
    assert not np.array_equal(design.take(5), x)
    with pytest.raises(ValueError, match="read-only"):
        design.trace.mmd2[0] = 0.0


def test_more_points_than_memory_holds_are_refused(embedding):
    with pytest.raises(ValueError, match="`n` must be a number of points that fits in memory"):
        fwbq.MonteCarlo(embedding, rng=0).take(10**14)


def test_a_notebook_shows_the_error_of_a_design_that_knows_it():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    known, unknown = fwbq.FrankWolfe(embedding, rng=0), fwbq.MonteCarlo(embedding, rng=0)
    assert "worst-case error" not in known._repr_html_()  # of no points there is none
    for design in (known, unknown):
        design.take(3)
    assert f"{known.trace.mmd2[-1] ** 0.5:.4g}" in known._repr_html_()
    assert np.isfinite(unknown.trace.mmd2).all() == ("worst-case error" in unknown._repr_html_())
