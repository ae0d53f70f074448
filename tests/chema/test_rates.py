"""Rates V and noise sigma shared by the conditions of a cell line, or of their own."""

import io

import numpy as np
import pytest

from fwbq.chema import Dataset, compare, design_matrix, log_likelihood, log_likelihood_block, pairs
from fwbq.chema.kinetics import increments
from fwbq.chema.survivors import ScreenRules

NAMES = ["EGF", "insulin"]


def courses(n_enzymes=4, lines=("MCF7", "BT20"), noise=0.02, seed=1):
    """Two stimuli for each of some cell lines."""
    parts, labels, cell_line = [], [], []
    for i, line in enumerate(lines):
        for j, name in enumerate(NAMES):
            part = Dataset.simulate(n_enzymes, rng=[seed, i, j], regulators=(0,), noise=noise, times=np.arange(7.0))
            parts.append(part)
            labels.append(f"{line} {name}")
            cell_line += [line] * 7
    both = Dataset.combine(parts, labels)
    return both.with_values(cell_line=cell_line)


def test_groups_are_the_cell_lines_or_the_conditions():
    data = courses()
    assert data.cell_lines == ("MCF7", "BT20") and data.groups == ((0, 1), (2, 3)) and data.n_shared == (12, 12)
    own = data.with_rates("own")
    assert own.groups == ((0,), (1,), (2,), (3,)) and own.n_shared == (6, 6, 6, 6)
    assert own.with_rates("shared").groups == data.groups
    assert data.select(conditions=["BT20 EGF"]).groups == ((0,),)
    with pytest.raises(ValueError, match="`rates` must be one of 'shared', 'own'"):
        data.with_rates("some")
    with pytest.raises(ValueError, match="'MCF7 EGF' has rows of the cell lines 'a' and 'b'"):
        data.with_values(cell_line=["a"] * 3 + ["b"] * 25)


def test_shared_rates_are_one_regression_and_groups_add_up():
    data = courses()
    k = np.random.default_rng(0).uniform(0.05, 2.5, (6, 3))
    by_line = [data.select(conditions=[f"{line} {name}" for name in NAMES]) for line in data.cell_lines]
    together = sum(log_likelihood(part, (1, 2), k) for part in by_line)
    np.testing.assert_allclose(log_likelihood(data, (1, 2), k), together, rtol=1e-12)
    apart = sum(log_likelihood(part, (1, 2), k) for part in data.split())
    np.testing.assert_allclose(log_likelihood(data.with_rates("own"), (1, 2), k), apart, rtol=1e-12)
    # The stacked design matrix has the rows of the conditions.
    stacked = np.concatenate([design_matrix(part, (1, 2), k) for part in by_line[0].split()], axis=1)
    np.testing.assert_array_equal(design_matrix(by_line[0], (1, 2), k), stacked)


def test_brute_force_integral_over_shared_rates_and_noise():
    """Two conditions, one column: V and sigma are integrated numerically over the product of their likelihoods."""
    data = courses(lines=("MCF7",)).rescaled(time=2.0)
    first, second = data.split()
    K = [[0.8]]
    n = sum(data.n_increments)
    xs = [design_matrix(part, (), K)[0][:, 0] for part in (first, second)]
    t, w = np.polynomial.legendre.leggauss(400)
    log_sigma, w_sigma = 6.0 * t - 1.0, 6.0 * w  # d sigma / sigma
    sigma = np.exp(log_sigma)[:, None]
    width = sigma * np.sqrt(n / sum(x @ x for x in xs))
    v = 1.0 + 14.0 * width * t
    log_joint = -0.5 * ((v - 1.0) / width) ** 2 - np.log(np.sqrt(2 * np.pi) * width)
    for part, x in zip((first, second), xs, strict=True):
        error = np.sum((part.rates - v[:, :, None] * x) ** 2, axis=2)
        log_joint -= 0.5 * error / sigma**2 + part.n_increments[0] * np.log(np.sqrt(2 * np.pi) * sigma)
    value = w_sigma @ np.sum(14.0 * width * w * np.exp(log_joint), axis=1)
    assert log_likelihood(data, (), K)[0] == pytest.approx(np.log(value), abs=1e-8)


