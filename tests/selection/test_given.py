"""Comparisons of evidences that are known already."""

import numpy as np
import pytest
from scipy import stats

import fwbq

PRIOR = fwbq.Gaussian([0.0], [[1.0]])


def found(centre, **options):
    return fwbq.evidence(lambda x: -2.0 * (x[:, 0] - centre) ** 2, PRIOR, n=30, rng=0, **options)


def test_results_of_evidence_are_compared_as_compare_models_does():
    near, far = found(0.0), found(1.0)
    both = fwbq.compare({"near": near, "far": far})
    assert both.best == "near" and both.n_evaluations == 60 and both.points.tolist() == [30, 30]
    assert both.log_evidence("far") == far.log_evidence
    assert both.log_evidence_interval("far", 0.9) == pytest.approx(far.interval(0.9), rel=1e-9)
    # Both evidences in closed form: the normal density of the centre with variance 1 + 1/4, up to one factor.
    exact = stats.norm(0.0, np.sqrt(1.25)).logpdf([0.0, 1.0])
    low, high = both.log_bayes_factor("near", "far").interval(0.999)
    assert low <= exact[0] - exact[1] <= high


def test_pairs_of_another_program_and_prior_probabilities():
    both = fwbq.compare({"a": (-10.0, 0.0), "b": (-11.0, 0.0)}, prior={"a": 1.0, "b": np.e})
    np.testing.assert_allclose(both.probabilities(), 0.5, rtol=1e-12)
    wide = fwbq.compare({"a": (-10.0, 1.0), "b": (-10.5, 1.0)})
    # The integral over a grid with steps of 0.075 standard deviations is right to 0.075^2 / 24.
    assert wide.map_probability == pytest.approx(stats.norm.cdf(0.5 / np.sqrt(2.0)), abs=2.5e-4)


def test_an_estimate_is_taken_too():
    assert fwbq.compare({"a": fwbq.Estimate(-3.0, 0.2, 0.2)}).log_evidence("a") == -3.0


def test_the_summary_speaks_of_no_run():
    assert (
        "Evidences that were computed before were compared."
        in fwbq.compare({"a": (-1.0, 0.1), "b": (-2.0, 0.1)}).summary()
    )
    assert "; they took 60 evaluations." in fwbq.compare({"near": found(0.0), "far": found(1.0)}).summary()


def test_the_comparison_has_everything_a_comparison_has(tmp_path):
    both = fwbq.compare({"a": (-10.0, 0.1), ("x", "y"): found(0.0)})
    assert both.success and "computed before" in both.status
    assert both.to_frame()["model"].tolist() == ["{x, y}", "a"]
    assert len(both.history()) == len(both.error_history()) == 1
    assert "most probable of 2 models" in both.summary() and "<table" in both._repr_html_()
    assert both.plot() is not None and "P(MAP)" in both.forecast()
    both.save(tmp_path / "both.json")
    assert fwbq.Comparison.load(tmp_path / "both.json").log_evidence("a") == -10.0


def test_an_evidence_of_zero_is_known_to_be_nothing():
    both = fwbq.compare({"a": (-10.0, 0.1), "b": (-np.inf, 0.0)})
    assert both.best == "a" and both.log_evidence_interval("b") == (-np.inf, np.inf)


def test_a_run_without_success_is_named():
    with pytest.warns(RuntimeWarning):
        cut = found(0.0, tol=1e-15)
    assert not cut.success
    with pytest.warns(RuntimeWarning, match="evidence of model 'cut' did not succeed"):
        fwbq.compare({"cut": cut})


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({}, ValueError, "`evidences` is empty"),
        ([1.0], TypeError, "`evidences` must be a Mapping"),
        ({"a": -3.0}, TypeError, r"`evidences\['a'\]` is -3.0 of type float: give what fwbq.evidence returned"),
        ({"a": "abc"}, TypeError, "or the pair"),
        ({"a": (-3.0, -1.0)}, ValueError, "at least 0"),
        ({"a": (np.nan, 1.0)}, ValueError, "below infinity"),
        ({"a": (-3.0, np.inf)}, ValueError, "nothing is known of it"),
        ({"a": fwbq.Estimate([1.0, 2.0], 0.1, 0.1)}, ValueError, "must be one number"),
    ],
)
def test_what_is_no_evidence_is_named(given, kind, words):
    with pytest.raises(kind, match=words):
        fwbq.compare(given)


def test_compare_models_says_how_evidences_are_compared():
    with pytest.raises(TypeError, match=r"fwbq.compare\(\{name: evidence, ...\}\)"):
        fwbq.compare_models({"a": found(0.0)})
