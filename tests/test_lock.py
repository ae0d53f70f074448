"""A lock keeps other threads out, lets its own in again, and travels as a new lock."""

import copy
import pickle
import threading

import pytest

from fwbq._lock import Lock


def entered(lock, seconds):
    """Whether another thread gets into the lock."""
    inside = threading.Event()

    def enter():
        with lock:
            inside.set()

    threading.Thread(target=enter, daemon=True).start()
    return inside.wait(seconds)


def test_only_one_thread_at_a_time_is_inside():
    lock = Lock()
    with lock:
        with lock:  # the same thread may enter again
            assert not entered(lock, 0.05)
        assert not entered(lock, 0.05)
    assert entered(lock, 60.0)


@pytest.mark.parametrize("travel", [copy.deepcopy, lambda lock: pickle.loads(pickle.dumps(lock))])
def test_a_copy_is_a_lock_that_nobody_holds(travel):
    lock = Lock()
    with lock:
        assert entered(travel(lock), 60.0)
