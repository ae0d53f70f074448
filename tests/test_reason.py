"""The reasons that results give."""

import pytest

import fwbq

FIGURES = {"n": 31, "tol": 1e-3, "floor": 2e-9, "status": "numerical rank"}


@pytest.mark.parametrize("reason", fwbq.Reason, ids=lambda reason: reason.name)
def test_every_reason_makes_a_sentence_from_the_known_figures(reason):
    assert set(reason.figures) <= set(FIGURES)
    sentence = reason.sentence(**FIGURES)
    assert "{" not in sentence
    assert all(f"{FIGURES[name]}" in sentence for name in reason.figures)
    assert fwbq.Reason(reason.value) is reason


def test_a_reason_without_success_names_a_remedy():
    for reason in fwbq.Reason:
        if not reason.success:
            assert any(word in reason.text.lower() for word in ("raise `n`", "check", "pass")), reason


def test_a_missing_figure_is_an_error():
    with pytest.raises(KeyError, match="tol"):
        fwbq.Reason.TOLERANCE.sentence(n=3)
