"""Speed of sequential Bayesian quadrature, as ratios within one run on one machine, and what refinement gains.

Run: python benchmarks/bench_sbq.py
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import platform
import time
import tracemalloc

import numpy as np
import scipy
from scipy.linalg import solve_triangular

import fwbq
from fwbq.paper.simulation import mixture


def wide_mixture(dim, components=20):
    """A mixture in more dimensions than the study's, means in [-4, 4]^d."""
    rng = np.random.default_rng(0)
    covs = [np.diag(v) for v in rng.uniform(0.1, 0.6, (components, dim))]
    return fwbq.GaussianMixture(np.full(components, 1 / components), rng.uniform(-4, 4, (components, dim)), covs)


def seconds(call, repeats=3):
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def greedy(embedding, m, n, repeats=3):
    """Time to choose n points; drawing the candidates and their mean element are not counted."""
    best = np.inf
    for _ in range(repeats):
        design = fwbq.SBQ(embedding, candidates=m, rng=0)
        start = time.process_time()
        design.take(n)
        best = min(best, time.process_time() - start)
    return best, design


def solved_again_per_candidate(embedding, candidates, n, sizes=6, sample=40):
    """The textbook: at every step and for every candidate, the weights of the enlarged set; timed on a sample."""
    at, cost = np.unique(np.linspace(1, n, sizes).astype(int)), []
    for i in at:
        chosen = candidates[:i]

        def solve(chosen=chosen):
            for j in range(sample):
                x = np.vstack([chosen, candidates[-1 - j]])
                z = embedding.mean(x)
                embedding.variance - z @ np.linalg.solve(embedding.kernel(x), z)

        cost.append(seconds(solve, 2) / sample)
    return len(candidates) * float(np.interp(np.arange(1, n + 1), at, cost).sum())


def solved_again_per_step(embedding, candidates, n):
    """The same, vectorised over the candidates: one factorisation and one triangular solve for all of them a step."""
    mean, diagonal = embedding.mean(candidates), embedding.kernel.diag(candidates)
    chosen = []
    for _ in range(n):
        x = candidates[chosen]
        residual, variance = mean.copy(), diagonal.copy()
        if chosen:
            L = np.linalg.cholesky(embedding.kernel(x) + 1e-12 * np.eye(len(x)))
            rows = solve_triangular(L, embedding.kernel(x, candidates), lower=True, check_finite=False)
            residual -= solve_triangular(L, embedding.mean(x), lower=True) @ rows
            variance -= np.einsum("ij,ij->j", rows, rows)
        gain = np.where(variance > 1e-10 * diagonal, residual**2 / np.maximum(variance, 1e-300), -1.0)
        chosen.append(int(np.argmax(gain)))
    return chosen


def traffic(m, n):
    """Time to read the growing factor once a step: n^2 m / 2 doubles, by the fastest of two reductions."""
    factor = np.ones((n, m))
    flat = factor.ravel()
    return min(
        seconds(lambda: [flat[: i * m].sum() for i in range(1, n)], 2),
        seconds(lambda: [flat[: i * m] @ flat[: i * m] for i in range(1, n)], 2),
    )


def row(name, *cells):
    print(f"| {name:<58} | " + " | ".join(f"{c:>14}" for c in cells) + " |")


def main():
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}")
    print(f"OPENBLAS_NUM_THREADS={os.environ['OPENBLAS_NUM_THREADS']}\n")

    embedding = fwbq.embed(fwbq.ExpQuad(0.8), mixture(0))
    row("n = 200, M = 10,000, d = 2", "seconds", "ratio to SBQ")
    row("-" * 58, "-" * 14, "-" * 14)
    own, design = greedy(embedding, 10_000, 200)
    row("SBQ", f"{own:.3f}", "1")
    t = time.process_time()
    chosen = solved_again_per_step(embedding, design.candidates, 200)
    t = time.process_time() - t
    agree = int(np.argmin(np.append(design.trace.index == chosen, False)))
    row("solved again per step, all candidates at once", f"{t:.2f}", f"{t / own:.0f}")
    t = solved_again_per_candidate(embedding, design.candidates, 200)
    row("solved again per candidate (from a sample of them)", f"{t:.0f}", f"{t / own:,.0f}")
    print(f"first {agree} of 200 indices agree with the version solved again per step\n")

    row("n = 400, M = 50,000", "seconds", "ratio to bound", "peak MB")
    row("-" * 58, "-" * 14, "-" * 14, "-" * 14)
    bound = traffic(50_000, 400)
    row("reading n^2 M / 2 doubles once", f"{bound:.2f}", "1", "160")
    for dim, wide in ((2, embedding), (10, fwbq.embed(fwbq.ExpQuad(4.0), wide_mixture(10)))):
        own, _ = greedy(wide, 50_000, 400, 2)
        tracemalloc.start()
        fwbq.SBQ(wide, candidates=50_000, rng=0).take(400)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        row(f"SBQ, d = {dim}", f"{own:.2f}", f"{own / bound:.2f}", f"{peak:.0f}")
    print()

    row("squared worst-case error on five mixtures, M = 10,000", "n = 100", "n = 400")
    row("-" * 58, "-" * 14, "-" * 14)
    errors = []
    for seed in range(5):
        design = fwbq.SBQ(fwbq.embed(fwbq.ExpQuad(0.8), mixture(seed)), rng=seed)
        design.take(400)
        errors.append(design.trace.mmd2[[99, 399]])
    low, high = np.min(errors, axis=0), np.max(errors, axis=0)
    row("SBQ, least to greatest", *(f"{a:.1e}..{b:.1e}" for a, b in zip(low, high, strict=True)))
    print()

    row("n = 100 refined, d = 2", "seconds", "MMD below SBQ")
    row("-" * 58, "-" * 14, "-" * 14)
    rule = fwbq.SBQ(embedding, rng=0).rule(100)
    for iterations in (100, 500):
        start = time.process_time()
        better = fwbq.refine(rule, max_iterations=iterations)
        t = time.process_time() - start
        row(f"SBQ, then refine with {iterations} iterations", f"{t:.2f}", f"{rule.mmd / better.mmd:.1f} times")
    start = time.process_time()
    best = fwbq.OBQ(embedding, rng=0).rule(100)
    row("OBQ, three starts", f"{time.process_time() - start:.2f}", f"{rule.mmd / best.mmd:.1f} times")
    print()

    cube = fwbq.embed(fwbq.PeriodicSobolev(3), fwbq.Uniform([0.0] * 3, [1.0] * 3))
    error = fwbq.SBQ(cube, rng=0).rule(128).mmd2
    print(f"Periodic Sobolev, d = 3, order 3, n = 128: squared worst-case error {error:.2e}")


if __name__ == "__main__":
    main()
