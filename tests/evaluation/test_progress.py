"""The progress bar."""

import numpy as np

import fwbq
from fwbq.evaluation import Progress


class Clock:
    """Stands for the module `time`: it shows the times it was given, one after the other."""

    def __init__(self, *times):
        self._times = iter(times)

    def monotonic(self):
        return next(self._times)


def test_work_between_evaluations_is_named_with_the_time_it_may_take(monkeypatch):
    from fwbq.evaluation import progress

    monkeypatch.setattr(progress, "time", Clock(0.0, 2.0, 10.0, 20.0))
    monkeypatch.setattr(progress, "_watched", lambda: True)
    with Progress(100, "integrate", enabled=True) as bar:
        task = bar._bar.tasks[0]
        with bar.meanwhile("fitting kernels to", 10):
            assert task.description == "integrate: fitting kernels to 10 values"
        assert task.description == "integrate"
        # Two seconds for 10 values are sixteen for 20.
        with bar.meanwhile("fitting kernels to", 20):
            assert task.description == "integrate: fitting kernels to 20 values, about 16 s"
        assert task.description == "integrate"


def test_integrate_says_what_it_computes(monkeypatch):
    said = []

    def update(self, what, size, power=3.0):
        said.append((what, size))
        return original(self, what, size, power)

    original = Progress.meanwhile
    monkeypatch.setattr(Progress, "meanwhile", update)
    fwbq.integrate(lambda x: np.sin(x[:, 0]), fwbq.Uniform([0.0], [1.0]), n=20, rng=0, progress=False)
    assert ("choosing points by", 8) in said
    assert said[-1] == ("fitting kernels to", 20)
