"""evidence with gradients: executors, journals, failures, tolerances, and gradients that are wrong."""

import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import fwbq

PRIOR = fwbq.Gaussian(np.zeros(3), np.eye(3))
RNG = np.random.default_rng(0)
X = np.column_stack([np.ones(60), RNG.normal(size=(60, 2))])
Y = RNG.uniform(size=60) < 1.0 / (1.0 + np.exp(-X @ [0.3, 1.0, -0.5]))


def logistic(x):
    odds = x @ X.T
    values = np.sum(np.where(Y, -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)), axis=1)
    return values, (Y - 1.0 / (1.0 + np.exp(-odds))) @ X


def one_point(x):
    values, gradients = logistic(x[None])
    return float(values[0]), gradients[0]


def joint(x):
    """With the log density of the prior, which is a term of both."""
    values, gradients = logistic(x)
    return values - 0.5 * np.sum(x**2, axis=1) - 1.5 * np.log(2.0 * np.pi), gradients - x


def evidence(f, prior=PRIOR, **options):
    return fwbq.evidence(f, prior, **({"n": 50, "rng": 0, "progress": False, "gradient": True} | options))


def same(found, expected):
    np.testing.assert_array_equal(found.points, expected.points)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.log_evidence == expected.log_evidence and found.sd == expected.sd


@pytest.fixture(scope="module")
def here():
    return evidence(one_point, vectorized=False)


def test_with_and_without_a_prior_and_from_values_the_answer_is_one(here):
    values = fwbq.evidence(lambda x: logistic(x)[0], PRIOR, n=100, rng=0, progress=False)
    for found in (here, evidence(joint, None, dim=3)):
        assert found.success
        assert abs(found.log_evidence - values.log_evidence) < 4.0 * np.hypot(found.sd, values.sd)
        assert found.sd < 0.05


def test_how_it_is_called_is_found_out(here):
    found = evidence(logistic)
    # A product with many rows rounds otherwise than with one: points follow the values' last digits.
    assert abs(found.log_evidence - here.log_evidence) < 4.0 * np.hypot(found.sd, here.sd)
    same(evidence(one_point), here)


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_the_answer_does_not_depend_on_who_computes(pool, here):
    with pool(2) as executor:
        same(evidence(one_point, vectorized=False, executor=executor), here)


def test_a_journal_that_was_cut_off_is_resumed_to_the_same_bits(tmp_path, here):
    path, calls = tmp_path / "run.db", []

    def failing(x):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return one_point(x)

    options = {"journal": path, "tag": "logistic", "vectorized": False}
    with pytest.raises(KeyboardInterrupt):
        evidence(failing, **options)
    same(evidence(failing, **options), here)
    assert len(calls) <= 51  # the one that was cut off is made again
    before = len(calls)
    same(evidence(failing, **options), here)
    assert len(calls) == before


def test_failures_are_skipped():
    def failing(x):
        if x[0] > 0.2:
            raise ArithmeticError("no solution")
        return one_point(x)

    with pytest.raises(fwbq.EvaluationError, match="no solution"):
        evidence(failing, vectorized=False)
    with pytest.warns(RuntimeWarning):
        found = evidence(failing, vectorized=False, on_error="skip")
    assert found.n_skipped > 0
    assert found.n_evaluations + found.n_skipped == 50


def test_a_gradient_that_is_not_finite_leaves_its_value(here):
    def sometimes(x):
        value, gradient = one_point(x)
        return value, np.full(3, np.nan) if abs(x[1]) % 0.3 < 0.03 else gradient

    found = evidence(sometimes, vectorized=False)
    assert found.n_evaluations == 50
    assert abs(found.log_evidence - here.log_evidence) < 4.0 * np.hypot(found.sd, here.sd)


def test_a_tolerance_ends_the_run():
    found = evidence(logistic, tol=0.05, n=None)
    low, high = found.interval(0.95)
    assert found.reason is fwbq.Reason.TOLERANCE
    assert 0.5 * (high - low) <= 0.05
    assert 20 <= found.n_evaluations < 500


def test_a_timeout_is_kept():
    def slow(x):
        time.sleep(0.5)
        return one_point(x)

    with pytest.raises(fwbq.EvaluationError):
        evidence(slow, vectorized=False, timeout=0.01)


@pytest.mark.parametrize("f", [lambda x: logistic(x)[0], lambda x: (logistic(x)[0], logistic(x)[1][:, :2])])
def test_what_is_no_pair_is_told(f):
    with pytest.raises(fwbq.EvaluationError, match=r"\(n, d\)"):
        evidence(f)


WRONG = {
    "sign": lambda x, g: -g,
    "scale": lambda x, g: 3.0 * g,
    "mean over data": lambda x, g: g / 60.0,
    "nothing": lambda x, g: 0.0 * g,
}


@pytest.mark.parametrize("mistake", WRONG)
@pytest.mark.parametrize("prior", [PRIOR, None])
def test_wrong_gradients_are_said(mistake, prior):
    f = logistic if prior is not None else joint

    def wrong(x):
        values, gradients = f(x)
        return values, WRONG[mistake](x, gradients)

    start = {} if prior is not None else {"start": [1.0, 0.0, 0.5]}
    with pytest.raises(fwbq.WrongGradient, match="the gradients are not those of the values"):
        evidence(wrong, prior, **start)


def log_scale(x):
    """Thirty data of unknown mean and log standard deviation, whose Jacobian is the last term."""
    y = np.random.default_rng(1).normal(1.0, 3.0, size=30)
    r = y - x[:, :1]
    w = np.exp(-2.0 * x[:, 1])
    s = np.sum(r**2, axis=1)
    values = -30.0 * x[:, 1] - 0.5 * s * w - 0.005 * x[:, 0] ** 2 - 0.02 * np.exp(2.0 * x[:, 1]) + x[:, 1]
    return values, np.column_stack([r.sum(axis=1) * w - 0.01 * x[:, 0], -29.0 + s * w - 0.04 * np.exp(2.0 * x[:, 1])])


@pytest.mark.parametrize("seed", range(3))
def test_a_forgotten_jacobian_is_said(seed):
    right = evidence(log_scale, None, dim=2, n=100, rng=seed)
    assert right.success
    with pytest.warns(RuntimeWarning, match="Jacobian"):
        evidence(lambda x: (log_scale(x)[0], log_scale(x)[1] - [0.0, 1.0]), None, dim=2, n=100, rng=seed)


def test_a_forgotten_prior_is_said():
    def forgotten(x):
        values, gradients = logistic(x - 2.0)
        return values - 0.5 * np.sum(x**2, axis=1), gradients

    with pytest.raises((fwbq.WrongGradient, RuntimeWarning), match="those of the values"):
        evidence(forgotten, None, start=np.full(3, 2.0), n=100)


@pytest.mark.parametrize("level", [0.0, -1e5])
def test_single_precision_is_not_refused(level, here):
    def single(x):
        values, gradients = logistic(x)
        return (values + level).astype(np.float32), gradients.astype(np.float32)

    found = evidence(single)
    # Values of 1e5 in single precision are rounded to 0.004.
    assert abs(found.log_evidence - level - here.log_evidence) < 4.0 * np.hypot(found.sd, here.sd) + 0.004
    assert found.success
