"""The paper's studies at small sizes: tables have the columns that the figures need, and say what they should."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import fwbq
from fwbq import paper
from fwbq.chema import Dataset
from fwbq.paper import appendix, models, simulation

SMALL = (1, 5, 20)


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    monkeypatch.setattr(simulation, "CANDIDATES", 400)
    monkeypatch.setattr(appendix, "CANDIDATES", 400)
    defaults = simulation.designs.__defaults__
    monkeypatch.setattr(simulation.designs, "__defaults__", (*defaults[:-1], 400))
    monkeypatch.setattr(simulation.mmd_curves, "__defaults__", (400,))


def test_the_mixture_is_seeded():
    assert np.array_equal(simulation.mixture(3).means, simulation.mixture(3).means)
    assert not np.array_equal(simulation.mixture(3).means, simulation.mixture(4).means)
    assert np.all(np.abs(simulation.mixture(3).means) <= 4.0)


def test_mean_elements_approach_the_truth():
    field = simulation.mean_elements(0, sizes=(1, 20), grid=15)["field"]
    exact = field.loc[field["panel"] == "exact", "value"].to_numpy()
    errors = [np.abs(field.loc[field["panel"] == f"$n = {n}$", "value"].to_numpy() - exact).max() for n in (1, 20)]
    assert len(exact) == 15**2
    assert errors[1] < errors[0] / 5


def test_design_points_are_those_of_the_designs():
    tables = simulation.design_points(0, n=6, grid=9)
    embedding = fwbq.embed(simulation.KERNEL, simulation.mixture(0))
    expected = simulation.designs(embedding, 0)["SBQ"].take(6)
    points = tables["points"]
    assert np.array_equal(points.loc[points["method"] == "SBQ", ["x", "y"]].to_numpy(), expected)
    assert set(points["method"]) == {"FW", "FWLS", "SBQ"}
    assert len(tables["density"]) == 81


def test_bayesian_weights_are_never_worse():
    table = simulation.mmd_against_n((0, 1), sizes=SMALL)["mmd2"]
    wide = table.pivot_table(index=["run", "n"], columns="method", values="mmd2")
    assert list(dict.fromkeys(table["method"])) == ["MC", "QMC", "FW", "FWLS", "FWBQ", "FWLSBQ", "SBQ"]
    assert np.all(wide["FWBQ"] <= wide["FW"] * (1 + 1e-9))
    assert np.all(wide["FWLSBQ"] <= wide["FWLS"] * (1 + 1e-9))
    assert np.all(wide["SBQ"] <= wide["MC"])


def test_the_integrand_has_unit_norm_and_its_estimates_know_their_error():
    centres, coefficients = simulation.integrand(simulation.KERNEL, 5)
    assert coefficients @ simulation.KERNEL(centres) @ coefficients == pytest.approx(1.0)
    table = simulation.integral_estimates(0, sizes=(5, 40))["estimates"]
    # A function of norm one is never off by more than the posterior standard deviation at amplitude one.
    sd = (table["upper68"] - table["lower68"]) / 2 / 0.9944578832097535
    assert np.all(np.abs(table["mean"] - table["truth"]) <= sd * (1 + 1e-6))
    sample = simulation.mixture(0).sample(200_000, rng=0)
    centres, coefficients = simulation.integrand(simulation.KERNEL, 0)
    values = simulation.KERNEL(sample, centres) @ coefficients
    assert table["truth"].iloc[0] == pytest.approx(values.mean(), abs=5 * values.std() / np.sqrt(len(values)))


def test_truncated_gaussian_weights():
    tables = appendix.truncated_gaussian(0, sizes=(5, 20), n=20)
    weights = tables["weights"].groupby("method")["weight"]
    assert weights.sum()["FW"] == pytest.approx(1.0)
    assert weights.min()["FWLS"] >= 0.0
    assert weights.max()["FWLS"] > 2 * weights.min()["FWLS"]
    assert set(tables["mmd2"].columns) == {"method", "n", "mmd2", "run"}


def test_capped_features_do_not_explode():
    table = appendix.random_features(0, counts=(60,), sizes=(10, 55), cap=2.0)["mmd2"]
    wide = table.pivot_table(index="n", columns=["kernel", "method"], values="mmd2")
    assert wide["exact", "FWLSBQ"][55] < wide["exact", "FWLS"][55]
    assert wide["D = 60", "FWLSBQ, sum |w| ≤ 2"][55] < wide["D = 60", "FWLSBQ"][55]


def test_bounds_hold_and_the_verdict_is_said():
    tables = appendix.theorem_bounds(0, n=60, candidates=300)
    wide = tables["bounds"].pivot_table(index=["run", "n"], columns="curve", values="value")
    assert np.all(wide["measured"] <= wide["duality gap"] * (1 + 1e-9))
    assert np.all(wide["measured"] <= wide[r"$D\,n^{-1/2}$"])
    assert list(tables["verdicts"]["run"]) == ["FW", "FWLS", "FWLS, 5 features"]
    few = wide.loc["FWLS, 5 features", "measured"]
    assert few.iloc[-1] < 1e-2 * few.iloc[9]  # exponential: in a space of infinite dimension it would be about 1/6


def test_probability_table_ranks_models():
    data = fwbq.chema.Dataset.simulate(n_enzymes=4, rng=0)
    comparison = fwbq.chema.compare(data, stages=(10, 20), race=False, rng=0, progress=False)
    given = models.probability_table(comparison, (10, 20))
    ranked = models.probability_table(comparison, (10, 20), ranked=True)
    assert list(given["position"]) == 2 * list(range(11))
    last = ranked[ranked["n"] == 20].sort_values("position")
    assert last["model"].iloc[0] == comparison.to_frame()["model"].iloc[0]
    assert np.all(given["q05"] <= given["q95"])
    assert set(models.probability_table(comparison, (99,))["n"]) == {20}


def test_make_writes_the_figure_and_its_tables(tmp_path):
    written = paper.make("points", tmp_path)
    assert [path.name for path in written[:2]] == ["2-points.png", "2-points.pdf"]
    assert {path.name for path in written[2:]} == {"2-points-points.csv", "2-points-density.csv"}
    assert all(path.stat().st_size > 500 for path in written)


def test_figures_on_an_executor_are_the_same(tmp_path):
    alone = paper.make("points", tmp_path / "alone")
    with ThreadPoolExecutor(2) as executor:
        ((name, together),) = paper.make_each(["points"], tmp_path / "together", executor=executor)
    assert name == "points" and [path.name for path in together] == [path.name for path in alone]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(alone, together, strict=True) if a.suffix == ".csv")


def test_the_figure_of_models_by_the_papers_method_has_its_rounds_and_a_name_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "Dataset", SmallExample)
    picture, *_, rounds = paper.make("models", tmp_path, method="sbq")
    assert picture.name == "5-models-sbq.png"
    assert pd.read_csv(rounds)["n"].tolist() == [10, 50, 100, 200]


class SmallExample:
    @staticmethod
    def example():
        return Dataset.example().select(enzymes=range(4))


def test_an_unknown_figure_is_refused(tmp_path):
    with pytest.raises(ValueError, match="mean-elements"):
        paper.make("figure-9", tmp_path)


def test_figures_are_numbered():
    assert [figure.number for figure in paper.FIGURES.values()] == list(range(1, 9))
