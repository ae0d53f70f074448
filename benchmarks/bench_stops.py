"""Stopping at a tolerance: fwbq's nets, QMCPy's four stopping rules, sixteen randomisations, on the same problems.

A stop is wrong when the error exceeds the tolerance that was said to be reached. QMCPy is in the extra ``peers``; where
it is not installed it is left out. ``FWBQ_BENCH_PROBLEMS`` sets the number of problems for each family (4).
"""

import importlib.util
import os
import time
import warnings

import numpy as np

import fwbq
from studies import nets

#: Sets the problems apart from those of `make nets`.
KIND = 1


def with_fwbq(problem, tol, rng):
    """Return the integral and its cost, or None when the tolerance was not reached."""
    found = fwbq.integrate(
        problem.f, problem.measure, n=nets.MOST, tol=tol, method="net", rng=int(rng.integers(2**31)), progress=False
    )
    return (found.mean, found.n_evaluations) if found.success else None


def with_randomisations(problem, tol, rng):
    """Return whether sixteen randomisations stopped, with the error as far as it is known: wrong or not."""
    evaluations, wrong = nets.randomisations(problem, tol, rng)
    return None if np.isnan(evaluations) else (np.inf if wrong else problem.value, evaluations)


def with_qmcpy(criterion, points):
    """Return how one of QMCPy's stopping criteria does it."""

    def integrate(problem, tol, rng):
        import qmcpy

        measure = problem.measure
        sequence = getattr(qmcpy, points)(dimension=measure.uniform_dim, seed=int(rng.integers(2**31)))
        integrand = qmcpy.CustomFun(
            qmcpy.Uniform(sequence),
            g=lambda u: problem.f(measure.from_uniform(np.clip(u, 2.0**-53, 1.0 - 2.0**-53))),
        )
        rule = getattr(qmcpy, criterion)(integrand, abs_tol=tol, rel_tol=0.0, n_limit=nets.MOST)
        value, data = rule.integrate()
        reached = float(np.max(data.comb_bound_diff)) <= 2.0 * tol
        return (float(np.squeeze(value)), int(data.n_total)) if reached else None

    return integrate


METHODS = {
    "fwbq, net": with_fwbq,
    "sixteen randomisations (qmc_quad)": with_randomisations,
    "QMCPy, Bayesian lattice": with_qmcpy("CubQMCBayesLatticeG", "Lattice"),
    "QMCPy, Bayesian net": with_qmcpy("CubQMCBayesNetG", "DigitalNetB2"),
    "QMCPy, lattice": with_qmcpy("CubQMCLatticeG", "Lattice"),
    "QMCPy, net": with_qmcpy("CubQMCNetG", "DigitalNetB2"),
}


def main():
    problems = int(os.environ.get("FWBQ_BENCH_PROBLEMS", "4"))
    methods = {name: f for name, f in METHODS.items() if "QMCPy" not in name or importlib.util.find_spec("qmcpy")}
    if len(methods) < len(METHODS):
        print("QMCPy is not installed, and left out (`pip install fwbq[peers]`).\n")
    runs = {name: [] for name in methods}  # (stopped, wrong, evaluations, CPU seconds) for each problem and tolerance
    for family in nets.FAMILIES:
        for replicate in range(problems):
            problem, rng = nets.draw(family, replicate, KIND)
            deviation = float(np.std(problem.f(problem.measure.sample(4096, rng=rng))))
            for tol in [relative * deviation for relative in nets.TOLERANCES if deviation > 0.0]:
                for name, method in methods.items():
                    begin = time.process_time()
                    try:
                        with warnings.catch_warnings(), np.errstate(all="ignore"):
                            warnings.simplefilter("ignore")
                            found = method(problem, tol, rng)
                    except Exception:  # a peer that fails is a result too
                        runs[name].append((None, False, np.nan, 0.0))
                        continue
                    seconds = time.process_time() - begin
                    wrong = found is not None and not abs(found[0] - problem.value) <= tol
                    evaluations = np.nan if found is None else found[1]
                    runs[name].append((found is not None, wrong, evaluations, seconds))
    usual = np.array([run[2] for run in runs["sixteen randomisations (qmc_quad)"]])
    print(
        f"{len(usual)} problems and tolerances, at most {nets.MOST} evaluations. Evaluations: median ratio to sixteen "
        "randomisations, where both stopped.\n"
    )
    print("| | stops | wrong | failures | evaluations | CPU seconds in all |\n|---|---|---|---|---|---|")
    for name, rows in runs.items():
        stopped, wrong = (sum(bool(row[i]) for row in rows) for i in (0, 1))
        failed = sum(row[0] is None for row in rows)
        ratio = np.array([row[2] for row in rows]) / usual
        known = ratio[np.isfinite(ratio)]
        cost = f"{np.median(known):.2f}" if len(known) else ""
        print(f"| {name} | {stopped} | {wrong} | {failed} | {cost} | {sum(row[3] for row in rows):.1f} |", flush=True)


if __name__ == "__main__":
    main()
