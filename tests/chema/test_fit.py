"""Draws from the posterior of a kinetic model: against quadrature over its parameters, and against the closed form."""

import numpy as np
import pytest
from scipy.stats import norm

import fwbq
from fwbq.chema import ContradictedError, Dataset, fit

DATA = Dataset.example()


def quadrature(truncated):
    """Posterior means of K_0, V_0 and sigma of the model without enzymes, by a sum over a grid of all three."""
    data = DATA.select(enzymes=["E1"])
    y, level = data.rates, data.phospho[:-1]
    n = len(y)
    k, v, s = (
        np.linspace(0.005, 5.0, 60),
        np.linspace(-1.5, 2.5, 321),
        np.exp(np.linspace(np.log(0.1), np.log(1.2), 90)),
    )
    K, V, S = np.meshgrid(k, v, s, indexing="ij")
    x = -level / (level + k[:, None])
    xx, xy = np.sum(x * x, axis=1), x @ y
    squares = y @ y - 2.0 * V * xy[:, None, None] + V**2 * xx[:, None, None]
    spread = np.sqrt(n / xx)[:, None, None] * S
    # p(sigma) = 1/sigma is flat in log sigma, the grid of the sum.
    log = -n * np.log(S) - 0.5 * squares / S**2 - 0.5 * ((V - 1.0) / spread) ** 2 - np.log(spread)
    log = log + fwbq.chema.prior(1).log_density(k[:, None])[:, None, None]
    if truncated:
        log = np.where(V >= 0.0, log - norm.logcdf(1.0 / spread), -np.inf)
    w = np.exp(log - log.max())
    return [float(np.sum(w * each) / w.sum()) for each in (K, V, S)]


@pytest.mark.parametrize("truncated", [False, True])
def test_draws_have_the_moments_of_the_posterior(truncated):
    """Within five standard errors of the draws; points of the prior are quasi-random and add little."""
    found = fit(DATA, (), units="given", truncated=truncated, draws=4000, rng=1)
    (course,) = found.courses
    for drawn, truth in zip(
        (found.constants[:, 0], course.velocities[:, 0], course.noise), quadrature(truncated), strict=True
    ):
        assert abs(drawn.mean() - truth) < 5.0 * drawn.std() / np.sqrt(len(drawn))
    assert np.all(course.velocities >= 0.0) == truncated


def test_rates_and_levels_follow_from_the_parameters():
    found = fit(DATA, DATA.regulators, draws=7, rng=0)
    (course,) = found.courses
    for i in range(7):
        x = fwbq.chema.design_matrix(DATA, DATA.regulators, found.constants[[i]])[0]
        np.testing.assert_allclose(course.rates[i], x @ course.velocities[i])
    np.testing.assert_allclose(np.diff(course.levels, axis=1) / np.diff(DATA.times), course.rates, atol=1e-12)
    np.testing.assert_array_equal(course.levels[:, 0], np.full(7, DATA.phospho[0]))


def test_the_true_model_fits_and_an_empty_one_is_noisier():
    true, empty = (fit(DATA, model, rng=0).courses[0] for model in (DATA.regulators, ()))
    assert np.median(true.noise) < 0.5 * np.median(empty.noise)
    # Of 20 rates 18 are expected in a 90 % band; five or fewer outside has probability 0.99.
    assert true.covered >= 15


def test_an_enzyme_that_is_silent_changes_nothing_but_stays_at_its_prior_mean():
    silent = Dataset(DATA.times, DATA.substrate, DATA.phospho, np.zeros((21, 1)), ["none"])
    found = fit(silent, ("none",), units="given", draws=50, rng=0).courses[0]
    np.testing.assert_allclose(found.velocities[:, 1], 1.0)
    assert np.all(np.isfinite(found.predicted))


def test_conditions_share_constants_and_rates_unless_these_are_their_own():
    both = Dataset.combine([DATA, DATA.rescaled(level=2.0)], ["one", "two"])
    together = fit(both, ("E7",), draws=30, rng=0).courses
    np.testing.assert_array_equal(together[0].velocities, together[1].velocities)
    np.testing.assert_array_equal(together[0].noise, together[1].noise)
    found = fit(both.with_rates("own"), ("E7",), draws=30, rng=0)
    assert [course.condition for course in found.courses] == ["one", "two"]
    assert not np.allclose(found.courses[0].velocities, found.courses[1].velocities)


def test_the_same_seed_gives_the_same_draws():
    first, second = (fit(DATA, ("E7",), draws=10, rng=4) for _ in range(2))
    np.testing.assert_array_equal(first.courses[0].predicted, second.courses[0].predicted)


def test_too_many_enzymes_for_the_truncated_likelihood():
    with pytest.raises(ValueError, match="at most 2 enzymes"):
        fit(DATA, ("E1", "E2", "E3"), truncated=True)


def test_data_that_contradict_positive_rates_are_refused():
    """Levels that fall at once and rise with the wrong enzyme leave no positive rate."""
    t = np.arange(40.0)
    enzyme = np.where(t[:, None] % 2 == 0, 5.0, 0.0)
    phospho = 3.0 + np.cumsum(np.where(t % 2 == 1, -0.5, 0.5))
    data = Dataset(t, np.ones(40), phospho, enzyme, ["wrong"])
    with pytest.raises(ContradictedError, match="no draw of the rates"):
        fit(data, ("wrong",), truncated=True, draws=5, rng=0)
