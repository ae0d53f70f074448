"""The coverage study: its tables, and that every family of it draws problems."""

import numpy as np
import pandas as pd
import pytest

from studies import coverage


def test_the_study_writes_its_tables(tmp_path):
    arguments = ["--out", str(tmp_path), "--quick", "--problems", "2", "--jobs", "1"]
    assert coverage.main([*arguments, "--families", "kink-1", "tail-gamma"]) == 0
    names = {"coverage.csv", "families.csv", "pooled.csv", "stops.csv", "gauss.csv", "coverage.png"}
    assert {path.name for path in tmp_path.iterdir()} == names
    rows = pd.read_csv(tmp_path / "coverage.csv")
    assert len(rows) == 2 * 2 * len(coverage.METHODS)
    ours = rows[rows.method == "integrate"]
    assert (ours.error < 0.1 * ours.truth.abs() + 0.01).all()
    # A double integral by quadrature for each kernel is left out.
    assert rows[(rows.method == "fixed ExpQuad") & (rows.group == "tail")]["mean"].isna().all()
    families = pd.read_csv(tmp_path / "families.csv")
    ours = families[families.method == "integrate"]
    assert (ours.sharpness > 0.0).all() and (ours.score >= 2.0 * 0.99 * ours.half).all()
    stops = pd.read_csv(tmp_path / "stops.csv")
    assert set(stops.family) == {"kink-1"}
    assert set(stops.tol) == set(coverage.TOLERANCES)


def test_problems_are_shared_evenly_by_the_dimensions():
    for family in coverage.GROUPS:
        places = coverage._shared(family, coverage.DIMS, 7)
        assert len(set(places)) == 7
        counts = pd.Series([dim for dim, _ in places]).value_counts()
        assert counts.max() - counts.min() <= 1


def test_the_score_and_the_sharpness_of_known_intervals():
    """Errors 1 to 20 with intervals of half-width 10: half of them miss, by 1 to 10."""
    error = np.arange(1.0, 21.0)
    score = [coverage.interval_score(-10.0, 10.0, e, 0.95) for e in error]
    np.testing.assert_allclose(score[:10], 20.0)
    np.testing.assert_allclose(score[10:], 20.0 + 40.0 * (error[10:] - 10.0))
    frame = pd.DataFrame({
        "family": "f", "d": 1, "n": 20, "method": "integrate", "error": error, "sd": 5.0, "low95": -10.0,
        "high95": 10.0, "covered68": error <= 5, "covered95": error <= 10, "score95": score,
    })  # fmt: skip
    (row,) = coverage.summary(frame).itertuples()
    assert (row.covered95, row.half, row.sharpness) == (0.5, 10.0, pytest.approx(10.0 / 19.05))
    assert row.score == pytest.approx(20.0 + 40.0 * 55.0 / 20.0)
