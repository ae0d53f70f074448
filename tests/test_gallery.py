"""Pages of the gallery run without a warning, and their prose says what their tables say."""

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def prose(name):
    """Comments and docstring of an example, as one line."""
    text = (EXAMPLES / name).read_text()
    lines = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
    return " ".join(lines)


def said(pattern, text):
    """The number in the one place of the prose that a pattern finds."""
    (number,) = re.findall(pattern, text)
    return float(number)


@pytest.fixture
def run(monkeypatch):
    """Run an example without showing its figures, and return its names."""
    monkeypatch.setattr(plt, "show", lambda: None)
    yield lambda name: runpy.run_path(str(EXAMPLES / name))
    plt.close("all")


def test_hare_and_lynx(run, capsys):
    pytest.importorskip("jax")
    page, text = run("plot_lotka_volterra.py"), prose("plot_lotka_volterra.py")
    table = page["table"]
    assert table.round(3).to_string() in capsys.readouterr().out

    assert "Lotka-Volterra, is the most probable" in text
    assert table["probability"].idxmax() == "Lotka-Volterra"
    assert all(found.success for found in page["found"].values())
    bound = said(r"standard deviation below ([\d.]+),", text)
    ahead = said(r"the leader is ahead by more than ([\d.]+):", text)
    sd, value = table["log_evidence_sd"], table["log_evidence"]
    assert sd.max() < bound
    # "Cannot change the ranking": the lead is four standard deviations of a difference, were both at the bound.
    assert ahead > 4 * np.sqrt(2) * bound
    lead = value["Lotka-Volterra"] - value.drop("Lotka-Volterra")
    assert lead.min() > ahead
    for name, pattern in {"logistic": r"about (\d+) times .{,20}as the logistic", "sated": r"and about (\d+)"}.items():
        # A factor written with one digit is right to 6 %.
        error = 0.06 + 3 * np.hypot(sd[name], sd["Lotka-Volterra"])
        assert abs(np.log(said(pattern, text)) - lead[name]) < error

    for name, (sampled, error) in page["sampled"].items():
        assert error < 0.1
        assert abs(sampled - value[name]) < 4 * np.hypot(error, sd[name])


def test_bayes_factors_of_pymc_models(run, capsys):
    pytest.importorskip("pymc")
    page, text = run("plot_bayes_factors_pymc.py"), prose("plot_bayes_factors_pymc.py")
    table = page["table"]
    assert table.round(3).to_string() in capsys.readouterr().out

    assert table["success"].all()
    error = (table["fwbq"] - table["exact"]).abs()
    assert error.max() < said(r"an error below ([\d.]+),", text)
    assert (error < 4 * table["sd"]).all()
    assert table["evaluations"].max() <= said(r"With (\d+) evaluations or fewer", text)
    assert (table["SMC evaluations"] / table["evaluations"]).min() > said(r"SMC takes more than (\d+) times", text)
    factors = {
        ("weight and power", "all ten"): r"is about (\d+) times as probable\.",
        ("hospitals differ", "hospitals alike"): r"is about (\d+) times as probable as one risk",
    }
    for (first, second), pattern in factors.items():
        stated = np.log(said(pattern, text))
        # A factor written with one or two digits is right to 6 %.
        assert abs(stated - table["exact"][first] + table["exact"][second]) < 0.06
        sd = np.hypot(table["sd"][first], table["sd"][second])
        assert abs(stated - table["fwbq"][first] + table["fwbq"][second]) < 0.06 + 4 * sd
