"""What constants of kernel search, evidences and comparisons do: each smaller and larger, on known truths.

``python -m benchmarks.constants [integral | evidence | comparison] [name ...]``. For each setting a row: how many
95 % intervals hold the truth, how wide they are and how large the errors, relative to the constants as they are
(geometric means over the problems, errors not below a hundredth of the stated standard deviation), and the processor
time relative to theirs. Another value makes a run choose other points, which alone changes errors and widths of single
problems by factors: of nine evidences a mean of 0.8 or 1.2 says nothing.
"""

import importlib
import sys
import time
import warnings

import numpy as np

import fwbq
from fwbq.chema import Dataset, compare
from fwbq.chema.pairs import ScreenRules
from studies import problems
from studies.calibration import tensor_sum
from studies.problems.likelihoods import LIKELIHOODS

SEARCH, PRIOR = "fwbq.process.search", "fwbq.process.prior.LengthscalePrior"
TUNING = "fwbq.inference.tuning.TUNING"

#: (where, name, other values)
INTEGRAL = [
    (PRIOR, "centre", (1.0, 4.0)),
    (PRIOR, "common", (0.5, 2.0)),
    (PRIOR, "apart", (0.35, 1.4)),
    (SEARCH, "MOST_POINTS", (20,)),
    (SEARCH, "DRAWS", (8, 32)),
    (SEARCH, "MEMBERS", (4, 16)),
    (SEARCH, "FEWEST_DRAWS", (1, 6)),
    (SEARCH, "LEAST_PROBABILITY", (2e-2, 2e-4)),
    (SEARCH, "NEGLIGIBLE", (5e-2, 5e-4)),
    (SEARCH, "HOPELESS", (5.0, 20.0)),
    (SEARCH, "FIRST_LOOK", ((0.0,), tuple(np.arange(-4.0, 3.1, 0.5)))),
    (SEARCH, "NEXT_LOOK", ((0.0,), tuple(np.arange(-3.0, 1.1, 0.25)))),
    (SEARCH, "SHARE_LOOK", ((0.0,), (0.0, -0.75, -1.5, -2.25))),
    (SEARCH, "_STUDENT_DF", (2.0, 20.0)),
]
EVIDENCE = [
    (f"{TUNING}.sizes", "candidates", (200, 800)),
    (f"{TUNING}.sizes", "wide", (0, 300)),
    (f"{TUNING}.sizes", "draws", (200, 800)),
    (f"{TUNING}.quadrature", "share", (1.0 / 3.0, 1.0)),
    (f"{TUNING}.quadrature", "growth", (0.05, 0.2)),
    (f"{TUNING}.nodes", "controls", (4, 24)),
    (f"{TUNING}.nodes", "around", (12, 48)),
    (f"{TUNING}.nodes", "around_df", (4.0, 30.0)),
    (f"{TUNING}.nodes", "attempts", (1, 6)),
    (f"{TUNING}.sizes", "few", ((128, 4), (1024, 4))),
    (f"{TUNING}.sizes", "many", ((1024, 8), (8192, 8))),
    (f"{TUNING}.process", "refit", (1.01, 1.5)),
    (f"{TUNING}.sizes", "pairs", (512, 2048)),
    (f"{TUNING}.depth", "noise_scale", (2.5, 10.0)),
    (f"{TUNING}.depth", "free", (5.0, 20.0)),
    (f"{TUNING}.sign", "variance", (100.0, 1600.0)),
    (f"{TUNING}.sign", "lengths", ((2.5,), (0.5, 1.0, 2.5, 6.0, 15.0))),
]
LOG_PROCESS, LEADERS, SHARED = "fwbq.selection.log_process", "fwbq.selection.leaders", "fwbq.selection.shared"
JUDGE, LIKELY, SCREENING = "fwbq.chema.judge", "fwbq.chema.likely", "fwbq.chema.screening"
COMPARISON = [
    (LOG_PROCESS, "_POOL", (25, 400)),
    (LOG_PROCESS, "_WIDTH", (0.35, 1.4)),
    (LEADERS, "_LEADERS", (10, 160)),
    (LEADERS, "_KNOWN", (1e-8, 1e-4)),
    (SHARED, "_WITNESSES", (5, 80)),
    (JUDGE, "LEADING", (50, 800)),
    (LIKELY, "_PILOT", (8, 60)),
    (SCREENING, "_SAMPLE", (500, 8000)),
]
SMOOTH_AND_ROUGH = (
    "genz-oscillatory", "genz-corner-peak", "genz-gaussian", "genz-continuous", "matern12-uniform", "matern52-gaussian",
    "gaussian-bumps", "normal-evidence", "quadratic", "hinge",
)  # fmt: skip
LIKELIHOODS_USED = (
    "gaussian, d=3, 50 times narrower", "banana", "student", "logistic", "poisson", "cut", "two modes", "funnel",
    "decay",
)  # fmt: skip


