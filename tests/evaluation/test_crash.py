"""Kill -9 at random moments, start again, and compare with a run that nobody disturbed."""

import multiprocessing
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

import fwbq
from fwbq.evaluation.evaluator import Evaluator
from fwbq.evaluation.journal import Journal

DIM = 2
MEASURE = fwbq.Gaussian(np.zeros(DIM), 1.0)
MATRIX = np.random.default_rng(8).normal(size=(DIM, 30))
BATCHES, BATCH = 8, 30


def integrand(x):
    """Bits that depend on how many rows are multiplied at once."""
    return np.tanh(0.1 * x @ MATRIX @ MATRIX.T @ MATRIX).sum(axis=-1)


class Slow:
    """The integrand, but it takes a moment, and each point is written down when it begins and when it ends."""

    def __init__(self, log):
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def _note(self, word, x):
        os.write(self.log, "".join(f"{word} {row.tobytes().hex()}\n" for row in np.atleast_2d(x)).encode())

    def __call__(self, x):
        self._note("begin", x)
        time.sleep(0.002 * len(np.atleast_2d(x)))
        y = integrand(x)
        self._note("end", x)
        return y


def batches(f, **options):
    """Evaluate batches of which each depends on every bit of the values before it, as the points of an integral do."""
    values = []
    with Evaluator(f, DIM, measure=MEASURE, tag="integrand", **options) as evaluate:
        for _ in range(BATCHES):
            seed = int.from_bytes(np.concatenate([[0.0], *values]).tobytes()[-64:], "little")
            values.append(evaluate(np.random.default_rng(seed).normal(size=(BATCH, DIM))).values)
    return np.concatenate(values)


def integral(f, **options):
    result = fwbq.integrate(f, MEASURE, n=40, rng=0, tag="integrand", **options)
    return np.array([result.mean, result.sd, *result.interval(0.95)])


def run_to_the_end(work, workers, options, log, answer):
    """What the killed process does."""
    with ThreadPoolExecutor(workers) if workers else nullcontext() as executor:
        answer.write_bytes(work(Slow(log), executor=executor, **options).tobytes())


def noted(log, word):
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.split()[1] for line in lines if line.startswith(word)]


def recorded(journal):
    """Look into the journal as the next run does; the kill may have come before it was made."""
    with Journal(journal, {"dim": DIM, "measure": MEASURE.spec(), "function": "integrand", "version": ""}) as opened:
        return {row.tobytes().hex() for row in opened.evaluations()[0]} if opened.series() else set()


@pytest.mark.parametrize(
    # `unwritten`: points that may have been finished but not yet written down when the kill came.
    ("work", "vectorized", "workers", "unwritten", "total", "times"),
    [
        pytest.param(batches, False, 0, 1, BATCHES * BATCH, 10, id="one point at a time"),
        pytest.param(batches, None, 0, 3, BATCHES * BATCH, 10, id="vectorised"),
        pytest.param(batches, None, 3, 12, BATCHES * BATCH, 10, id="vectorised, three threads"),
        pytest.param(integral, None, 0, 3, 40, 20, id="integrate"),
    ],
)
def test_nothing_recorded_is_evaluated_again_and_no_bit_changes(
    work, vectorized, workers, unwritten, total, times, tmp_path
):
    expected = work(integrand, vectorized=vectorized).tobytes()
    context = multiprocessing.get_context("forkserver")  # the imports are paid for once
    context.set_forkserver_preload(["fwbq.integration", "scipy.optimize", "scipy.stats", __name__])
    rng = np.random.default_rng(20)
    kills, rounds, halfway = 0, 0, 0
    while kills < times:
        rounds += 1
        answer = tmp_path / f"{rounds}.answer"
        options = {"vectorized": vectorized, "journal": tmp_path / f"{rounds}.db"}
        durable: set[str] = set()
        for attempt in range(times + 1):
            log = tmp_path / f"{rounds}.{attempt}.log"
            process = context.Process(target=run_to_the_end, args=(work, workers, options, log, answer))
            process.start()
            if kills < times:
                # Any moment: while the journal is made, during a call, during a commit. Most delays count from the
                # first call on, so that the kills spread over the run on a slow machine too.
                while kills % 5 and not noted(log, "begin") and process.is_alive():
                    time.sleep(0.001)
                time.sleep(rng.uniform(0.0, 0.1))
                process.kill()
            process.join()
            begun, ended = noted(log, "begin"), noted(log, "end")
            assert not durable & set(begun)  # nothing that was recorded is evaluated again
            assert len(begun) == len(set(begun))
            now = recorded(options["journal"])
            assert durable <= now  # nothing that was recorded is lost
            assert len(set(ended) - now) <= unwritten
            durable = now
            if process.exitcode == 0:
                break
            assert process.exitcode == -9
            kills += 1
            halfway += 0 < len(durable) < total
        assert process.exitcode == 0
        assert answer.read_bytes() == expected
        assert len(durable) == total
    assert halfway >= times // 2
