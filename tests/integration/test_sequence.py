"""Which points come next: those of a batch are moved together under a smooth kernel, and only there."""

import numpy as np
import pytest

import fwbq
from fwbq.integration import sequence
from fwbq.integration.sequence import fitted_at, next_points, next_total

SQUARE = fwbq.Uniform([0.0, 0.0], [1.0, 1.0])
PLANE = fwbq.Gaussian([0.0, 0.0], np.eye(2))


def batch(kernel, measure, monkeypatch, moves):
    """Return twelve points after eight, and the error of all under the ExpQuad part of the kernel."""
    monkeypatch.setattr(sequence, "MOVES", moves)
    embedding = fwbq.embed(kernel, measure)
    known = sequence.spread(embedding, 8, np.random.SeedSequence(1))
    points, reason, _ = next_points(embedding, known, 12, np.random.SeedSequence(2), None, "constant", known[:0])
    assert reason is None
    assert not any((known == point).all(axis=1).any() for point in points)
    return points, known


def smooth(length, share):
    return fwbq.ExpQuad(length, 1.0 - share) + fwbq.Matern32(length, share)


@pytest.mark.parametrize(("measure", "length"), [(SQUARE, 0.5), (PLANE, 2.0)], ids=["square", "plane"])
def test_a_batch_is_moved_together(measure, length, monkeypatch):
    moved, known = batch(smooth(length, 1e-6), measure, monkeypatch, 15)
    greedy, _ = batch(smooth(length, 1e-6), measure, monkeypatch, 0)
    embedding = fwbq.embed(smooth(length, 1e-6), measure)
    errors = [
        fwbq.bayes_rule(embedding, np.concatenate([known, new]), prior_mean="constant").mmd for new in (moved, greedy)
    ]
    assert errors[0] < 0.8 * errors[1]
    assert np.all((moved > measure.lower) & (moved < measure.upper))


def test_a_batch_that_others_follow_is_not_moved(monkeypatch):
    def points(**more):
        run = fwbq.Integration(PLANE, rng=0)
        x = run.ask(8)
        run.tell(x, np.sin(x.sum(axis=1)))
        return run.ask(8, **more)

    moved, followed = points(), points(more=True)
    assert not np.array_equal(moved, followed)
    monkeypatch.setattr(sequence, "MOVES", 0)
    assert np.array_equal(followed, points(more=True))


@pytest.mark.parametrize("kernel", [smooth(0.5, 0.01), fwbq.Matern52(0.5), fwbq.Matern12(0.5)], ids=repr)
def test_a_rough_kernel_leaves_the_points_where_they_are(kernel, monkeypatch):
    assert np.array_equal(batch(kernel, SQUARE, monkeypatch, 15)[0], batch(kernel, SQUARE, monkeypatch, 0)[0])


def test_points_of_a_sample_stay_in_it(monkeypatch):
    sample = fwbq.Empirical(np.random.default_rng(0).random((200, 2)))
    points, _ = batch(smooth(0.5, 1e-6), sample, monkeypatch, 15)
    assert all((sample.points == point).all(axis=1).any() for point in points)


def test_numbers_of_points_at_which_kernels_are_fitted():
    assert fitted_at(2, 130) == [8, 32, 128]
    assert fitted_at(10, 60) == [15, 60]
    assert fitted_at(1, 4) == [8]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [((), [8, 32, 128, 512]), ((1.5, 2.5), [8, 12, 20, 32, 48, 80, 128, 192])],
    ids=["fits alone", "patient"],
)
def test_batches_end_where_kernels_are_fitted(steps, expected):
    totals = [0]
    while len(totals) <= len(expected):
        totals.append(next_total(totals[-1], 4, steps))
    assert totals[1:] == expected
    assert set(fitted_at(1, totals[-1])) <= set(totals)
    assert next_total(33, 4, steps) == next_total(32, 4, steps)  # a batch of another size, then as if there were none


@pytest.mark.parametrize("tol", [None, 1e-9])
@pytest.mark.filterwarnings("ignore:tolerance .* not reached")
def test_a_fit_goes_on_from_the_fit_before_it(tol):
    """Nothing is searched but the points at which there was a fit."""
    result = fwbq.integrate(lambda x: np.abs(x[:, 0] - 0.3), fwbq.Uniform([0.0], [1.0]), n=100, tol=tol, rng=0)
    searched = sorted(len(key) // 16 for key in result.model._memory)  # a point and a value of eight bytes each
    assert searched == [8, 32, 100]
