"""How often intervals of functionals beyond the mean hold: variance, probabilities, quantiles, Sobol indices.

Every function is integrated with n evaluations, and each functional of the result is compared with a truth that is
computed without fwbq. Levels of quantiles and thresholds of probabilities are drawn anew for every run, so that no run
repeats the error of another. Three problems of structural reliability, each with an event that is seen in hundreds of
draws and with one of probability about 1e-6, are solved by ``target="probability"``. Run it with
``python -m studies.functionals --out DIR``.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.integrate import quad
from scipy.stats import qmc

import fwbq
from fwbq import _files
from studies.coverage import interval_score
from studies.problems import simulators

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

#: Scrambles of a reference and, as powers of two, the points of each: for the distribution of f, and for Sobol indices.
SCRAMBLES, POINTS, PAIRS = 8, 17, 16
SIZES = (25, 50, 100, 200)
SEEDS = 5
QUICK_SIZES = (25,)
#: Evaluations and seeds of each problem of structural reliability.
RARE_SIZES = (60, 120)
RARE_SEEDS = 5


@dataclass(frozen=True)
class Truth:
    """A number that the study compares with, and its standard error, zero where it is exact."""

    value: float
    error: float = 0.0

    @classmethod
    def of(cls, replicates: Iterable[float]) -> Truth:
        """Return the mean of independent replicates."""
        each = np.array(list(replicates))
        return cls(float(each.mean()), float(each.std(ddof=1)) / float(np.sqrt(len(each))) if len(each) > 1 else 0.0)


@dataclass(frozen=True, eq=False)
class Case:
    """A function of independent inputs.

    Attributes
    ----------
    name : str
    measure : Measure
    f : callable
        (n, d) -> (n,).
    law : frozen distribution, optional
        The distribution of f, where it is known.
    first, total : tuple of float, optional
        Sobol indices, where they are known.
    """

    name: str
    measure: fwbq.Measure
    f: Callable[[FloatArray], FloatArray]
    law: Any = None
    first: tuple[float, ...] | None = None
    total: tuple[float, ...] | None = None

    @cached_property
    def _values(self) -> list[FloatArray]:
        """Values of f at each scramble of a net, sorted; of one input at the centres of a million even cells."""
        d = self.measure.dim
        if d == 1:
            size = SCRAMBLES * 2**POINTS
            return [np.sort(self.f(self.measure.from_uniform((np.arange(size)[:, None] + 0.5) / size)))]
        nets = [qmc.Sobol(d, seed=np.random.default_rng([1, r])).random_base2(POINTS) for r in range(SCRAMBLES)]
        return [np.sort(self.f(self.measure.from_uniform(u))) for u in nets]

    def variance(self) -> Truth:
        """Return the variance of f."""
        return Truth(float(self.law.var())) if self.law is not None else Truth.of(v.var() for v in self._values)

    def quantile(self, q: float) -> Truth:
        """Return the q-quantile of f."""
        if self.law is not None:
            return Truth(float(self.law.ppf(q)))
        return Truth.of(float(np.quantile(values, q)) for values in self._values)

    def above(self, threshold: float) -> Truth:
        """Return the probability of values above a threshold."""
        if self.law is not None:
            return Truth(float(self.law.sf(threshold)))
        return Truth.of(1.0 - np.searchsorted(v, threshold, side="right") / len(v) for v in self._values)

    @cached_property
    def indices(self) -> list[tuple[Truth, Truth]]:
        """First-order and total Sobol index of each input.

        Where they are not known by the estimators of Saltelli et al. (2010) and of Jansen (1999), on nets of pairs of
        points.
        """
        if self.first is not None and self.total is not None:
            return [(Truth(a), Truth(b)) for a, b in zip(self.first, self.total, strict=True)]
        d = self.measure.dim
        if d == 1:
            return [(Truth(1.0), Truth(1.0))]
        first: list[list[float]] = [[] for _ in range(d)]
        total: list[list[float]] = [[] for _ in range(d)]
        for r in range(SCRAMBLES):
            both = qmc.Sobol(2 * d, seed=np.random.default_rng([2, r])).random_base2(PAIRS)
            a, b = both[:, :d], both[:, d:]
            at_a, at_b = self.f(self.measure.from_uniform(a)), self.f(self.measure.from_uniform(b))
            whole = float(np.var(np.concatenate([at_a, at_b])))
            centre = at_b.mean()
            for i in range(d):
                mixed = a.copy()
                mixed[:, i] = b[:, i]
                at_mixed = self.f(self.measure.from_uniform(mixed))
                first[i].append(float(np.mean((at_b - centre) * (at_mixed - at_a))) / whole)
                total[i].append(0.5 * float(np.mean((at_mixed - at_a) ** 2)) / whole)
        return [(Truth.of(one), Truth.of(other)) for one, other in zip(first, total, strict=True)]


def _simulator(name: str) -> Case:
    found = simulators.SIMULATORS[name]
    return Case(name, found.measure, found.f)


def _additive(x: FloatArray) -> FloatArray:
    a, b, c, d, e, f = x.T
    return np.asarray(np.sin(3.0 * a) + np.exp(b) + 2.0 * np.abs(c - 0.4) + d**2 + 0.5 * e + 0.1 * np.cos(9.0 * f))


def _ratio(x: FloatArray) -> FloatArray:
    """Load over strength, as simple as an engineer's formula with skew inputs can be."""
    return np.asarray(x[:, 0] * x[:, 1] / (1.0 + x[:, 2]))


