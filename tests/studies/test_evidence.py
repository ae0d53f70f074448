"""The study of log evidences: what its tables count."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from studies import evidence, figures


def frame():
    rows = [
        ("a", 1, 50, 0.0, 0.01, 0.02, True, 1.0),
        ("a", 1, 50, 0.0, 0.60, 0.10, False, 1.0),
        ("b", 2, 50, 0.0, 9.00, 4.00, False, 2.0),
        ("b", 2, 100, 0.0, 0.00, 0.00, True, 3.0),
    ]
    return pd.DataFrame(rows, columns=["family", "d", "n", "truth", "error", "sd", "covered", "seconds"])


def test_the_summary_counts_errors_that_were_not_stated():
    table = evidence.summary(frame()).set_index(["family", "n"])
    assert np.isclose(table.loc[("a", 50), "worst"], 6.0)
    assert table.loc[("b", 50), "worst"] == 0.0  # it said that it knew little
    assert table.loc[("a", 50), "covered"] == 0.5
    pooled = evidence.pooled(frame()).set_index("n")
    assert pooled.loc[50, "silent"] == 1
    assert pooled.loc[50, "least"] == 0.0
    assert evidence.markdown(evidence.summary(frame())).count("\n") == 2 + 3


def test_a_row_is_the_same_every_time():
    a, b = (evidence.one("gamma posterior", 20, 3) for _ in range(2))
    a.pop("seconds"), b.pop("seconds")
    assert a == b
    assert a["covered"] and a["error"] < 0.05


def test_the_figure_has_a_panel_for_each_n():
    panels = figures.evidence_study(frame())
    assert [panel.get_title() for panel in panels] == ["$n = 50$, 33 % held", "$n = 100$, 100 % held"]
    plt.close(panels[0].figure)


def test_the_program_writes_its_files(tmp_path, capsys):
    arguments = ["--out", str(tmp_path), "--quick", "--replicates", "1", "--jobs", "1", "--families", "gamma posterior"]
    assert evidence.main(arguments) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"evidence.csv", "summary.csv", "summary.md", "evidence.png"}
    assert "gamma posterior" in capsys.readouterr().out
