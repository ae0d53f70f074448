"""One call for any number of models, and the paper's own method."""

from itertools import combinations

import numpy as np
import pytest

import fwbq
from fwbq.chema import Dataset, compare, log_likelihood, pairs, prior
from fwbq.selection import Comparison

RULES = pairs.ScreenRules((20,), top=30)


@pytest.fixture(scope="module")
def data():
    return Dataset.simulate(30, rng=6, noise=0.01)


def agrees(one, other, name):
    """Whether two comparisons say the same of a model, up to what their own errors allow (Student-t, four sd)."""
    sd = np.hypot(*(c.evidences.take([c.names.index(name)]).log_sd[0] for c in (one, other)))
    return abs(one.log_evidence(name) - other.log_evidence(name)) < 4.0 * sd


@pytest.mark.parametrize("max_enzymes", [2, 3])
def test_screened_models_are_a_comparison_like_any_other(data, max_enzymes, tmp_path):
    data = data.select(enzymes=range(30 if max_enzymes == 2 else 12))
    full = compare(data, max_enzymes=max_enzymes, n=50, screen=False, truncated=False, checks=False, rng=0)
    found = compare(data, max_enzymes=max_enzymes, n=50, screen=RULES, truncated=False, checks=False, rng=0)
    assert found.best == full.best
    assert found.n_models == len(full) > len(found)
    assert found.settings["screen"] == {"top": 30, "level": 1e-3} and full.rest is None
    # What the screen has judged at 20 points is not compared at 10 again; the settings hold what was asked for.
    rounds = found.stages[:2]
    assert [stage.n for stage in rounds] == [20, 50] and found.settings["stages"] == [10, 20, 50]
    # Nothing is lost that the full comparison has among the thirty best with as many enzymes.
    for size in range(2, max_enzymes + 1):
        order = [full.names[i] for i in np.argsort(-full.evidences.log_median) if len(full.names[i]) == size]
        assert set(order[:30]) <= set(found.names)
    assert all(agrees(found, full, name) for name in order[:5])
    # The prior is that of all models, and the probabilities of the listed ones leave room for the others.
    np.testing.assert_allclose(found.log_prior, -np.log(len(full)))
    assert 1.0 - found.probabilities().sum(axis=1).mean() == pytest.approx(
        np.exp(found.rest.log_weight)
        / (np.exp(found.rest.log_weight) + np.exp(found.evidences.log_median + found.log_prior).sum()),
        rel=0.2,
    )
    screened = sum(r["models"] * r["n"] for r in found.settings["rounds"])
    compared = sum(stage.contenders * new for stage, new in zip(rounds, (20, 30), strict=True))
    # Models that the shared points do not settle get fifty points of their own, in one more stage.
    own = len(found.settings.get("own_points", []))
    assert len(found.stages) == (3 if own else 2)
    # Without enzymes there is one coordinate, and a few points after the first twenty are all that it takes.
    alone = found.names.index(())
    spared = 50 - found.points[alone] if found.points[alone] > 20 else 0
    assert found.n_evaluations == screened + compared - spared + 50 * own
    # What cannot win by the evidence of the screen is listed with it, and not evaluated again.
    assert found.stages[0].contenders < len(found) and set(np.delete(found.points, alone)) == {20, 50}
    found.save(tmp_path / "comparison.json")
    again = Comparison.load(tmp_path / "comparison.json")
    assert again.names == found.names and again.rest.count == found.rest.count
    np.testing.assert_array_equal(again.probabilities(), found.probabilities())


# How many of ten points carry the leading likelihood depends on the points, and they on SciPy's version.
@pytest.mark.filterwarnings("ignore:the likelihood of the leading model:RuntimeWarning")
# Twenty points leave wide errors.
@pytest.mark.filterwarnings("ignore:the log evidence of:RuntimeWarning")
def test_more_than_five_thousand_models_are_screened_without_being_asked():
    many = Dataset.simulate(101, rng=1, noise=0.003)
    found = compare(many, n=20, rng=0)
    assert found.n_models == 5152 and found.rest is not None
    assert found.status.startswith("screened 5,050 models") and many.regulators in found.names
    # The paper evaluates every model at every point; ten of them are too few for its leader, and that is said.
    with pytest.warns(RuntimeWarning, match="is carried by"):
        assert compare(many, n=10, rng=0, method="sbq").rest is None


def test_more_than_five_thousand_single_enzymes_are_screened():
    many = Dataset.simulate(5001, rng=2, noise=0.01, regulators=1)
    singles = [(name,) for name in many.names]
    found = compare(many, models=singles, n=50, rng=0)
    full = compare(many, models=singles, n=50, screen=False, rng=0)
    assert found.n_models == len(full) == 5001 and 1000 <= len(found) < 4000 and found.best == full.best
    order = np.argsort(-full.evidences.log_median)
    assert {full.names[i] for i in order[:1000]} <= set(found.names)
    assert all(agrees(found, full, full.names[i]) for i in order[:5])