def integrals() -> list[tuple[float, float, bool]]:
    """(error, standard deviation, whether the interval holds the truth) of integrals with n = 20."""
    rows = []
    for family in (problems.FAMILIES[name] for name in SMOOTH_AND_ROUGH):
        for d in (1, 2):
            problem = family.draw(d, np.random.default_rng(d))
            found = fwbq.integrate(problem.f, problem.measure, n=20, rng=d, progress=False)
            low, high = found.interval(0.95)
            rows.append((abs(found.mean - problem.value), 0.25 * (high - low), low <= problem.value <= high))
    return rows


def evidences() -> list[tuple[float, float, bool]]:
    """The same of log evidences with n = 60."""
    rows = []
    for name in LIKELIHOODS_USED:
        problem = LIKELIHOODS[name](np.random.default_rng(1))
        found = fwbq.evidence(problem.log_likelihood, problem.prior, n=60, rng=1, progress=False)
        low, high = found.interval(0.95)
        rows.append((abs(found.log_evidence - problem.log_evidence), found.sd, low <= problem.log_evidence <= high))
    return rows


def comparisons() -> list[tuple[float, float, bool]]:
    """The same of the log evidences of the 20 leading pairs of three sets of kinetic data, two of them screened."""
    rows = []
    for seed, enzymes, screen in ((31, 26, False), (32, 60, True), (33, 60, True)):
        data = Dataset.simulate(enzymes, rng=seed, noise=0.01)
        rules = ScreenRules((10, 20, 30), top=100, adapt=True) if screen else False
        found = compare(data, n=50, screen=rules, rng=0, progress=False)
        order = np.argsort(-found.evidences.log_median)
        names = [found.names[i] for i in order if len(found.names[i]) == 2][:20]
        truth = tensor_sum(data, names, 32)
        for name, exact in zip(names, truth, strict=True):
            low, high = found.log_evidence_interval(name)
            sd = float(found.evidences.log_sd[found.names.index(name)])
            rows.append((abs(found.log_evidence(name) - exact), sd, low <= exact <= high))
    return rows


RUNS = {"integral": (integrals, INTEGRAL), "evidence": (evidences, EVIDENCE), "comparison": (comparisons, COMPARISON)}


def place(where: str):
    """The module, class or value of that name."""
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError:
        module, _, name = where.rpartition(".")
        return getattr(place(module), name)


def with_constant(holder, name, value):
    """Set a constant of a module, a field of a frozen value, or the default of a field of a dataclass."""
    if isinstance(holder, type):
        fields = list(holder.__dataclass_fields__)
        defaults = list(holder.__init__.__defaults__)
        defaults[fields.index(name) - len(fields)] = value
        holder.__init__.__defaults__ = tuple(defaults)
    else:
        object.__setattr__(holder, name, value)


def measured(run) -> tuple[np.ndarray, np.ndarray, int, float]:
    """Errors, standard deviations, intervals that hold the truth, and processor time."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error, sd, held = (np.array(column) for column in zip(*run(), strict=True))
    return error, sd, int(held.sum()), time.process_time() - begin


def ratio(a: np.ndarray, b: np.ndarray) -> float:
    """Geometric mean of a / b where both are known."""
    kept = np.isfinite(a) & np.isfinite(b) & (b > 0.0) & (a > 0.0)
    return float(np.exp(np.mean(np.log(a[kept] / b[kept]))))


def main(arguments: list[str]) -> None:
    """Print one table for each kind."""
    kinds = [kind for kind in arguments if kind in RUNS] or list(RUNS)
    names = [name for name in arguments if name not in RUNS]
    for kind in kinds:
        run, constants = RUNS[kind]
        run()  # imports and caches
        error, sd, held, seconds = measured(run)
        print(f"{kind}: {held} of {len(sd)} intervals hold the truth, {seconds:.1f} s\n", flush=True)
        print("| constant | value | held | width | error | time |\n|---|---|---|---|---|---|", flush=True)
        for where, name, values in constants:
            if names and name not in names:
                continue
            holder = place(where)
            usual = getattr(holder, name)
            for value in values:
                with_constant(holder, name, value)
                e, s, h, t = measured(run)
                least = 0.01 * sd
                errors = ratio(np.maximum(e, least), np.maximum(error, least))
                shown = f"{value:g}" if np.ndim(value) == 0 else f"{len(value)} values" if len(value) > 2 else value
                print(f"| {name} | {shown} | {h} | {ratio(s, sd):.2f} | {errors:.2f} | {t / seconds:.2f} |", flush=True)
            with_constant(holder, name, usual)


if __name__ == "__main__":
    main(sys.argv[1:])
