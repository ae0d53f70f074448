"""Kill -9 at random moments, start again, and compare with a run that nobody disturbed."""

import multiprocessing
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fwbq.evaluate import Evaluator
from fwbq.journal import Journal

KILLS = 20
BATCHES, BATCH, DIM = 12, 30, 4
MATRIX = np.random.default_rng(8).normal(size=(DIM, 30))


class Slow:
    """An integrand that takes a moment and writes down each point when it begins and when it ends."""

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


def integrand(x):
    """Bits that depend on how many rows are multiplied at once."""
    return np.tanh(x @ MATRIX @ MATRIX.T @ MATRIX).sum(axis=-1)


def adaptive_run(f, vectorized, **options):
    """Evaluate batches of which each depends on every bit of the values before it, as the points of an integral do."""
    values = []
    with Evaluator(f, DIM, vectorized=vectorized, tag="integrand", **options) as evaluate:
        for _ in range(BATCHES):
            seed = int.from_bytes(np.concatenate([[0.0], *values]).tobytes()[-64:], "little")
            values.append(evaluate(np.random.default_rng(seed).normal(size=(BATCH, DIM))).values)
    return np.concatenate(values)


def run_to_the_end(vectorized, workers, journal, log, answer):
    """What the killed process does."""
    with ThreadPoolExecutor(workers) if workers else nobody() as pool:
        values = adaptive_run(Slow(log), vectorized, journal=journal, executor=pool)
    answer.write_bytes(values.tobytes())


class nobody:
    def __enter__(self):
        return None

    def __exit__(self, *_):
        pass


def noted(log, word):
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.split()[1] for line in lines if line.startswith(word)]


def recorded(journal):
    """Look into the journal as the next run does; the kill may have come before it was made."""
    with Journal(journal, {"dim": DIM, "measure": None, "function": "integrand", "version": ""}) as opened:
        return {row.tobytes().hex() for row in opened.evaluations()[0]} if opened.series() else set()


# (vectorized, workers, points that may have been finished but not yet written down when the kill came)
@pytest.mark.parametrize(
    ("vectorized", "workers", "unwritten"),
    [(False, 0, 1), (None, 0, 3), (None, 3, 12)],
    ids=["one point at a time", "vectorised", "vectorised, three threads"],
)
def test_nothing_recorded_is_evaluated_again_and_no_bit_changes(vectorized, workers, unwritten, tmp_path):
    expected = adaptive_run(integrand, vectorized).tobytes()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fwbq.evaluate", __name__])
    rng = np.random.default_rng(20)
    kills, rounds, halfway = 0, 0, 0
    while kills < KILLS:
        rounds += 1
        journal, answer = tmp_path / f"{rounds}.db", tmp_path / f"{rounds}.answer"
        durable: set[str] = set()
        for attempt in range(KILLS + 1):
            log = tmp_path / f"{rounds}.{attempt}.log"
            process = context.Process(target=run_to_the_end, args=(vectorized, workers, journal, log, answer))
            process.start()
            if kills < KILLS:
                # Any moment: while the journal is made, during a call, during a commit. Most delays count from the
                # first call on, so that the kills spread over the run on a slow machine too.
                while kills % 5 and not log.exists() and process.is_alive():
                    time.sleep(0.001)
                time.sleep(rng.uniform(0.0, 0.1))
                process.kill()
            process.join()
            begun, ended = noted(log, "begin"), noted(log, "end")
            assert not durable & set(begun)  # nothing that was recorded is evaluated again
            assert len(begun) == len(set(begun))
            now = recorded(journal)
            assert durable <= now  # nothing that was recorded is lost
            assert len(set(ended) - now) <= unwritten
            durable = now
            if process.exitcode == 0:
                break
            assert process.exitcode == -9
            kills += 1
            halfway += 0 < len(durable) < BATCHES * BATCH
        assert process.exitcode == 0
        assert answer.read_bytes() == expected
        assert len(durable) == BATCHES * BATCH
    assert halfway >= KILLS // 2