# Few points of likelihoods with four constants.
@pytest.mark.filterwarnings("ignore:the log evidence of:RuntimeWarning")
def test_models_with_more_enzymes_begin_with_more_points():
    found = compare(Dataset.simulate(32, rng=2, noise=0.005), max_enzymes=3, stages=(10, 50, 60), stop=0.5, rng=0)
    assert found.n_models == 5489 and found.rest is not None
    assert {(row["enzymes"], row["n"]) for row in found.settings["rounds"]} == {(3, 50)}
    assert found.stages[0].n == 50


def test_a_list_of_models_keeps_its_order(data):
    chosen = [(b, a) for a, b in combinations(range(12), 2)][::-1]
    found = compare(data, models=chosen, n=20, screen=pairs.ScreenRules((20,), top=10), rng=0)
    positions = [chosen.index(data.columns(name)) for name in found.names]
    assert positions == sorted(positions) and 10 <= len(found) < len(chosen) == found.n_models


def test_truncated_rates_can_be_screened(data):
    small = data.select(enzymes=range(6))
    found = compare(small, truncated=True, n=10, stages=(5, 10), screen=pairs.ScreenRules((5,), top=3), rng=0)
    full = compare(small, truncated=True, n=10, stages=(5, 10), screen=False, rng=0)
    assert found.best == full.best and found.settings["likelihood"].startswith("truncated")


def test_what_cannot_be_screened_is_said(data):
    with pytest.raises(ValueError, match="`screen` cannot be combined with `race=False`"):
        compare(data, screen=True, race=False)
    with pytest.raises(ValueError, match="`screen` cannot be combined with `kernel`"):
        compare(data, screen=True, kernel=fwbq.Matern52(1.0))
    many = Dataset.simulate(400, rng=0)
    with pytest.raises(ValueError, match="gives 10,586,800 models with three enzymes"):
        compare(many, max_enzymes=3)
    with pytest.raises(ValueError, match="at most 2 enzymes, got a model with 3"):
        compare(data, max_enzymes=3, truncated=True)
    with pytest.raises(ValueError, match="`models` is empty"):
        compare(data, models=[])
    with pytest.raises(ValueError, match="`method`"):
        compare(data, method="quadrature")
    with pytest.raises(ValueError, match="`design` is fixed by `method='sbq'`"):
        compare(data, method="sbq", design=fwbq.FrankWolfe)
    with pytest.raises(TypeError, match=r"`stopp` is not an option of chema\.compare: beside those of its own"):
        compare(data, stopp=0.95)
    with pytest.raises(TypeError, match="`tag` is not an option"):
        compare(data, tag="mine")


@pytest.mark.parametrize("method", ["fwbq", "fwlsbq", "sbq"])
def test_the_papers_method_is_bayesian_quadrature_of_the_likelihood(data, method):
    small = data.select(enzymes=range(3))
    found = compare(small, units="given", method=method, n=50, amplitude=1.0, rng=3)
    assert [stage.n for stage in found.stages] == [10, 50] and found.settings["method"] == method
    # Every model at every point; sequential Bayesian quadrature ends at the floor of float64 in one dimension.
    assert set(found.points[1:]) == {50}
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), prior(3))
    design = {
        "fwbq": lambda rng: fwbq.FrankWolfe(embedding, rng=rng),
        "fwlsbq": lambda rng: fwbq.FrankWolfe(embedding, step="line-search", rng=rng),
        "sbq": lambda rng: fwbq.SBQ(embedding, rng=rng),
    }[method](np.random.default_rng(found.settings["seed"]))
    rule = fwbq.bayes_rule(embedding, design.take(50))
    name = small.names[:2]
    logs = log_likelihood(small, name, rule.points)
    i = found.names.index(name)
    # Rounding in the weights, of size 1e-16 times their condition, is below the floor that the rule states.
    assert found.evidences.centre[i] == pytest.approx(rule.weights @ np.exp(logs - logs.max()), abs=1e-9)
    assert found.evidences.scale[i] == pytest.approx(rule.mmd, rel=1e-3)
    assert dict(found.settings["mmd"]["d = 3"])[50] == rule.mmd


def test_the_papers_method_finds_the_regulators():
    data = Dataset.example()
    found = compare(data, units="given", method="fwbq", n=100, rng=0, progress=False)
    assert found.best == data.regulators and len(found.stages) == 3