_G = np.array([0.5, 1.0, 3.0, 9.0])


def _kinked_product(x: FloatArray) -> FloatArray:
    return np.asarray(np.prod((np.abs(4.0 * x - 2.0) + _G) / (1.0 + _G), axis=1))


def cases() -> list[Case]:
    """Return the functions, in the order of their numbers of inputs."""
    slopes = np.array([3.0, 2.0, 1.0])
    shares = tuple(slopes**2 / np.sum(slopes**2))
    curvature = np.array([1.0, 0.5, 0.3, 0.1])
    spread = 2.0 * np.sum(curvature**2) + 0.25
    log_sd = np.array([0.5, 0.3, 0.2])
    factors = np.exp(log_sd**2) - 1.0
    product = np.prod(1.0 + factors) - 1.0
    parts = 1.0 / (3.0 * (1.0 + _G) ** 2)
    whole = np.prod(1.0 + parts) - 1.0
    cube = {d: fwbq.Uniform(np.zeros(d), np.ones(d)) for d in range(1, 7)}
    normal = {d: fwbq.Gaussian(np.zeros(d), np.eye(d)) for d in range(1, 5)}
    skew = fwbq.Product([stats.lognorm(0.4), stats.gamma(3.0), stats.beta(2.0, 5.0)])
    aquifer = fwbq.Product([
        stats.norm(0.10, 0.0161812), stats.lognorm(1.0056, scale=np.exp(7.71)), stats.uniform(63070.0, 52530.0),
        stats.uniform(990.0, 120.0), stats.uniform(63.1, 52.9), stats.uniform(700.0, 120.0),
        stats.uniform(1120.0, 560.0), stats.uniform(9855.0, 2190.0),
    ])  # fmt: skip
    return [
        Case("line", normal[1], lambda x: x[:, 0], stats.norm()),
        Case("wave", cube[1], lambda x: np.exp(np.sin(5.0 * x[:, 0]))),
        Case("corner", cube[1], lambda x: np.abs(x[:, 0] - 0.3)),
        Case("gamma", fwbq.Product([stats.gamma(2.0)]), lambda x: np.log1p(x[:, 0])),
        Case("saddle", normal[2], lambda x: x[:, 0] * x[:, 1], first=(0.0, 0.0), total=(1.0, 1.0)),
        Case("ridge", normal[2], lambda x: np.abs(x[:, 0] + 0.5 * x[:, 1]), stats.halfnorm(scale=np.sqrt(1.25))),
        Case("plane", normal[3], lambda x: x @ slopes, stats.norm(scale=np.sqrt(14.0)), shares, shares),
        Case(
            "product", normal[3], lambda x: np.exp(x @ log_sd), stats.lognorm(np.sqrt(np.sum(log_sd**2))),
            tuple(factors / product), tuple(factors * np.prod(1.0 + factors) / (1.0 + factors) / product),
        ),
        Case("ratio", skew, _ratio),
        _simulator("ishigami"),
        Case(
            "quadratic", normal[4], lambda x: x**2 @ curvature + 0.5 * x[:, 0] * x[:, 1],
            first=tuple(2.0 * curvature**2 / spread),
            total=tuple((2.0 * curvature**2 + [0.25, 0.25, 0.0, 0.0]) / spread),
        ),
        Case(
            "kinked-product", cube[4], _kinked_product, first=tuple(parts / whole),
            total=tuple(parts * np.prod(1.0 + parts) / (1.0 + parts) / whole),
        ),
        _simulator("friedman"),
        Case("additive", cube[6], _additive),
        _simulator("otl-circuit"),
        _simulator("piston"),
        _simulator("borehole"),
        Case("skew-borehole", aquifer, simulators.borehole),
        _simulator("wing-weight"),
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Failure:
    """A problem of structural reliability: f < 0 is failure, and `probability` that of it."""

    name: str
    measure: fwbq.Measure
    f: Callable[[FloatArray], FloatArray]
    probability: float


class _Branches:
    """The series system of four branches (Waarts 2000), with the distance 3 of its branches replaced by another."""

    def __init__(self, distance: float) -> None:
        self.distance = distance

    def __call__(self, x: FloatArray) -> FloatArray:
        a, b = x.T
        r = np.sqrt(2.0)
        arc = self.distance + 0.1 * (a - b) ** 2
        line = 2.0 * self.distance / r
        return np.asarray(np.min([arc - (a + b) / r, arc + (a + b) / r, a - b + line, b - a + line], axis=0))

    def probability(self) -> float:
        """Return the probability of a value below zero: 1 - int phi(v) (2 Phi(c + v^2 / 5) - 1) dv over |v| < c."""
        c = self.distance
        arcs = quad(lambda v: 2.0 * stats.norm.pdf(v) * stats.norm.sf(c + 0.2 * v**2), -c, c, epsabs=0.0, limit=200)[0]
        return float(arcs + 2.0 * stats.norm.sf(c))


def oscillator(x: FloatArray) -> FloatArray:
    """Three times the elastic limit less the largest displacement of an oscillator (Bucher and Bourgund 1990)."""
    mass, c1, c2, limit, force, duration = x.T
    omega = np.sqrt((c1 + c2) / mass)
    return np.asarray(3.0 * limit - np.abs(2.0 * force / (mass * omega**2) * np.sin(0.5 * omega * duration)))


def _oscillator(force: float, spread: float) -> Failure:
    """Return the oscillator under a force of this mean and standard deviation.

    The force enters linearly: given the five other inputs the probability is a sum of two normal distribution
    functions, and its mean over a net is the truth. The net is moved to where a first net finds failures: four such
    nets agree to four digits at 1e-5, where nets that are not moved differ by a quarter.
    """
    mean = np.array([1.0, 1.0, 0.1, 0.5, force, 1.0])
    sd = np.array([0.05, 0.1, 0.01, 0.05, spread, 0.2])
    others = [0, 1, 2, 3, 5]
    shift, probability = np.zeros(5), 0.0
    for seed in (3, 4):
        z = shift + stats.norm.ppf(qmc.Sobol(5, seed=np.random.default_rng(seed)).random_base2(17))
        mass, c1, c2, limit, duration = (mean[others] + sd[others] * z).T
        reach = np.abs(2.0 / (c1 + c2) * np.sin(0.5 * np.sqrt((c1 + c2) / mass) * duration))
        most = 3.0 * limit / reach
        given = stats.norm.sf((most - force) / spread) + stats.norm.cdf((-most - force) / spread)
        weighted = given * np.exp(-z @ shift + 0.5 * shift @ shift)
        probability, shift = float(weighted.mean()), weighted @ z / weighted.sum()
    return Failure(f"oscillator, force {force:g}", fwbq.Gaussian(mean, np.diag(sd**2)), oscillator, probability)


def failures() -> list[Failure]:
    """Return the problems of structural reliability, each with a usual event and a rare one."""
    found = []
    for index in (2.5, 4.75):
        measure = fwbq.Gaussian([2.0 + index * np.sqrt(2.0), 2.0], np.eye(2))
        found.append(
            Failure(
                f"resistance less load, index {index:g}",
                measure,
                lambda x: x[:, 0] - x[:, 1],
                float(stats.norm.sf(index)),
            )
        )
    for distance in (3.0, 4.75):
        system = _Branches(distance)
        measure = fwbq.Gaussian([0.0, 0.0], np.eye(2))
        found.append(Failure(f"four branches at {distance:g}", measure, system, system.probability()))
    return [*found, _oscillator(1.0, 0.2), _oscillator(0.6, 0.1)]


def answers(case: Case, n: int, seed: int) -> Iterator[tuple[str, Truth, tuple[float, float, float], float]]:
    """Yield functional, truth, (mean, low, high) and the unit in which errors and widths are measured, of one run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # poor fits are what is counted here
        result = fwbq.integrate(case.f, case.measure, n=n, rng=seed, progress=False)
    generator = np.random.default_rng([n, seed, *case.name.encode()])
    variance = case.variance()
    spread = float(np.sqrt(variance.value))
    yield "variance", variance, _ends(result.variance()), variance.value
    deviation = Truth(spread, 0.5 * variance.error / spread)
    yield "std", deviation, _ends(result.std()), spread
    for name, low, high in (("", 0.05, 0.95), ("", 0.05, 0.95), (", tail", 0.001, 0.05)):
        q = float(generator.uniform(low, high)) if not name else float(np.exp(generator.uniform(*np.log([low, high]))))
        q = 1.0 - q if name and generator.random() < 0.5 else q
        yield f"quantile{name}", case.quantile(q), _ends(result.quantile(q)), spread
    for name, low, high in (("", 0.05, 0.95), ("", 0.05, 0.95), (", tail", 0.001, 0.05)):
        p = float(generator.uniform(low, high)) if not name else float(np.exp(generator.uniform(*np.log([low, high]))))
        threshold = case.quantile(1.0 - p).value
        truth = case.above(threshold)
        yield f"probability{name}", truth, _ends(result.probability(above=threshold)), min(p, 1.0 - p)
    indices = result.sobol()
    ends = [_ends(indices.first), _ends(indices.total)]
    for i, truths in enumerate(case.indices):
        for kind, (mean, low, high), truth in zip(("first", "total"), ends, truths, strict=True):
            yield f"Sobol {kind}", truth, (mean[i], low[i], high[i]), 1.0


def _ends(estimate: Any) -> tuple[Any, Any, Any]:
    return (estimate.mean, *estimate.interval(0.95))


def one(index: int, sizes: Sequence[int], seeds: int) -> list[dict[str, object]]:
    """Return a row for each interval of one function; all its runs in one process, which makes the references once."""
    case = cases()[index]
    rows = []
    for n in sizes:
        for seed in range(seeds):
            for functional, truth, (mean, low, high), unit in answers(case, n, seed):
                rows.append(
                    {"case": case.name, "d": case.measure.dim, "n": n, "seed": seed, "functional": functional}
                    | _judged(truth, mean, low, high, unit)
                )
    return rows


def _judged(truth: Truth, mean: float, low: float, high: float, unit: float) -> dict[str, object]:
    # A reference with an error counts as missed when it is two standard errors outside of the interval.
    slack = 2.0 * truth.error + 1e-12 * unit
    return {
        "truth": truth.value, "mean": mean, "low": low, "high": high,
        "held": bool(low - slack <= truth.value <= high + slack), "error": abs(mean - truth.value) / unit,
        "half": 0.5 * (high - low) / unit,
        "score": interval_score((low - slack) / unit, (high + slack) / unit, truth.value / unit, 0.95),
    }  # fmt: skip


def one_failure(index: int, n: int, seed: int) -> dict[str, object]:
    """Return a row for one problem of structural reliability."""
    problem = failures()[index]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = fwbq.integrate(
            problem.f, problem.measure, target="probability", below=0.0, n=n, rng=seed, progress=False
        )
    named = {"problem": problem.name, "d": problem.measure.dim, "n": n, "seed": seed}
    return named | _judged(Truth(problem.probability), *_ends(found), problem.probability)


def summary(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return for each group how many intervals held, in per cent, median error and half-width, score and sharpness.

    The sharpness is the median half-width over the 95 % quantile of the errors: one where intervals are as wide as they
    must be, if errors are alike.
    """
    cells = frame.groupby(list(by), sort=False)
    table = cells.agg(
        intervals=("held", "size"), held=("held", "mean"), error=("error", "median"), half=("half", "median"),
        score=("score", "mean"), least=("half", "min"), largest=("error", lambda error: error.quantile(0.95)),
    )  # fmt: skip
    table["held"] *= 100.0
    table["sharpness"] = table.half / table.largest.where(table.largest > 0.0)
    return table.drop(columns="largest").reset_index()


def _mapped(function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int) -> list[Any]:
    if jobs == 1:
        return [function(*task) for task in tasks]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(function, *zip(*tasks, strict=True)))


