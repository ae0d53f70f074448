"""Means of the test functions of `uqtestfuns` by fwbq, sparse polynomial chaos, SciPy's and QMCPy's nets, in one run.

Run where the extra `peers` is installed: ``python -m benchmarks.bench_uncertainty FILE.csv [name ...]``. Errors are
root mean squares over seeds, in standard deviations of f. References are means over `SCRAMBLES` scrambled Sobol nets;
what these differ by is the error of the reference, and smaller errors than that are not told apart. Chaos is fitted
with each of up to three sets of polynomials, and the set with the smallest error is taken in hindsight.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from math import comb

import numpy as np
from scipy import stats
from scipy.stats import qmc

import fwbq
from benchmarks.bench_simulator import chaos_of, degrees

N, SEEDS = 200, 3
#: Left out: it solves an equation at every point, and a reference of a million takes hours.
SLOW = ("SolarCell",)
#: Inputs of functions that take any number of them.
INPUTS = 5
POWER, SCRAMBLES = 17, 8
METHODS = ("fwbq", "OpenTURNS", "SciPy", "QMCPy")
#: Degree and norm of the polynomials of chaos, beside those of `degrees`, where they are at most so many: 1,771 of
#: degree 3 in 20 inputs take minutes.
TOTAL_DEGREES, MOST_TERMS = ((2, 1.0), (3, 1.0)), 500
#: A function belongs to the goal where the error of chaos is below this.
GOAL = 1e-2


def _scipy_marginal(kind, p):
    """Return the distribution of SciPy for one marginal of uqtestfuns; KeyError for one that is not mapped."""
    return {
        "uniform": lambda: stats.uniform(p[0], p[1] - p[0]),
        "normal": lambda: stats.norm(p[0], p[1]),
        "lognormal": lambda: stats.lognorm(p[1], scale=np.exp(p[0])),
        "beta": lambda: stats.beta(p[0], p[1], p[2], p[3] - p[2]),
        "gumbel": lambda: stats.gumbel_r(p[0], p[1]),
        "exponential": lambda: stats.expon(scale=1.0 / p[0]),
        "triangular": lambda: stats.triang((p[2] - p[0]) / (p[1] - p[0]), p[0], p[1] - p[0]),
        "trunc-normal": lambda: stats.truncnorm((p[2] - p[0]) / p[1], (p[3] - p[0]) / p[1], p[0], p[1]),
    }[kind]()


def _openturns_marginal(kind, p):
    """Return the same distribution of OpenTURNS."""
    import openturns as ot

    return {
        "uniform": lambda: ot.Uniform(p[0], p[1]),
        "normal": lambda: ot.Normal(p[0], p[1]),
        "lognormal": lambda: ot.LogNormal(p[0], p[1], 0.0),
        "beta": lambda: ot.Beta(p[0], p[1], p[2], p[3]),
        "gumbel": lambda: ot.Gumbel(p[1], p[0]),
        "exponential": lambda: ot.Exponential(p[0], 0.0),
        "triangular": lambda: ot.Triangular(p[0], p[2], p[1]),
        "trunc-normal": lambda: ot.TruncatedNormal(p[0], p[1], p[2], p[3]),
    }[kind]()


class Case:
    """A function of the collection with its inputs: `f` (n, d) -> (n,), `measure`, and `inputs` of OpenTURNS."""

    def __init__(self, name):
        import uqtestfuns

        try:
            made = getattr(uqtestfuns, name)()
        except ValueError:  # it takes any number of inputs
            made = getattr(uqtestfuns, name)(input_dimension=INPUTS)
        if made.output_dimension != 1:
            raise KeyError(f"{name} has several outputs")
        marginals = [(each.distribution, [float(p) for p in each.parameters]) for each in made.prob_input.marginals]
        self.name, self.dim = name, made.input_dimension
        self.f = lambda x: np.asarray(made(np.atleast_2d(x)), dtype=float).reshape(len(x))
        self.distributions = [_scipy_marginal(*each) for each in marginals]
        if all(kind == "uniform" for kind, _ in marginals):
            self.measure = fwbq.Uniform(*np.array([p for _, p in marginals]).T)
        elif all(kind == "normal" for kind, _ in marginals):
            mean, sd = np.array([p for _, p in marginals]).T
            self.measure = fwbq.Gaussian(mean, np.diag(sd**2))
        else:
            self.measure = fwbq.Product(self.distributions)
        self._marginals = marginals

    def from_uniform(self, u):
        """Return inputs for points u (n, d) of the unit cube."""
        return np.column_stack([p.ppf(column) for p, column in zip(self.distributions, u.T, strict=True)])

    def reference(self):
        """Return mean, standard deviation and the standard error of the mean."""
        means, squares = [], []
        for rng in np.random.default_rng(1).spawn(SCRAMBLES):
            values = self.f(self.from_uniform(qmc.Sobol(self.dim, seed=rng, bits=52).random_base2(POWER)))
            means.append(values.mean())
            squares.append(np.mean((values - means[0]) ** 2))
        mean = float(np.mean(means))
        std = float(np.sqrt(np.mean(squares) - (mean - means[0]) ** 2))
        return mean, std, float(np.std(means, ddof=1)) / SCRAMBLES**0.5

    def by(self, method, seed):
        """Return the mean by one of `METHODS`, for chaos one for each set, and the 95 % interval of fwbq."""
        if method == "fwbq":
            result = fwbq.integrate(self.f, self.measure, n=N, rng=seed, progress=False)
            return [result.mean], result.interval(0.95)
        if method == "OpenTURNS":
            import openturns as ot

            inputs = [_openturns_marginal(*each) for each in self._marginals]
            total = [each for each in TOTAL_DEGREES if comb(self.dim + each[0], self.dim) <= MOST_TERMS]
            fits = (chaos_of(self.f, inputs, N, seed, *each)[0] for each in (*total, degrees(self.dim)))
            return [ot.FunctionalChaosRandomVector(chaos).getMean()[0] for chaos in fits], None
        if method == "SciPy":
            u = qmc.Sobol(self.dim, seed=np.random.default_rng(seed)).random(N)
        else:
            import qmcpy

            # A lattice of 256 points: QMCPy's need powers of two.
            u = qmcpy.Lattice(self.dim, seed=seed).gen_samples(256)
        return [np.mean(self.f(self.from_uniform(u)))], None


def main(path, names):
    """Write a row for each function, and print the row and what the rows say together."""
    import uqtestfuns

    every = [name for name in uqtestfuns.list_functions(tabulate=False) if name not in SLOW]
    rows, left_out = [], []
    with open(path, "w", newline="", encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = csv.writer(file)
        table.writerow(["function", "d", "reference", *METHODS, "held", "seconds", "chaos_seconds"])
        for name in names or every:
            try:
                case = Case(name)
            except (KeyError, TypeError) as error:
                left_out.append(f"{name} ({error})")
                continue
            truth, std, doubt = case.reference()
            if std == 0.0:
                left_out.append(f"{name} (constant)")
                continue
            errors, held, seconds = [], 0, []
            for method in METHODS:
                start, squares = time.process_time(), []
                for seed in range(SEEDS):
                    means, interval = case.by(method, seed)
                    squares.append((np.array(means) - truth) ** 2)
                    slack = 2.0 * doubt + 1e-12 * abs(truth)
                    held += interval is not None and interval[0] - slack <= truth <= interval[1] + slack
                errors.append(float(np.sqrt(np.min(np.mean(squares, axis=0)))) / std)
                seconds.append((time.process_time() - start) / SEEDS)
            row = [name, case.dim, doubt / std, *errors, held, *seconds[:2]]
            rows.append(row)
            shown = [f"{each:.2g}" if isinstance(each, float) else str(each) for each in row]
            table.writerow(shown)
            file.flush()
            print(" | ".join(shown), flush=True)
    print("left out:", ", ".join(left_out) or "none")
    compared(np.array([row[2:7] for row in rows], dtype=float), [row[0] for row in rows])
    print(f"95 % intervals of fwbq that held: {sum(row[7] for row in rows)} of {SEEDS * len(rows)}")


def compared(errors, names):
    """Print how errors of fwbq compare with those of the others, none below what the reference resolves."""
    floor = np.maximum(errors[:, :1], 1e-12)
    errors = np.maximum(errors[:, 1:], floor)
    for j, method in enumerate(METHODS[1:], start=1):
        ratio = errors[:, 0] / errors[:, j]
        print(
            f"fwbq over {method}: median {np.median(ratio):.2g}; below 1/3 in {np.sum(ratio < 1 / 3)}, "
            f"above 3 in {np.sum(ratio > 3)} of {len(ratio)}"
        )
    ratio = errors[:, 0] / errors[:, 1]
    worse = np.flatnonzero((errors[:, 1] < GOAL) & (ratio > 3.0))
    shown = ", ".join(f"{names[i]} {ratio[i]:.2g} times {errors[i, 1]:.1g}" for i in worse)
    count = np.sum(errors[:, 1] < GOAL)
    print(f"chaos below {GOAL:g} in {count}, and fwbq more than 3 times worse there: {shown or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
