"""Inflation: predictions that were off widen the error, those that were right narrow it."""

import numpy as np
import pytest

from fwbq._whitening import Whitening
from fwbq.inference.doubts.inflation import Predictions
from fwbq.inference.joint_process import fit_processes

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((20, 2))
VALUES = -0.5 * np.sum(POINTS**2, axis=1) + 0.1 * np.sin(3.0 * POINTS[:, 0])
PROCESS = fit_processes(POINTS, VALUES, Whitening(np.zeros(2), np.eye(2)), [], {}).best
NEW = 0.7 * RNG.standard_normal((30, 2))


def compared(errors):
    """Predictions of values that turned out to be off by a number of standard deviations."""
    predictions = Predictions()
    predictions.compare(PROCESS, NEW, PROCESS.mean(NEW) + errors * PROCESS.sd(NEW))
    return predictions


def test_without_predictions_the_standard_deviation_is_doubled():
    assert Predictions().inflation == 4.0


def test_predictions_that_were_right_narrow_the_error_to_what_is_stated():
    assert 1.0 <= compared(np.zeros(30)).inflation < 1.5


@pytest.mark.parametrize("factor", [3.0, 30.0])
def test_predictions_that_were_off_widen_it_by_as_much(factor):
    signs = np.where(np.arange(30) % 2 == 0, 1.0, -1.0)
    inflation = compared(factor * signs).inflation
    # The prior, two errors of one, and the factor for few tests change the mean of about twenty weighted squares.
    assert 0.7 * factor**2 < inflation < 1.5 * factor**2


def test_minus_infinity_is_no_prediction_error_and_huge_errors_stay_finite():
    predictions = Predictions()
    predictions.compare(PROCESS, NEW[:2], np.array([-np.inf, 1e300]))
    assert np.isfinite(predictions.inflation)
