"""Draws that judge a surrogate, from values alone: many dimensions, correlations, a false basin, and saved runs."""

import numpy as np
import pytest
from scipy import integrate
from scipy.special import gammaln

from fwbq import EvidenceRun
from fwbq.inference.gradients.process import GradientKernel, GradientProcess
from fwbq.inference.proposers.climb import Climb

D = 6


def regression(seed=0, size=30):
    """Return the log joint density of a regression on columns that are not centred, and its exact log integral.

    Flat priors of the coefficients b and of log s: given s they are Gaussian, and the integral over s is a gamma's.
    """
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(size), 60.0 + 3.0 * rng.normal(size=(size, D - 2))])
    y = X @ rng.normal(size=D - 1) + 2.0 * rng.normal(size=size)
    k = D - 1
    S, b = np.linalg.inv(X.T @ X), np.linalg.lstsq(X, y, rcond=None)[0]
    rss = float(np.sum((y - X @ b) ** 2))
    nu = size - k
    truth = (
        -0.5 * nu * np.log(2.0 * np.pi) + 0.5 * np.linalg.slogdet(S)[1]
        + gammaln(nu / 2.0) - 0.5 * nu * np.log(rss / 2.0) - np.log(2.0)
    )  # fmt: skip

    def f(x):
        s = np.exp(x[:, k])
        left = y[None] - x[:, :k] @ X.T
        return -size * x[:, k] - 0.5 * size * np.log(2.0 * np.pi) - 0.5 * np.sum(left**2, axis=1) / s**2

    return f, float(truth), np.append(np.append(y.mean(), np.zeros(k - 1)), np.log(y.std()))


def test_the_integral_of_the_regression_is_that_of_a_quadrature_over_the_noise():
    f, truth, _ = regression()
    k = D - 1
    # Given s the density is Gaussian in b: value and curvature at its maximum, by differences that are exact for it.
    at_zero = lambda b, t: f(np.append(b, t)[None])[0]  # noqa: E731
    eye = np.eye(k)
    H = np.array(
        [[at_zero(a + b, 0.0) - at_zero(a, 0.0) - at_zero(b, 0.0) + at_zero(0 * a, 0.0) for a in eye] for b in eye]
    )
    slope = np.array([0.5 * (at_zero(a, 0.0) - at_zero(-a, 0.0)) for a in eye])
    best = -np.linalg.solve(H, slope)
    half = 0.5 * np.linalg.slogdet(2.0 * np.pi * np.linalg.inv(-H))[1]
    value = integrate.quad(
        lambda t: np.exp(at_zero(best, t) + half + k * t - truth), -5.0, 8.0, epsabs=1e-10, limit=200
    )[0]
    # Curvatures of 1e5 are differences of values of 1e6: about nine digits are left, and five after the inverse.
    assert value == pytest.approx(1.0, rel=1e-4)


def run_of(f, n, **options):
    run = EvidenceRun(n=n, rng=0, **options)
    going_on(run, f, n)
    return run


def going_on(run, f, n):
    while run.n_evaluations < n:
        x = run.ask(n - run.n_evaluations)
        run.tell(x, f(x))


@pytest.fixture(scope="module")
def whole():
    f, truth, start = regression()
    return run_of(f, 300, start=start), truth


def test_a_regression_on_raw_columns_is_found_from_values(whole):
    run, truth = whole
    found = run.result()
    assert found.success
    assert abs(found.log_evidence - truth) < min(4.0 * found.sd, 0.3)
    assert run._way.draws is not None
    assert found.terms.way in ("draws under a surrogate of values", "Bayesian quadrature")


def test_the_draws_alone_state_a_standard_error(whole):
    run, truth = whole
    judged = run._way.draws.judge(run._data, 0.0, confirmed=True)
    assert judged.terms.way == "draws under a surrogate of values"
    assert abs(judged.terms.log_evidence - truth) < 4.0 * judged.terms.sd < 0.5
    without = run._way.draws.judge(run._data, 3.0, confirmed=False)
    assert without.terms.sd >= 3.0
    assert not without.terms.sound


@pytest.mark.parametrize("share", [0.5, 0.75, 0.95])
def test_a_saved_run_goes_on_as_the_other(whole, tmp_path, share):
    """Amid the curvature, the climbs from far around, and the draws."""
    run, _ = whole
    f, _, start = regression()
    some = int(share * 300)
    first = EvidenceRun(n=300, rng=0, start=start)
    going_on(first, f, some)
    first.save(tmp_path / "run.json")
    again = EvidenceRun.load(tmp_path / "run.json")
    going_on(again, f, 300)
    np.testing.assert_array_equal(again.result().points, run.result().points)
    assert again.result().log_evidence == run.result().log_evidence
    assert again.result().sd == run.result().sd


def test_in_few_dimensions_there_are_none():
    run = run_of(lambda x: -0.5 * np.sum(x**2, axis=1) - 0.1 * np.sum(x**4, axis=1), 80, start=np.full(3, 0.3))
    assert run._way.draws is None
    assert run._way.curvatures == []
    assert run.result().terms.way == "Bayesian quadrature"


def test_without_the_part_there_are_none(whole):
    f, _, start = regression()
    run = run_of(f, 120, start=start, without=["draws"])
    assert run._way.draws is None
    assert not run._way.climbs.around


def test_climbs_from_far_around_that_end_elsewhere_are_a_doubt(whole):
    run, _ = whole
    climbs, known = run._way.climbs, run._data.evaluated
    before = dict(climbs.around)
    assert climbs.apart(known) == 0.0 and climbs.confirmed(known)
    climbs.each.append(Climb(known.z[0] + 1e9, known.top - 7.0, 1.0, 0, ended=True))
    climbs.around = {0: len(climbs.each) - 1}
    try:
        assert climbs.apart(known) == pytest.approx(7.0)
        assert not climbs.confirmed(known)
    finally:
        climbs.each.pop()
        climbs.around = before


def test_a_process_of_values_is_that_of_values_and_gradients_without_the_gradients():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    kernel = GradientKernel(2.0, 3, 0.01, 3.0)
    process = GradientProcess.fit(kernel, x, y, None, 1e-6)
    np.testing.assert_array_equal(kernel.values(x), kernel.gram(x)[:12, :12])
    K = kernel.gram(x)[:12, :12] + 1e-6 * np.diag(kernel.variances(x)[:12])
    cross = kernel.gram(z, x)[:5, :12]
    np.testing.assert_allclose(process.predict(z), cross @ np.linalg.solve(K, y), rtol=1e-8, atol=1e-10)
    rest = np.setdiff1d(np.arange(12), [2, 7])
    left_out = process.predict(z, process.without([np.array([2, 7])]))[:, 0]
    K = K[np.ix_(rest, rest)]
    np.testing.assert_allclose(left_out, cross[:, rest] @ np.linalg.solve(K, y[rest]), rtol=1e-6, atol=1e-8)


def test_a_function_that_fails_far_out_is_asked_there_once():
    f, truth, start = regression()
    run = EvidenceRun(n=300, rng=0, start=start)
    around = 0
    while run.n_evaluations + around < 300:
        x = run.ask(300 - run.n_evaluations - around)
        if run._batch.proposal.proposer == "around":
            run.skip(x)
            around += len(x)
        else:
            run.tell(x, f(x))
    assert around == 4
    assert run._way.climbs.around == {}
    found = run.result()
    assert abs(found.log_evidence - truth) < 4.0 * found.sd
