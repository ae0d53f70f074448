"""Inhibitors lower the activity of their kinase in the conditions that were treated, and nowhere else."""

import numpy as np
import pytest

from fwbq.chema import Dataset, Inhibitor


def arms():
    one = Dataset.simulate(3, rng=0, condition="x")
    return Dataset.combine([one, one, one], ["MCF7 EGF", "MCF7 EGF+AKTi", "MCF7 EGF+AKTi2=0.5"])


def test_only_treated_arms_and_only_the_kinase():
    data = arms()
    found = data.inhibited([Inhibitor("AKTi", "E2", 0.8), "AKTi2=E3"])
    expected = np.array(data.enzymes)
    expected[21:42, 1] *= 1 - 0.8
    expected[42:, 2] = 0.0
    np.testing.assert_array_equal(found.enzymes, expected)
    np.testing.assert_array_equal(found.phospho, data.phospho)


def test_text_is_read():
    assert Inhibitor.parse("i=GSK3:beta") == Inhibitor("i", "GSK3:beta", 1.0)
    assert Inhibitor.parse("i=GSK3:beta:0.5") == Inhibitor("i", "GSK3:beta", 0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AKTi", "NAME=KINASE"),
        ("=E2", "NAME=KINASE"),
        ("AKTi=E2:1.5", "`efficacy`"),
        ("AKTi=E2:0", "`efficacy`"),
        ("MEKi=E2", "no condition was treated with the inhibitor 'MEKi'"),
        ("AKTi=E9", "no enzyme is called 'E9'"),
    ],
)
def test_inhibitors_that_cannot_be_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        arms().inhibited([text])
