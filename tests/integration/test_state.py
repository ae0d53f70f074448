"""The state of a run: a value that grows by new ones, and comes back from its record."""

import json

import numpy as np
import pytest

import fwbq
from fwbq._reason import Reason
from fwbq.integration.state import State, same_value

SQUARE = fwbq.Uniform([0.0, 0.0], [1.0, 1.0])
X = np.array([[0.1, 0.2], [0.5, 0.5], [0.9, 0.3], [0.5, 0.5]])


def grown():
    """Four points asked for, one of them twice; one has a value, one was given up, one told without being asked for."""
    state = State([1, 2]).with_asked(X).with_told(np.vstack([[[0.7, 0.7]], X[2:3]]), np.array([3.0, 1.0]))
    return state.without(X[:1]).ending(Reason.DESIGN, 4, "its end")


def test_what_is_known_and_waited_for():
    state = grown()
    x, values = state.data()
    # In the order asked for; points never asked for come last.
    np.testing.assert_array_equal(x, [[0.9, 0.3], [0.7, 0.7]])
    np.testing.assert_array_equal(values, [1.0, 3.0])
    np.testing.assert_array_equal(state.everywhere(2), [[0.9, 0.3], [0.7, 0.7], [0.5, 0.5]])
    assert (state.skipped, state.width, state.reason) == (1, 0, Reason.DESIGN)


def test_the_order_of_telling_does_not_matter():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(20, 2))
    start = State([0, 0]).with_asked(x[:12])
    order = rng.permutation(20)
    one, other = (start.with_told(x[rows], x[rows, 0]) for rows in (np.arange(20), order))
    np.testing.assert_array_equal(one.data()[0], other.data()[0])
    np.testing.assert_array_equal(one.data()[1], other.data()[1])


def test_nothing_changes_the_state_itself():
    state = grown()
    before = json.dumps(state.record())
    state.with_asked(X + 0.01)
    state.with_told(X[:2], np.zeros(2))
    state.without(X[1:2])
    with pytest.raises(ValueError, match=r"\[0.1, 0.2\], which is not waiting for a value"):
        state.without(X)
    state.ending(None, 0)
    with pytest.raises(ValueError, match="was told before"):
        state.with_told(np.vstack([X[:2], X[2:3]]), np.array([5.0, 6.0, 7.0]))
    assert json.dumps(state.record()) == before


@pytest.mark.parametrize(
    ("before", "value", "same"),
    [
        (1.0, 1.0 + 1e-9, True), (1.0, 1.0 + 1e-6, False), (1e9, 1e9 + 1.0, True), (0.0, 1e-9, True),
        (-np.inf, -np.inf, True), (-np.inf, -1e300, False), (np.array([1.0, 2.0]), np.array([1.0, 2.1]), False),
    ],
)  # fmt: skip
def test_values_are_the_same_but_for_rounding(before, value, same):
    assert same_value(before, value) is same


def test_a_value_that_differs_by_rounding_is_no_news():
    state = grown()
    assert state.with_told(X[2:3], np.array([1.0 + 1e-12])).record() == state.record()


def test_a_record_comes_back():
    state = grown()
    record = json.loads(json.dumps(state.record()))
    assert State.of_record(record, SQUARE).record() == record
