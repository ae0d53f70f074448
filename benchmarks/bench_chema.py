"""Kinetic models: all pairs of 26 enzymes at 200 points against the plain loop, and all models of up to 10,000.

python benchmarks/bench_chema.py                       # the block of 352 models
python benchmarks/bench_chema.py 26 300 1000 3000 10000   # comparisons of all pairs, on two processes
python benchmarks/bench_chema.py 100 300 --max-enzymes 3
"""

import argparse
import os
import resource
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.special import gammaln

from fwbq.chema import Dataset, candidate_models, compare, log_likelihood_block, prior


def naive(dataset, model, k):
    """Log marginal likelihood of one model at one point, as its formula reads."""
    index, n = dataset.columns(model), len(dataset.times) - 1
    y_p, y_s = dataset.phospho[:-1], dataset.substrate[:-1]
    y = np.diff(dataset.phospho) / np.diff(dataset.times)
    x = np.column_stack(
        [-y_p / (y_p + k[0])] + [dataset.enzymes[:-1, j] * y_s / (y_s + c) for j, c in zip(index, k[1:], strict=True)]
    )
    d = x.shape[1]
    one, gram = np.ones(d), x.T @ x
    omega = (1 + 1 / n) * gram
    v = np.linalg.solve(omega, gram @ one / n + x.T @ y)
    b = 0.5 * (y @ y + one @ gram @ one / n - v @ omega @ v)
    return gammaln(n / 2) - np.log(2) - n / 2 * np.log(2 * np.pi) - d / 2 * np.log(n + 1) - n / 2 * np.log(b)


def best_of(repeats, function):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def block(n=200):
    data = Dataset.example()
    models = candidate_models(data)
    sizes = [[m for m in models if len(m) == size] for size in (0, 1, 2)]
    points = [prior(1 + size).sample(n, rng=size) for size in (0, 1, 2)]

    each = list(zip(sizes, points, strict=True))

    def all_blocks(truncated=False):
        return [log_likelihood_block(data, m, k, truncated=truncated) for m, k in each]

    fast, values = best_of(10, all_blocks)
    some = 10  # points, of which the loop is timed; its cost is proportional to their number

    def plain_loop():
        return [np.array([[naive(data, a, p) for a in m] for p in k[:some]]) for m, k in each]

    slow, loop = best_of(3, plain_loop)
    slow *= n / some
    error = max(np.abs(a[:some] - b).max() for a, b in zip(values, loop, strict=True))
    truncated, _ = best_of(1, lambda: all_blocks(truncated=True))
    print(f"{len(models)} models at {n} points: block {fast * 1e3:.1f} ms, loop {slow:.2f} s, ratio {slow / fast:.0f}")
    print(f"largest difference {error:.1e}; with truncated rates {truncated:.1f} s")


def processor_time():
    """Seconds of this process and of those that it has started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def comparisons(sizes, workers, max_enzymes):
    from concurrent.futures import ProcessPoolExecutor

    print(
        f"{'enzymes':>8} {'models':>12} {'seconds':>8} {'processor':>10} {'us/model':>9} {'GB':>5}  "
        "models listed; best model and P(MAP)"
    )
    for size in sizes:
        data = Dataset.simulate(size, rng=size, noise=0.005)
        start, used = time.perf_counter(), processor_time()
        with ProcessPoolExecutor(workers) as executor:
            found = compare(
                data, max_enzymes=max_enzymes, executor=executor if workers > 1 else None, rng=0, progress=False
            )
        seconds, processor = time.perf_counter() - start, processor_time() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak += workers * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if workers > 1 else 0
        print(
            f"{size:8d} {found.n_models:12,d} {seconds:8.1f} {processor:10.1f} {processor / found.n_models * 1e6:9.2f} "
            f"{peak / 2**20:5.2f}  {len(found):,}; {found.best} {found.map_probability:.3f} (true: {data.regulators})",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("enzymes", nargs="*", type=int, help="numbers of enzymes to compare all models of")
    parser.add_argument("--max-enzymes", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.enzymes:
        comparisons(arguments.enzymes, arguments.workers, arguments.max_enzymes)
    else:
        block()
