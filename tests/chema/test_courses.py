"""Levels that are explained as whole courses: the columns, and the networks that are inferred by them."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

from fwbq.chema import Dataset, compare, fit, log_likelihood, network
from fwbq.chema.inhibitors import inhibited
from fwbq.chema.kinetics import increments
from fwbq.chema.network import SCATTERED
from fwbq.chema.replicates import scatter_share

RNG = np.random.default_rng(4)
TIMES = np.array([0.0, 1.0, 2.0, 4.0, 7.0, 11.0, 20.0])
LEVELS = RNG.lognormal(0.0, 0.5, (2, len(TIMES), 3))


def dataset(levels=LEVELS, phospho=None, **options):
    """Two conditions with three enzymes; by default S* follows the second enzyme with a memory of 3."""
    memory = np.array([[remembered(t, TIMES, each[:, 1], 3.0) for t in TIMES] for each in levels])
    y = 0.4 + 0.3 * memory if phospho is None else phospho
    noise = 0.01 * np.random.default_rng(1).standard_normal(y.shape)
    y = (y + noise).ravel()
    options = {"basal": True, "explained": "levels"} | options
    return Dataset(
        np.tile(TIMES, 2), 9.0 - y, y, levels.reshape(-1, 3), condition=np.repeat(["a", "b"], len(TIMES)), **options
    )


def remembered(t, times, levels, k):
    """By quadrature, interval by interval: the levels have bends at the times."""
    ends = [*times[times < t], t]
    return sum(quad(lambda s: np.exp(-(t - s) / k) * np.interp(s, times, levels), a, b)[0] for a, b in pairwise(ends))


@pytest.mark.parametrize("k", [0.01, 0.5, 3.0, 1e3])
def test_columns_are_the_integrals_of_the_formula(k):
    (part,) = increments(dataset(basal=False))
    x = part.designs(np.array([[0, 2]]), np.array([[k, k, k]]))[0]
    expected = [[remembered(t, TIMES, each[:, j], k) for each in LEVELS for t in TIMES] for j in (0, 2)]
    np.testing.assert_allclose(x[:, 0], np.tile(np.exp(-TIMES / k), 2), rtol=1e-12)
    np.testing.assert_allclose(x[:, 1:].T, expected, rtol=1e-9, atol=1e-12)


def test_fast_and_explicit_likelihoods_agree_with_plain_algebra():
    r"""log L = -log 2 + lgamma(N/2) - N/2 log 2 pi - d/2 log(N+1) - N/2 log b_N, the constant projected out."""
    from scipy.special import gammaln

    data = dataset()
    (part,) = increments(dataset(basal=False))
    for model in [(), (1,), (0, 1), (0, 1, 2)]:
        k = np.full((1, 1 + len(model)), 2.0)
        x = part.designs(np.array([model], dtype=int).reshape(1, -1), k)[0]
        y = data.phospho
        x, y = x - x.mean(axis=0), y - y.mean()
        n, d = len(y) - 1, x.shape[1]
        v, *_ = np.linalg.lstsq(x, y, rcond=None)
        b = 0.5 * (np.sum((y - x @ v) ** 2) + np.sum((x @ (v - 1.0)) ** 2) / (n + 1))
        expected = -np.log(2) + gammaln(n / 2) - n / 2 * np.log(2 * np.pi) - d / 2 * np.log(n + 1) - n / 2 * np.log(b)
        assert log_likelihood(data, model, k)[0] == pytest.approx(expected, rel=1e-9)
        # The constants of the enzymes have no part.
        k[:, 1:] = 0.3
        assert log_likelihood(data, model, k)[0] == pytest.approx(expected, rel=1e-9)


def test_the_enzyme_that_is_remembered_is_found_whatever_the_units():
    data = dataset()
    one, other = (
        compare(d, checks=False, n=20, rng=0) for d in (data, data.rescaled(time=60.0, level=1e-3, enzymes=1e4))
    )
    assert one.best == ("E2",) and one.settings["explained"] == "levels"
    assert one.settings["likelihood"].startswith("closed form")
    np.testing.assert_allclose(one.evidences.centre, other.evidences.centre, rtol=1e-9)


def test_a_background_of_an_enzyme_is_no_obstacle():
    """Its part of the column is a multiple of 1 - exp(-t / K_0), which every model has: the fit is the same."""
    data = dataset()
    shifted = data.with_values(enzymes=data.enzymes + np.array([0.0, 5.0, 0.0]))
    residual = []
    for each in (data, shifted):
        (part,) = increments(each)
        x = part.designs(np.array([[1]]), np.full((1, 2), 3.0))[0]
        residual.append(part.rates - x @ np.linalg.lstsq(x, part.rates, rcond=None)[0])
    np.testing.assert_allclose(*residual, rtol=1e-9, atol=1e-12)
    assert compare(shifted, checks=False, n=20, rng=0).best == ("E2",)


def test_the_fit_follows_the_levels():
    data = dataset()
    data = data.with_values(phospho=data.phospho + np.tile(np.exp(-TIMES / 3.0), 2)).rescaled(time=3.0)
    found = fit(data, ("E2",), units="given", draws=400, rng=0)
    assert found.constants.shape == (400, 1)
    velocity, noise = found.courses[0].velocities[:, 1], found.courses[0].noise
    for drawn, true in ((found.constants[:, 0], 1.0), (velocity, 0.9), (noise, 0.01)):
        low, high = np.quantile(drawn, [0.005, 0.995])
        assert low < true < high < 3.0 * true
    for course in found.courses:
        drawn = np.median(course.levels, axis=0)
        np.testing.assert_allclose(drawn, course.phospho, atol=0.06)
    assert "dephosphorylation" in found._repr_html_()


def test_missing_levels_are_interpolated_or_left_out():
    data = dataset()
    levels, y = np.array(data.enzymes), np.array(data.phospho)
    levels[3, 0], y[5] = np.nan, np.nan
    (part,) = increments(data.with_values(enzymes=levels, phospho=y))
    (whole,) = increments(data)
    assert part.rows == whole.rows - 1 and part.n == whole.n - 1
    filled = np.interp(TIMES[3], TIMES[[2, 4]], levels[[2, 4], 0])
    assert part.enzymes[3, 0] * part.unit[0] == pytest.approx(filled)
    assert compare(data.with_values(enzymes=levels, phospho=y), checks=False, n=20, rng=0).best == ("E2",)
    found = fit(data.with_values(enzymes=levels, phospho=y), ("E2",), draws=5, rng=0)
    assert np.isnan(found.courses[0].rates[:, 4:]).all() and np.isfinite(found.courses[0].rates[:, :4]).all()


def test_what_is_for_rates_is_refused():
    with pytest.raises(ValueError, match="are for rates"):
        compare(dataset(), n=10)
    with pytest.raises(ValueError, match="are for rates"):
        compare(dataset(), n=10, checks=False, truncated=True)
    with pytest.raises(ValueError, match="levels that are explained"):
        compare(dataset(), n=10, checks=False, screen=True)
    with pytest.raises(ValueError, match="`explained` must be"):
        dataset(explained="both")


def test_an_inhibited_kinase_acts_as_at_rest():
    data = dataset().with_values(condition=np.repeat(["a", "a+E2i"], len(TIMES)))
    rest = 0.5 * (LEVELS[0, 0, 1] + LEVELS[1, 0, 1])
    lowered = inhibited(data, ["E2i=E2:0.9"], rest=True).enzymes.reshape(2, -1, 3)
    np.testing.assert_allclose(lowered[1, :, 1] - rest, 0.1 * (LEVELS[1, :, 1] - rest), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(lowered[0], LEVELS[0])
    np.testing.assert_array_equal(lowered[..., [0, 2]], LEVELS[..., [0, 2]])


def table(noise=0.08, seed=0):
    """A drives B, and D has a course of its own; three replicates, a background, noise that hides the rates."""
    rng = np.random.default_rng(seed)
    rows = []
    for condition, top in (("lo", 0.5), ("hi", 2.0), ("none", 0.0)):
        a = top * (np.exp(-TIMES / 8.0) - np.exp(-TIMES / 1.5))
        b = np.array([remembered(t, TIMES, a, 4.0) for t in TIMES])
        d = rng.uniform(0.0, 1.0) * TIMES / 10.0
        for name, y in (("A", a), ("B", b), ("D", d)):
            for replicate in range(3):
                measured = (1.0 + y) * np.exp(noise * rng.standard_normal(len(TIMES)))
                rows += [(t, name, v, condition, str(replicate)) for t, v in zip(TIMES, measured, strict=True)]
    return pd.DataFrame(rows, columns=["time", "variable", "value", "condition", "replicate"])


def test_noise_that_hides_the_rates_does_not_hide_the_levels():
    options = {"substrates": ["B"], "max_enzymes": 1, "n": 20}
    for seed in range(3):
        levels, rates = (
            {e.source: e for e in network(table(0.3, seed), explained=way, **options).edges}
            for way in ("levels", "rates")
        )
        assert levels["A"].probability > max(0.5, rates["A"].probability, levels["D"].probability)
        assert levels["A"].q2 > rates["A"].q2


def test_a_network_says_what_was_explained():
    found = network(table(0.3), substrates=["B"], max_enzymes=1, n=20)
    assert found.settings["explained"] == "levels" and found.settings["replicates"] == "mean"
    for options in ({"truncated": True}, {"replicates": "each"}):
        with pytest.raises(ValueError, match="are for rates"):
            network(table(), explained="levels", **options)


def test_scatter_of_replicates_decides_what_is_explained():
    """The share is that of the variances of means: with r replicates of equal variance s^2 it is 2 s^2 / r a step."""
    rows = [
        (t, "A", y + e, "c", str(r))
        for t, y in ((0.0, 1.0), (1.0, 3.0), (3.0, 4.0))
        for r, e in enumerate((-0.3, 0.0, 0.3))
    ]
    tidy = pd.DataFrame(rows, columns=["time", "variable", "value", "condition", "replicate"])
    error = 2.0 * 0.09 / 3.0
    assert scatter_share(tidy) == pytest.approx((error + error / 4.0) / (4.0 + 0.25), rel=1e-12)
    assert scatter_share(tidy[tidy["replicate"] == "0"]) == 0.0
    options = {"substrates": ["B"], "max_enzymes": 1, "n": 10}
    for noise in (0.01, 0.3):
        expected = "levels" if scatter_share(table(noise)) > SCATTERED else "rates"
        assert network(table(noise), **options).settings["explained"] == expected
    assert scatter_share(table(0.01)) < 0.1 and scatter_share(table(0.3)) > 0.5
