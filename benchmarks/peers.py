"""The figure of the first page: error of the log evidence against evaluations, fwbq beside its peers.

``python -m benchmarks.peers`` runs the problems of ``bench_evidence`` and writes docs/figures/peers.csv, a row for each
answer; ``python -m benchmarks.peers --draw`` draws that table, for light and for dark pages. ``FWBQ_BENCH_SEEDS`` sets
the number of seeds (1). The peers are the extra ``peers``.
"""

import contextlib
import csv
import io
import logging
import os
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.bench_evidence import PROBLEMS, Counted, with_fwbq, with_laplace
from studies.evidence import FAMILIES

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
TABLE = FIGURES / "peers.csv"
#: The cut likelihood is zero over half of the space, which PyVBMC has no means for.
FAIR = [name for name in PROBLEMS if name != "cut"]
BUDGETS = (25, 50, 100, 200)
#: What nested sampling is made for.
NESTED = (200, 1000, 5000, 20000)


def at_each(method, budgets):
    """Answers of runs with each budget: (evaluations, log evidence, sd)."""

    def run(new, seed):
        for budget in budgets:
            f = new()
            value, sd = method(f, seed, budget)
            yield f.calls, value, sd

    return run


def with_dynesty(f, seed, budget):
    from dynesty import NestedSampler
    from scipy.special import ndtri

    # A run passes through its shells with about 40 evaluations a live point on these problems.
    sampler = NestedSampler(
        lambda z: max(float(f.log_likelihood(z)[0]), -1e10), ndtri, f.chart.dim, nlive=max(25, budget // 40),
        rstate=np.random.default_rng(seed), first_update={"min_ncall": 20, "min_eff": 50.0},
    )  # fmt: skip
    sampler.run_nested(maxcall=budget, print_progress=False, add_live=True)
    return float(sampler.results.logz[-1]), float(sampler.results.logzerr[-1])


def run_pyvbmc(new, seed):
    """One run: PyVBMC keeps its answer after every iteration. After it has stopped, its last answer stands."""
    from pyvbmc import VBMC

    np.random.seed(seed)  # noqa: NPY002 (PyVBMC draws from the global generator)
    f = new()
    d = f.chart.dim
    vbmc = VBMC(
        lambda z: max(float(f.log_joint(z)[0]), -1e6), np.zeros((1, d)), plausible_lower_bounds=np.full((1, d), -1.0),
        plausible_upper_bounds=np.full((1, d), 1.0), options={"max_fun_evals": max(BUDGETS), "display": "off"},
    )  # fmt: skip
    _, results = vbmc.optimize()
    history = vbmc.iteration_history
    answers = list(zip(history["func_count"], history["elbo"], history["elbo_sd"], strict=True))
    answers.append((results["func_count"], results["elbo"], results["elbo_sd"]))  # the iteration that it trusts most
    for budget in BUDGETS:
        if within := [answer for answer in answers if answer[0] <= budget]:
            calls, value, sd = within[-1]
            yield int(calls), float(value), float(sd)


METHODS = {
    "fwbq": at_each(with_fwbq, BUDGETS),
    "Laplace + importance sampling": at_each(with_laplace, BUDGETS),
    "dynesty": at_each(with_dynesty, NESTED),
    "PyVBMC": run_pyvbmc,
}


def measure():
    """Run everything; the table grows row by row, so that what was measured is kept."""
    seeds = range(int(os.environ.get("FWBQ_BENCH_SEEDS", "1")))
    names = os.environ.get("FWBQ_BENCH_PEERS", ",".join(METHODS)).split(",")
    fresh = not TABLE.exists()
    with TABLE.open("a", newline="") as file:
        table = csv.writer(file)
        if fresh:
            table.writerow(["method", "problem", "seed", "budget", "evaluations", "error", "sd"])
        for name in names:
            for seed in seeds:
                for family in FAIR:
                    problem = FAMILIES[family](np.random.default_rng([7, seed]))
                    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                        warnings.simplefilter("ignore")
                        logging.disable(logging.WARNING)
                        answers = list(METHODS[name](lambda problem=problem: Counted(problem), seed))
                    budgets = NESTED if name == "dynesty" else BUDGETS[-len(answers) :]
                    for budget, (calls, value, sd) in zip(budgets, answers, strict=True):
                        row = [name, family, seed, budget, calls, f"{value - problem.log_evidence:.3e}", f"{sd:.3e}"]
                        table.writerow(row)
                    file.flush()


#: Colours that everybody can tell apart, on white pages and, brighter, on dark ones.
STYLE = {
    "fwbq": ("#0072b2", "o"), "PyVBMC": ("#d55e00", "s"), "Laplace + importance sampling": ("#8c7a00", "^"),
    "dynesty": ("#a0568a", "D"),
}  # fmt: skip
BRIGHT = {"#0072b2": "#56b4e9", "#d55e00": "#ff9a56", "#8c7a00": "#d9c84a", "#a0568a": "#dd9ac9"}


def draw():
    """Median errors, and bars up to the median half-width of the 95 % intervals that are stated."""
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for theme, ink in (("light", "#222832"), ("dark", "#ced6dd")):
        figure, ax = plt.subplots(figsize=(5.4, 4.0), layout="constrained")  # read on a phone
        for k, (name, (colour, marker)) in enumerate(STYLE.items()):
            mine = [row for row in rows if row["method"] == name]
            if not mine:
                continue
            colour = BRIGHT[colour] if theme == "dark" else colour
            error, width = (np.array([abs(float(row[key])) for row in mine]) for key in ("error", "sd"))
            width = 1.96 * width
            budgets = np.array([int(row["budget"]) for row in mine])
            held = round(100 * float(np.mean((error <= width)[budgets == budgets.max()])))
            used = np.array([int(row["evaluations"]) for row in mine])
            groups = [budgets == b for b in np.unique(budgets)]
            x = np.array([np.median(used[group]) for group in groups])
            groups = [group for group, new in zip(groups, np.append(np.diff(x) > 0.0, True), strict=True) if new]
            x, dots, ends = (np.array([np.median(v[group]) for group in groups]) for v in (used, error, width))
            x = x * 1.03 ** (k - 1.5)
            label = f"{name}: {held} % of 95 % intervals hold"
            ax.plot(x, dots, marker=marker, color=colour, lw=2.5 if name == "fwbq" else 1.2, ms=6, label=label)
            ax.vlines(x, np.minimum(dots, ends), np.maximum(dots, ends), color=colour, lw=1.0)
            ax.scatter(x, ends, marker="_", s=130, color=colour, lw=1.6)
        ax.set(xscale="log", yscale="log", xlabel="evaluations of the likelihood", ylabel="error of the log evidence")
        ax.set_xticks([25, 50, 100, 200, 1000, 3000, 9000], ["25", "50", "100", "200", "1,000", "3,000", "9,000"])
        ax.set_yticks([1e-4, 1e-3, 1e-2, 0.1, 1, 10], ["0.0001", "0.001", "0.01", "0.1", "1", "10"])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(ink)
        ax.tick_params(colors=ink)
        for label in (ax.xaxis.label, ax.yaxis.label):
            label.set_color(ink)
        figure.legend(loc="outside upper left", frameon=False, labelcolor=ink, ncols=1, fontsize=9)
        figure.savefig(FIGURES / f"peers-{theme}.png", transparent=True, dpi=240)
        plt.close(figure)


if __name__ == "__main__":
    if "--draw" not in sys.argv:
        measure()
    draw()
