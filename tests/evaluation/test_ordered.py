"""Results in the order of the arguments, whoever computes them."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fwbq.evaluation import in_order


def late_first(x):
    time.sleep(0.05 if x == 0 else 0.0)
    return -x


def test_results_come_in_the_order_of_the_items_though_the_first_is_the_slowest():
    with ThreadPoolExecutor(3) as executor:
        assert list(in_order(executor, late_first, range(200))) == [(x, -x) for x in range(200)]
    assert list(in_order(None, late_first, range(3))) == [(0, 0), (1, -1), (2, -2)]
    with ThreadPoolExecutor(2) as executor:
        assert list(in_order(executor, abs, [])) == []


def test_only_a_few_calls_are_handed_out_at_a_time():
    asked = []

    def items():
        for x in range(1000):
            asked.append(x)
            yield x

    with ThreadPoolExecutor(2) as executor:
        results = in_order(executor, abs, items())
        assert next(results) == (0, 0)
        assert len(asked) < 20  # twice the workers, and what has landed meanwhile
        results.close()


def test_an_error_of_the_function_arrives():
    def f(x):
        if x == 7:
            raise ValueError("seven is not allowed")
        return x

    with ThreadPoolExecutor(2) as executor, pytest.raises(ValueError, match="seven is not allowed"):
        list(in_order(executor, f, range(20)))


def test_a_call_that_fails_once_is_made_again():
    failed = []

    def f(x):
        if x == 3 and not failed:
            failed.append(x)
            raise OSError("a disk that comes and goes")
        return x

    with ThreadPoolExecutor(2) as executor:
        assert [result for _, result in in_order(executor, f, range(6))] == list(range(6))
    assert failed == [3]
