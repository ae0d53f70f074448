"""The coverage study: its tables, and that every family of it draws problems."""

import pandas as pd

from fwbq.studies import coverage


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
    stops = pd.read_csv(tmp_path / "stops.csv")
    assert set(stops.family) == {"kink-1"}
    assert set(stops.tol) == set(coverage.TOLERANCES)


def test_problems_are_shared_evenly_by_the_dimensions():
    for family in coverage.GROUPS:
        places = coverage._shared(family, coverage.DIMS, 7)
        assert len(set(places)) == 7
        counts = pd.Series([dim for dim, _ in places]).value_counts()
        assert counts.max() - counts.min() <= 1
