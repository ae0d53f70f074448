"""Prior inclusion probabilities of enzymes and edges."""

import numpy as np
import pandas as pd
import pytest

from fwbq.chema import Dataset, compare, network
from fwbq.chema.odds import Odds, read_inclusion


def test_the_prior_of_a_model_is_the_product_of_the_odds_of_its_enzymes():
    data = Dataset.simulate(5, rng=1, noise=0.05)
    even = compare(data, n=10, rng=0, checks=False)
    stated = compare(data, n=10, rng=0, checks=False, inclusion={"E2": 0.8, "E4": 0.1})
    assert np.array_equal(even.evidences.centre, stated.evidences.centre)
    p = dict(zip(stated.names, stated.log_prior, strict=True))
    assert p["E2",] - p[()] == pytest.approx(np.log(4.0))
    assert p["E2", "E4"] - p[()] == pytest.approx(np.log(4.0 / 9.0))
    assert np.sum(np.exp(stated.log_prior)) == pytest.approx(1.0)
    assert stated.settings["inclusion"] == {"E2": 0.8, "E4": 0.1}


# Twenty points leave wide errors.
@pytest.mark.filterwarnings("ignore:the log evidence of:RuntimeWarning")
@pytest.mark.parametrize("size", [2, 3])
def test_screens_have_the_same_priors_as_comparisons_without_a_screen(size):
    data = Dataset.simulate(110 if size == 2 else 34, rng=2, noise=0.03)
    given = {"E5": 0.999, "E7": 0.01}
    found, every = (
        compare(data, max_enzymes=size, n=20, rng=0, checks=False, truncated=False, inclusion=given, screen=screen)
        for screen in (None, False)
    )
    assert "screen" in found.settings and found.n_models == every.n_models
    exact = dict(zip(every.names, every.log_prior, strict=True))
    assert max(abs(exact[name] - p) for name, p in zip(found.names, found.log_prior, strict=True)) < 1e-9
    # A model is dropped only behind a thousand others, by evidence and prior together: the leading ones are listed.
    score = every.evidences.log_median + every.log_prior
    leading = [every.names[i] for i in np.argsort(-score)[:100]]
    assert set(leading) <= set(found.names)
    assert any("E5" in name for name in leading)


def test_odds_add_up_over_all_models():
    odds = Odds.of({"b": 0.75}, ("a", "b", "c"), 2)
    models = [(), ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")]
    assert np.sum(np.exp(odds.log_prior(models))) == pytest.approx(1.0)


def test_inclusion_is_refused_where_it_cannot_be_meant():
    data = Dataset.simulate(3, rng=1)
    with pytest.raises(ValueError, match="E9"):
        compare(data, inclusion={"E9": 0.5})
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        compare(data, inclusion={"E1": 1.0})
    with pytest.raises(ValueError, match="`inclusion` and `prior`"):
        compare(data, max_enzymes=0, inclusion={"E1": 0.2}, prior={(): 1.0})
    with pytest.raises(TypeError, match="`inclusion` must map"):
        compare(data, inclusion=[0.5])


def test_a_table_of_probabilities_is_read_by_edge_and_by_enzyme(tmp_path):
    path = tmp_path / "prior.csv"
    path.write_text("enzyme,substrate,probability\nAKT,,0.2\nAKT,S6,0.9\n")
    assert read_inclusion(path) == {(None, "AKT"): 0.2, ("S6", "AKT"): 0.9}
    path.write_text("enzyme,probability\nAKT,0.2\nAKT,0.3\n")
    with pytest.raises(ValueError, match="twice"):
        read_inclusion(path)
    path.write_text("enzyme,probability\nAKT,high\n")
    with pytest.raises(ValueError, match="must be a number"):
        read_inclusion(path)
    path.write_text("name,p\nAKT,0.2\n")
    with pytest.raises(ValueError, match="columns enzyme and probability"):
        read_inclusion(path)


def test_the_prior_of_an_edge_counts_before_that_of_its_enzyme_and_stimuli_are_no_edges():
    rng = np.random.default_rng(4)
    rows = [
        (t, name, float(2.0 + np.sin(0.7 * t + i) + 0.3 * rng.standard_normal()), condition)
        for condition in ("EGF", "insulin")
        for i, name in enumerate("ABC")
        for t in range(8)
    ]
    table = pd.DataFrame(rows, columns=["time", "variable", "value", "condition"])

    def probability(**options):
        found = network(table, n=20, tol=1.0, max_enzymes=1, **options)
        return {(e.source, e.target): e.probability for e in found.edges}

    even = probability(stimuli=["EGF"])
    assert set(even) == {(a, b) for a in "ABC" for b in "ABC" if a != b}
    stated = probability(stimuli=["EGF"], inclusion={"A": 0.1, ("A", "C"): 0.9})
    assert stated["A", "B"] < even["A", "B"]
    assert stated["A", "C"] > even["A", "C"]
    assert stated["C", "A"] == even["C", "A"]
    with pytest.raises(ValueError, match="stimulus 'TNF'"):
        probability(stimuli=["TNF"])
    with pytest.raises(ValueError, match="nobody"):
        probability(inclusion={"nobody": 0.3})


def test_fewer_effective_increments_bring_probabilities_nearer_to_the_prior():
    data = Dataset.simulate(4, rng=3, noise=0.02)
    full, few = (compare(data, n=20, rng=0, effective=e) for e in (None, 2.0))
    wide, narrow = (max(found.probabilities().mean(axis=0)) for found in (full, few))
    assert narrow < wide
    assert few.settings["effective"] == 2.0
    power = 2.0 / (2.0 + len(data.rates))
    # The likelihood is raised to this power before it is averaged: by Jensen the evidence is at least the power's.
    i = full.names.index(full.best)
    assert few.evidences.centre[i] > power * full.evidences.centre[i] + (power - 1) * 5 * full.evidences.scale[i]
    again = {tuple(row["model"]): row["log_evidence_again"] for row in few.settings["checks"]["models"]}
    best = few.names.index(few.best)
    assert few.evidences.centre[best] == pytest.approx(again[few.best], abs=0.05 + 4 * few.evidences.log_sd[best])
