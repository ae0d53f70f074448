"""Replicates and missing values in the likelihood, against the regression written out row by row."""

import io
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln

from fwbq.chema import Dataset, Replicates, compare, fit, log_likelihood, natural_units
from fwbq.chema.kinetics import increments
from fwbq.chema.permutation import permutation_p_value
from fwbq.chema.replicates import of_course
from fwbq.chema.truncated import log_truncation_ratio

K = np.array([[0.7, 1.3, 0.4], [1.0, 1.0, 2.0]])


def table(rng, replicates=3, enzymes=("AKT", "ERK"), times=(0.0, 1.0, 2.5, 4.0, 6.0)):
    """Tidy rows, and the values by variable (T, R)."""
    values = {name: rng.uniform(0.5, 2.0, (len(times), replicates)) for name in ("S", "S*", *enzymes)}
    rows = [
        f"{t},{name},{float(v[i, k])!r},{k}"
        for name, v in values.items()
        for i, t in enumerate(times)
        for k in range(replicates)
    ]
    return np.array(times), rows, values


def read(rows, **options):
    return Dataset.from_csv(io.StringIO("\n".join(["time,variable,value,replicate", *rows])), **options)


def by_rows(x, y):
    """The marginal likelihood of the regression of all rows, from the inverse of X'X."""
    n, d = x.shape
    gram = x.T @ x
    prior, scale = np.ones(d), n * np.linalg.inv(gram)
    covariance = np.eye(n) + x @ scale @ x.T
    error = y - x @ prior
    b = 0.5 * error @ np.linalg.solve(covariance, error)
    return (
        gammaln(n / 2)
        - np.log(2)
        - n / 2 * np.log(2 * np.pi)
        - 0.5 * np.linalg.slogdet(covariance)[1]
        - n / 2 * np.log(b)
    )


def test_every_replicate_is_a_row_of_the_regression():
    times, rows, values = table(np.random.default_rng(0))
    data = read(rows)
    mean = {name: v.mean(axis=1)[:-1] for name, v in values.items()}
    y = (np.diff(values["S*"], axis=0) / np.diff(times)[:, None]).ravel()
    for k in K:
        x = np.column_stack(
            [-mean["S*"] / (mean["S*"] + k[0])]
            + [mean[e] * mean["S"] / (mean["S"] + k[j]) for j, e in ((1, "AKT"), (2, "ERK"))]
        )
        stacked = np.repeat(x, 3, axis=0)
        expected = by_rows(stacked, y)
        assert log_likelihood(data, ("AKT", "ERK"), k[None])[0] == pytest.approx(expected, rel=1e-10)
        found = log_likelihood(data, ("AKT", "ERK"), k[None], truncated=True)[0]
        assert found == pytest.approx(expected + log_truncation_ratio(stacked[None], y)[0], rel=1e-8)


def test_replicates_that_differ_at_the_two_ends_are_worth_their_harmonic_mean():
    values = np.array([[1.0, 1.2, 1.1], [2.0, np.nan, np.nan], [3.0, 3.0, np.nan], [np.nan, np.nan, np.nan]])
    found = of_course(np.arange(4.0), values)
    np.testing.assert_allclose(found.weight, [1.5, 4 / 3, 1.0, 1.0])
    assert not found.freedom.any()


def test_equal_replicates_sharpen_and_scattered_ones_widen():
    """Three times the same rates tell more than one; replicates far apart tell less than those close together."""
    one = Dataset.simulate(3, rng=2, regulators=("E1",), noise=0.02)
    frame = one.to_frame()

    def gain(spread):
        import pandas as pd

        many = pd.concat([frame.assign(replicate=r, value=frame["value"] * f) for r, f in enumerate((1, *spread))])
        data = Dataset.from_frame(many).normalised()
        return float(np.diff([log_likelihood(data, m, np.ones((1, 1 + len(m))))[0] for m in ((), ("E1",))])[0])

    alone = float(np.diff([log_likelihood(one.normalised(), m, np.ones((1, 1 + len(m))))[0] for m in ((), ("E1",))])[0])
    close, apart = gain((1.001, 0.999)), gain((1.5, 0.6))
    assert close > alone and close > apart


def test_units_do_not_matter_with_replicates():
    data = read(table(np.random.default_rng(3), times=np.arange(9.0))[1])
    other = data.rescaled(time=60.0, level=1e-3, enzymes=[7.0, 1e4])
    one, two = (compare(d, n=20, rng=0, checks=False).to_frame() for d in (data, other))
    assert one.equals(two)
    assert natural_units(other).time == pytest.approx(natural_units(data).time / 60.0)


def test_missing_values_leave_out_the_increments_they_touch():
    data = Dataset.simulate(3, rng=1)
    enzymes, phospho = np.array(data.enzymes), np.array(data.phospho)
    enzymes[4, 1] = np.nan
    phospho[10] = np.nan
    gaps = data.with_values(enzymes=enzymes, phospho=phospho)
    assert gaps.n_increments == (17,)
    assert not gaps.used[[4, 9, 10, 20]].any() and gaps.used.sum() == 17
    assert "2 missing values" in gaps.notes[0] and "3 of 20 increments" in gaps.notes[0]
    whole, part = increments(data)[0], increments(gaps)[0]
    kept = np.setdiff1d(np.arange(20), [4, 9, 10])
    np.testing.assert_array_equal(part.rates, whole.rates[kept])
    np.testing.assert_allclose(part.enzymes * part.unit, (whole.enzymes * whole.unit)[kept])
    found = compare(gaps, n=20, rng=0)
    assert found.settings["notes"] == list(gaps.notes)
    course = fit(gaps, ("E1",), rng=0).courses[0]
    assert np.flatnonzero(np.isnan(course.observed)).tolist() == [4, 9, 10]
    assert np.isnan(course.levels[:, 10]).all() and np.isfinite(np.delete(course.levels, 10, axis=1)).all()
    again = Dataset.from_frame(gaps.to_frame())
    np.testing.assert_array_equal(again.phospho, gaps.phospho)


def test_a_fit_with_replicates_predicts_rates_and_not_their_sums():
    _, rows, _ = table(np.random.default_rng(5), times=np.arange(12.0))
    data = read(rows)
    course = fit(data, ("AKT",), rng=0).courses[0]
    np.testing.assert_allclose(course.observed, data.rates)
    single = fit(data.with_values(replicates=None), ("AKT",), rng=0).courses[0]
    assert np.abs(np.median(course.rates, axis=0) - np.median(single.rates, axis=0)).max() < np.ptp(data.rates)
    # The mean of three varies less than one measurement.
    assert np.median(course.predicted.std(axis=0)) < np.median(course.noise)


def test_permutations_leave_the_scatter_where_it_is():
    data = read(table(np.random.default_rng(6), times=np.arange(8.0))[1])
    p, count = permutation_p_value(data.normalised(), 2)
    assert 1 / (1 + count) <= p <= 1.0
    part = increments(data)[0]
    assert part.scatter == 14 and part.means == 7
    assert not replace(part).phosphorylation(np.ones(1), np.arange(2))[0, 7:].any()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: Replicates([1.0], [0.0, 1.0], [0]), "`squares` has 2 rows"),
        (lambda: Replicates([1.0], [0.0], [0.5]), "`freedom` must be whole"),
        (lambda: Dataset.example().with_values(replicates=Replicates.single(3)), "`replicates` has 3 rows"),
    ],
)
def test_replicates_that_cannot_be_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        given()
