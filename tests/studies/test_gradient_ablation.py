"""The study of parts of the way of gradients: each part has numbers that exist, and is itself again afterwards."""

from dataclasses import fields

import pytest

from fwbq.inference.tuning import TUNING
from studies import gradient_ablation as study
from studies.ablation import WHOLE
from studies.problems.likelihoods import FAMILIES


@pytest.mark.parametrize("part", study.NEUTRAL)
def test_a_part_is_neutral_within_its_context_alone(part):
    where, numbers = study.NEUTRAL[part]
    before = getattr(TUNING, where)
    assert set(numbers) <= {field.name for field in fields(before)}
    assert all(getattr(before, name) != value for name, value in numbers.items())
    with pytest.raises(RuntimeError), study.neutral(part):
        assert all(getattr(getattr(TUNING, where), name) == value for name, value in numbers.items())
        raise RuntimeError
    assert getattr(TUNING, where) is before


def test_every_family_has_gradients():
    assert all(FAMILIES[family](0).gradient is not None for family in study.GROUP)


def test_what_a_part_changes_is_seen_on_the_same_problems():
    parts = ["error of skewness", "climbs from draws above the top"]
    frame = study.run(parts, ["skew normal, d=3"], (40,), 1).set_index("without")
    assert not frame.raised.any()
    assert frame.truth.nunique() == 1
    # The error of skewness is a part of the standard deviation alone; no draw lies above the top of this density.
    assert frame.log_evidence[parts[0]] == frame.log_evidence[WHOLE]
    assert frame.sd[parts[0]] < frame.sd[WHOLE]
    assert not frame.changed[parts[1]]


def test_a_problem_without_gradients_is_refused():
    lacking = next(name for name, family in FAMILIES.items() if family(0).gradient is None)
    with pytest.raises(ValueError, match="has no gradient"):
        study.estimate(FAMILIES[lacking](0), 40, 0)
