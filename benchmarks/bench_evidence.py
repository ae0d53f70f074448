"""Log evidence at equal evaluations: fwbq, PyVBMC, GPry, dynesty, Laplace with importance sampling.

The peers are the extra ``peers``; one that is not installed is left out, and the table says so. ``FWBQ_BENCH_SEEDS``
sets the number of seeds (1), ``FWBQ_BENCH_PEERS`` names some of them (comma-separated), ``FWBQ_BENCH_LIMIT`` is the
number of CPU seconds after which a run is given up (300; not on Windows).
"""

import contextlib
import importlib.util
import io
import logging
import os
import signal
import time
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_t

import fwbq
from fwbq.inference.chart import chart_of
from studies.evidence import FAMILIES

#: Twelve problems, and the evaluations that every method may use.
PROBLEMS = (
    "gaussian, d=2, 200 times narrower", "gaussian, d=3, 50 times narrower", "gaussian, d=6, 5 times narrower",
    "banana", "student", "logistic", "poisson", "process regression", "cut", "flat", "two modes", "decay",
)  # fmt: skip
BUDGET = 200


class Counted:
    """The log joint density of a problem in coordinates where the prior is standard normal, counting its calls."""

    def __init__(self, problem):
        self.problem, self.chart, self.calls = problem, chart_of(problem.prior), 0

    def log_likelihood(self, z):
        z = np.atleast_2d(z)
        self.calls += len(z)
        return self.problem.log_likelihood(self.chart.to_user(z))

    def log_joint(self, z):
        z = np.atleast_2d(z)
        return self.log_likelihood(z) + self.chart.log_prior(z)


class OutOfTime(BaseException):
    """Raised in a run that has used its CPU seconds; not an Exception, so that no peer catches it."""


@contextlib.contextmanager
def limited(seconds):
    """Give up what runs inside after this number of CPU seconds."""

    def stop(*_):
        raise OutOfTime

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def with_fwbq(f, seed, budget=BUDGET):
    found = fwbq.evidence(
        f.log_likelihood, fwbq.Gaussian(np.zeros(f.chart.dim), np.eye(f.chart.dim)), n=budget, rng=seed
    )
    return found.log_evidence, found.sd


def with_laplace(f, seed, budget=BUDGET):
    """Climb by BFGS with half of the evaluations, then importance sampling from a Student-t with that curvature."""
    rng = np.random.default_rng(seed)
    d = f.chart.dim

    class Spent(Exception):
        pass

    best = [np.inf, np.zeros(d)]

    def negative(z):
        if f.calls >= budget // 2:
            raise Spent
        value = min(-float(f.log_joint(z)[0]), 1e10)
        if value < best[0]:
            best[:] = value, np.array(z)
        return value

    starts = rng.standard_normal((5, d))
    first = min(starts, key=negative)
    with contextlib.suppress(Spent):
        minimize(negative, first, method="BFGS")
    top, h = best[1], 1e-3
    H = np.empty((d, d))
    centre = float(f.log_joint(top)[0])
    single = {s: f.log_joint(top + s * h * np.eye(d)) for s in (1.0, -1.0)}
    for i in range(d):
        H[i, i] = (single[1.0][i] - 2.0 * centre + single[-1.0][i]) / h**2
    for i in range(d):
        for j in range(i):
            both = float(f.log_joint(top + h * (np.eye(d)[i] + np.eye(d)[j]))[0])
            H[i, j] = H[j, i] = (both - single[1.0][i] - single[1.0][j] + centre) / h**2
    values, axes = np.linalg.eigh(-np.where(np.isfinite(H), H, 0.0))
    cov = (axes / np.where(values > 1e-6, values, 1.0)) @ axes.T
    law = multivariate_t(top, 1.2 * cov, df=5)
    z = law.rvs(max(budget - f.calls, 20), random_state=rng).reshape(-1, d)
    logs = f.log_joint(z) - law.logpdf(z)
    w = np.exp(logs - logs.max())
    return logsumexp(logs) - np.log(len(z)), float(w.std(ddof=1) / w.mean() / np.sqrt(len(w)))


