"""The progress bar."""

import errno
import io
import sys

import numpy as np
import pytest

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


class OnlyWrites:
    """All that `print(file=...)` needs."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text


class Full(OnlyWrites):
    """A file on a disk that is full."""

    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")

    def isatty(self):
        return False


def closed():
    file = io.StringIO()
    file.close()
    return file


@pytest.mark.parametrize("progress", [None, True])
@pytest.mark.parametrize("stderr", [lambda: None, closed, Full, OnlyWrites])
def test_no_run_ends_because_nothing_can_be_written_of_it(monkeypatch, stderr, progress):
    prior = fwbq.Uniform([0.0], [1.0])
    file = stderr()
    monkeypatch.setattr(sys, "stderr", file)
    calls = [
        lambda shown: fwbq.integrate(lambda x: np.sin(x[:, 0]), prior, n=12, rng=0, progress=shown).mean,
        lambda shown: fwbq.evidence(lambda x: -(x[:, 0] ** 2), prior, n=12, rng=0, progress=shown).log_evidence,
    ]
    assert [call(progress) for call in calls] == [call(False) for call in calls]
    if isinstance(file, OnlyWrites) and progress:
        assert "integrate: 12 of 12\n" in file.text or isinstance(file, Full)


def test_a_terminal_that_is_gone_takes_no_result_with_it(monkeypatch):
    class Gone(io.StringIO):
        def isatty(self):
            return True

        def write(self, text):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("fwbq.evaluation.progress._watched", lambda: True)
    bar = Progress(3, enabled=True)
    bar.__enter__()
    bar._bar.live.console.file = Gone()
    bar.advance(3)
    bar.__exit__(None, None, None)
    assert bar.done == 3
