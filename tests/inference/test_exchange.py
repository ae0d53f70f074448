"""Exchangeable parameters: which exchanges leave a prior as it is, and that their modes are found without a climb."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import fwbq
from fwbq.inference.chart import chart_of
from fwbq.inference.modes import Mode
from fwbq.inference.proposers.exchange import exchanges
from fwbq.inference.quadratic import Quadratic

A, K = stats.lognorm(0.6, scale=1.6), stats.gamma(2.0)
PRIORS = {
    "independent": (fwbq.Gaussian(np.zeros(3), 4.0 * np.eye(3)), 3),
    "correlated alike": (fwbq.Gaussian(np.ones(3), np.eye(3) + 0.5), 3),
    "one of another width": (fwbq.Gaussian(np.zeros(3), np.diag([1.0, 1.0, 2.0])), 1),
    "one of another mean": (fwbq.Gaussian([0.0, 1.0, 0.0], np.eye(3)), 1),
    "two kinds": (fwbq.Product([A, K, A, K]), 3),
    "none alike": (fwbq.Product([A, K, stats.norm()]), 0),
    "one parameter": (fwbq.Product([A]), 0),
    "a sample": (fwbq.Empirical(np.eye(3)), 0),
    "four alike": (fwbq.Uniform(np.zeros(4), np.ones(4)), 9),
}


@pytest.mark.parametrize("name", PRIORS)
def test_exchanges_are_those_that_leave_the_prior_as_it_is(name):
    prior, count = PRIORS[name]
    chart = chart_of(prior)
    found = exchanges(chart, 100)
    z = np.random.default_rng(1).standard_normal((20, chart.dim))
    for exchange in found:
        assert np.allclose(chart.log_prior(z), chart.log_prior(exchange(z)), atol=1e-7)
        assert np.allclose(exchange(exchange(z)), z, atol=1e-7)
    x = chart.to_user(z)
    images = [chart.to_user(exchange(z)) for exchange in found]
    # The others have a parameter that is reflected.
    whole = [y for y in images if np.allclose(np.sort(x, axis=1), np.sort(y, axis=1), rtol=1e-7)]
    assert len(whole) == count
    assert not any(np.allclose(x, y) for y in images)


def test_no_more_than_asked_for_and_all_labels_of_two_components_first():
    chart = chart_of(fwbq.Gaussian(np.zeros(4), np.eye(4)))
    found = exchanges(chart, 2)
    assert len(found) == 2
    assert np.allclose(found[0](np.array([[1.0, 2.0, 3.0, 4.0]])), [3.0, 4.0, 1.0, 2.0])
    assert np.allclose(found[1](np.array([[1.0, 2.0, 3.0, 4.0]])), [2.0, 1.0, 4.0, 3.0])


def test_few_evaluations_have_none_for_images():
    assert exchanges(chart_of(fwbq.Gaussian(np.zeros(4), np.eye(4))), 0) == []
    run = fwbq.EvidenceRun(fwbq.Gaussian(np.zeros(4), np.eye(4)), n=24, rng=0)
    purposes = []
    while run.n_evaluations < 24:
        x = run.ask(24 - run.n_evaluations)
        run.tell(x, -np.sum((x - [0.5, -0.5, 1.0, -1.0]) ** 2, axis=1) / 0.02)
        purposes.append(run._way.images)
    assert not any(purposes)


def test_a_saved_run_keeps_its_symmetry(tmp_path):
    f = mixture((-3.0, 3.0), 12, 0)
    run = fwbq.EvidenceRun(fwbq.Gaussian([0.0, 0.0], 9.0 * np.eye(2)), n=60, rng=0)
    while not run._way.climbs._exchanges:
        x = run.ask()
        run.tell(x, f(x))
    run.save(tmp_path / "run.json")
    again = fwbq.EvidenceRun.load(tmp_path / "run.json")
    assert len(again._way.climbs._exchanges) == 1
    assert len(again._way.climbs.modes) == len(run._way.climbs.modes) == 2


def test_the_image_of_a_mode_has_the_same_values_at_exchanged_points():
    chart = chart_of(fwbq.Gaussian(np.ones(3), np.eye(3) + 0.5))
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3))
    mode = Mode(Quadratic(rng.standard_normal(3), -2.0, np.zeros(3), -(root @ root.T) - np.eye(3)))
    z = rng.standard_normal((10, 3))
    for exchange in exchanges(chart, 10):
        image = exchange.image(mode)
        assert np.allclose(image.peak(exchange(z)), mode.peak(z), rtol=1e-9)
        assert image.climbs == 0


def mixture(means, n, seed):
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.normal(m, 0.5, n) for m in means])

    def log_likelihood(x):
        return np.sum(logsumexp(-0.5 * ((y[None, :, None] - x[:, None, :]) / 0.5) ** 2, axis=2), axis=1)

    return log_likelihood


def sorted_evidence(log_likelihood, size):
    """The evidence of two locations with labels, by a tensor rule over both orders."""
    axis = np.linspace(-9.0, 9.0, size)
    grid = np.array(list(itertools.product(axis, axis)))
    logs = log_likelihood(grid) + np.sum(stats.norm(0.0, 3.0).logpdf(grid), axis=1)
    return logsumexp(logs) + 2.0 * np.log(axis[1] - axis[0])


@pytest.mark.parametrize("seed", range(3))
def test_two_labels_have_two_modes_at_any_n(seed):
    f = mixture((-3.0, 3.0), 12, seed)
    truth = sorted_evidence(f, 721)
    assert abs(truth - sorted_evidence(f, 481)) < 1e-6
    for n in (40, 100):
        found = fwbq.evidence(f, fwbq.Gaussian([0.0, 0.0], 9.0 * np.eye(2)), n=n, rng=seed, progress=False)
        assert len(found.modes) == 2
        assert abs(found.log_evidence - truth) < max(4.0 * found.sd, 1e-6)
        assert found.sd < 0.1


def test_three_labels_have_six_modes():
    f = mixture((-4.0, 0.0, 4.0), 10, 0)
    found = fwbq.evidence(f, fwbq.Gaussian(np.zeros(3), 16.0 * np.eye(3)), n=100, rng=0, progress=False)
    assert len(found.modes) == 6
    assert np.allclose([mode.share for mode in found.modes], 1.0 / 6.0, atol=0.02)


def test_a_likelihood_that_tells_the_labels_apart_has_no_image():
    def f(x):
        return -0.5 * np.sum(((x - [1.0, -1.0]) / 0.1) ** 2, axis=1)

    found = fwbq.evidence(f, fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=60, rng=0, progress=False)
    assert len(found.modes) == 1


def weighted_mixture(rng, *, logit):
    """Return the log likelihood of a mixture with means a and b and the weight w of the first, or its logit."""
    y = np.where(rng.uniform(size=40) < 0.3, -2.0, 2.0) + 0.7 * rng.normal(size=40)

    def f(x):
        w = 1.0 / (1.0 + np.exp(-x[:, 2])) if logit else x[:, 2]
        parts = [stats.norm.logpdf(y[None], x[:, [k]], 0.7) for k in (0, 1)]
        with np.errstate(divide="ignore"):
            return np.sum(np.logaddexp(np.log(w)[:, None] + parts[0], np.log1p(-w)[:, None] + parts[1]), axis=1)

    return f


def grid_evidence(f, side):
    """The log evidence under normal means of width 3 and a uniform weight, by a grid."""
    a = np.linspace(-6.0, 6.0, side)
    u = (np.arange(side // 4) + 0.5) / (side // 4)
    x = np.stack(np.meshgrid(a, a, u, indexing="ij"), axis=-1).reshape(-1, 3)
    logs = np.concatenate([f(part) for part in np.array_split(x, 40)]) + stats.norm.logpdf(x[:, :2], 0.0, 3.0).sum(
        axis=1
    )
    return float(logsumexp(logs) + 2.0 * np.log(a[1] - a[0]) - np.log(len(u)))


def test_a_weight_is_reflected_when_labels_are_exchanged():
    f = weighted_mixture(np.random.default_rng(0), logit=False)
    truth = grid_evidence(f, 81)
    assert abs(truth - grid_evidence(f, 61)) < 1e-3
    prior = fwbq.Product([stats.norm(0.0, 3.0), stats.norm(0.0, 3.0), stats.uniform()])
    found = fwbq.evidence(f, prior, n=100, rng=0)
    assert len(found.modes) == 2
    a, b = (mode.place for mode in found.modes)
    np.testing.assert_allclose([a[0], a[1], a[2]], [b[1], b[0], 1.0 - b[2]], atol=1e-6)
    assert abs(found.log_evidence - truth) < max(4.0 * found.sd, 2e-3)
    assert found.sd < 0.1


def test_without_a_prior_the_logit_of_a_weight_is_reflected():
    f = weighted_mixture(np.random.default_rng(0), logit=True)

    def joint(x):
        jacobian = -np.logaddexp(0.0, x[:, 2]) - np.logaddexp(0.0, -x[:, 2])
        return f(x) + stats.norm.logpdf(x[:, :2], 0.0, 3.0).sum(axis=1) + jacobian

    truth = grid_evidence(weighted_mixture(np.random.default_rng(0), logit=False), 81)
    found = fwbq.evidence(joint, dim=3, start=[-1.0, 1.0, 0.0], n=120, rng=0)
    assert len(found.modes) == 2
    assert abs(found.log_evidence - truth) < max(4.0 * found.sd, 2e-3)
