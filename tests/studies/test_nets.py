import numpy as np
import pandas as pd

from studies import nets


def test_rows_repeat_and_say_what_happened():
    row = nets.coverage_row("kink", 1, 256)
    assert row == nets.coverage_row("kink", 1, 256)
    assert row["d"] == 3
    assert row["covered"] == (row["error"] <= row["half_width"])


def test_stops_are_within_the_limit():
    rows = nets.stop_rows("genz-gaussian", 0)
    assert [row["tol"] for row in rows] == sorted((row["tol"] for row in rows), reverse=True)
    assert all(256 <= row["net"] <= nets.MOST for row in rows)
    assert all(row["usual"] >= 256 or np.isnan(row["usual"]) for row in rows)


def test_tables_count():
    coverage = pd.DataFrame({
        "family": ["a"] * 4, "n": [256, 256, 4096, 4096], "covered": [True, False, True, True],
        "half_width": [2.0, 2.0, 3.0, 3.0], "error": [1.0, 4.0, 1.0, 0.0],
    })  # fmt: skip
    table = nets.coverage_table(coverage)
    assert table.loc["a", ("covered", 256)] == 0.5
    assert table.loc["a", ("width", 256)] == 1.25
    assert table.loc["a", ("width", 4096)] == 3.0
    stops = pd.DataFrame({
        "family": ["a", "a", "b"], "net": [256, 512, 1024], "usual": [256.0, 2048.0, np.nan],
        "wrong": [False, True, False], "usual_wrong": [0.0, 1.0, np.nan],
    })  # fmt: skip
    table = nets.stop_table(stops)
    assert table.loc["all", ["stops", "wrong", "usual wrong", "of usual stops"]].tolist() == [3, 1, 1, 2]
    assert table.loc["a", "evaluations"] == 0.25  # the stop at the first look of both is not compared
