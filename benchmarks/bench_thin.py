"""Thinning: time and memory for up to a million states, five dimensions, 100 chosen.

Run: python benchmarks/bench_thin.py
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import fwbq


def main():
    print("| states | processor time | most memory of the process | distance from the chain | evenly spaced |")
    print("|---|---|---|---|---|")
    for count in (10_000, 100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            noise = np.random.default_rng(0).normal(size=(count, 5))
            for i in range(1, count):
                noise[i] = 0.95 * noise[i - 1] + 0.31 * noise[i]
            np.save(Path(folder) / "chain.npy", noise)
            chain = np.load(Path(folder) / "chain.npy", mmap_mode="r")
            start = time.process_time()
            chosen = fwbq.thin(chain, 100)
            used = time.process_time() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"| {count:,} | {used:.1f} s | {memory:.0f} MB | {chosen.mmd:.4f} | {chosen.mmd_every:.4f} |", flush=True)


if __name__ == "__main__":
    main()
