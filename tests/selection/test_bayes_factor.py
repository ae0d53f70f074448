"""The ratio of two evidences, in numbers and in words."""

import numpy as np
import pytest

import fwbq
from fwbq import BayesFactor, Estimate


def factor(log, sd=0.0):
    return BayesFactor(Estimate(log, sd, sd), "a", "b")


@pytest.mark.parametrize(
    ("ratio", "words"),
    [  # the table of Kass and Raftery (1995), section 3.2: 1 to 3, 3 to 20, 20 to 150, above 150
        (2.5, "evidence for a against b that is not worth more than a bare mention"),
        (5.0, "positive evidence for a against b"),
        (50.0, "strong evidence for a against b"),
        (200.0, "very strong evidence for a against b"),
        (1 / 50.0, "strong evidence for b against a"),
    ],
)
def test_the_words_are_those_of_kass_and_raftery(ratio, words):
    assert factor(np.log(ratio)).words == words


def test_the_words_say_what_the_error_leaves_open():
    assert factor(3.0, 0.4).words == "positive to strong evidence for a against b"
    assert factor(1.0, 0.4).words == "at most positive evidence for a against b"
    assert factor(0.1, 0.2).words == "a difference not worth more than a bare mention"
    assert "leaves open which of the two is favoured" in factor(1.0, 2.0).words


def test_the_interval_is_that_of_the_logarithm():
    found = factor(1.0, 0.3)
    low, high = Estimate(1.0, 0.3, 0.3).interval(0.9)
    assert found.interval(0.9) == pytest.approx((np.exp(low), np.exp(high)), rel=1e-12)
    assert float(found) == found.mean == pytest.approx(np.e, rel=1e-12)
    # Half the central interval of one standard deviation of the logarithm on each side.
    assert found.sd == pytest.approx(np.e * np.sinh(0.3), rel=1e-9)


def test_factors_beyond_float64_are_written_as_powers_of_ten():
    huge = factor(2000.0, 1.0)
    assert huge.mean == np.inf and huge.sd == np.inf
    assert repr(huge).startswith("BayesFactor(10^868.6, 95 % in [10^867.7, 10^869.4]: very strong")
    assert "10^-868.6" in repr(factor(-2000.0, 1.0))


def test_a_notebook_shows_factor_interval_and_words():
    page = factor(3.4, 0.1)._repr_html_()
    assert all(text in page for text in ("30.0", "[24.6, 36.5]", "3.40 ± 0.10", "strong evidence for a"))


def test_gaussian_errors_add_up_in_closed_form():
    found = fwbq.compare({"a": (-1.0, 0.3), "b": (-3.0, 0.4)})
    log = found.log_bayes_factor("a", "b")
    assert log.mean == pytest.approx(2.0, rel=1e-15) and log.sd == pytest.approx(0.5, rel=1e-12)
