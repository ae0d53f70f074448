"""The options of an evaluation as one value."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

import fwbq
from fwbq.evaluation import Evaluation, Evaluator, Progress, evaluating


def test_it_is_frozen_and_says_only_what_is_not_usual():
    how = Evaluation(version="2", on_error="skip", timeout=3)
    with pytest.raises(FrozenInstanceError):
        how.timeout = 1.0
    assert how.keywords == {"version": "2", "on_error": "skip", "timeout": 3.0}
    assert Evaluation().keywords == {}
    assert Evaluation(**how.keywords).keywords == how.keywords


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"executor": 4}, TypeError, "`executor` must be a concurrent.futures.Executor or None, got int"),
        ({"tag": 3}, TypeError, "`tag` must be a text"),
        ({"version": 2}, TypeError, "`version` must be a text"),
        ({"vectorized": "yes"}, TypeError, "`vectorized` must be True or False"),
        ({"on_error": "ignore"}, ValueError, "`on_error` must be one of 'raise', 'skip'"),
        ({"timeout": 0.0}, ValueError, "`timeout` must be a positive finite number"),
        ({"gradient": 1}, TypeError, "`gradient` must be True or False"),
        ({"journals": "run.db"}, TypeError, "journals"),
    ],
)
def test_bad_options_are_refused_wherever_they_are_given(options, error, words):
    with pytest.raises(error, match=words):
        Evaluation(**options)
    with pytest.raises(error, match=words):
        Evaluator(np.sum, 1, **options)


def test_a_restart_with_a_journal_asks_for_the_same_points():
    assert Evaluation(journal="run.db").seed(None) == 0
    assert Evaluation(journal="run.db").seed(7) == 7
    assert Evaluation().seed(None) is None


def test_keywords_of_an_evaluator_take_the_place_of_those_of_the_value():
    def fails(x):
        raise ArithmeticError

    how = Evaluation(vectorized=True, on_error="raise", progress=False)
    points = np.ones((2, 1))
    with pytest.raises(fwbq.EvaluationError):
        Evaluator(fails, 1, how)(points)
    assert Evaluator(fails, 1, how, on_error="skip")(points).n_skipped == 2
    assert how.on_error == "raise"


def test_one_bar_counts_the_points_of_all_batches():
    with (
        Progress(10, enabled=False) as bar,
        evaluating(lambda x: x[:, 0], 1, Evaluation(progress=bar), 10, "integrate") as evaluate,
    ):
        evaluate(np.arange(4.0)[:, None])
        evaluate(np.arange(2.0, 7.0)[:, None])
    assert bar.done == 7


def test_the_journal_is_closed_at_the_end(tmp_path):
    how = Evaluation(journal=tmp_path / "run.db", tag="f", progress=False)
    with evaluating(lambda x: x[:, 0], 1, how, 3, "integrate") as evaluate:
        evaluate([[1.0]])
        journal = evaluate.journal
    assert "closed" in repr(journal)


def test_the_facades_take_every_option_and_make_the_same_of_it(tmp_path):
    """What is given as keywords reaches f: each option changes how the same function is called."""
    shapes = []

    def log_likelihood(x):
        shapes.append(np.shape(x))
        return -0.5 * np.sum(np.square(x), axis=-1)

    prior = fwbq.Gaussian([0.0, 0.0], np.eye(2))
    calls = {
        "integrate": lambda **how: fwbq.integrate(log_likelihood, prior, n=10, **how),
        "net": lambda **how: fwbq.integrate(log_likelihood, prior, n=64, method="net", **how),
        "evidence": lambda **how: fwbq.evidence(log_likelihood, prior, n=24, **how),
        "compare": lambda **how: fwbq.compare_models({"m": fwbq.Model(log_likelihood, prior)}, n=10, **how),
    }
    given = {each.name for each in fields(Evaluation)} - {"gradient"}
    for name, call in calls.items():
        shapes.clear()
        with ThreadPoolExecutor(2) as pool:
            how = Evaluation(
                executor=pool, journal=tmp_path / f"{name}.db", tag="f", version="1", vectorized=False,
                on_error="skip", timeout=60.0, progress=False, recheck=False,
            )  # fmt: skip
            assert set(how.keywords) == given
            call(**how.keywords)
            assert shapes and set(shapes) == {(2,)}
            shapes.clear()
            call(**how.keywords)
            assert not shapes, "the journal has every value"
            with pytest.raises(fwbq.JournalError, match="version"):
                call(**replace(how, version="2").keywords)
