"""A warning points at the line outside the package, however deep inside it arises."""

import inspect
import warnings

import pytest

import fwbq
from fwbq import _warnings


def test_the_line_is_that_of_the_caller():
    with pytest.warns(RuntimeWarning, match="a fault") as caught:
        line = inspect.currentframe().f_lineno + 1
        _warnings.warn("a fault")
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_the_line_is_that_of_the_user_under_decorators_and_calls():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Empirical([[0.0], [1.0]]))
    with pytest.warns(RuntimeWarning) as caught:
        line = inspect.currentframe().f_lineno + 1
        fwbq.SBQ(embedding, rng=0).take(5)
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_a_category_can_be_chosen():
    with warnings.catch_warnings(), pytest.raises(UserWarning, match="a fault"):
        warnings.simplefilter("error")
        _warnings.warn("a fault", UserWarning)