def test_the_truncated_likelihood_of_shared_rates_by_brute_force():
    data = courses(lines=("MCF7",)).rescaled(time=2.0)
    n, x, y = sum(data.n_increments), design_matrix(data, (), [[0.8]])[0][:, 0], increments(data)[0].rates
    t, w = np.polynomial.legendre.leggauss(400)
    sigma, w_sigma = np.exp(6.0 * t - 1.0)[:, None], 6.0 * w
    width = sigma * np.sqrt(n / (x @ x))
    end = 1.0 + 14.0 * width
    v = 0.5 * end * (t + 1.0)
    from scipy.stats import norm

    log_joint = norm.logpdf(v, 1.0, width) - norm.logcdf(1.0 / width)
    log_joint -= 0.5 * np.sum((y - v[:, :, None] * x) ** 2, axis=2) / sigma**2 + n * np.log(np.sqrt(2 * np.pi) * sigma)
    value = w_sigma @ np.sum(0.5 * end * w * np.exp(log_joint), axis=1)
    assert log_likelihood(data, (), [[0.8]], truncated=True)[0] == pytest.approx(np.log(value), abs=1e-7)


@pytest.mark.parametrize("rates", ["shared", "own"])
def test_the_screen_and_the_comparison_agree_on_shared_and_own_rates(rates):
    data = courses(14).with_rates(rates)
    options = {"n": 20, "truncated": False, "checks": False, "rng": 0, "progress": False}
    full = compare(data, race=False, **options)
    found = compare(data, screen=ScreenRules((20,), top=20), **options)
    assert found.settings["rates"] == rates and found.settings["cell_lines"] == 2
    best = [full.names[i] for i in np.argsort(-full.evidences.log_median) if len(full.names[i]) == 2][:20]
    assert set(best) <= set(found.names)
    # The blocks of the screen are those of the likelihood.
    points = np.random.default_rng(0).uniform(0.1, 2.0, (3, 3))
    models = [(a, b) for a in range(14) for b in range(a + 1, 14)]
    exact = log_likelihood_block(data, models, points)
    parts = increments(data)
    left, right = ([side(part, points, np.arange(14)) for part in parts] for side in (pairs._left, pairs._right))
    block = pairs.BlockLikelihood(left, right, pairs.constant_part(parts))(slice(0, 14), slice(0, 14))
    values = block.values.reshape(3, 14, 14)
    for j, (a, b) in enumerate(models):
        np.testing.assert_allclose(values[:, a, b], exact[:, j], atol=block.error + 1e-9)


def test_a_table_says_which_cell_line_a_row_is_of():
    data = courses()
    text = io.StringIO()
    data.to_csv(text)
    again = Dataset.from_csv(io.StringIO(text.getvalue()))
    assert again.groups == data.groups and again.cell_line == data.cell_line
    # Conditions that several cell lines have in common are called by both names.
    frame = data.to_frame()
    frame["condition"] = [name.split()[1] for name in frame["condition"]]
    frame = frame.rename(columns={"cell_line": "Cell line"})
    assert Dataset.from_frame(frame).conditions == data.conditions
    assert Dataset.from_frame(frame, conditions=["MCF7 EGF"]).cell_lines == ("MCF7",)


def test_own_names_of_the_substrate_are_kept():
    frame = courses(lines=("MCF7",)).to_frame("4EBP1", "p4EBP1")
    data = Dataset.from_frame(frame, "4EBP1", phospho="p4EBP1")
    assert data.forms == ("4EBP1", "p4EBP1") and data.normalised().forms == data.forms
    assert set(data.to_frame()["variable"]) == set(frame["variable"])
    with pytest.raises(ValueError, match="`forms` must be two different names"):
        data.with_values(forms=("S", "S"))
