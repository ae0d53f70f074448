"""Error, time and weights of every design on one mixture.

The 20-component mixture of the simulation study (seed 0), ExpQuad with length-scale 0.8, M = 10,000 candidates. It is
the table of docs/designs.md. Run: python benchmarks/bench_designs.py
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import platform
import time

import numpy as np
import scipy
import scipy.optimize
import scipy.stats

import fwbq
from fwbq.paper.simulation import KERNEL, mixture

N = 100


def main():
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, n = {N}\n")
    measure = mixture(0)
    embedding = fwbq.embed(KERNEL, measure)
    candidates = measure.sample(10_000, rng=np.random.default_rng([0, 1]))
    designs = {
        "MonteCarlo": lambda: fwbq.MonteCarlo(embedding, rng=0),
        "QMC": lambda: fwbq.QMC(embedding, rng=0),
        'FrankWolfe, "herding"': lambda: fwbq.FrankWolfe(embedding, candidates=candidates),
        'FrankWolfe, "line-search"': lambda: fwbq.FrankWolfe(embedding, step="line-search", candidates=candidates),
        "BlendedPairwise": lambda: fwbq.BlendedPairwise(embedding, candidates=candidates),
        "BlendedPairwise, corrective": lambda: fwbq.BlendedPairwise(embedding, candidates=candidates, corrective=True),
        "RandomPivot": lambda: fwbq.RandomPivot(embedding, candidates=candidates, rng=0),
        "SBQ": lambda: fwbq.SBQ(embedding, candidates=candidates),
        "OBQ, one start": lambda: fwbq.OBQ(embedding, candidates=candidates, rng=0, starts=1),
    }
    print("| design | error, own weights | error, `bayes_rule` | least weight | sum of absolute weights | seconds |")
    print("|---|---|---|---|---|---|")
    for name, make in designs.items():
        start = time.process_time()
        design = make()
        own = design.rule(N)
        seconds = time.process_time() - start
        bayes = fwbq.bayes_rule(embedding, design.take(N))
        errors, size = f"{own.mmd:.1e} | {bayes.mmd:.1e}", own.sum_abs_weights
        print(f"| `{name}` | {errors} | {own.weights.min():.1e} | {size:.3g} | {seconds:.2g} |")


if __name__ == "__main__":
    main()
