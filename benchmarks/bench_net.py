"""Cost of integration on nets: points, fit and posterior, calling f, and the journal.

Run: python benchmarks/bench_net.py
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tempfile
import time
from pathlib import Path

import numpy as np

import fwbq
from fwbq.transforms import SobolNet, net_posterior

M = 20


def seconds(call, repeats=3):
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def bump(x):
    return np.exp(-((x - 0.3) ** 2).sum(axis=1))


def transforms():
    """Points, and fit with posterior, on 2^20 points."""
    print(f"Seconds of processor time for n = 2^{M} points in d dimensions.\n")
    print("| d | points of the cube | fit and posterior |\n|---|---|---|")
    for dim in (2, 5, 10, 20, 50):
        net = SobolNet(dim, rng=0)
        generators = net.generators(M)
        blocks = [(i << 16, (i + 1) << 16) for i in range(1 << (M - 16))]
        making = seconds(lambda net=net, blocks=blocks: [net.points(*block) for block in blocks], 1)
        values = np.concatenate([bump(net.points(*block)) for block in blocks])
        judging = seconds(lambda g=generators, v=values: net_posterior(g, v))
        print(f"| {dim} | {making:.2f} | {judging:.2f} |")


def whole(n=2**18, dim=5):
    """Cost of one call of integrate per point, f included, without and with a journal."""
    cube = fwbq.Uniform(np.zeros(dim), np.ones(dim))
    print(f"\nMicroseconds of processor time per point of `integrate`, n = {n}, d = {dim}, f = exp(-|x - 0.3|^2).\n")
    print("| | per point | a million points |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        for name, journal in (("no journal", None), ("journal", path), ("journal, all there already", path)):
            call = seconds(
                lambda journal=journal: fwbq.integrate(
                    bump, cube, n=n, method="net", journal=journal, rng=0, progress=False
                ),
                1,
            )
            print(f"| {name} | {1e6 * call / n:.0f} µs | {1e6 * call / n:.0f} s |")
        print(f"\nThe journal takes {path.stat().st_size / n:.0f} bytes per point.")


if __name__ == "__main__":
    transforms()
    whole()
