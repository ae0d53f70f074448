"""Draws that judge a surrogate: nearly unbiased however wrong it is, with an error that is a standard error."""

from dataclasses import replace

import numpy as np
import pytest

from fwbq._whitening import Whitening
from fwbq.inference.gradients import judge as judging
from fwbq.inference.gradients.judge import judge, propose, standard_error
from fwbq.inference.gradients.surrogate import GradientSurrogate, Rows, Shape
from fwbq.inference.tuning import TUNING

TRUTH = float(np.log(2.0 * np.pi))
N, SEEDS = 40, 40


def standard(x):
    return -0.5 * np.sum(x**2, axis=1), -x


def everywhere(z):
    return np.ones(len(z), dtype=bool)


@pytest.fixture
def few_nodes(monkeypatch):
    """Nodes enough for an error of a percent, so that many judgements are cheap."""
    small = replace(TUNING.judge, nodes=1024, final=(256, 4))
    monkeypatch.setattr(judging, "TUNING", replace(TUNING, judge=small))


def judged(f, seed, whitening, first=12):
    """Draw from a surrogate of a few points, and judge the surrogate of all of them."""
    rng = np.random.default_rng(seed)
    x = whitening.back(rng.normal(size=(first, 2)))
    rows = Rows(x, *f(x), np.arange(first))
    surrogate = GradientSurrogate.fit(rows, np.arange(first), whitening, Shape())
    seeds = np.random.SeedSequence(seed).spawn(2)
    density, drawn, mass = propose(surrogate, everywhere, whitening, N, seeds[0])
    every = np.vstack([x, drawn])
    values, gradients = f(every)
    rows = Rows(every, values, gradients, np.arange(first + N))
    surrogate = GradientSurrogate.fit(rows, np.arange(first + N), density.whitening, Shape())
    position = np.arange(first, first + N)
    return judge(surrogate, density, everywhere, drawn, values[first:], position, [mass, mass], seeds[1])


def test_a_gaussian_is_known_to_the_nodes(few_nodes):
    found = judged(standard, 0, Whitening(np.zeros(2), np.eye(2)))
    error = np.hypot(found.sampling, found.node_error)
    assert abs(found.log_integral - TRUTH) < 4.0 * error
    assert error < 0.02
    assert found.sound and found.helpful


def test_a_surrogate_that_changes_is_believed_only_where_most_draws_are_effective(few_nodes):
    found = judged(standard, 0, Whitening(np.zeros(2), np.eye(2)))
    assert found.effective > TUNING.judge.effective
    changing = replace(found, drift=1.0)
    assert changing.sound and changing.unsettled == pytest.approx(TUNING.judge.drift)
    # Weights of which less than half are effective: the change counts in full.
    less = replace(changing, truth=np.where(np.arange(N) < 0.45 * N, 1.0, 1e-3))
    assert less.effective < TUNING.judge.effective
    assert not less.sound and less.unsettled == 1.0


def test_a_bad_surrogate_leaves_the_mean_nearly_unbiased(few_nodes):
    """Whitening twice too narrow and off centre, and gradients that are a third too steep."""

    def misleading(x):
        values, gradients = standard(x)
        return values, 1.3 * gradients

    white = Whitening(np.array([0.7, -0.5]), 0.6 * np.eye(2))
    found = [judged(misleading, seed, white) for seed in range(SEEDS)]
    ratios = np.array([np.exp(each.log_integral - TRUTH) for each in found])
    errors = np.array([each.sampling for each in found])
    # The mean of the integrals has an error of their spread over the root of their number: four of these, and 1 %.
    assert abs(ratios.mean() - 1.0) < 4.0 * ratios.std() / np.sqrt(SEEDS) + 0.01
    # It is not the surrogate that is right here: the integrals do scatter, and the stated errors say by how much.
    assert ratios.std() > 0.01
    inside = np.abs(np.log(ratios)) < 2.0 * np.hypot(errors, [each.node_error for each in found])
    assert inside.mean() > 0.85


def test_draws_have_the_density_that_they_are_weighed_by(few_nodes):
    white = Whitening(np.zeros(2), np.eye(2))
    x = np.random.default_rng(0).normal(size=(12, 2))
    rows = Rows(x, *standard(x), np.arange(12))
    surrogate = GradientSurrogate.fit(rows, np.arange(12), white, Shape())
    density, drawn, _ = propose(surrogate, everywhere, white, 2000, np.random.SeedSequence(5))
    # The integral of the density is one, by a grid far wider than the mass.
    axis = np.linspace(-12.0, 12.0, 241)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    q = np.exp(density.log_density(grid)) * 0.1**2
    # Its constant is a sum over 1024 nodes, and a heavy tail lies beyond the grid.
    assert q.sum() == pytest.approx(1.0, abs=0.05)
    # Draws lie within any distance as often as the density says; nodes repeat, a thousand different ones.
    for distance in (1.0, 2.0, 3.0, 5.0):
        inside = np.sum(q[np.sum(grid**2, axis=1) < distance**2]) / q.sum()
        assert np.mean(np.sum(drawn**2, axis=1) < distance**2) == pytest.approx(inside, abs=0.05)
    # Any first part of the draws is of the same density: wide draws do not stand at the end.
    far = np.sum(density.whitening.forward(drawn) ** 2, axis=1) > 9.0
    assert abs(far[:1000].mean() - far[1000:].mean()) < 0.05


def test_a_likelihood_of_zero_at_some_draws_takes_its_part_of_the_mass(few_nodes):
    def half(x):
        values, gradients = standard(x)
        return np.where(x[:, 0] > 0.0, values, -np.inf), gradients

    white = Whitening(np.zeros(2), np.eye(2))
    rng = np.random.default_rng(0)
    x = np.abs(rng.normal(size=(12, 2)))
    rows = Rows(x, *standard(x), np.arange(12))
    surrogate = GradientSurrogate.fit(rows, np.arange(12), white, Shape())
    seeds = np.random.SeedSequence(1).spawn(2)
    density, drawn, mass = propose(surrogate, everywhere, white, 200, seeds[0])
    values, _ = half(drawn)
    nowhere = np.full(200, -1)
    found = judge(surrogate, density, everywhere, drawn, values, nowhere, [mass, mass], seeds[1])
    assert abs(found.log_integral - (TRUTH - np.log(2.0))) < 4.0 * np.hypot(found.sampling, found.node_error)
    assert found.sampling > 0.02


def test_the_standard_error_is_at_least_the_textbook_s():
    terms = np.random.default_rng(0).normal(1.0, 0.2, size=50)
    plain = terms.std(ddof=1) / np.sqrt(50)
    assert plain < standard_error(terms) < 2.0 * plain
    assert standard_error(np.exp(3.0 * terms)) > np.exp(3.0 * terms).std(ddof=1) / np.sqrt(50)
