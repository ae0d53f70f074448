"""A basal rate: the flat intercept of every model."""

import numpy as np
import pytest
from scipy.special import logsumexp

from fwbq._quasi_random import quasi_random
from fwbq.chema import Dataset, compare, fit, log_likelihood, log_likelihood_block
from fwbq.chema.family import prior
from fwbq.chema.kinetics import increments
from fwbq.chema.prediction import leave_one_out


@pytest.fixture(scope="module")
def data():
    return Dataset.simulate(4, rng=3, noise=0.02)


def _columns(data, model, k):
    plain = increments(data)[0]
    x = plain.designs(np.array([data.columns(model)], dtype=np.intp), np.array([k]))[0]
    return x, plain.rates, plain.substrate / (plain.substrate + 1.0)


@pytest.mark.parametrize("model", [(), ("E1",), ("E1", "E3"), ("E1", "E2", "E4"), ("E1", "E2", "E3", "E4")])
def test_the_likelihood_is_that_of_rates_and_columns_without_their_part_along_the_basal_column(data, model):
    k = np.linspace(0.6, 1.4, 1 + len(model))
    x, y, b = _columns(data, model, k)
    project = np.eye(len(y)) - np.outer(b, b) / (b @ b)
    x, y, n = project @ x, project @ y, len(y) - 1
    fitted = x @ np.linalg.lstsq(x, y, rcond=None)[0]
    prior = x @ np.linalg.lstsq(x, y - x.sum(axis=1), rcond=None)[0]
    half = ((n + 1) * np.sum((y - fitted) ** 2) + prior @ prior) / (2 * (n + 1))
    ratio = -0.5 * x.shape[1] * np.log(n + 1) - n / 2 * np.log(half)
    found = log_likelihood(data.with_basal(), model, [k])[0]
    alone = log_likelihood(data.with_basal(), (), [[1.0]])[0]
    x0, y0, _ = _columns(data, (), [1.0])
    x0, y0 = project @ x0, project @ y0
    along = (x0[:, 0] @ (y0 - x0[:, 0])) ** 2 / (x0[:, 0] @ x0[:, 0])
    rest = y0 - x0[:, 0] * (x0[:, 0] @ y0) / (x0[:, 0] @ x0[:, 0])
    base = -0.5 * np.log(n + 1) - n / 2 * np.log(((n + 1) * rest @ rest + along) / (2 * (n + 1)))
    assert found - alone == pytest.approx(ratio - base, abs=1e-8)


def test_a_basal_rate_that_is_added_to_the_measured_rates_changes_nothing(data):
    parts = increments(data.with_basal())
    plain = increments(data)[0]
    column = plain.substrate / (plain.substrate + 1.0)
    shifted = type(plain)(
        plain.rates + 0.7 * column, plain.substrate, plain.phospho, plain.enzymes, plain.unit
    ).with_basal()
    assert np.allclose(shifted.rates, parts[0].rates, atol=1e-13)
    assert np.allclose(shifted.measured, plain.rates + 0.7 * column, atol=1e-13)


def test_leaving_one_out_is_leaving_one_out(data):
    # With K known, the prediction of a rate from the others is one regression without its row.
    part, k, model = increments(data.with_basal())[0], np.array([[0.9, 1.1]]), np.array([2])
    errors = leave_one_out([part], model, k, np.ones(1))[0]
    x, y, b = _columns(data, ("E3",), k[0])
    n = part.n
    project = np.eye(len(y)) - np.outer(b, b) / (b @ b)
    precision = x.T @ project @ x / n  # of the prior of V: kept as it is
    for i in (0, 5, len(y) - 1):
        rest = np.arange(len(y)) != i
        full = np.column_stack([x, b])
        a = full[rest].T @ full[rest]
        a[:2, :2] += precision
        right = full[rest].T @ y[rest]
        right[:2] += precision @ np.ones(2)
        assert errors[i] == pytest.approx(y[i] - full[i] @ np.linalg.solve(a, right), abs=1e-9)


def test_a_comparison_finds_regulators_beside_a_basal_rate_and_says_so():
    data = Dataset.simulate(6, rng=1, noise=0.01)
    found = compare(data, units="given", basal=True, n=20, rng=0)
    assert found.settings["basal"] is True
    assert set(found.best) == set(data.regulators)
    drawn = fit(data.with_basal(), found.best, units="given", rng=0)
    residual = drawn.courses[0].rates.mean(axis=0) - drawn.courses[0].observed
    assert np.sum(residual**2) < 0.1 * np.sum(drawn.courses[0].observed ** 2)


def test_large_screens_have_the_same_likelihoods():
    data = Dataset.simulate(120, rng=2, noise=0.01).with_basal()
    found = compare(data, units="given", n=100, rng=0, checks=False)
    assert "screen" in found.settings
    k = prior(3).from_uniform(quasi_random(2**14, 3))
    exact = logsumexp(log_likelihood_block(data, [found.best], k)[:, 0]) - np.log(len(k))
    sd = found.evidences.log_sd[found.names.index(found.best)]
    # The sum over 16,384 points is itself right to some hundredths.
    assert found.log_evidence(found.best) == pytest.approx(exact, abs=4 * sd + 0.1)
