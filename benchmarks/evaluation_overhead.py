"""What an evaluation costs besides f itself: the table of docs/clusters.md.

Counted is the processor time of the calling process (with Dask's scheduler in it), which hands out and takes back one
thing at a time and so limits how many workers can be kept busy; unlike wall time it can be measured on a machine that
has other work. Run with ``python benchmarks/evaluation_overhead.py``; takes about a minute.
"""

import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from fwbq.evaluation.evaluator import Evaluator
from fwbq.evaluation.journal import Journal

DIM = 5
REPEATS = 3


def nothing(x):
    """Cost as little as an integrand can."""
    return 0.0


def nothings(x):
    """Cost as little as a vectorised integrand can."""
    return np.zeros(len(x))


def per_evaluation(f, n, executor, journalled, **options):
    """Return the least processor time per point of several runs, in microseconds."""
    best = np.inf
    for repeat in range(REPEATS):
        x = np.random.default_rng(repeat).normal(size=(n, DIM))
        with tempfile.TemporaryDirectory() as directory:
            journal = Path(directory) / "run.db" if journalled else None
            with Evaluator(f, DIM, executor=executor, journal=journal, progress=False, **options) as evaluate:
                start = time.process_time()
                evaluate(x)
                best = min(best, (time.process_time() - start) / n)
    return 1e6 * best


def commit(n=200):
    """Return the quartiles of the wall time of one record in a journal, in milliseconds."""
    with tempfile.TemporaryDirectory() as directory, Journal(Path(directory) / "run.db", {}) as journal:
        times = []
        for i in range(n):
            start = time.perf_counter()
            journal.record(np.full((1, DIM), float(i)), [0.0])
            times.append(time.perf_counter() - start)
    return 1e3 * np.percentile(times, [25, 50, 75])


def main():
    """Print the table."""
    from distributed import Client, LocalCluster

    print("one record reaches the disk in {:.1f}, {:.1f}, {:.1f} ms (quartiles)".format(*commit()))
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(2) as processes,
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
        nullcontext() as here,
    ):
        dask = client.get_executor()
        places = {"here": here, "2 threads": threads, "2 processes": processes, "Dask, 2 workers": dask}
        columns = "f of one point", "with a journal", "16 points a task", "vectorised, 20,000 points", "with a journal"
        print("| where |", " | ".join(columns), "|")
        print("|---|" + "---|" * len(columns))
        for name, executor in places.items():
            cells = [
                per_evaluation(nothing, 400, executor, False, vectorized=False),
                per_evaluation(nothing, 400, executor, True, vectorized=False),
                per_evaluation(nothing, 1600, executor, False, vectorized=False, chunk_size=16),
                per_evaluation(nothings, 20_000, executor, False, vectorized=True),
                per_evaluation(nothings, 20_000, executor, True, vectorized=True),
            ]
            print(f"| {name} | " + " | ".join(f"{cell:,.0f} µs" for cell in cells) + " |")


if __name__ == "__main__":
    main()