def _write(folder: Path, tables: dict[str, pd.DataFrame]) -> None:
    for name, table in tables.items():
        _files.write(folder / f"{name}.csv", table.to_csv(index=False))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; write ``functionals.csv``, ``failures.csv`` and the tables that are printed."""
    import pandas as pd

    known = {case.name: i for i, case in enumerate(cases())}
    parser = argparse.ArgumentParser(prog="python -m studies.functionals", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the tables")
    parser.add_argument("--quick", action="store_true", help="n = 25 and one seed only: about a minute")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="processes")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of evaluations")
    parser.add_argument("--seeds", type=int, help="runs of each function and size")
    parser.add_argument("--cases", nargs="*", default=list(known), choices=list(known))
    parser.add_argument("--rare", type=int, help="runs of each problem of structural reliability")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    sizes = tuple(options.sizes or (QUICK_SIZES if options.quick else SIZES))
    seeds = options.seeds or (1 if options.quick else SEEDS)
    rare = options.rare if options.rare is not None else 1 if options.quick else RARE_SEEDS
    # The functions of most inputs take longest: they go first, so that no process is left waiting.
    tasks = [(known[name], sizes, seeds) for name in reversed(options.cases)]
    frame = pd.DataFrame([row for part in _mapped(one, tasks, options.jobs) for row in part])
    tables = {"functionals": frame, "by-size": summary(frame, ("functional", "n"))}
    _write(options.out, tables)
    shown = [tables["by-size"], summary(frame, ("case",)), summary(frame, ("n",))]
    if rare:
        rare_sizes = RARE_SIZES[:1] if options.quick else RARE_SIZES
        rows = [(i, n, seed) for n in rare_sizes for i in range(6) for seed in range(rare)]
        tables["failures"] = pd.DataFrame(_mapped(one_failure, rows, options.jobs))
        shown.append(summary(tables["failures"], ("problem", "n")))
        _write(options.out, tables)
    text = "\n\n".join(table.to_string(index=False, float_format=lambda v: f"{v:.3g}") for table in shown)
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