def with_pyvbmc(f, seed):
    from pyvbmc import VBMC

    np.random.seed(seed)  # noqa: NPY002 (PyVBMC draws from the global generator)
    d = f.chart.dim
    vbmc = VBMC(
        lambda z: max(float(f.log_joint(z)[0]), -1e6), np.zeros((1, d)), plausible_lower_bounds=np.full((1, d), -1.0),
        plausible_upper_bounds=np.full((1, d), 1.0), options={"max_fun_evals": BUDGET, "display": "off"},
    )  # fmt: skip
    _, results = vbmc.optimize()
    return float(results["elbo"]), float(results["elbo_sd"])


def with_dynesty(f, seed):
    from dynesty import NestedSampler
    from scipy.special import ndtri

    # So few evaluations allow few live points: what is asked here is what 200 evaluations give, not what it can do.
    sampler = NestedSampler(
        lambda z: max(float(f.log_likelihood(z)[0]), -1e10), ndtri, f.chart.dim, nlive=max(25, 2 * f.chart.dim + 2),
        rstate=np.random.default_rng(seed), first_update={"min_ncall": 20, "min_eff": 50.0},
    )  # fmt: skip
    sampler.run_nested(maxcall=BUDGET, print_progress=False, add_live=True)
    return float(sampler.results.logz[-1]), float(sampler.results.logzerr[-1])


def with_gpry(f, seed):
    from gpry import Runner

    d = f.chart.dim
    runner = Runner(
        lambda z: max(float(f.log_joint(z)[0]), -1e6), bounds=[[-5.0, 5.0]] * d, seed=seed, verbose=1,
        options={"max_total": BUDGET, "max_finite": BUDGET}, plots=False,
    )  # fmt: skip
    runner.run()
    runner.generate_mc_sample()
    value, sd = runner.last_mc_logZ()
    # Its prior is uniform over the box: the integral of the joint density is the volume times its evidence.
    return float(value) + d * np.log(10.0), float(sd)


METHODS = {
    "fwbq": with_fwbq, "PyVBMC": with_pyvbmc, "GPry": with_gpry, "dynesty": with_dynesty,
    "Laplace + importance sampling": with_laplace,
}  # fmt: skip


def main():
    seeds = range(int(os.environ.get("FWBQ_BENCH_SEEDS", "1")))
    limit = float(os.environ.get("FWBQ_BENCH_LIMIT", "300"))
    names = os.environ.get("FWBQ_BENCH_PEERS", ",".join(METHODS)).split(",")
    absent = [
        name for name in names if name in ("PyVBMC", "GPry", "dynesty") and not importlib.util.find_spec(name.lower())
    ]
    names = [name for name in names if name not in absent]
    if absent:
        print(f"Not installed, and left out: {', '.join(absent)} (`pip install fwbq[peers]`).\n")
    print("Each cell: abs. error of the log evidence, stated sd; evaluations; CPU seconds. Medians over the seeds.\n")
    print("| problem | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names), flush=True)
    least = dict.fromkeys(names, 0)
    for family in PROBLEMS:
        cells, errors = [], {}
        for name in names:
            rows = []
            for seed in seeds:
                problem = FAMILIES[family](np.random.default_rng([7, seed]))
                f = Counted(problem)
                begin = time.process_time()
                try:
                    with limited(limit), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                        warnings.simplefilter("ignore")
                        logging.disable(logging.WARNING)
                        value, sd = METHODS[name](f, seed)
                except OutOfTime:
                    cells.append(f"no answer in {limit:g} CPU seconds, {f.calls} evaluations")
                    break
                except Exception as error:  # a peer that fails is a result too
                    cells.append(f"failed ({type(error).__name__})")
                    break
                rows.append((abs(value - problem.log_evidence), sd, f.calls, time.process_time() - begin))
            else:
                error, sd, calls, seconds = np.median(np.array(rows), axis=0)
                errors[name] = error
                cells.append(f"{error:.1e}, {sd:.1e}; {calls:.0f}; {seconds:.1f}")
        if errors:
            least[min(errors, key=errors.get)] += 1
        print(f"| {family} | " + " | ".join(cells) + " |", flush=True)
    print("| smallest error on | " + " | ".join(f"{least[name]} of {len(PROBLEMS)}" for name in names) + " |")


if __name__ == "__main__":
    main()
